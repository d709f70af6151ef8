/**
 * `add`: registers an object. Writes one manifest; contacts no store, unless it is to make one (commands §5.2).
 *
 * @module
 */

import { dirname } from "node:path";
import { atOf, type BackendStatics } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { canonicalUri, isInside, localPath } from "../io/paths.ts";
import { operands } from "../io/shell.ts";
import { storeOf } from "../kinds.ts";
import { ConfigError, messageOf } from "../model/errors.ts";
import { InvalidLocatorError } from "../model/backend_errors.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { checkNewKey, derivedKey, windowsProblem } from "../model/keys.ts";
import { type Locator, locatorText, type ObjectManifest, type Policy } from "../model/manifest.ts";
import { editManifests } from "../plan/edit.ts";
import { withLocks } from "../plan/operation.ts";
import { hiddenKeys, showCommand } from "./removed.ts";
import type { AddReport } from "../reports/registering.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import { absoluteLocator } from "./locators.ts";
import { refuseSecrets, refuseTokenKey } from "./secret_check.ts";
import { pickSignal } from "./snapshot.ts";

/**
 * Options of {@link add}.
 *
 * @example Register a folder under a key of its own
 * ```ts
 * import { type AddOptions, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const options: AddOptions = {
 *   key: "raw/plate1",
 *   kind: "file",
 *   locator: { uri: "plate1" },
 *   policy: { file: "versioned" },
 *   base: "/data",
 * };
 * await ds.add(options);
 * assert.equal(ds.objects.get("raw/plate1")?.locator["uri"], "/data/plate1");
 * ```
 */
export interface AddOptions extends CallOptions {
  /**
   * What to call the object: segments joined by `/`.
   * @default {the last segment of its path or URI}
   */
  readonly key?: string;
  /** One of {@link knownKinds}. */
  readonly kind: string;
  /** Where it is, in the fields of its kind: `uri` or `path` for most. */
  readonly locator: Locator;
  /**
   * Fields that differ from the dataset's `[defaults]`.
   * @default {{}}
   */
  readonly policy?: Partial<Policy>;
  /**
   * An id of its history to stay at, as {@link LogEntry.id}.
   * @default {the newest}
   */
  readonly at?: string | number;
  /**
   * Absolute folder that relative paths are relative to.
   * @default {the working folder}
   */
  readonly base?: string;
  /**
   * Makes the store first, marked as this dataset's; `gc` may delete it once nothing names it. Experimental.
   * @default {false}
   */
  readonly create?: boolean;
}

/** Registers an object. */
export async function add(ctx: Context, options: AddOptions): Promise<AddReport> {
  const statics = await ctx.backends.statics(options.kind);
  const policy = checkPolicy({ ...ctx.config.defaults, ...options.policy });
  const locator = checkLocator(ctx, statics, options);
  const { key, derived } = keyOf(statics, locator, options.key);
  const create = options.create === true;
  return await withLocks(ctx, { command: "add", repository: create, ...pickSignal(options) }, async () => {
    if (!create || !await isResumed(ctx, { key, kind: options.kind, locator })) {
      refuseTaken(ctx, { key, kind: options.kind, locator, derived });
      checkNewKey(key, [...ctx.objects.keys(), ...ctx.broken.map((b) => b.key)]);
      await refuseHidden(ctx, key);
    }
    const object: ObjectManifest = {
      key,
      kind: options.kind,
      locator,
      policy,
      state: null,
      pin: null,
      recoverable: true,
      origin: create ? "created" : "adopted",
      capturedAt: null,
    };
    const warnings = await warningsOf(ctx, statics, object);
    const workspace = withoutKey(ctx, key, { workingRef: true });
    if (create) {
      const { createStore } = await import("../experimental/create.ts");
      options.signal?.throwIfAborted();
      await createStore(ctx, object, workspace);
    } else {
      await editManifests(ctx, { command: "add", keys: [key], result: { key } }, async () => {
        await ctx.saveManifests([object]);
        await ctx.env.boundary?.("manifests");
        await ctx.saveWorkspace(workspace);
      });
    }
    const notes = [
      ...(statics.maturity === "experimental" ? [`Kind "${statics.kind}" is experimental`] : []),
      ...(create ? ["Stores that tether makes are experimental: once gc deletes one, nothing brings it back"] : []),
    ];
    const at = atOf(locator) ?? null;
    const data = {
      key,
      kind: options.kind,
      locator,
      policy,
      at,
      created: create,
      derivedKey: derived,
      warnings,
      notes,
    };
    return withJson(data, () => ({
      key,
      kind: data.kind,
      locator,
      policy: { ...policy },
      at,
      created: create,
      derived_key: derived,
      warnings,
    }));
  });
}

