/**
 * Walks a folder in the order of its listing, without entering linked folders (backends §3.1, L22, L23).
 *
 * @module
 */

import { BackendError } from "../../engine/model/backend_errors.ts";
import { compareCodePoints } from "../../engine/model/json.ts";
import { fsError, isNotFound } from "../storage/fs_error.ts";

/** What marks a folder that tether made; it is no content. */
export const OWNER_MARKER = ".tether-owner";

/** One file or link; `path` is relative to the root, with `/`. */
export interface Found {
  readonly path: string;
  readonly link: boolean;
}

/** Something vanished or became another kind of thing while the folder was read. */
export class TreeChanged extends Error {
  /** Relative path of what changed. */
  readonly path: string;

  constructor(path: string) {
    super(`"${path}" changed`);
    this.path = path;
  }
}

/**
 * Yields every file and link below a folder, sorted by path in code-point order. Empty folders do not show; sockets, pipes
 * and devices are told to `leftOut` instead.
 *
 * @throws {BackendError} naming the folder that holds a name the runtime cannot represent.
 * @throws {TreeChanged} if a folder vanished during the walk.
 */
export function* walkFolder(root: string, leftOut: (path: string) => void): Generator<Found> {
  const open = [openFolder(root, { prefix: "", leftOut })];
  for (let folder = open.at(-1); folder; folder = open.at(-1)) {
    const name = folder.names[folder.next++];
    if (name === undefined) open.pop();
    else if (name.endsWith("/")) open.push(openFolder(root, { prefix: folder.prefix + name, leftOut }));
    else yield { path: folder.prefix + name, link: folder.links.has(name) };
  }
}

/**
 * Returns the error for an entry that the folder lists and the file system does not find: the name was no UTF-8 and the
 * runtime put U+FFFD in its place, or the entry is gone.
 */
export function notFound(root: string, path: string): Error {
  const slash = path.lastIndexOf("/");
  return path.slice(slash + 1).includes("\ufffd")
    ? unreadableName(join(root, path.slice(0, Math.max(slash, 0))), path.slice(slash + 1))
    : new TreeChanged(path);
}

/** Returns the absolute path of a relative one; the root itself for `""`. */
export function join(root: string, path: string): string {
  return path === "" ? root : root === "/" ? `/${path}` : `${root}/${path}`;
}

/**
 * Returns what to warn of: before 2.9 the runtime leaves out names that are not UTF-8 instead of substituting characters,
 * and nothing tells that it did.
 */
export function namesWarning(version: string, os: string): string[] {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (os !== "linux" || major > 2 || (major === 2 && minor >= 9)) return [];
  return [`Deno ${version} does not show files whose names are not valid UTF-8: a folder is recorded without them`];
}

interface OpenFolder {
  /** `""` or the relative path with a slash at its end. */
  readonly prefix: string;
  /** Sorted; those of folders end with a slash, which is how they sort among whole paths. */
  readonly names: readonly string[];
  readonly links: ReadonlySet<string>;
  next: number;
}

function openFolder(
  root: string,
  { prefix, leftOut }: { readonly prefix: string; readonly leftOut: (path: string) => void },
): OpenFolder {
  const path = join(root, prefix.slice(0, -1));
  const names: string[] = [];
  const links = new Set<string>();
  const substituted = new Set<string>();
  try {
    for (const entry of Deno.readDirSync(path)) {
      if (entry.name.includes("\ufffd")) {
        // Two names that differ only in what was substituted look alike, and one may even be the other's real name.
        if (substituted.has(entry.name)) throw unreadableName(path, entry.name);
        substituted.add(entry.name);
      }
      if (entry.isDirectory) names.push(entry.name + "/");
      else if (entry.isFile) names.push(entry.name);
      else if (entry.isSymlink) {
        names.push(entry.name);
        links.add(entry.name);
      } else leftOut(prefix + entry.name);
    }
  } catch (error) {
    if (prefix !== "" && isNotFound(error)) throw notFound(root, prefix.slice(0, -1));
    throw fsError(error, { kind: "file", action: "read", path });
  }
  return { prefix, names: sortByCodePoint(names), links, next: 0 };
}

function sortByCodePoint(names: string[]): string[] {
  // UTF-16 order, which needs no callback, is the same for names without surrogates.
  return names.some((name) => /[\ud800-\udfff]/.test(name)) ? names.sort(compareCodePoints) : names.sort();
}

function unreadableName(folder: string, name: string): BackendError {
  return new BackendError(`Cannot read "${folder}": it holds a name that is not valid UTF-8, shown as "${name}"`, {
    kind: "file",
    hints: ["Rename that entry, or register a folder that does not hold it"],
    details: { path: folder },
  });
}
