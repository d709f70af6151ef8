/**
 * Which files git tracks (formats §1, L40). A clone must not get its files taken for this checkout's own by a detour, so a
 * file counts as tracked too when a link or a repository inside the repository leads to it.
 *
 * @module
 */

import { dirname, join, relative } from "node:path";
import { isInside } from "../engine/io/paths.ts";
import { VcsError } from "../engine/model/errors.ts";
import type { GitObjectReader } from "./object_reader.ts";

/** An entry of the index has one of these: 0, or those of a conflict's sides. */
const STAGES = [0, 1, 2, 3];

/**
 * Returns those of some paths that the index has.
 *
 * @param reader Of a process that has not read the index before: it reads it once.
 * @param root Root of the checkout, symbolic links resolved.
 */
export async function trackedPaths(
  reader: GitObjectReader,
  root: string,
  paths: readonly string[],
): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => isTracked(reader, root, path)));
  return paths.filter((_, i) => found[i]);
}

async function isTracked(reader: GitObjectReader, root: string, path: string): Promise<boolean> {
  const real = await realPath(join(root, path));
  if (real !== undefined && await inOtherRepository(real, root)) return true;
  // The real path also has the spelling of a disk that ignores letter case.
  const spellings = new Set([path, ...(real !== undefined && isInside(real, root) ? [relative(root, real)] : [])]);
  const names = [...spellings].flatMap(withParents);
  const entries = await Promise.all(names.map((name) => inIndex(reader, name)));
  return entries.includes(true);
}

/** Returns a path and the folders above it. A folder in the index is no folder: it is a link. */
function withParents(path: string): string[] {
  const segments = path.split("/");
  return segments.map((_, i) => segments.slice(0, i + 1).join("/"));
}

async function inIndex(reader: GitObjectReader, path: string): Promise<boolean> {
  if (path.includes("\n")) {
    throw new VcsError(`Cannot find out whether ${JSON.stringify(path)} is tracked: it holds a line break`);
  }
  const entries = await Promise.all(STAGES.map((stage) => reader.info(`:${stage}:${path}`)));
  return entries.some((entry) => entry !== undefined);
}

/** Tells whether a file of the checkout belongs to a submodule or a clone inside it. */
async function inOtherRepository(file: string, root: string): Promise<boolean> {
  for (let folder = dirname(file); folder !== root && isInside(folder, root); folder = dirname(folder)) {
    if (await realPath(join(folder, ".git")) !== undefined) return true;
  }
  return false;
}

async function realPath(path: string): Promise<string | undefined> {
  try {
    return await Deno.realPath(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}