/**
 * Checks a policy.
 *
 * @throws {ConfigError} naming the value and those that are allowed.
 */
export function checkPolicy(policy: Policy): Policy {
  const allowed = { file: ["immutable", "versioned"], pin: ["native", "record"] } as const;
  for (const field of ["file", "pin"] as const) {
    if ((allowed[field] as readonly string[]).includes(policy[field])) continue;
    throw new ConfigError(
      `Cannot use "${policy[field]}" as the ${field} policy: it is ${allowed[field].join(" or ")}`,
      {
        code: "policy",
      },
    );
  }
  return policy;
}

/** Returns a workspace without what it says of a key. */
export function withoutKey(ctx: Context, key: string, options: { readonly workingRef: boolean }): Context["workspace"] {
  const { workspace } = ctx;
  const less = <T>(table: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(table).filter(([k]) => k !== key));
  return {
    ...workspace,
    workingRefs: options.workingRef ? less(workspace.workingRefs) : workspace.workingRefs,
    pendingForks: less(workspace.pendingForks),
    pendingResets: less(workspace.pendingResets),
    forkPoints: less(workspace.forkPoints),
    baseStates: less(workspace.baseStates),
    lastSnapshot: less(workspace.lastSnapshot),
    lastSnapshotErrors: less(workspace.lastSnapshotErrors),
  };
}

function checkLocator(ctx: Context, statics: BackendStatics, options: AddOptions): Locator {
  const { key } = options;
  if (key !== undefined) refuseTokenKey(key);
  const at: JsonObject = options.at === undefined ? {} : { at: options.at };
  refuseSecrets({ ...options.locator, ...at }, { kind: statics.kind, doing: "register" });
  if (options.at !== undefined) {
    if (atOf(options.locator) !== undefined) {
      throw new ConfigError("Cannot register an object at a position: its locator has one too", { code: "flags" });
    }
    if (String(options.at).trim() === "") {
      throw new ConfigError("Cannot register an object at an empty position", { code: "empty" });
    }
    if (!statics.capabilities.has("history")) {
      throw new ConfigError(`Cannot register a "${statics.kind}" object at a position: it keeps no history`, {
        code: "flags",
      });
    }
  }
  const locator = absoluteLocator(ctx, statics, { ...options.locator, ...at }, options.base);
  if (options.create && atOf(locator) !== undefined) {
    throw new ConfigError("Cannot create a store and start at a position of it: a new store has none", {
      code: "flags",
    });
  }
  for (const field of statics.localPathKeys) refuseOwnFolders(ctx, statics.kind, locator[field]);
  return locator;
}

/** Refuses a store that holds the dataset, or lies among tether's or version control's own files. */
function refuseOwnFolders(ctx: Context, kind: string, value: Json | undefined): void {
  if (typeof value !== "string") return;
  const local = localPath(value);
  if (local === undefined) return;
  const path = canonicalUri(local);
  const refuse = (why: string): never => {
    throw new InvalidLocatorError(`Cannot register "${value}": ${why}`, {
      kind,
      hints: ["Keep the data beside the checkout, and give its path"],
    });
  };
  if (isInside(ctx.root, path)) refuse("the dataset itself lies in it, so every commit would change it");
  for (const own of [dirname(ctx.paths.objects), `${ctx.vcs.location.root}/.git`, `${ctx.vcs.location.root}/.jj`]) {
    if (isInside(path, own)) refuse(`it lies inside "${own}"`);
  }
}

