/**
 * What was hashed before: one file a tracked path, below `.tether/cache/file-hashes/`. Rows are in the order of the walk, so
 * that a fingerprint reads them alongside it and holds one part of them at a time (L24). Losing it costs speed only.
 *
 * Format, all little-endian: the magic, the number of rows as a double and a 16-byte digest (zero when not every row has its
 * hash); then parts: how many rows and how many bytes of paths (two 32-bit integers), the numbers of each row as doubles,
 * their hashes, and their paths with a zero between each two.
 *
 * @module
 */

import { sha256 } from "../../engine/model/hash.ts";
import { HASH, type KnownRows, NUMBERS, type Row, rowOf, type Rows, type RowsPart, seek } from "./_rows.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const MAGIC = encoder.encode("tether hashes 1\n");
const COUNT_AT = MAGIC.length;
const DIGEST_AT = COUNT_AT + 8;
const HEADER = DIGEST_AT + 16;
const PART_ROWS = 4096;
/** More than a part ever has; beyond it the file is damaged. */
const MAX_PATH_BYTES = PART_ROWS << 14;

/** Returns the cache file of a tracked path. */
export function cachePath(cacheDir: string, root: string): string {
  return `${cacheDir}/file-hashes/${sha256(root).slice(0, 32)}.bin`;
}

/** Reads the rows of a cache file one after another. */
export class CacheReader implements KnownRows, Disposable {
  readonly count: number;
  readonly digest: string | undefined;
  readonly #file: Deno.FsFile;
  #part: RowsPart | undefined;
  #next = 0;

  /** Opens a cache file; `undefined` when there is none that can be read. */
  static open(path: string): CacheReader | undefined {
    let file: Deno.FsFile | undefined;
    try {
      file = Deno.openSync(path, { read: true });
      const header = readExactly(file, HEADER);
      if (header && MAGIC.every((byte, i) => header[i] === byte)) return new CacheReader(file, header);
    } catch {
      // Not there, not readable or damaged: everything is hashed again.
    }
    file?.close();
    return undefined;
  }

  private constructor(file: Deno.FsFile, header: Uint8Array<ArrayBuffer>) {
    this.#file = file;
    this.count = new DataView(header.buffer).getFloat64(COUNT_AT, true);
    const digest = header.subarray(DIGEST_AT).toHex();
    this.digest = /[^0]/.test(digest) ? digest : undefined;
    this.#part = readPart(file);
  }

  find(path: string): Row | undefined {
    while (this.#part) {
      this.#next = seek(this.#part.paths, this.#next, path);
      const found = this.#part.paths[this.#next];
      if (found !== undefined) return found === path ? rowOf(this.#part, this.#next) : undefined;
      this.#part = readPart(this.#file);
      this.#next = 0;
    }
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}

/**
 * Writes a cache file by atomic replace, with the digest when every row has its hash. A failure is ignored: the next
 * fingerprint hashes again (L26).
 */
export function writeCache(path: string, rows: Rows, digest: string | undefined): void {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    using file = Deno.openSync(temporary, { write: true, createNew: true });
    const header = new Uint8Array(HEADER);
    header.set(MAGIC);
    new DataView(header.buffer).setFloat64(COUNT_AT, rows.length, true);
    if (digest !== undefined) header.subarray(DIGEST_AT).setFromHex(digest);
    writeAll(file, header);
    for (let i = 0; i < rows.length; i += PART_ROWS) {
      writePart(file, rows.part(i, Math.min(i + PART_ROWS, rows.length)));
    }
    file.syncSync();
    Deno.renameSync(temporary, path);
  } catch {
    try {
      Deno.removeSync(temporary);
    } catch {
      // Never made, or the folder cannot be written at all.
    }
  }
}

function writePart(file: Deno.FsFile, { paths, numbers, hashes }: RowsPart): void {
  const text = encoder.encode(paths.join("\0"));
  writeAll(file, new Uint8Array(Uint32Array.of(paths.length, text.length).buffer));
  writeAll(file, new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
  writeAll(file, hashes);
  writeAll(file, text);
}

/** Returns the next part; `undefined` at the end of the file and where it is damaged. */
function readPart(file: Deno.FsFile): RowsPart | undefined {
  const sizes = readExactly(file, 8);
  if (!sizes) return undefined;
  const [rows = 0, pathBytes = 0] = new Uint32Array(sizes.buffer);
  if (rows > PART_ROWS || pathBytes > MAX_PATH_BYTES) return undefined;
  const numbers = readExactly(file, rows * NUMBERS * 8);
  const hashes = readExactly(file, rows * HASH);
  const text = readExactly(file, pathBytes);
  if (!numbers || !hashes || !text) return undefined;
  const paths = decoder.decode(text).split("\0");
  return paths.length === rows ? { paths, numbers: new Float64Array(numbers.buffer), hashes } : undefined;
}

function readExactly(file: Deno.FsFile, length: number): Uint8Array<ArrayBuffer> | undefined {
  const bytes = new Uint8Array(length);
  for (let filled = 0; filled < length;) {
    const n = file.readSync(bytes.subarray(filled));
    if (n === null) return undefined;
    filled += n;
  }
  return bytes;
}

function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += file.writeSync(bytes.subarray(written));
}
