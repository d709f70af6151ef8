/**
 * git's refs as the files they are kept in (gitrepository-layout): which there are, and whether any changed. No child is needed.
 *
 * @module
 */

import { join, relative } from "node:path";
import { mapLimit } from "../engine/io/pool.ts";

/** Folders of refs that each worktree has of its own (gitrepository-layout, git-worktree "refs"). They are never packed. */
export const OWN_REFS: readonly string[] = ["refs/bisect", "refs/rewritten", "refs/worktree"];

/** Where git keeps refs. */
interface Places {
  /** Git folder of this checkout. */
  readonly gitDir: string;
  /** Git folder that all checkouts share. */
  readonly commonDir: string;
}

/**
 * Returns the full names of the refs that this checkout has, in no order; `undefined` where they are not kept in files.
 * Which object a name stands for, and whether it is a ref at all, is for git to say.
 */
export async function refNames({ gitDir, commonDir }: Places): Promise<string[] | undefined> {
  if (!await keepsFiles(commonDir)) return undefined;
  // Loose ones first: git packs a ref before it removes the file.
  const shared = await looseNames(commonDir);
  const loose = gitDir === commonDir
    ? shared
    : [...shared.filter((name) => !isOwn(name)), ...(await looseNames(gitDir)).filter(isOwn)];
  const packed = await textOrEmpty(join(commonDir, "packed-refs"));
  return [...new Set([...loose, ...[...packed.matchAll(/^[0-9a-f]+ (.+)$/gm)].map(([, name = ""]) => name)])];
}

/** Files besides refs that decide which commits git calls reachable: in each checkout's folder, and in the shared one. */
const OF_EACH = ["HEAD", "MERGE_HEAD", "gitdir"];
const OF_ALL = ["packed-refs", "shallow", "info/grafts"];

/**
 * Returns a text that is the same as long as nothing changed that decides which commits git calls reachable, whatever
 * checkout it is of; `undefined` where refs are not kept in files.
 */
export async function stampOfRefs({ commonDir }: Pick<Places, "commonDir">): Promise<string | undefined> {
  if (!await keepsFiles(commonDir)) return undefined;
  const gitDirs = [commonDir, ...await pathsIn(join(commonDir, "worktrees"))];
  const files = await Promise.all(gitDirs.map(async (dir) => [
    ...OF_EACH.map((name) => join(dir, name)),
    ...await filesBelow(join(dir, "refs")),
  ]));
  const all = [...OF_ALL.map((name) => join(commonDir, name)), ...files.flat()].sort();
  return (await mapLimit(all, FILES_AT_ONCE, stampOf)).join("\n");
}

/** A repository may have very many loose refs. */
const FILES_AT_ONCE = 64;

/** The file a ref is in is replaced on each change, so a ref that went and came back shows too. */
async function stampOf(path: string): Promise<string> {
  const text = await textOrEmpty(path);
  if (text === "") return `${path} absent`;
  const info = await Deno.stat(path).catch(() => undefined);
  return JSON.stringify([path, text, info?.ino, info?.mtime?.getTime()]);
}

/** Other formats have their folder beside, and a file where the branches would be (gitformat-reftable). */
async function keepsFiles(commonDir: string): Promise<boolean> {
  return await isFolder(join(commonDir, "refs", "heads"));
}

/** git takes no file for a ref that is hidden or a lock. */
async function looseNames(gitDir: string): Promise<string[]> {
  const names = (await filesBelow(join(gitDir, "refs"))).map((path) => relative(gitDir, path));
  return names.filter((name) => !/(^|\/)\./.test(name));
}

function isOwn(name: string): boolean {
  return OWN_REFS.some((folder) => name.startsWith(`${folder}/`));
}

/** Returns the paths in a folder; none when it is not there. */
export async function pathsIn(folder: string): Promise<string[]> {
  return (await entriesIn(folder)).map((entry) => join(folder, entry.name));
}

/** Returns the files at any depth in a folder, without those that git is about to rename into place. */
export async function filesBelow(folder: string): Promise<string[]> {
  const found = await Promise.all((await entriesIn(folder)).map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory || (entry.isSymlink && await isFolder(path))) return await filesBelow(path);
    return path.endsWith(".lock") ? [] : [path];
  }));
  return found.flat();
}

async function entriesIn(folder: string): Promise<Deno.DirEntry[]> {
  try {
    return await Array.fromAsync(Deno.readDir(folder));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return await Deno.stat(path).then((info) => info.isDirectory, () => false);
}

/** Returns a file's text; what is absent, a folder, or below a file has none. */
export async function textOrEmpty(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    const { NotFound, NotADirectory, IsADirectory } = Deno.errors;
    if ([NotFound, NotADirectory, IsADirectory].some((kind) => error instanceof kind)) return "";
    throw error;
  }
}
