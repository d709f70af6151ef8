/**
 * What the worktrees of a repository hold that no ref of all of them names, and that git does not list with the others.
 *
 * @module
 */

import { dirname, join, resolve } from "node:path";
import type { Checkout } from "./adapter.ts";
import { exists, type GitFolders } from "./_git_refs.ts";
import { checkId } from "./object_reader.ts";

/** Folders of refs that each worktree has of its own (gitrepository-layout, git-worktree "refs"). They are never packed. */
const OWN_REFS = ["refs/bisect", "refs/rewritten", "refs/worktree"];

/** A worktree that git still keeps although its folder is not where it was: moved, on a disk that is away, or deleted. */
export interface LostWorktree {
  /** Where its folder was. */
  readonly root: string;
  /** What git keeps of it: its HEAD and its index. */
  readonly gitDir: string;
}

/** Returns the worktrees whose folder is not there. A locked one is no such: it counts like any other. */
export async function lostWorktrees(folders: GitFolders): Promise<LostWorktree[]> {
  const lost: LostWorktree[] = [];
  for (const { gitDir, file } of await linked(folders)) {
    if (await exists(join(gitDir, "locked")) || file !== undefined && await exists(file)) continue;
    lost.push({ root: file === undefined ? gitDir : dirname(file), gitDir });
  }
  return lost;
}

/** Returns the git folders of some checkouts, by their roots; that of one whose folder is not there is left out. */
export async function gitDirsOf(folders: GitFolders, checkouts: readonly Checkout[]): Promise<Map<string, string>> {
  const main = checkouts.filter((c) => c.main).map(({ root }): [string, string] => [root, folders.commonDir]);
  const found = new Map([...main, [folders.root, folders.gitDir]]);
  if (checkouts.every(({ root }) => found.has(root))) return found;
  for (const { gitDir, file } of await linked(folders)) {
    if (file !== undefined && await exists(file)) found.set(await Deno.realPath(dirname(file)), gitDir);
  }
  return found;
}

/** Returns the git folder of every linked worktree, and where it says that its `.git` lies (gitrepository-layout). */
async function linked(folders: GitFolders): Promise<{ readonly gitDir: string; readonly file: string | undefined }[]> {
  const gitDirs = await pathsIn(join(folders.commonDir, "worktrees"));
  return await Promise.all(gitDirs.map(async (gitDir) => {
    const link = (await textOrEmpty(join(gitDir, "gitdir"))).replace(/\n$/, "");
    return { gitDir, file: link === "" ? undefined : resolve(gitDir, link) };
  }));
}

/**
 * Returns the commits that refs of one worktree only name, and those that merges in progress are about to make parents, in
 * every worktree; and where the HEAD of a lost one is, when it is detached.
 */
export async function heldByWorktrees(folders: GitFolders): Promise<string[]> {
  const gitDirs = [folders.commonDir, ...await pathsIn(join(folders.commonDir, "worktrees"))];
  const files = await Promise.all(gitDirs.map(async (dir) => {
    const refs = await Promise.all(OWN_REFS.map((name) => filesBelow(join(dir, name))));
    return [join(dir, "MERGE_HEAD"), ...refs.flat()];
  }));
  const heads = (await lostWorktrees(folders)).map(({ gitDir }) => join(gitDir, "HEAD"));
  const texts = await Promise.all([...files.flat(), ...heads].map(textOrEmpty));
  // A symbolic ref names another one, which is read where it is.
  return texts.flatMap((text) => text.split("\n")).filter((id) => id !== "" && !id.startsWith("ref:")).map(checkId);
}

/** Returns the paths in a folder; none when it is not there. */
async function pathsIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder))).map((entry) => join(folder, entry.name));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

async function filesBelow(folder: string): Promise<string[]> {
  const paths = await pathsIn(folder);
  const found = await Promise.all(paths.map(async (path) => {
    if ((await Deno.stat(path)).isDirectory) return await filesBelow(path);
    // What git is about to rename into place is no ref yet.
    return path.endsWith(".lock") ? [] : [path];
  }));
  return found.flat();
}

async function textOrEmpty(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
