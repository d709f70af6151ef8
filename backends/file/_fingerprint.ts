/**
 * The state of a file or folder by its content (backends §3.1).
 *
 * @module
 */

import type { Op, State } from "../backend.ts";
import { BackendError, ConcurrentChangeError } from "../../engine/model/backend_errors.ts";
import { sha256 } from "../../engine/model/hash.ts";
import { fsError, isNotFound } from "../storage/fs_error.ts";
import { cachePath, CacheReader, writeCache } from "./_cache.ts";
import { Hasher, nextTurn, TURN_MS } from "./_hasher.ts";
import { digestRows } from "./_listing.ts";
import { DISTRUST_MS, type FileStat, fileStat, sameStat } from "./_read.ts";
import { type KnownRows, type Row, Rows } from "./_rows.ts";
import { type Found, join, notFound, OWNER_MARKER, TreeChanged, walkFolder } from "./_walk.ts";

/** Options of {@link fingerprintPath}. */
export interface FingerprintOptions extends Op {
  /** Rows of a fingerprint made by this process before. */
  readonly known?: KnownRows | undefined;
  /** Where hashes are kept between processes; without it everything not `known` is hashed. */
  readonly cacheDir?: string | undefined;
  /** The clock, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Takes a sentence about what the fingerprint leaves out. */
  readonly warn?: ((text: string) => void) | undefined;
}

/** How often a long read says how far it is, in milliseconds. */
const TELL_MS = 100;

/** What is read faster than a cache of it is written. */
const SMALL_BYTES = 1024 * 1024;

/** A state and what it is made of: one row for a file. */
export interface Fingerprint {
  readonly state: State;
  readonly rows: Rows;
  /** Over all rows, as hex. */
  readonly digest: string;
}

/**
 * Reads a file or folder. Files whose stat did not change since they were hashed are not opened. Needs read permission for
 * the path, and write permission for the cache.
 *
 * @param root absolute, with its links resolved.
 * @throws {StoreNotFoundError} if nothing is there.
 * @throws {PermissionDeniedError} if one entry cannot be read: a fingerprint is of everything or does not exist.
 * @throws {ConcurrentChangeError} if it kept changing while it was read.
 */
export async function fingerprintPath(root: string, options: FingerprintOptions): Promise<Fingerprint> {
  for (let attempt = 1;; attempt++) {
    options.signal?.throwIfAborted();
    try {
      const isFolder = statRoot(root).isDirectory;
      const special: string[] = [];
      const entries = isFolder ? walkFolder(root, (path) => special.push(path)) : [{ path: "", link: false }];
      const { rows, digest } = await readRows(root, entries, options);
      if (special.length > 0) options.warn?.(leftOut(root, special));
      if (isFolder) return { state: { type: "dir", count: rows.length, size: rows.totalSize(), digest }, rows, digest };
      const [file] = rows.lines();
      return { state: { type: "file", size: file?.size ?? 0, sha256: file?.token ?? "" }, rows, digest };
    } catch (error) {
      if (!(error instanceof TreeChanged)) throw error;
      if (attempt === 1) continue;
      throw new ConcurrentChangeError(`Cannot read "${root}": "${error.path}" changed while it was read`, {
        kind: "file",
        hints: ["Run the command again when nothing writes to it"],
        details: { path: join(root, error.path) },
      });
    }
  }
}

/** Nothing is silent: what has no content to record is named. */
function leftOut(root: string, paths: readonly string[]): string {
  const shown = paths.slice(0, 3).map((path) => `"${path}"`).join(", ");
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : "";
  return `Not recorded of "${root}": ${shown}${more}, neither files, folders nor links`;
}

function statRoot(root: string): Deno.FileInfo {
  let info: Deno.FileInfo;
  try {
    info = Deno.statSync(root);
  } catch (error) {
    throw fsError(error, { kind: "file", action: "read", path: root });
  }
  if (info.isDirectory || info.isFile) return info;
  throw new BackendError(`Cannot read "${root}": it is neither a file nor a folder`, { kind: "file" });
}

