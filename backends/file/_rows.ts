/**
 * The rows of a fingerprint, packed: about 80 bytes a file beside its path, so that a million of them fit (L24).
 *
 * @module
 */

import { compareCodePoints } from "../../engine/model/json.ts";
import type { FileStat } from "./_read.ts";

/** What one path of a folder adds to its fingerprint, or a single file by the path `""`. */
export interface Row {
  readonly path: string;
  /** Whether it is a link that is recorded by its target. */
  readonly link: boolean;
  /** The file's stat; zeros for a link. */
  readonly stat: FileStat;
  /** When hashing began, in milliseconds since the epoch; less than 1 for links and for files not hashed yet. */
  readonly hashedAt: number;
  /** SHA-256, 32 bytes: of a file's content or of a link's target. */
  readonly hash: Uint8Array;
}

/** What a listing says of a row. */
export interface RowLine {
  readonly path: string;
  readonly token: string;
  /** In bytes. */
  readonly size: number;
}

/** Rows of an earlier fingerprint, to be read alongside a walk. */
export interface KnownRows {
  /** How many rows there are. */
  readonly count: number;
  /** Digest over all of them, as hex; `undefined` when they are not all of a fingerprint. */
  readonly digest: string | undefined;
  /** Returns the row of a path. Paths must be asked for in code-point order: rows passed by are gone. */
  find(path: string): Row | undefined;
}

/** How many numbers a row has: those of its stat, and when it was hashed. */
export const NUMBERS = 6;
/** Bytes of a hash. */
export const HASH = 32;
const HASHED_AT = 5;
const IS_LINK = -1;

/** As many hashes become one text. */
const LINES_AT_ONCE = 1024;

const NO_STAT: FileStat = { size: 0, mtimeMs: 0, ctimeMs: 0, ino: 0, dev: 0 };

/** Rows in the order of their paths: all are added first, and those not known are hashed later. */
export class Rows {
  readonly #paths: string[] = [];
  #numbers = new Float64Array(64 * NUMBERS);
  #hashes = new Uint8Array(64 * HASH);
  #hashed = 0;

  /** How many rows have their hash. */
  get hashed(): number {
    return this.#hashed;
  }

  /** How many rows there are. */
  get length(): number {
    return this.#paths.length;
  }

  /** Appends a link by the hash of its target. */
  addLink(path: string, hash: Uint8Array): void {
    this.setHash(this.addFile(path), NO_STAT, { hash, hashedAt: IS_LINK });
  }

  /** Appends a file; its stat and hash follow by {@link Rows.setHash}. Returns its index. */
  addFile(path: string): number {
    const index = this.#paths.push(path) - 1;
    if ((index + 1) * HASH > this.#hashes.length) {
      const [numbers, hashes] = [this.#numbers, this.#hashes];
      this.#numbers = new Float64Array(numbers.length * 2);
      this.#numbers.set(numbers);
      this.#hashes = new Uint8Array(hashes.length * 2);
      this.#hashes.set(hashes);
    }
    return index;
  }

  /** Sets what was read of a row. */
  setHash(index: number, stat: FileStat, read: { readonly hash: Uint8Array; readonly hashedAt: number }): void {
    this.#hashed++;
    const n = index * NUMBERS;
    this.#numbers[n] = stat.size;
    this.#numbers[n + 1] = stat.mtimeMs;
    this.#numbers[n + 2] = stat.ctimeMs;
    this.#numbers[n + 3] = stat.ino;
    this.#numbers[n + 4] = stat.dev;
    this.#numbers[n + HASHED_AT] = read.hashedAt;
    this.#hashes.set(read.hash, index * HASH);
  }

  /** Returns the path of a row. */
  pathAt(index: number): string {
    return this.#paths[index] ?? "";
  }

  /** Returns the size of a row in bytes. */
  sizeAt(index: number): number {
    return this.#numbers[index * NUMBERS] ?? 0;
  }

  /** Yields what a listing says of each row. The token is the hash as hex, marked when it is a link. */
  *lines(): Generator<RowLine> {
    for (let start = 0; start < this.length; start += LINES_AT_ONCE) {
      const end = Math.min(start + LINES_AT_ONCE, this.length);
      const hex = this.#hashes.subarray(start * HASH, end * HASH).toHex();
      for (let i = start; i < end; i++) {
        const hash = hex.slice((i - start) * HASH * 2, (i - start + 1) * HASH * 2);
        const link = this.#numbers[i * NUMBERS + HASHED_AT] === IS_LINK;
        yield { path: this.pathAt(i), token: link ? `symlink:${hash}` : hash, size: this.sizeAt(i) };
      }
    }
  }

  /** Bytes of all files. */
  totalSize(): number {
    let size = 0;
    for (let i = 0; i < this.length; i++) size += this.sizeAt(i);
    return size;
  }

  /** Returns some rows as they are held. */
  part(start: number, end: number): RowsPart {
    return {
      paths: this.#paths.slice(start, end),
      numbers: this.#numbers.subarray(start * NUMBERS, end * NUMBERS),
      hashes: this.#hashes.subarray(start * HASH, end * HASH),
    };
  }

  /** Returns these rows as those of an earlier fingerprint. */
  asKnown(digest: string): KnownRows {
    const all: RowsPart = { paths: this.#paths, numbers: this.#numbers, hashes: this.#hashes };
    let next = 0;
    return {
      count: this.length,
      digest,
      find: (path) => {
        next = seek(all.paths, next, path);
        return all.paths[next] === path ? rowOf(all, next) : undefined;
      },
    };
  }
}

/** Rows in three columns. */
export interface RowsPart {
  readonly paths: readonly string[];
  /** {@link NUMBERS} for each row. */
  readonly numbers: Float64Array<ArrayBuffer>;
  /** {@link HASH} bytes for each row. */
  readonly hashes: Uint8Array<ArrayBuffer>;
}

/** Returns the first position from `start` on whose path is not before `path`. */
export function seek(paths: readonly string[], start: number, path: string): number {
  let at = start;
  for (let other = paths[at]; other !== undefined && compareCodePoints(other, path) < 0; other = paths[at]) at++;
  return at;
}

/** Returns a row as an object; its hash is a view. */
export function rowOf({ paths, numbers, hashes }: RowsPart, index: number): Row {
  const n = index * NUMBERS;
  const hashedAt = numbers[n + HASHED_AT] ?? 0;
  return {
    path: paths[index] ?? "",
    link: hashedAt === IS_LINK,
    stat: {
      size: numbers[n] ?? 0,
      mtimeMs: numbers[n + 1] ?? 0,
      ctimeMs: numbers[n + 2] ?? 0,
      ino: numbers[n + 3] ?? 0,
      dev: numbers[n + 4] ?? 0,
    },
    hashedAt,
    hash: hashes.subarray(index * HASH, index * HASH + HASH),
  };
}
