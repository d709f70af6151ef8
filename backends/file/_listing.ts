/**
 * The digest and the listing of a folder's rows (formats §2.3, §7).
 *
 * @module
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { parseJson, writeJson } from "../../engine/model/json.ts";
import type { Row, Rows } from "./_rows.ts";

const encoder = new TextEncoder();
const DIGEST_BYTES = 16;
/** From so many rows on, loading the fast implementation of BLAKE2b pays. */
const MANY_ROWS = 4096;
const PLAIN = /^[ !#-[\]-~]*$/;

/** Returns the digest of a folder's rows, which must be in code-point order of their paths: 32 hex digits. */
export async function digestRows(rows: Rows): Promise<string> {
  const hasher = await newHasher(rows.length);
  const block = new Uint8Array(1 << 16);
  let used = 0;
  function append(text: string): void {
    // A UTF-16 unit takes three bytes at most, the zero after the text one more.
    const most = text.length * 3 + 1;
    if (used + most > block.length) {
      hasher.update(block.subarray(0, used));
      used = 0;
    }
    if (most > block.length) {
      hasher.update(encoder.encode(text + "\0"));
      return;
    }
    used += encoder.encodeInto(text, block.subarray(used)).written;
    block[used++] = 0;
  }
  for (const row of rows) {
    append(row.path);
    append(tokenOf(row));
  }
  hasher.update(block.subarray(0, used));
  return hasher.digest();
}

/** Returns the listing of a folder's rows: one line of ASCII JSON each. */
export function listingText(rows: Iterable<Row>): string {
  const parts: string[] = [];
  let part = "";
  for (const row of rows) {
    const path = PLAIN.test(row.path) ? `"${row.path}"` : writeJson(row.path, { ascii: true });
    part += `{"p":${path},"k":"${tokenOf(row)}","s":${row.size}}\n`;
    if (part.length > 1 << 16) {
      parts.push(part);
      part = "";
    }
  }
  return parts.join("") + part;
}

/** One line of a listing. */
export interface ListingLine {
  readonly path: string;
  readonly token: string;
  readonly size: number;
}

/**
 * Yields the lines of a stored listing.
 *
 * @throws {SyntaxError} if it is no listing.
 */
export function* listingLines(text: string): Generator<ListingLine> {
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

function tokenOf(row: Row): string {
  const hex = row.hash.toHex();
  return row.link ? "symlink:" + hex : hex;
}

interface Blake2b {
  update(bytes: Uint8Array): void;
  digest(): string;
}

async function newHasher(rows: number): Promise<Blake2b> {
  if (rows < MANY_ROWS) {
    const hasher = blake2b.create({ dkLen: DIGEST_BYTES });
    return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest().toHex() };
  }
  const { createBLAKE2b } = await import("hash-wasm");
  const hasher = await createBLAKE2b(DIGEST_BYTES * 8);
  return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest() };
}
