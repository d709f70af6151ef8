/**
 * Where a dataset keeps what (formats §1).
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { ConfigError } from "../model/errors.ts";
import { isInside } from "../io/paths.ts";
import { shellQuote } from "../io/shell.ts";
import { isReadOnly, isTemporary, readText, removeIfThere, writeAtomic } from "./atomic.ts";

/** Absolute paths of a dataset's files. */
export interface DatasetPaths {
  readonly root: string;
  /** Folder of the manifests. */
  readonly objects: string;
  /** Folder of the content listings. */
  readonly listings: string;
  readonly workspace: string;
  readonly journal: string;
  readonly secrets: string;
  /** Folder of what can be rebuilt. */
  readonly cache: string;
  /** The checkout lock. */
  readonly lock: string;
  /** Who holds the checkout lock. */
  readonly lockHint: string;
  readonly config: string;
  readonly gitignore: string;
  readonly gitattributes: string;
}

/** Per-checkout files that a VCS must never track, relative to the dataset root (formats §1, L40). */
export const UNTRACKED_FILES: readonly string[] = [
  ".tether/secrets.toml",
  ".tether/workspace.toml",
  ".tether/ops.jsonl",
];

/** Lines of `.tether/.gitignore`, in order. */
const IGNORED = ["/workspace.toml", "/ops.jsonl", "/cache", "/lock", "/secrets.toml"];

/** Returns the paths of the dataset at a root. */
export function datasetPaths(root: string): DatasetPaths {
  const folder = join(root, ".tether");
  return {
    root,
    objects: join(folder, "objects"),
    listings: join(folder, "listings"),
    workspace: join(folder, "workspace.toml"),
    journal: join(folder, "ops.jsonl"),
    secrets: join(folder, "secrets.toml"),
    cache: join(folder, "cache"),
    lock: join(folder, "lock"),
    lockHint: join(folder, "cache", "lock.json"),
    config: join(root, "tether.toml"),
    gitignore: join(folder, ".gitignore"),
    gitattributes: join(folder, ".gitattributes"),
  };
}

/** Returns the nearest folder at or above `start`, symbolic links resolved, that holds a `tether.toml`. */
export async function findRoot(start: string): Promise<string | undefined> {
  let folder = await Deno.realPath(start);
  while (true) {
    try {
      if ((await Deno.stat(join(folder, "tether.toml"))).isFile) return folder;
    } catch {
      // Absent, or a folder that cannot be looked into: the dataset is not here.
    }
    const parent = dirname(folder);
    if (parent === folder) return undefined;
    folder = parent;
  }
}

/**
 * Makes a folder of the dataset, and its parents.
 *
 * @throws {ConfigError} if a symbolic link leads it out of the dataset (L40).
 */
export async function makeFolder(root: string, folder: string): Promise<void> {
  const inside = await nearestExisting(folder);
  if (!isInside(inside, await Deno.realPath(root))) {
    throw new ConfigError(`Cannot write below "${folder}": a symbolic link leads out of the dataset`, {
      code: "outside",
      hints: ["Put a folder of its own in the link's place"],
    });
  }
  await Deno.mkdir(folder, { recursive: true });
}

/**
 * Refuses a dataset whose own folders or files are symbolic links: a clone could aim them at anything, and what is appended
 * to a link is written elsewhere (L40). A linked `cache` is merely not used; `secrets.toml` is only read, and a user may
 * keep it elsewhere.
 *
 * @throws {ConfigError} naming the link.
 */
export async function refuseLinks(paths: DatasetPaths): Promise<void> {
  const { objects, listings, lock, journal, workspace, config } = paths;
  for (const path of [dirname(objects), objects, listings, lock, journal, workspace, config]) {
    let link: boolean;
    try {
      link = (await Deno.lstat(path)).isSymlink;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) continue;
      throw error;
    }
    if (!link) continue;
    throw new ConfigError(`Cannot use the dataset: "${path}" is a symbolic link`, {
      code: "outside",
      hints: ["Put a folder or file of its own in the link's place: a link may lead out of the repository"],
    });
  }
}

async function nearestExisting(folder: string): Promise<string> {
  try {
    return await Deno.realPath(folder);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound) || dirname(folder) === folder) throw error;
    return await nearestExisting(dirname(folder));
  }
}

/**
 * Returns the cache folder, or one checkout's own inside it, made when missing; `undefined` when it cannot be written or is a
 * link, which costs speed only. What is read back goes into a checkout's own: a clone cannot bring one, for the id that
 * names it is made at random on this side (L40).
 */
