/**
 * Folders that tether makes and may take away again (backends §3.1).
 *
 * @module
 */

import type { BackendError } from "../../engine/model/backend_errors.ts";
import { resolveExisting } from "../../engine/io/paths.ts";
import { keptStore, notOwned, placeTaken } from "../storage/created.ts";
import { fsError, isAlreadyExists, isNotFound } from "../storage/fs_error.ts";
import { basename, dirname } from "node:path";
import { join, OWNER_MARKER } from "./_walk.ts";

/** A marker is an id and a line end; more is not ours. */
const MAX_MARKER = 256;

/**
 * Makes a folder with an owner marker, and the parents it lacks.
 *
 * @throws {InvalidLocatorError} if anything is at the path, a dangling link included.
 */
export async function createFolder(path: string, owner: string): Promise<void> {
  const leaf = unresolvedLeaf(path);
  if (await lstat(leaf)) throw placeTaken(leaf, "file");
  try {
    await Deno.mkdir(dirname(leaf), { recursive: true });
    await Deno.mkdir(leaf);
  } catch (error) {
    if (isAlreadyExists(error)) throw placeTaken(leaf, "file");
    throw fsError(error, { kind: "file", action: "create", path: leaf, access: "write" });
  }
  try {
    await writeMarker(leaf, owner);
  } catch (error) {
    // Only while it is empty: nobody's data goes with it.
    await Deno.remove(leaf).catch(() => {});
    throw fsError(error, { kind: "file", action: "create", path: join(leaf, OWNER_MARKER), access: "write" });
  }
}

/** Returns the owner a folder's marker names; `undefined` without a marker that is a regular file. */
export async function readOwner(root: string): Promise<string | undefined> {
  const path = join(root, OWNER_MARKER);
  const info = await lstat(path);
  if (!info?.isFile || info.size > MAX_MARKER) return undefined;
  try {
    const owner = (await Deno.readTextFile(path)).trim();
    return owner === "" ? undefined : owner;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw fsError(error, { kind: "file", action: "read", path });
  }
}

/** Whether a folder holds nothing but its marker; `undefined` when it is no folder. */
export async function holdsOnlyMarker(root: string): Promise<boolean | undefined> {
  const info = await lstat(root);
  return info?.isDirectory ? await firstOther(root) === undefined : undefined;
}

/**
 * Removes an empty folder that the owner made. Nothing but that folder and its marker is ever removed, and nothing at all
 * when it refuses.
 *
 * @throws {StoreNotFoundError} if it does not exist.
 * @throws {RefConflictError} if it has another owner, is a link, or holds anything else.
 */
export async function deleteFolder(path: string, owner: string): Promise<void> {
  const leaf = unresolvedLeaf(path);
  const info = await lstat(leaf);
  if (!info) {
    throw fsError(new Deno.errors.NotFound(), { kind: "file", action: "delete", path: leaf, access: "write" });
  }
  if (!info.isDirectory) throw refused(leaf, info.isSymlink ? "it is a symbolic link" : "it is no folder");
  const foreign = notOwned(await readOwner(leaf), owner);
  if (foreign !== undefined) throw refused(leaf, foreign);
  const other = await firstOther(leaf);
  if (other !== undefined) throw refused(leaf, `it holds "${other}"`);
  await removeMarked(leaf, owner);
}

async function removeMarked(leaf: string, owner: string): Promise<void> {
  try {
    await Deno.remove(join(leaf, OWNER_MARKER));
    // Without `recursive` the system itself refuses a folder that something was put into meanwhile.
    await Deno.remove(leaf);
  } catch (error) {
    await writeMarker(leaf, owner).catch(() => {
      // The marker is still there, or the folder is gone.
    });
    const other = await firstOther(leaf).catch(() => undefined);
    if (other !== undefined) throw refused(leaf, `it holds "${other}"`);
    throw fsError(error, { kind: "file", action: "delete", path: leaf, access: "write" });
  }
}

async function writeMarker(folder: string, owner: string): Promise<void> {
  await Deno.writeTextFile(join(folder, OWNER_MARKER), owner + "\n", { createNew: true });
}

async function firstOther(folder: string): Promise<string | undefined> {
  try {
    for await (const entry of Deno.readDir(folder)) {
      if (entry.name !== OWNER_MARKER || !entry.isFile) return entry.name;
    }
    return undefined;
  } catch (error) {
    throw fsError(error, { kind: "file", action: "read", path: folder });
  }
}

async function lstat(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.lstat(path);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw fsError(error, { kind: "file", action: "read", path });
  }
}

/** Resolves the links of all but the last segment, so that a link in its place is seen as one. */
function unresolvedLeaf(path: string): string {
  const trimmed = path.replace(/(\/+\.?)+$/, "");
  const name = basename(trimmed);
  if (name === "" || name === "." || name === "..") return resolveExisting(path);
  return join(resolveExisting(dirname(trimmed)), name);
}

function refused(path: string, why: string): BackendError {
  return keptStore(path, { kind: "file", why });
}