async function readRows(
  root: string,
  entries: Iterable<Found>,
  options: FingerprintOptions,
): Promise<{ readonly rows: Rows; readonly digest: string }> {
  const path = options.cacheDir === undefined ? undefined : cachePath(options.cacheDir, root);
  const rows = new Rows();
  let walked = false;
  let told = options.now();
  const tell = (): void => {
    if (!options.onParts || options.now() - told < TELL_MS) return;
    told = options.now();
    options.onParts({ done: rows.hashed, ...(walked ? { total: rows.length } : {}), unit: "files" });
  };
  using hasher = new Hasher(rows, { root, ...options, tell });
  const unchanged = await collect(root, entries, { rows, hasher, path, ...options, tell });
  if (unchanged !== undefined) return { rows, digest: unchanged };
  walked = true;
  let digest: string | undefined;
  try {
    await hasher.finish();
    digest = await digestRows(rows);
    return { rows, digest };
  } finally {
    // What was hashed before a failure or an abort is kept too: the next call goes on from there.
    // One small file is read again in less time than its cache takes to write.
    if (path !== undefined && (rows.length > 1 || rows.totalSize() >= SMALL_BYTES)) writeCache(path, rows, digest);
  }
}

/** Fills the rows. Returns their digest if they are exactly those known before. */
async function collect(
  root: string,
  entries: Iterable<Found>,
  options: FingerprintOptions & {
    readonly rows: Rows;
    readonly hasher: Hasher;
    readonly path: string | undefined;
    readonly tell: () => void;
  },
): Promise<string | undefined> {
  const { rows, hasher, tell } = options;
  using cache = options.known || options.path === undefined ? undefined : CacheReader.open(options.path);
  const source = options.known ?? cache;
  let changed = 0;
  let turnEnds = performance.now() + TURN_MS;
  let count = 0;
  for (const entry of entries) {
    if (!addEntry(root, entry, { rows, hasher, known: source?.find(entry.path) })) changed++;
    // Reading the clock costs as much as a fifth of a stat.
    if (++count % 64 === 0 && performance.now() > turnEnds) {
      await nextTurn();
      tell();
      options.signal?.throwIfAborted();
      turnEnds = performance.now() + TURN_MS;
    }
  }
  return changed === 0 && source?.count === rows.length ? source.digest : undefined;
}

/** Adds the row of an entry, or has it hashed. Returns whether it is exactly as known before. */
function addEntry(
  root: string,
  entry: Found,
  { rows, hasher, known }: { readonly rows: Rows; readonly hasher: Hasher; readonly known: Row | undefined },
): boolean {
  if (!known && !entry.link && entry.path !== OWNER_MARKER) {
    // Reading it tells its stat too.
    hasher.add(rows.addFile(entry.path));
    return false;
  }
  const stat = statEntry(root, entry);
  if (!stat) {
    const hash = linkHash(root, entry.path);
    rows.addLink(entry.path, hash);
    return known?.link === true && known.hash.toHex() === hash.toHex();
  }
  if (entry.path === OWNER_MARKER) return true;
  const index = rows.addFile(entry.path);
  if (known && isTrusted(known, stat)) {
    rows.setHash(index, stat, known);
    return true;
  }
  hasher.add(index);
  return false;
}

/** Returns the stat of what counts as a file; `undefined` for a link to anything else or to nothing. */
function statEntry(root: string, entry: Found): FileStat | undefined {
  const full = join(root, entry.path);
  let stat: FileStat | undefined;
  try {
    stat = fileStat(Deno.statSync(full));
  } catch (error) {
    if (!entry.link && isNotFound(error)) throw notFound(root, entry.path);
    const leadsNowhere = isNotFound(error) || error instanceof Deno.errors.FilesystemLoop;
    if (!entry.link || !leadsNowhere) throw fsError(error, { kind: "file", action: "read", path: full });
  }
  if (!stat && !entry.link) throw new TreeChanged(entry.path);
  return stat;
}

function linkHash(root: string, path: string): Uint8Array {
  const full = join(root, path);
  try {
    return Uint8Array.fromHex(sha256(Deno.readLinkSync(full)));
  } catch (error) {
    // Also reached by a target that is not UTF-8, whose bytes the runtime does not give.
    throw isNotFound(error) ? notFound(root, path) : fsError(error, { kind: "file", action: "read link", path: full });
  }
}

function isTrusted(known: Row, stat: FileStat): boolean {
  return !known.link && sameStat(known.stat, stat) &&
    known.hashedAt - Math.max(stat.mtimeMs, stat.ctimeMs) >= DISTRUST_MS;
}
