/**
 * Which files of the checkout differ from a commit. jj itself could tell only after a snapshot, which leaves an operation;
 * so the files are hashed as git does, and compared with the commit's tree (L17, formats §19.14).
 *
 * @module
 */

import { join } from "node:path";
import { mapLimit } from "../engine/io/pool.ts";
import { sameText } from "./_converted.ts";
import type { Git } from "./_git_process.ts";
import type { JjTrees } from "./_jj_trees.ts";

/** How many files are hashed side by side. */
const FILES_AT_ONCE = 16;

/** Returns every file and link of the checkout at or below some paths, by path from the root. */
export async function workingFiles(root: string, paths: readonly string[]): Promise<string[]> {
  return (await Promise.all([...new Set(paths)].map((path) => filesAt(root, path)))).flat();
}

async function filesAt(root: string, path: string): Promise<string[]> {
  try {
    if (!(await Deno.lstat(join(root, path))).isDirectory) return [path];
    const names: string[] = [];
    for await (const { name } of Deno.readDir(join(root, path))) names.push(name);
    return (await Promise.all(names.map((name) => filesAt(root, `${path}/${name}`)))).flat();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return [];
    throw error;
  }
}

/** Where files lie and what they are compared with. */
export interface DirtyRequest {
  readonly root: string;
  readonly paths: readonly string[];
  /** The commit under the working copy; `null` for none. */
  readonly base: string | null;
  /** The working-copy commit: what it has is tracked, and no ignore rule concerns it. */
  readonly workingCopy: string;
}

/** The files that differ from the base. */
export interface DirtyFiles {
  /** Changed and new ones, but none that is ignored. */
  readonly changed: readonly string[];
  /** Those that are not there. */
  readonly removed: readonly string[];
}

/** Returns the files that differ from the base. */
export async function dirtyFiles(trees: JjTrees, git: Git, request: DirtyRequest): Promise<DirtyFiles> {
  const { root, paths, base } = request;
  const there = await workingFiles(root, paths);
  const committed = base === null ? new Map<string, string>() : await trees.idsAt(base, paths);
  const known = there.filter((path) => committed.has(path));
  const same = await mapLimit(known, FILES_AT_ONCE, async (path) => {
    const content = await contentOf(join(root, path));
    if (await blobId(content.bytes) === committed.get(path)) return true;
    // The checkout or an editor may have converted it (L15).
    const before = base === null || content.isLink ? undefined : await trees.fileAt(base, path);
    return before !== undefined && sameText(content.bytes, before);
  });
  const removed = new Set(committed.keys());
  for (const path of there) removed.delete(path);
  const added = there.filter((path) => !committed.has(path));
  const changed = [...known.filter((_, i) => !same[i]), ...await notIgnored(trees, git, added, request)];
  return { changed, removed: [...removed] };
}

/** Returns what git stores of a file or link. */
async function contentOf(path: string): Promise<{ readonly bytes: Uint8Array; readonly isLink: boolean }> {
  const isLink = (await Deno.lstat(path)).isSymlink;
  return { isLink, bytes: isLink ? new TextEncoder().encode(await Deno.readLink(path)) : await Deno.readFile(path) };
}

async function blobId(content: Uint8Array): Promise<string> {
  const head = new TextEncoder().encode(`blob ${content.length}\0`);
  const bytes = new Uint8Array(head.length + content.length);
  bytes.set(head);
  bytes.set(content, head.length);
  return new Uint8Array(await crypto.subtle.digest("SHA-1", bytes)).toHex();
}

async function notIgnored(
  trees: JjTrees,
  git: Git,
  added: readonly string[],
  request: DirtyRequest,
): Promise<string[]> {
  if (added.length === 0) return [];
  const tracked = await trees.idsAt(request.workingCopy, request.paths);
  const asked = added.filter((path) => !tracked.has(path));
  if (asked.length === 0) return [...added];
  const result = await git.run(["check-ignore", "--no-index", "-z", "--stdin"], {
    doing: "find the ignored files",
    // 1: none is ignored.
    codes: [0, 1],
    stdin: asked.map((path) => path + "\0").join(""),
  });
  const ignored = new Set(result.text().split("\0"));
  return added.filter((path) => !ignored.has(path));
}
