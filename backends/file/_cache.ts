/**
 * What was hashed before, one file a tracked path below `.tether/cache/file-hashes/`: rows in the order of the walk, so that
 * a fingerprint reads them alongside it and holds none of them (L24). Losing it costs speed only.
 *
 * Format, all little-endian: the magic, then a count and a 16-byte digest (zero when the rows are not all of a fingerprint),
 * then for each row the length of its path (the highest bit marks a link), six doubles, a 32-byte hash, and the path.
 *
 * @module
 */

import { sha256 } from "../../engine/model/hash.ts";
import { compareCodePoints } from "../../engine/model/json.ts";
import type { KnownRows, Row } from "./_rows.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const MAGIC = encoder.encode("tether hashes 1\n");
const HEADER = MAGIC.length + 8 + 16;
const FIXED = 4 + 6 * 8 + 32;
const LINK = 0x8000_0000;
const BLOCK = 1 << 18;
/** Longer than any path a system takes; more is a damaged file. */
const MAX_PATH = 1 << 16;

/** Returns the cache file of a tracked path. */
export function cachePath(cacheDir: string, root: string): string {
  return `${cacheDir}/file-hashes/${sha256(root).slice(0, 32)}.bin`;
}

/** Reads the rows of a cache file one after another. */
export class CacheReader implements KnownRows, Disposable {
  readonly count: number;
  readonly digest: string | undefined;
  readonly #file: Deno.FsFile;
  #block: Uint8Array<ArrayBuffer> = new Uint8Array(BLOCK);
  #start = 0;
  #end = 0;
  #current: Row | undefined;

  /** Opens a cache file; `undefined` when there is none that can be read. */
  static open(path: string): CacheReader | undefined {
    let file: Deno.FsFile | undefined;
    try {
      file = Deno.openSync(path, { read: true });
      const reader = new CacheReader(file);
      if (reader.count >= 0) return reader;
    } catch {
      // Not there, not readable or damaged: everything is hashed again.
    }
    file?.close();
    return undefined;
  }

  private constructor(file: Deno.FsFile) {
    this.#file = file;
    const header = this.#take(HEADER);
    if (!header || MAGIC.some((b, i) => header[i] !== b)) {
      this.count = -1;
      return;
    }
    this.count = view(header).getFloat64(MAGIC.length, true);
    const digest = header.subarray(MAGIC.length + 8).toHex();
    this.digest = /[^0]/.test(digest) ? digest : undefined;
    this.#current = this.#next();
  }

  find(path: string): Row | undefined {
    let row = this.#current;
    while (row && compareCodePoints(row.path, path) < 0) row = this.#next();
    this.#current = row;
    return row?.path === path ? row : undefined;
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }

  #next(): Row | undefined {
    const fixed = this.#take(FIXED);
    if (!fixed) return undefined;
    const numbers = view(fixed);
    const length = numbers.getUint32(0, true);
    const hash = fixed.slice(FIXED - 32);
    const row = {
      link: (length & LINK) !== 0,
      size: numbers.getFloat64(4, true),
      mtimeMs: numbers.getFloat64(12, true),
      ctimeMs: numbers.getFloat64(20, true),
      ino: numbers.getFloat64(28, true),
      dev: numbers.getFloat64(36, true),
      hashedAt: numbers.getFloat64(44, true),
      hash,
    };
    const path = this.#take(length & ~LINK);
    return path && { ...row, path: decoder.decode(path) };
  }

  /** Returns the next bytes, as a view that the next call may overwrite; `undefined` at the end. */
  #take(length: number): Uint8Array<ArrayBuffer> | undefined {
    if (length > MAX_PATH) return undefined;
    while (this.#end - this.#start < length) {
      this.#block.copyWithin(0, this.#start, this.#end);
      this.#end -= this.#start;
      this.#start = 0;
      const n = this.#file.readSync(this.#block.subarray(this.#end));
      if (n === null || n === 0) return undefined;
      this.#end += n;
    }
    this.#start += length;
    return this.#block.subarray(this.#start - length, this.#start);
  }
}

/**
 * Writes a cache file by atomic replace. A failure is ignored: the next fingerprint hashes again (L26).
 *
 * @param rows in code-point order of their paths.
 */
export function writeCache(
  path: string,
  rows: Iterable<Row>,
  header: { count: number; digest?: string | undefined },
): void {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    using file = Deno.openSync(temporary, { write: true, createNew: true });
    const writer = new CacheWriter(file, header);
    for (const row of rows) writer.write(row);
    writer.flush();
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

class CacheWriter {
  readonly #file: Deno.FsFile;
  readonly #block = new Uint8Array(BLOCK + FIXED + MAX_PATH);
  readonly #view = view(this.#block);
  #used = HEADER;

  constructor(file: Deno.FsFile, header: { count: number; digest?: string | undefined }) {
    this.#file = file;
    this.#block.set(MAGIC);
    this.#view.setFloat64(MAGIC.length, header.count, true);
    if (header.digest !== undefined) this.#block.subarray(MAGIC.length + 8).setFromHex(header.digest);
  }

  write(row: Row): void {
    const at = this.#used;
    const { written } = encoder.encodeInto(row.path, this.#block.subarray(at + FIXED));
    this.#view.setUint32(at, row.link ? written | LINK : written, true);
    this.#view.setFloat64(at + 4, row.size, true);
    this.#view.setFloat64(at + 12, row.mtimeMs, true);
    this.#view.setFloat64(at + 20, row.ctimeMs, true);
    this.#view.setFloat64(at + 28, row.ino, true);
    this.#view.setFloat64(at + 36, row.dev, true);
    this.#view.setFloat64(at + 44, row.hashedAt, true);
    this.#block.set(row.hash, at + FIXED - 32);
    this.#used = at + FIXED + written;
    if (this.#used >= BLOCK) this.flush();
  }

  flush(): void {
    for (let from = 0; from < this.#used;) from += this.#file.writeSync(this.#block.subarray(from, this.#used));
    this.#used = 0;
  }
}

function view(bytes: Uint8Array<ArrayBuffer>): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
