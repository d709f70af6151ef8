/**
 * The digest and the listing of a folder's rows (formats §2.3, §7).
 *
 * @module
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { parseJson, writeJson } from "../../engine/model/json.ts";
import type { RowLine, Rows } from "./_rows.ts";

const encoder = new TextEncoder();
const DIGEST_BYTES = 16;
/** From so many rows on, loading the fast implementation of BLAKE2b pays. */
const MANY_ROWS = 4096;
const PLAIN = /^[ !#-[\]-~]*$/;

/** A path and what stands for its content. */
export interface PathToken {
  readonly path: string;
  readonly token: string;
}

/**
 * Returns the digest over paths and tokens, which must be in code-point order of the paths: 32 hex digits.
 *
 * @param options `count` is about how many there are.
 */
export async function digestOf(entries: Iterable<PathToken>, options: { readonly count: number }): Promise<string> {
  const hasher = await newHasher(options.count);
  let text = "";
  for (const { path, token } of entries) {
    text += `${path}\0${token}\0`;
    if (text.length > 1 << 15) {
      hasher.update(encoder.encode(text));
      text = "";
    }
  }
  hasher.update(encoder.encode(text));
  return hasher.digest();
}

/** Returns the digest of a folder's rows. */
export async function digestRows(rows: Rows): Promise<string> {
  return await digestOf(rows.lines(), { count: rows.length });
}

/** Returns the listing of a folder's rows: one line of ASCII JSON each. */
export function listingText(rows: Rows): string {
  const parts: string[] = [];
  let part = "";
  for (const { path, token, size } of rows.lines()) {
    const quoted = PLAIN.test(path) ? `"${path}"` : writeJson(path, { ascii: true });
    part += `{"p":${quoted},"k":"${token}","s":${size}}\n`;
    if (part.length > 1 << 16) {
      parts.push(part);
      part = "";
    }
  }
  return parts.join("") + part;
}

/**
 * Yields the lines of a stored listing.
 *
 * @throws {SyntaxError} if it is no listing.
 */
export function* listingLines(text: string): Generator<RowLine> {
  for (let start = 0; start < text.length;) {
    const end = text.indexOf("\n", start);
    const line = text.slice(start, end < 0 ? undefined : end);
    start = end < 0 ? text.length : end + 1;
    if (line === "") continue;
    const row = parseJson(line);
    const { p, k, s } = row !== null && typeof row === "object" && !Array.isArray(row)
      ? row as Record<string, unknown>
      : {};
    if (typeof p !== "string" || typeof k !== "string" || typeof s !== "number") {
      throw new SyntaxError("a line of the listing is not a row");
    }
    yield { path: p, token: k, size: s };
  }
}

interface Blake2b {
  update(bytes: Uint8Array): void;
  digest(): string;
}

async function newHasher(count: number): Promise<Blake2b> {
  if (count < MANY_ROWS) {
    const hasher = blake2b.create({ dkLen: DIGEST_BYTES });
    return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest().toHex() };
  }
  const { createBLAKE2b } = await import("hash-wasm");
  const hasher = await createBLAKE2b(DIGEST_BYTES * 8);
  return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest() };
}
