/**
 * Which kinds there are. The only list of built-in ones: each names a description that is cheap to load; drivers load when
 * a backend is opened.
 *
 * @module
 */

import { ConfigError } from "../engine/model/errors.ts";
import { compareCodePoints } from "../engine/model/json.ts";
import { assertDeclared, type BackendSettings, type BackendStatics, type ObjectBackend } from "./backend.ts";

/** Loads the description of a kind. */
export type StaticsLoader = () => Promise<BackendStatics>;

// The paths are literal, so that bundling and the permission-free import of workers see them.
const BUILTIN: Readonly<Record<string, StaticsLoader>> = {
  delta: async () => (await import("./delta/statics.ts")).deltaStatics,
  file: async () => (await import("./file/statics.ts")).fileStatics,
  git: async () => (await import("./git/statics.ts")).gitStatics,
  icechunk: async () => (await import("./icechunk/statics.ts")).icechunkStatics,
  lance: async () => (await import("./lance/statics.ts")).lanceStatics,
  memory: async () => (await import("./memory/statics.ts")).memoryStatics,
};

/** The kinds that come with tether, sorted. */
export const BUILTIN_KINDS: readonly string[] = Object.keys(BUILTIN).sort(compareCodePoints);

const registered = new Map<string, StaticsLoader>();
const loaded = new Map<string, Promise<BackendStatics>>();

/**
 * Adds a kind, or replaces one that was added before. For a kind whose code runs in this process; `registerBackend` of
 * `engine/host` is for a module that must not.
 *
 * @throws {ConfigError} if the kind is built in.
 */
export function registerStatics(kind: string, load: StaticsLoader): void {
  if (Object.hasOwn(BUILTIN, kind)) {
    throw new ConfigError(`Cannot register kind "${kind}": it comes with tether`, { code: "kind" });
  }
  registered.set(kind, load);
  loaded.delete(kind);
}

/**
 * Returns every kind that can be used, sorted.
 *
 * @example Find out what tether can be pointed at
 * ```ts
 * import { knownKinds } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert(knownKinds().includes("icechunk"));
 * ```
 */
export function knownKinds(): readonly string[] {
  return [...new Set([...BUILTIN_KINDS, ...registered.keys()])].sort(compareCodePoints);
}

/** Returns a kind's description, loading no driver; `undefined` when there is no such kind. */
export async function staticsOf(kind: string): Promise<BackendStatics | undefined> {
  const load = Object.hasOwn(BUILTIN, kind) ? BUILTIN[kind] : registered.get(kind);
  if (!load) return undefined;
  let loading = loaded.get(kind);
  if (!loading) {
    loaded.set(kind, loading = checked(kind, load));
    // A module that failed to load may be mended while the process lives.
    loading.catch(() => loaded.delete(kind));
  }
  return await loading;
}

/**
 * Loads a kind's driver and returns its backend.
 *
 * @throws {ConfigError} if there is no such kind, or its driver is missing.
 */
export async function openBackend(kind: string, settings: BackendSettings): Promise<ObjectBackend> {
  const statics = await staticsOf(kind);
  if (!statics) throw unknownKind(kind);
  const backend = await statics.open(settings);
  assertDeclared(backend);
  return backend;
}

/** Returns the error for a kind that nobody added here. */
export function unknownKind(kind: string): ConfigError {
  return new ConfigError(`Cannot use kind "${kind}": this tether does not have it`, {
    code: "kind",
    hints: [
      `Known kinds: ${knownKinds().join(", ")}`,
      "A kind that a program adds is known to that program only: a program can run the command line too, as the guide of the library shows",
    ],
    details: { kind },
  });
}

async function checked(kind: string, load: StaticsLoader): Promise<BackendStatics> {
  const statics = await load();
  if (statics.kind === kind) return statics;
  throw new ConfigError(`Cannot use kind "${kind}": its module describes the kind "${statics.kind}"`, { code: "kind" });
}
