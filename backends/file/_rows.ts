/**
 * The rows of a fingerprint, packed: about 90 bytes a file beside its path, so that a million of them fit (L24).
 *
 * @module
 */

import { compareCodePoints } from "../../engine/model/json.ts";
import type { FileStat } from "./_read.ts";

/** What one path of a folder adds to its fingerprint, or a single file by the path `""`. `hash` is 32 bytes: SHA-256 of a file's content or of a link's target. */
export interface Row extends FileStat {
  readonly path: string;
  readonly link: boolean;
  /** When hashing began, in milliseconds since the epoch; 0 for links and for files not hashed yet. */
  readonly hashedAt: number;
  readonly hash: Uint8Array;
}

const NUMBERS = 6;
const HASH = 32;
const HASHED_AT = 5;

const NO_STAT: FileStat = { size: 0, mtimeMs: 0, ctimeMs: 0, ino: 0, dev: 0 };

/** Rows of an earlier fingerprint, to be read alongside a walk. */
export interface KnownRows {
  /** How many rows there are. */
  readonly count: number;
  /** Digest over all of them, as hex; `undefined` when they are not all of a fingerprint. */
  readonly digest: string | undefined;
  /** Returns the row of a path. Paths must be asked for in code-point order: rows passed by are gone. */
  find(path: string): Row | undefined;
}

/** Rows in the order of their paths: all are added first, and those not known are hashed later. */
export class Rows {
  readonly #paths: string[] = [];
  readonly #links = new Set<number>();
  #numbers = new Float64Array(64 * NUMBERS);
  #hashes = new Uint8Array(64 * HASH);

  /** How many rows there are. */
  get length(): number {
    return this.#paths.length;
  }

  /** Appends a link by the hash of its target. */
  addLink(path: string, hash: Uint8Array): void {
    const index = this.#add(path);
    this.#links.add(index);
    this.setHash(index, NO_STAT, { hash, hashedAt: 0 });
  }

  /** Appends a file whose hash follows by {@link Rows.setHash}. Returns its index. */
  addFile(path: string, stat: FileStat): number {
    const index = this.#add(path);
    this.#setNumbers(index, stat, 0);
    return index;
  }

  /** Sets the stat of a row that has no hash yet. */
  setStat(index: number, stat: FileStat): void {
    this.#setNumbers(index, stat, 0);
  }

  /** Sets what was read of a row. */
  setHash(index: number, stat: FileStat, read: { readonly hash: Uint8Array; readonly hashedAt: number }): void {
    this.#setNumbers(index, stat, read.hashedAt);
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

  /** Returns a row as an object; its hash is a view. */
  at(index: number): Row {
    const n = index * NUMBERS;
    return {
      path: this.#paths[index] ?? "",
      link: this.#links.has(index),
      size: this.#numbers[n] ?? 0,
      mtimeMs: this.#numbers[n + 1] ?? 0,
      ctimeMs: this.#numbers[n + 2] ?? 0,
      ino: this.#numbers[n + 3] ?? 0,
      dev: this.#numbers[n + 4] ?? 0,
      hashedAt: this.#numbers[n + HASHED_AT] ?? 0,
      hash: this.#hashes.subarray(index * HASH, index * HASH + HASH),
    };
  }

  /** Yields every row that has its hash. */
  *[Symbol.iterator](): Generator<Row> {
    for (let i = 0; i < this.length; i++) if (this.#isHashed(i)) yield this.at(i);
  }

  /** How many rows have their hash. */
  countHashed(): number {
    let count = 0;
    for (let i = 0; i < this.length; i++) if (this.#isHashed(i)) count++;
    return count;
  }

  /** Returns these rows as those of an earlier fingerprint. */
  asKnown(digest: string): KnownRows {
    let next = 0;
    return {
      count: this.length,
      digest,
      find: (path) => {
        while (next < this.length && compareCodePoints(this.#paths[next] ?? "", path) < 0) next++;
        return this.#paths[next] === path ? this.at(next) : undefined;
      },
    };
  }

  /** Bytes of all files. */
  totalSize(): number {
    let size = 0;
    for (let i = 0; i < this.length; i++) size += this.sizeAt(i);
    return size;
  }

  #isHashed(index: number): boolean {
    return this.#numbers[index * NUMBERS + HASHED_AT] !== 0 || this.#links.has(index);
  }

  #add(path: string): number {
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

  #setNumbers(index: number, stat: FileStat, hashedAt: number): void {
    const n = index * NUMBERS;
    this.#numbers[n] = stat.size;
    this.#numbers[n + 1] = stat.mtimeMs;
    this.#numbers[n + 2] = stat.ctimeMs;
    this.#numbers[n + 3] = stat.ino;
    this.#numbers[n + 4] = stat.dev;
    this.#numbers[n + HASHED_AT] = hashedAt;
  }
}
