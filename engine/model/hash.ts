/**
 * The hashes of `formats` §2: canonical JSON, framed BLAKE2b, and the ids and digests made of them.
 *
 * @module
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { createHash } from "node:crypto";
import { type Json, type JsonObject, writeJson } from "./json.ts";

const encoder = new TextEncoder();

/** Returns canonical JSON: keys sorted by code point, no spaces, minimal escapes, integers in full (formats §2.1). */
export function canonical(value: Json): string {
  return writeJson(value, { sortKeys: true });
}

/** Returns lower-case hex. */
export function hex(bytes: Uint8Array): string {
  return bytes.toHex();
}

/**
 * Returns the framed BLAKE2b of some parts as hex: each part is preceded by its length in bytes as 8 bytes big-endian,
 * and `size` is the digest length parameter, not a truncation (formats §2.2).
 */
export function framedHash(parts: readonly string[], size: number): string {
  const hasher = blake2b.create({ dkLen: size });
  for (const part of parts) {
    const bytes = encoder.encode(part);
    const frame = new Uint8Array(8);
    new DataView(frame.buffer).setBigUint64(0, BigInt(bytes.length));
    hasher.update(frame).update(bytes);
  }
  return hex(hasher.digest());
}

/** Returns the SHA-256 of a text (as UTF-8) or of bytes, as 64 hex digits. */
export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Returns the 16-byte framed hash of one value, 32 hex digits: identity hash and state hash (formats §2.3). */
export function valueHash(value: Json): string {
  return framedHash([canonical(value)], 16);
}

/**
 * What names one state of one store: the inputs of a pin id and of a listing name.
 *
 * @example Address a state of a folder
 * ```ts
 * import { listingName, type StateAddress } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const address: StateAddress = {
 *   kind: "file",
 *   identity: { uri: "/data/plate1" },
 *   content: { type: "dir", count: 2, size: 5, digest: "00" },
 * };
 * assert.equal(listingName(address), "25fbfcb5b27fd730731f.jsonl");
 * ```
 */
export interface StateAddress {
  /** The backend kind, such as `icechunk`. */
  readonly kind: string;
  /** The backend's identity of the locator. */
  readonly identity: JsonObject;
  /** The state without its volatile keys. */
  readonly content: JsonObject;
}

function addressHash(address: StateAddress): string {
  return framedHash([canonical(address.kind), canonical(address.identity), canonical(address.content)], 16);
}

/**
 * Returns the pin id `<dataset>.<16 hex>` of a state (formats §2.3).
 *
 * @example Find the pin of a version, as any tether computes it
 * ```ts
 * import { computePinId } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const id = computePinId("0a1b2c3d", {
 *   kind: "lance",
 *   identity: { uri: "s3://bucket/features.lance" },
 *   content: { branch: "main", version: 7 },
 * });
 * assert.equal(id, "0a1b2c3d.c9d52233a70a6142");
 * ```
 */
export function computePinId(datasetId: string, address: StateAddress): string {
  return `${datasetId}.${addressHash(address).slice(0, 16)}`;
}

/**
 * Returns the listing's file name `<20 hex>.jsonl` of a state (formats §2.3, §7).
 *
 * @example Find the stored listing of a folder's state
 * ```ts
 * import { listingName } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const content = { type: "dir", count: 2, size: 5, digest: "00" };
 * assert.equal(
 *   listingName({ kind: "file", identity: { uri: "/data/plate1" }, content }),
 *   "25fbfcb5b27fd730731f.jsonl",
 * );
 * ```
 */
export function listingName(address: StateAddress): string {
  return `${addressHash(address).slice(0, 20)}.jsonl`;
}

/** Returns the history digest: 16 hex of the SHA-256 over sorted ids joined by newlines (formats §2.3). */
export function historyDigest(ids: Iterable<string>): string {
  return sha256([...ids].sort().join("\n")).slice(0, 16);
}
