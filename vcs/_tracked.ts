/**
 * Which files a VCS tracks (formats §1, L40). A clone must not get its files taken for this checkout's own by a detour, so a
 * file counts as tracked too when a link or a repository inside the repository leads to it.
 *
 * @module
 */

import { dirname, join, relative } from "node:path";
import { isInside } from "../engine/io/paths.ts";

/**
 * Returns those of some paths that are tracked.
 *
 * @param root Root of the checkout, symbolic links resolved.
 * @param knows Tells whether the VCS has a file or a link of a name; a folder is neither.
 */
export async function trackedPaths(
  root: string,
  paths: readonly string[],
  { knows }: { readonly knows: (name: string) => Promise<boolean> },
): Promise<readonly string[]> {
  const found = await Promise.all(paths.map(async (path) => {
    const real = await realPath(join(root, path));
    if (real !== undefined && await inOtherRepository(real, root)) return true;
    // The real path also has the spelling of a disk that ignores letter case.
    const spellings = new Set([path, ...(real !== undefined && isInside(real, root) ? [relative(root, real)] : [])]);
    return (await Promise.all([...spellings].flatMap(withParents).map(knows))).includes(true);
  }));
  return paths.filter((_, i) => found[i]);
}

/** Returns a path and the folders above it: any of them that the VCS has as a file is a link. */
function withParents(path: string): string[] {
  const segments = path.split("/");
  return segments.map((_, i) => segments.slice(0, i + 1).join("/"));
}

/** Tells whether a file of the checkout belongs to a submodule or a clone inside it. */
async function inOtherRepository(file: string, root: string): Promise<boolean> {
  for (let folder = dirname(file); folder !== root && isInside(folder, root); folder = dirname(folder)) {
    for (const name of [".git", ".jj"]) if (await realPath(join(folder, name)) !== undefined) return true;
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
