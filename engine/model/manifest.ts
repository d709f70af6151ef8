/**
 * The object manifest: what a dataset commit says of one object (formats §6).
 *
 * @module
 */

import { canonical, framedHash } from "./hash.ts";
import { compareCodePoints, type Json, jsonEqual, type JsonObject } from "./json.ts";

/** An object's address, as the backend of its kind reads it. */
export type Locator = JsonObject;
/** An object's state, as the backend of its kind made it. */
export type State = JsonObject;

/** A durable native ref that keeps a state alive. */
export interface Pin {
  /** `<dataset>.<16 hex>`. */
  readonly id: string;
  /** The native ref, such as `tether.<id>`. */
  readonly ref: string;
  /** Whether this call made the ref. Set by a backend's `pin`; never stored. */
  readonly created?: boolean;
}

/** What tether may do with an object. */
export interface Policy {
  /** `immutable` makes any change of an Observed object an error. */
  readonly file: "immutable" | "versioned";
  /** `record` stores states without making native refs. */
  readonly pin: "native" | "record";
}

/** The policy of an object that names none. */
export const DEFAULT_POLICY: Policy = { file: "immutable", pin: "native" };

/** One object of a dataset. Unknown fields of the file are not part of it; the file keeps them. */
export interface ObjectManifest {
  readonly key: string;
  /** The backend kind; it may be one this tether does not know. */
  readonly kind: string;
  readonly locator: Locator;
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

/** Returns a state without its volatile keys: what equality, pin ids and listing names are made of. */
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
