/**
 * Content listings: what a digest stands for, committed beside the manifests under a name computed from the state
 * (formats §7). A backend makes the text; here it is only kept.
 *
 * @module
 */

import { join } from "node:path";
import { compareCodePoints } from "../model/json.ts";
import { readText, removeIfThere, writeAtomic } from "./atomic.ts";
import { type DatasetPaths, makeFolder } from "./layout.ts";

/** A listing of a million files is near this size. */
const MAX_BYTES = 512 * 1024 * 1024;
const NAME = /^[0-9a-f]{20}\.jsonl$/;

/** Tells whether a file name is one of a listing. */
export function isListingName(name: string): boolean {
  return NAME.test(name);
}

/** Keeps a listing. An existing one is never rewritten: equal names mean equal content. Returns whether it is new. */
export async function writeListing(paths: DatasetPaths, name: string, text: string): Promise<boolean> {
  const path = listingPath(paths, name);
  if (await isThere(path)) return false;
  await makeFolder(paths.root, paths.listings);
  await writeAtomic(path, text, { tempDir: paths.cache });
  return true;
}

/**
 * Returns a listing of the working tree; `undefined` when it is not there.
 *
 * @throws {ConfigError} if it is not a regular file, or too large.
 */
export async function readListing(paths: DatasetPaths, name: string): Promise<string | undefined> {
  return await readText(listingPath(paths, name), {
    name: `.tether/listings/${name}`,
    maxBytes: MAX_BYTES,
    noFollow: true,
  });
}

/** Returns the names of all listings of the working tree, sorted. */
export async function listListings(paths: DatasetPaths): Promise<string[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(paths.listings));
    return entries.map((entry) => entry.name).filter(isListingName).sort(compareCodePoints);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Removes a listing; `false` when it was gone. */
export async function removeListing(paths: DatasetPaths, name: string): Promise<boolean> {
  return await removeIfThere(listingPath(paths, name));
}

function listingPath(paths: DatasetPaths, name: string): string {
  if (!isListingName(name)) {
    throw new TypeError(`Cannot use "${name}" as a listing name: it is not 20 hex digits and .jsonl`);
  }
  return join(paths.listings, name);
}

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
