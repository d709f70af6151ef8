/**
 * The object manifest: what a dataset commit says of one object (formats §6).
 *
 * @module
 */

import { canonical, framedHash } from "./hash.ts";
import { compareCodePoints, type Json, jsonEqual, type JsonObject } from "./json.ts";

/**
 * An object's address, as the backend of its kind reads it.
 *
 * @example Address a Lance table
 * ```ts
 * import type { Locator } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const locator: Locator = { uri: "/data/features.lance", branch: "main" };
 * assert.deepEqual(Object.keys(locator), ["uri", "branch"]);
 * ```
 */
export type Locator = JsonObject;
/**
 * An object's state, as the backend of its kind made it.
 *
 * @example Hold the version a commit recorded
 * ```ts
 * import { contentState, type State } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const state: State = { branch: "main", version: 7, read_at: "2026-01-01T00:00:00+00:00" };
 * assert.deepEqual(contentState(state, new Set(["read_at"])), { branch: "main", version: 7 });
 * ```
 */
export type State = JsonObject;

/**
 * A durable native ref that keeps a state alive.
 *
 * @example Name the native ref of a pin
 * ```ts
 * import { type Pin, refForPin } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const id = "0a1b2c3d.c9d52233a70a6142";
 * const pin: Pin = { id, ref: refForPin(id) };
 * assert.equal(pin.ref, "tether.0a1b2c3d.c9d52233a70a6142");
 * ```
 */
export interface Pin {
  /** `<dataset>.<16 hex>`. */
  readonly id: string;
  /** The native ref, such as `tether.<id>`. */
  readonly ref: string;
  /** Whether this call made the ref. Set by a backend's `pin`; never stored. */
  readonly created?: boolean;
}

/**
 * What tether may do with an object.
 *
 * @example Record states without pinning them
 * ```ts
 * import { DEFAULT_POLICY, type Policy } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const scratch: Policy = { ...DEFAULT_POLICY, pin: "record" };
 * assert.deepEqual(scratch, { file: "immutable", pin: "record" });
 * ```
 */
export interface Policy {
  /** `immutable` makes any change of an Observed object an error. */
  readonly file: "immutable" | "versioned";
  /** `record` stores states without making native refs. */
  readonly pin: "native" | "record";
}

/**
 * The policy of an object that names none.
 *
 * @example Look at the defaults
 * ```ts
 * import { DEFAULT_POLICY } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(DEFAULT_POLICY, { file: "immutable", pin: "native" });
 * ```
 */
export const DEFAULT_POLICY: Policy = { file: "immutable", pin: "native" };

/**
 * One object of a dataset. Unknown fields of the file are not part of it; the file keeps them.
 *
 * @example Read what a dataset says of an object
 * ```ts
 * import { Dataset } from "@tether/tether";
 * import type { ObjectManifest } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw/plate1", kind: "file", locator: { uri: "/data/plate1" } });
 * const manifest: ObjectManifest | undefined = ds.objects.get("raw/plate1");
 * assert.deepEqual([manifest?.kind, manifest?.state, manifest?.pin], ["file", null, null]);
 * ```
 */
export interface ObjectManifest {
  /** What users call the object: segments joined by `/`. */
  readonly key: string;
  /** The backend kind; it may be one this tether does not know. */
  readonly kind: string;
  /** Where the object is. */
  readonly locator: Locator;
  /** Whether its content may change and whether commits pin it. */
  readonly policy: Policy;
  /** The recorded state; `null` before the first commit. */
  readonly state: State | null;
  /** The pin that holds the state; `null` for a state recorded without one. */
  readonly pin: Pin | null;
  /** Whether the recorded state can be read back. */
  readonly recoverable: boolean;
  /** `created` when tether made the store. Informational: it never authorises a delete. */
  readonly origin: "adopted" | "created";
  /** When the state was recorded: ISO 8601 UTC with six fractional digits; `null` before that. */
  readonly capturedAt: string | null;
}

/**
 * Returns the manifest hash of a set of manifests (formats §2.3): 64 hex digits over key and meaning, never over bytes on
 * disk, `captured_at`, `origin` or unknown fields.
 *
 * @example See that what a manifest means enters the hash, and when it was written does not
 * ```ts
 * import { DEFAULT_POLICY, manifestHash, type ObjectManifest } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const raw: ObjectManifest = {
 *   key: "raw",
 *   kind: "file",
 *   locator: { uri: "/data" },
 *   policy: DEFAULT_POLICY,
 *   state: null,
 *   pin: null,
 *   recoverable: true,
 *   origin: "adopted",
 *   capturedAt: null,
 * };
 * assert.equal(manifestHash([raw]), manifestHash([{ ...raw, capturedAt: "2026-01-01T00:00:00.000000+00:00" }]));
 * assert.notEqual(manifestHash([raw]), manifestHash([{ ...raw, policy: { file: "versioned", pin: "native" } }]));
 * ```
 */
export function manifestHash(manifests: Iterable<ObjectManifest>): string {
  const parts = [...manifests]
    .sort((a, b) => compareCodePoints(a.key, b.key))
    .map((m) => canonical([m.key, canonicalManifest(m)]));
  return framedHash(parts, 32);
}

/** Returns the canonical text of one manifest, as it enters {@link manifestHash}. */
export function canonicalManifest(m: ObjectManifest): string {
  return canonical({
    key: m.key,
    kind: m.kind,
    locator: m.locator,
    policy: { file: m.policy.file, pin: m.policy.pin },
    state: m.state,
    pin: m.pin && { id: m.pin.id, ref: m.pin.ref },
    recoverable: m.recoverable,
  });
}

/**
 * Returns a state without its volatile keys: what equality, pin ids and listing names are made of.
 *
 * @example Compare two readings of one version
 * ```ts
 * import { contentState } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const volatile = new Set(["etag"]);
 * assert.deepEqual(contentState({ version: 7, etag: "a" }, volatile), contentState({ version: 7, etag: "b" }, volatile));
 * ```
 */
export function contentState(state: State, volatileKeys: ReadonlySet<string>): State {
  return Object.fromEntries(Object.entries(state).filter(([k]) => !volatileKeys.has(k)));
}

/** Tells whether two states are the same content. */
export function sameContent(
  a: State | null | undefined,
  b: State | null | undefined,
  volatileKeys: ReadonlySet<string>,
): boolean {
  if (!a || !b) return !a && !b;
  return jsonEqual(contentState(a, volatileKeys), contentState(b, volatileKeys));
}

/** Returns a JSON object without its nulls, at every depth: what a TOML table can hold. */
export function withoutNulls(value: JsonObject): JsonObject {
  function clean(v: Json): Json {
    if (Array.isArray(v)) return v.filter((x) => x !== null).map(clean);
    if (v !== null && typeof v === "object" && Object.getPrototypeOf(v) === Object.prototype) {
      return withoutNulls(v as JsonObject);
    }
    return v;
  }
  return Object.fromEntries(
    Object.entries(value).filter(([, v]) => v !== null && v !== undefined).map(([k, v]) => [k, clean(v)]),
  );
}

/** Returns the text a locator is known by: its `uri`, `path` or another telling field. */
export function locatorText(locator: Locator): string {
  for (const name of ["uri", "path", "url", "metadata", "identifier", "table", "project_id", "database", "system"]) {
    const value = locator[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return canonical(locator);
}
