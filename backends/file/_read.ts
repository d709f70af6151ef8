/**
 * Reads a file and hashes what was read (backends §3.1, L25). The same functions run in this thread and, as text, in the
 * workers that read a large folder: so neither a file of their own nor a permission is needed to load them.
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

/** What one reading of a file gave. */
export interface FileContent {
  /** SHA-256 of the bytes read. */
  readonly hash: Uint8Array;
  /** How many bytes were read. */
  readonly size: number;
  /** The file's stat after it was read; `undefined` for anything but a regular file. */
  readonly after: FileStat | undefined;
}

/** Returns what is compared of a stat; `undefined` for anything but a regular file. Refers to nothing outside itself. */
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

/** Hashing functions of `node:crypto`. */
interface Hashing {
  readonly createHash: typeof createHash;
  readonly hash: typeof hash;
}

/**
 * Returns a function that reads one file, in pieces of one MiB and without giving up the thread. It refers to nothing outside
 * itself.
 */
function contentReader(
  { createHash, hash }: Hashing,
  toStat: typeof fileStat,
): (path: string, size: number) => FileContent {
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

  return function read(path: string, expected: number): FileContent {
    const file = Deno.openSync(path);
    try {
      const { hex, size } = sha256(file, expected);
      return { hash: Uint8Array.fromHex(hex), size, after: toStat(file.statSync()) };
    } finally {
      file.close();
    }
  };
}

/** Reads one file that is expected to have a size; throws the runtime's errors. */
export const readContent: (path: string, size: number) => FileContent = contentReader({ createHash, hash }, fileStat);

/** What a worker is asked to read: absolute paths and the sizes they are expected to have. */
export interface ReadRequest {
  readonly paths: readonly string[];
  readonly sizes: readonly number[];
}

/** What a worker answers: for each path in order six numbers and 32 bytes. */
export interface ReadAnswer {
  /** Bytes read, then the stat; all -1 for a path that could not be read. */
  readonly numbers: Float64Array;
  readonly hashes: Uint8Array;
}

const WORKER = `
import { createHash, hash } from "node:crypto";
${fileStat}
const read = (${contentReader})({ createHash, hash }, fileStat);
globalThis.onmessage = ({ data: { paths, sizes } }) => {
  const numbers = new Float64Array(paths.length * 6).fill(-1);
  const hashes = new Uint8Array(paths.length * 32);
  paths.forEach((path, i) => {
    try {
      const { hash, size, after: s } = read(path, sizes[i]);
      if (!s) return;
      hashes.set(hash, i * 32);
      numbers.set([size, s.size, s.mtimeMs, s.ctimeMs, s.ino, s.dev], i * 6);
    } catch {
      // Read again in the main thread, which reports why it cannot be.
    }
  });
  postMessage({ numbers, hashes }, [numbers.buffer, hashes.buffer]);
};
`;

let workerUrl: string | undefined;

/** Starts a worker that answers each {@link ReadRequest} by one {@link ReadAnswer}, with this thread's permissions. */
export function startReader(): Worker {
  workerUrl ??= URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
  return new Worker(workerUrl, { type: "module", name: "tether file reader" });
}

/** Returns one file of a worker's answer; `undefined` when it could not be read. */
export function contentAt(answer: ReadAnswer, index: number): FileContent | undefined {
  const [bytes = -1, size = 0, mtimeMs = 0, ctimeMs = 0, ino = 0, dev = 0] = answer.numbers.slice(
    index * 6,
    index * 6 + 6,
  );
  if (bytes < 0) return undefined;
  const hash = answer.hashes.subarray(index * 32, index * 32 + 32);
  return { hash, size: bytes, after: { size, mtimeMs, ctimeMs, ino, dev } };
}
