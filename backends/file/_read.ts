/**
 * Reads a file and hashes what was read (backends §3.1, L21, L25). The same functions run in this thread and, as text, in the
 * workers that read a large folder: so neither a file of their own nor a permission is needed to load them. They refer to
 * nothing outside themselves but globals and their arguments.
 *
 * @module
 */

import { createHash, hash } from "node:crypto";

/** What tells that a file is probably the one that was hashed (backends §3.1). Times in the resolution the runtime has. */
export interface FileStat {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  readonly dev: number;
}

/** What became of reading a file. */
export type Reading =
  /** Its stat was the same before and after; `hash` is the SHA-256 of its bytes. */
  | { readonly type: "read"; readonly stat: FileStat; readonly hash: Uint8Array }
  /** It changed during each attempt. */
  | { readonly type: "unstable" }
  /** It is larger than the caller wants to wait for; nothing was read. */
  | { readonly type: "large" }
  /** It is no regular file. */
  | { readonly type: "other" };

/** Returns what is compared of a stat; `undefined` for anything but a regular file. */
export function fileStat(info: Deno.FileInfo): FileStat | undefined {
  if (!info.isFile) return undefined;
  return {
    size: info.size,
    mtimeMs: info.mtime ? info.mtime.getTime() : 0,
    ctimeMs: info.ctime ? info.ctime.getTime() : 0,
    ino: info.ino || 0,
    dev: info.dev,
  };
}

/** Tells whether two stats are equal in all that they tell. */
export function sameStat(a: FileStat, b: FileStat): boolean {
  return a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs && a.ino === b.ino && a.dev === b.dev;
}

/**
 * A file that was read sooner after its last change may change again within one step of its file system's clock (L21). In
 * milliseconds; the runtime gives change times in whole seconds.
 */
export const DISTRUST_MS = 3000;

/** How to read a file. */
export interface ReadOptions {
  /** A file of more bytes is left to others. */
  readonly limit: number;
  /** Before reading began, by {@link DISTRUST_MS} and in milliseconds since the epoch. */
  readonly stillSince: number;
}

/** What {@link fileReader} is made of. */
interface ReaderParts {
  readonly createHash: typeof createHash;
  readonly hash: typeof hash;
  readonly fileStat: typeof fileStat;
  readonly sameStat: typeof sameStat;
}

/** Returns a function that reads one file in pieces of one MiB, without giving up the thread. */
function fileReader(
  { createHash, hash, fileStat, sameStat }: ReaderParts,
): (path: string, options: ReadOptions) => Reading {
  const attempts = 3;
  const piece = new Uint8Array(1 << 20);

  function sha256(file: Deno.FsFile, expected: number): { readonly hex: string; readonly size: number } {
    let n = file.readSync(piece) ?? 0;
    // Whether the file goes on is told by its stat afterwards.
    if (n === expected) return { hex: hash("sha256", piece.subarray(0, n), "hex"), size: n };
    const hasher = createHash("sha256");
    let size = 0;
    while (n > 0) {
      hasher.update(piece.subarray(0, n));
      size += n;
      n = file.readSync(piece) ?? 0;
    }
    return { hex: hasher.digest("hex"), size };
  }

  function readOnce(path: string, { limit, stillSince }: ReadOptions): Reading {
    const file = Deno.openSync(path);
    try {
      const n = file.readSync(piece) ?? 0;
      const before = fileStat(file.statSync());
      if (!before) return { type: "other" };
      // Nothing changed it since long before it was opened: its stat was this one then too.
      if (n === before.size && before.mtimeMs < stillSince && before.ctimeMs < stillSince) {
        return { type: "read", stat: before, hash: Uint8Array.fromHex(hash("sha256", piece.subarray(0, n), "hex")) };
      }
      if (before.size > limit) return { type: "large" };
      file.seekSync(0, Deno.SeekMode.Start);
      const { hex, size } = sha256(file, before.size);
      const stat = fileStat(file.statSync());
      if (!stat || size !== stat.size || !sameStat(before, stat)) return { type: "unstable" };
      return { type: "read", stat, hash: Uint8Array.fromHex(hex) };
    } finally {
      file.close();
    }
  }

  return function read(path: string, options: ReadOptions): Reading {
    let reading = readOnce(path, options);
    for (let i = 1; i < attempts && reading.type === "unstable"; i++) reading = readOnce(path, options);
    return reading;
  };
}

/** Reads one file; throws the runtime's errors. */
export const readFile: (path: string, options: ReadOptions) => Reading = fileReader({
  createHash,
  hash,
  fileStat,
  sameStat,
});

/** What a worker is asked to read. */
export interface ReadRequest {
  /** Absolute. */
  readonly paths: readonly string[];
  /** As in {@link ReadOptions}. */
  readonly stillSince: number;
}

/** What a worker answers: for each path in order five numbers and 32 bytes. */
export interface ReadAnswer {
  /** The stat; the size is {@link UNSTABLE} for a file that kept changing, {@link UNREAD} for one that cannot be read. */
  readonly numbers: Float64Array;
  readonly hashes: Uint8Array;
}

const UNREAD = -1;
const UNSTABLE = -2;

const WORKER = `
import { createHash, hash } from "node:crypto";
${fileStat}
${sameStat}
const read = (${fileReader})({ createHash, hash, fileStat, sameStat });
function tryRead(path, stillSince) {
  try {
    return read(path, { limit: Infinity, stillSince });
  } catch {
    return { type: "failed" }; // Read again in the main thread, which reports why it cannot be.
  }
}
globalThis.onmessage = ({ data: { paths, stillSince } }) => {
  const numbers = new Float64Array(paths.length * 5);
  const hashes = new Uint8Array(paths.length * 32);
  for (let i = 0; i < paths.length; i++) {
    const { type, stat, hash } = tryRead(paths[i], stillSince);
    if (type !== "read") {
      numbers[i * 5] = type === "unstable" ? ${UNSTABLE} : ${UNREAD};
      continue;
    }
    numbers[i * 5] = stat.size;
    numbers[i * 5 + 1] = stat.mtimeMs;
    numbers[i * 5 + 2] = stat.ctimeMs;
    numbers[i * 5 + 3] = stat.ino;
    numbers[i * 5 + 4] = stat.dev;
    hashes.set(hash, i * 32);
  }
  postMessage({ numbers, hashes }, [numbers.buffer, hashes.buffer]);
};
`;

// Not a blob, which a compiled executable does not find.
const WORKER_URL = `data:text/javascript,${encodeURIComponent(WORKER)}`;

/** Starts a worker that answers each {@link ReadRequest} by one {@link ReadAnswer}, with this thread's permissions. */
export function startReader(): Worker {
  return new Worker(WORKER_URL, { type: "module", name: "tether file reader" });
}

/** Returns one file of a worker's answer; `undefined` when it could not be read. */
export function readingAt({ numbers, hashes }: ReadAnswer, index: number): Reading | undefined {
  const n = index * 5;
  const size = numbers[n] ?? UNREAD;
  if (size === UNSTABLE) return { type: "unstable" };
  if (size === UNREAD) return undefined;
  const [mtimeMs = 0, ctimeMs = 0, ino = 0, dev = 0] = [numbers[n + 1], numbers[n + 2], numbers[n + 3], numbers[n + 4]];
  return {
    type: "read",
    stat: { size, mtimeMs, ctimeMs, ino, dev },
    hash: hashes.subarray(index * 32, index * 32 + 32),
  };
}
