/**
 * Hashes the files of a fingerprint while the walk goes on, side by side when there is much to read (backends §3.1).
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { ConcurrentChangeError } from "../../engine/model/backend_errors.ts";
import { fsError, isNotFound } from "../storage/fs_error.ts";
import {
  DISTRUST_MS,
  type ReadAnswer,
  readFile,
  type Reading,
  readingAt,
  type ReadRequest,
  startReader,
} from "./_read.ts";
import type { Rows } from "./_rows.ts";
import { join, notFound, TreeChanged } from "./_walk.ts";

/** From so many waiting files on, workers pay for their start. */
const MANY_FILES = 512;
/** This thread leaves larger files, in bytes, to workers. */
const SMALL = 1 << 20;
/** What a worker is given at a time, and how often ahead: enough to keep it busy while this thread walks. */
const BATCH_FILES = 64;
const BATCHES_AHEAD = 16;
/** More would fight over one disk. */
const MAX_WORKERS = 7;

/** How long this thread works before it lets others have a turn, in milliseconds. */
export const TURN_MS = 20;

/** Lets timers, messages and other calls have their turn. */
export async function nextTurn(): Promise<void> {
  // Any asynchronous operation does. A timer comes back two milliseconds later, an immediate starves messages.
  await crypto.subtle.digest("SHA-256", NOTHING);
}

const NOTHING = new Uint8Array();

/** Options of {@link Hasher}. */
export interface HasherOptions extends Op {
  /** The tracked path. */
  readonly root: string;
  /** The clock, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Called often; it does something now and then. */
  readonly tell: () => void;
}

/** Rows a worker was given and has not answered for. */
interface Batch {
  readonly indexes: readonly number[];
  readonly hashedAt: number;
}

/** Reads files of {@link Rows} and sets their hashes. Dispose it to end its workers. */
export class Hasher implements Disposable {
  readonly #rows: Rows;
  readonly #options: HasherOptions;
  readonly #waiting = new Queue();
  readonly #large = new Queue();
  readonly #workers = new Map<Worker, Batch[]>();
  #started = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => {};

  constructor(rows: Rows, options: HasherOptions) {
    this.#rows = rows;
    this.#options = options;
  }

  /** Takes a row to hash. */
  add(index: number): void {
    this.#waiting.push(index);
    if (this.#waiting.length >= MANY_FILES && this.#waiting.length % BATCH_FILES === 0) {
      this.#start();
      this.#deal();
    }
  }

  /**
   * Waits until every row taken has its hash.
   *
   * @throws {ConcurrentChangeError} if a file changed during each of three attempts.
   * @throws {TreeChanged} if one vanished or is no file any more.
   */
  async finish(): Promise<void> {
    const { signal } = this.#options;
    const wake = (): void => this.#wake();
    signal?.addEventListener("abort", wake);
    try {
      for (;;) {
        signal?.throwIfAborted();
        if (this.#failure) throw this.#failure.error;
        this.#options.tell();
        this.#deal();
        if (this.#readSome()) await nextTurn();
        else if (this.#isIdle()) return;
        else await new Promise<void>((resume) => this.#wake = resume);
      }
    } finally {
      signal?.removeEventListener("abort", wake);
    }
  }

  [Symbol.dispose](): void {
    for (const worker of this.#workers.keys()) worker.terminate();
    this.#workers.clear();
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    // This thread is the other one.
    const helpers = Math.min(Math.max(navigator.hardwareConcurrency - 1, 1), MAX_WORKERS);
    for (let i = 0; i < helpers; i++) {
      const worker = startReader();
      this.#workers.set(worker, []);
      worker.onmessage = (event: MessageEvent<ReadAnswer>) => this.#receive(worker, event.data);
      worker.onerror = (event) => {
        // It could not start, for want of memory say. What it was given is read by others.
        event.preventDefault();
        for (const { indexes } of this.#workers.get(worker) ?? []) indexes.forEach((i) => this.#waiting.push(i));
        this.#workers.delete(worker);
        this.#wake();
      };
    }
  }

  #isIdle(): boolean {
    return this.#large.length === 0 && [...this.#workers.values()].every((batches) => batches.length === 0);
  }

  #deal(): void {
    for (const [worker, batches] of this.#workers) {
      while (batches.length < BATCHES_AHEAD) {
        // One at a time, so that each finds the first worker to become free.
        const indexes = this.#large.length > 0 ? this.#large.take(1) : this.#waiting.take(BATCH_FILES);
        if (indexes.length === 0) break;
        const hashedAt = this.#options.now();
        batches.push({ indexes, hashedAt });
        const paths = indexes.map((index) => join(this.#options.root, this.#rows.pathAt(index)));
        const request: ReadRequest = { paths, stillSince: hashedAt - DISTRUST_MS };
        worker.postMessage(request);
      }
    }
  }

  #receive(worker: Worker, answer: ReadAnswer): void {
    const batch = this.#workers.get(worker)?.shift();
    batch?.indexes.forEach((index, i) => {
      this.#settle(index, batch.hashedAt, () => readingAt(answer, i) ?? this.#read(index, batch.hashedAt, Infinity));
    });
    this.#deal();
    this.#wake();
  }

  /** Reads files in this thread until its turn is over. Returns whether there was one to read. */
  #readSome(): boolean {
    const turnEnds = performance.now() + TURN_MS;
    let hashedAt = 0;
    for (let read = 0;; read++) {
      if (this.#failure || (read % 16 === 0 && performance.now() > turnEnds)) return true;
      // The clock costs as much as a read.
      if (read % 16 === 0) hashedAt = this.#options.now();
      const alone = this.#started && this.#workers.size === 0;
      const index = this.#waiting.shift() ?? (alone ? this.#large.shift() : undefined);
      if (index === undefined) return read > 0;
      this.#settle(index, hashedAt, () => this.#read(index, hashedAt, alone ? Infinity : SMALL));
    }
  }

  #settle(index: number, hashedAt: number, read: () => Reading): void {
    try {
      const reading = read();
      switch (reading.type) {
        case "read":
          return this.#rows.setHash(index, reading.stat, { hash: reading.hash, hashedAt });
        case "large":
          this.#start();
          return this.#large.push(index);
        case "unstable":
          throw unstable(join(this.#options.root, this.#rows.pathAt(index)));
        case "other":
          throw new TreeChanged(this.#rows.pathAt(index));
      }
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  #read(index: number, hashedAt: number, limit: number): Reading {
    const path = this.#rows.pathAt(index);
    const full = join(this.#options.root, path);
    try {
      return readFile(full, { limit, stillSince: hashedAt - DISTRUST_MS });
    } catch (error) {
      if (isNotFound(error)) throw notFound(this.#options.root, path);
      throw fsError(error, { kind: "file", action: "read", path: full });
    }
  }
}

/** Numbers, first in first out. */
class Queue {
  readonly #items: number[] = [];
  #next = 0;

  get length(): number {
    return this.#items.length - this.#next;
  }

  push(item: number): void {
    this.#items.push(item);
  }

  shift(): number | undefined {
    return this.#next < this.#items.length ? this.#items[this.#next++] : undefined;
  }

  take(count: number): number[] {
    const taken = this.#items.slice(this.#next, this.#next + count);
    this.#next += taken.length;
    return taken;
  }
}

function unstable(path: string): ConcurrentChangeError {
  return new ConcurrentChangeError(`Cannot read "${path}": it changed each time it was read`, {
    kind: "file",
    hints: ["Run the command again when nothing writes to it"],
    details: { path },
  });
}
