/**
 * Hashes the files of a fingerprint while the walk goes on, side by side when there is much to read (backends §3.1).
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { ConcurrentChangeError } from "../../engine/model/errors.ts";
import { fsError, isNotFound } from "../storage/fs_error.ts";
import {
  contentAt,
  type FileContent,
  type ReadAnswer,
  readContent,
  type ReadRequest,
  sameStat,
  startReader,
} from "./_read.ts";
import type { Row, Rows } from "./_rows.ts";
import { join, notFound, TreeChanged } from "./_walk.ts";

const ATTEMPTS = 3;
/** From so many waiting files or bytes on, workers pay for their start. */
const MANY_FILES = 256;
const MANY_BYTES = 32 << 20;
/** Bounds of what a worker is given at a time: enough to keep it busy while this thread walks. */
const BATCH_FILES = 512;
const BATCH_BYTES = 16 << 20;
const BATCHES_AHEAD = 2;
/** More would fight over one disk. */
const MAX_WORKERS = 7;
/** This thread reads larger files only when no worker can. In bytes. */
const SMALL = 1 << 20;

/** How long this thread works before it lets others have a turn, in milliseconds. */
export const TURN_MS = 40;

/** Lets timers, messages and other calls have their turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resume) => setTimeout(resume, 0));
}

/** Options of {@link Hasher}. */
export interface HasherOptions extends Op {
  /** The tracked path. */
  readonly root: string;
  /** The clock, in milliseconds since the epoch. */
  readonly now: () => number;
}

interface Batch {
  readonly indexes: readonly number[];
  readonly hashedAt: number;
}

/** Reads files of {@link Rows} and sets their hashes. Dispose it to end its workers. */
export class Hasher implements Disposable {
  readonly #rows: Rows;
  readonly #options: HasherOptions;
  readonly #waiting: number[] = [];
  /** Position in `#waiting` of the next row. */
  #next = 0;
  /** What each worker was given and has not answered, in order. */
  readonly #workers = new Map<Worker, Batch[]>();
  readonly #attempts = new Map<number, number>();
  #waitingBytes = 0;
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
    this.#waitingBytes += this.#rows.sizeAt(index);
    if (!this.#started && (this.#waiting.length >= MANY_FILES || this.#waitingBytes >= MANY_BYTES)) this.#start();
    if (this.#waiting.length % BATCH_FILES === 0) this.#deal();
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
    this.#started = true;
    // This thread is the other one.
    const helpers = Math.min(Math.max(navigator.hardwareConcurrency - 1, 1), MAX_WORKERS);
    for (let i = 0; i < helpers; i++) {
      const worker = startReader();
      this.#workers.set(worker, []);
      worker.onmessage = (event: MessageEvent<ReadAnswer>) => this.#receive(worker, event.data);
      worker.onerror = (event) => {
        // It could not start, for want of memory say. What it was given is read by the others.
        event.preventDefault();
        this.#waiting.push(...(this.#workers.get(worker) ?? []).flatMap((batch) => batch.indexes));
        this.#workers.delete(worker);
        this.#wake();
      };
    }
  }

  #isIdle(): boolean {
    return [...this.#workers.values()].every((batches) => batches.length === 0);
  }

  #deal(): void {
    for (const [worker, batches] of this.#workers) {
      while (batches.length < BATCHES_AHEAD && this.#next < this.#waiting.length) {
        const indexes = this.#takeBatch();
        batches.push({ indexes, hashedAt: this.#options.now() });
        const request: ReadRequest = {
          paths: indexes.map((index) => join(this.#options.root, this.#rows.pathAt(index))),
          sizes: indexes.map((index) => this.#rows.sizeAt(index)),
        };
        worker.postMessage(request);
      }
    }
  }

  #takeBatch(): number[] {
    const indexes: number[] = [];
    for (let bytes = 0; indexes.length < BATCH_FILES && bytes < BATCH_BYTES;) {
      const index = this.#waiting[this.#next];
      if (index === undefined) break;
      this.#next++;
      indexes.push(index);
      bytes += this.#rows.sizeAt(index);
    }
    return indexes;
  }

  #receive(worker: Worker, answer: ReadAnswer): void {
    const batch = this.#workers.get(worker)?.shift();
    batch?.indexes.forEach((index, i) => this.#settle(index, batch.hashedAt, contentAt(answer, i)));
    this.#deal();
    this.#wake();
  }

  /** Reads files here until the turn is over. Returns whether there was one to read. */
  #readSome(): boolean {
    const turnEnds = performance.now() + TURN_MS;
    const before = this.#next;
    while (performance.now() < turnEnds) {
      const hashedAt = this.#options.now();
      for (let i = 0; i < 16; i++) {
        const index = this.#waiting[this.#next];
        if (index === undefined || (this.#workers.size > 0 && this.#rows.sizeAt(index) > SMALL)) {
          return this.#next > before;
        }
        this.#next++;
        this.#settle(index, hashedAt);
      }
    }
    return true;
  }

  /** Sets the hash of a row, or has it read again. Without content it is read here. */
  #settle(index: number, hashedAt: number, content?: FileContent): void {
    const row = this.#rows.at(index);
    try {
      const { hash, size, after } = content ?? this.#readHere(row);
      if (!after) throw new TreeChanged(row.path);
      if (size === after.size && sameStat(row, after)) {
        this.#rows.setHash(index, after, { hash, hashedAt });
        return;
      }
      this.#rows.setStat(index, after);
      const attempts = (this.#attempts.get(index) ?? 0) + 1;
      if (attempts === ATTEMPTS) throw unstable(join(this.#options.root, row.path));
      this.#attempts.set(index, attempts);
      this.#waiting.push(index);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  #readHere({ path, size }: Row): FileContent {
    const full = join(this.#options.root, path);
    try {
      return readContent(full, size);
    } catch (error) {
      if (isNotFound(error)) throw notFound(this.#options.root, path);
      if (error instanceof Deno.errors.IsADirectory) throw new TreeChanged(path);
      throw fsError(error, { kind: "file", action: "read", path: full });
    }
  }
}

function unstable(path: string): ConcurrentChangeError {
  return new ConcurrentChangeError(`Cannot read "${path}": it changed each of the ${ATTEMPTS} times it was read`, {
    kind: "file",
    hints: ["Run the command again when nothing writes to it"],
    details: { path },
  });
}