function keyOf(
  statics: BackendStatics,
  locator: Locator,
  given: string | undefined,
): { key: string; derived: boolean } {
  if (given !== undefined) return { key: given, derived: false };
  const uri = locatorText(locator);
  const key = statics.keySuffixes === null ? undefined : derivedKey(uri, statics.keySuffixes);
  if (key !== undefined) return { key, derived: true };
  throw new ConfigError(`Cannot register "${uri}" without a key: none can be made of its address`, {
    code: "key",
    hints: [`tether add KEY --kind ${statics.kind} ${operands([uri])}`],
  });
}

function refuseTaken(
  ctx: Context,
  { key, kind, locator, derived }: { key: string; kind: string; locator: Locator; derived: boolean },
): void {
  if (!ctx.objects.has(key) && !ctx.broken.some((b) => b.key === key)) return;
  throw new ConfigError(`Cannot register "${key}": an object of that key exists`, {
    code: "exists",
    hints: [
      derived
        ? `tether add KEY --kind ${kind} ${operands([locatorText(locator)])}`
        : `tether remove ${operands([key])}`,
    ],
  });
}

/** Refuses a key that the last commit has in a manifest that a sparse checkout leaves out. */
async function refuseHidden(ctx: Context, key: string): Promise<void> {
  if (!(await hiddenKeys(ctx)).includes(key)) return;
  throw new ConfigError(`Cannot register "${key}": the last commit has it, and this sparse checkout leaves it out`, {
    code: "exists",
    hints: [showCommand(ctx)],
  });
}

/** Tells whether the object is what a killed `add --create` of the same store left, with nothing recorded of it since. */
async function isResumed(
  ctx: Context,
  object: { readonly key: string; readonly kind: string; readonly locator: Locator },
): Promise<boolean> {
  const left = ctx.objects.get(object.key);
  if (left?.origin !== "created" || left.state !== null || left.kind !== object.kind) return false;
  const { unfinishedCreation } = await import("../experimental/create.ts");
  return await unfinishedCreation(ctx, object) !== undefined;
}

/** What the author should know: a missing path, another spelling of a registered store, and what the kind itself warns of. */
async function warningsOf(ctx: Context, statics: BackendStatics, object: ObjectManifest): Promise<string[]> {
  const backend = await ctx.backends.get(object.kind);
  const willBeMade = object.origin === "created";
  const warnings = [...await backend.validateLocator?.(object.locator) ?? []];
  const problem = windowsProblem(object.key);
  if (problem !== undefined) {
    warnings.push(`A checkout on Windows cannot hold the manifest of "${object.key}": ${problem}`);
  }
  for (const field of statics.localPathKeys) {
    const value = object.locator[field];
    const local = typeof value === "string" ? localPath(value) : undefined;
    if (local === undefined || !local.startsWith("/")) continue;
    try {
      if (!willBeMade) await Deno.stat(local);
    } catch (error) {
      const why = error instanceof Deno.errors.NotFound ? "it does not exist" : messageOf(error);
      warnings.push(`"${local}" cannot be read yet: ${why}`);
    }
    if (isInside(canonicalUri(local), ctx.vcs.location.root)) {
      warnings.push(`"${local}" lies inside the checkout: version control may change it, and a clone has its own copy`);
    }
  }
  const store = storeOf(backend, object.locator);
  for (const other of ctx.objects.values()) {
    if (other.kind !== object.kind || storeOf(backend, other.locator) !== store) continue;
    if (locatorText(other.locator) === locatorText(object.locator)) continue;
    warnings.push(`This is the store of "${other.key}", which spells it "${locatorText(other.locator)}"`);
  }
  return warnings;
}