export async function usableCache(paths: DatasetPaths, workspaceId?: string): Promise<string | undefined> {
  try {
    await Deno.mkdir(paths.cache, { recursive: true });
    if (!(await Deno.lstat(paths.cache)).isDirectory) return undefined;
    if (workspaceId === undefined) return paths.cache;
    const own = join(paths.cache, workspaceId);
    await Deno.mkdir(own, { recursive: true });
    return own;
  } catch (error) {
    if (isReadOnly(error) || error instanceof Deno.errors.AlreadyExists) return undefined;
    throw error;
  }
}

/**
 * Adds the missing lines to `.tether/.gitignore` (formats §1). `"create"` is for `init` and `upgrade`; `"complete"` is for
 * every other command: it leaves a missing file missing, and a tree that cannot be written alone. Returns whether
 * something was written.
 */
export async function ensureGitignore(root: string, mode: "create" | "complete"): Promise<boolean> {
  return await ensureLines(root, datasetPaths(root).gitignore, IGNORED, mode);
}

/** Adds `* -text` to `.tether/.gitattributes`, so that no checkout converts line ends (L15). Modes as for ignoring. */
export async function ensureGitattributes(root: string, mode: "create" | "complete"): Promise<boolean> {
  return await ensureLines(root, datasetPaths(root).gitattributes, ["* -text"], mode);
}

/** Returns the shell command that adds what `.tether/.gitignore` lacks; `undefined` if it lacks nothing. */
export async function ignoreCommand(root: string): Promise<string | undefined> {
  const path = datasetPaths(root).gitignore;
  const text = await readLines(path);
  const missing = missingLines(text, IGNORED);
  if (missing.length === 0) return undefined;
  // An empty line ends a last one that has no end.
  return `printf '%s\\n' ${text === undefined ? "" : "'' "}${missing.join(" ")} >> ${shellQuote(path)}`;
}

async function ensureLines(
  root: string,
  path: string,
  lines: readonly string[],
  mode: "create" | "complete",
): Promise<boolean> {
  const text = await readLines(path);
  if (text === undefined && mode === "complete") return false;
  const missing = missingLines(text, lines);
  if (missing.length === 0) return false;
  const kept = text === undefined || text === "" || text.endsWith("\n") ? text ?? "" : text + "\n";
  try {
    await writeAtomic(path, kept + missing.join("\n") + "\n", { tempDir: datasetPaths(root).cache });
  } catch (error) {
    if (mode === "complete" && isReadOnly(error)) return false;
    throw error;
  }
  return true;
}

function readLines(path: string): Promise<string | undefined> {
  return readText(path, { name: path, maxBytes: 1024 * 1024, noFollow: true });
}

function missingLines(text: string | undefined, lines: readonly string[]): string[] {
  const present = new Set((text ?? "").split(/\r?\n/).map((line) => line.trimEnd()));
  return lines.filter((line) => !present.has(line));
}

/** What {@link sweepTemporary} looks at. */
export interface Sweep {
  /** The folder that all checkouts share, with its lock held. */
  readonly shared?: string;
  /** Temporary files where only a process with the checkout lock writes. */
  readonly leftovers: readonly string[];
}

/** A file younger than this may belong to a process that lives: caches, and the claim of `workspace.toml`, take no lock. */
const LEFT_MS = 3_600_000;

/**
 * Removes temporary files that a killed process left below `.tether/` and beside the shared indexes (formats §17). Call it with
 * the checkout lock held. What cannot be removed stays.
 */
export async function sweepTemporary(paths: DatasetPaths, now: Date, sweep: Sweep): Promise<void> {
  await removeAll(sweep.leftovers);
  await removeAll(await temporaryIn(paths.listings));
  const old = [...await temporaryIn(dirname(paths.workspace)), ...await temporaryIn(paths.cache)];
  const indexes = sweep.shared === undefined ? [] : await temporaryIn(sweep.shared);
  // Beside those of git or jj, only names of tether's.
  for (const path of [...old, ...indexes.filter((p) => basename(p).startsWith(".tether-"))]) {
    try {
      const { mtime } = await Deno.lstat(path);
      if (mtime && now.getTime() - mtime.getTime() > LEFT_MS) await removeIfThere(path);
    } catch {
      // Gone, or not ours to remove.
    }
  }
}

/** Returns the temporary files in a folder; none where it is not there, a link, or cannot be read. */
async function temporaryIn(folder: string): Promise<string[]> {
  try {
    if (!(await Deno.lstat(folder)).isDirectory) return [];
    const entries = await Array.fromAsync(Deno.readDir(folder));
    return entries.filter((e) => e.isFile && isTemporary(e.name)).map((e) => join(folder, e.name));
  } catch {
    return [];
  }
}

async function removeAll(files: readonly string[]): Promise<void> {
  for (const file of files) await removeIfThere(file).catch(() => {});
}
