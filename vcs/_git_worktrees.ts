/**
 * What the worktrees of a repository hold that no ref of all of them names, and that git does not list with the others.
 *
 * @module
 */

import { join } from "node:path";
import type { GitFolders } from "./_git_refs.ts";
import { checkId } from "./object_reader.ts";

/** Folders of refs that each worktree has of its own (gitrepository-layout, git-worktree "refs"). They are never packed. */
const OWN_REFS = ["refs/bisect", "refs/rewritten", "refs/worktree"];

/**
 * Returns the commits that refs of one worktree only name, and those that merges in progress are about to make parents, in
 * every worktree.
 */
export async function heldByWorktrees(folders: GitFolders): Promise<string[]> {
  const gitDirs = [folders.commonDir, ...await pathsIn(join(folders.commonDir, "worktrees"))];
  const files = await Promise.all(gitDirs.map(async (dir) => {
    const refs = await Promise.all(OWN_REFS.map((name) => filesBelow(join(dir, name))));
    return [join(dir, "MERGE_HEAD"), ...refs.flat()];
  }));
  const texts = await Promise.all(files.flat().map(textOrEmpty));
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
