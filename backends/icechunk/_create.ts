/**
 * Repositories that tether makes and takes away again, on local folders (backends §3.4).
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { type RefConflictError, StoreNotFoundError } from "../../engine/model/backend_errors.ts";
import { leafOf } from "../../engine/io/paths.ts";
import { parsePinRef } from "../../engine/model/names.ts";
import { asideOf, deleteFolderAside, lstatOf } from "../storage/aside.ts";
import { keptStore, notOwned, placeTaken } from "../storage/created.ts";
import { fsError } from "../storage/fs_error.ts";
import { LOCK_FILE } from "../storage/folder_lock.ts";
import { LocalStorage } from "../storage/local.ts";
import { dirname } from "node:path";
import { KIND, MAIN } from "./_locator.ts";
import { readMarker, REPO, withMarker } from "./_marker.ts";
import { branchNames, requireBranch, tagNames } from "./_refs.ts";
import { Store } from "./_repository.ts";
import type { Lease } from "./library.ts";
import { type LibraryStorage, libraryStorage, ThrownErrors } from "./library_storage.ts";

/** The first snapshot of every repository. */
export const FIRST_SNAPSHOT = "1CECHNKREP0F1RSTCMT0";
/** The format with metadata, which the marker is part of. */
const FORMAT = 2;
/** What a repository consists of, and what a file manager or a lock of tether's leaves in a folder. */
const LAYOUT: ReadonlySet<string> = new Set([
  "config.yaml",
  "refs",
  REPO,
  "overwritten",
  "snapshots",
  "transactions",
  "manifests",
  "chunks",
  ".DS_Store",
  LOCK_FILE,
]);

/** A repository's folder. */
export interface Folder {
  /** Absolute, without links. */
  readonly root: string;
  /** As the locator spells it, made absolute. */
  readonly spelled: string;
  readonly lease: Lease;
}

/**
 * Makes a repository at a path where nothing is, and the folders above it. It appears there as a whole, its marker in it.
 *
 * @throws {InvalidLocatorError} if anything is there already.
 */
export async function createRepository(folder: Folder, options: Op & { readonly owner: string }): Promise<void> {
  const { root, spelled, lease } = folder;
  await requireFree(spelled);
  const aside = asideOf(root, "created");
  try {
    await Deno.mkdir(dirname(root), { recursive: true });
    await Deno.mkdir(aside);
  } catch (error) {
    throw fsError(error, { kind: KIND, action: "create", path: spelled, access: "write" });
  }
  try {
    const runtime = await lease.runtime();
    const storage = marking(new LocalStorage(aside, { kind: KIND }), options.owner);
    const errors = new ThrownErrors();
    await runtime.call(async (library) => {
      await library.Repository.create(libraryStorage(library, storage, errors), null, FORMAT).catch((error) => {
        throw errors.find(String(error)) ?? error;
      });
    });
    options.signal?.throwIfAborted();
    await requireFree(spelled);
    await Deno.rename(aside, root);
  } catch (error) {
    await Deno.remove(aside, { recursive: true });
    throw error;
  }
}

async function requireFree(spelled: string): Promise<void> {
  if (await lstatOf(leafOf(spelled)) === undefined) return;
  throw placeTaken(spelled, KIND);
}

/** Adds the marker to the object by which a repository begins to exist: there is no moment without it. */
function marking(storage: LibraryStorage, owner: string): LibraryStorage {
  return {
    get: (key, op) => storage.get(key, op),
    getRange: (key, range, op) => storage.getRange(key, range, op),
    head: (key, op) => storage.head(key, op),
    list: (folder, op) => storage.list(folder, op),
    put: (key, bytes, op) => storage.put(key, bytes, op),
    putIfAbsent: (key, bytes, op) => storage.putIfAbsent(key, key === REPO ? withMarker(bytes, owner) : bytes, op),
    putIfMatch: (key, bytes, options) => storage.putIfMatch(key, bytes, options),
    delete: (key, options) => storage.delete(key, options),
  };
}

/** Returns the dataset a repository names; `undefined` for format 1, which has no place for it. */
export async function readOwner(store: Store, op: Op): Promise<string | undefined> {
  const object = await store.storage.get(REPO, op);
  return object === undefined ? undefined : readMarker(object.bytes);
}

/** Returns what a repository holds besides its first snapshot and its marker; `undefined` when there is nothing. */
export async function whatElse(
  store: Store,
  options: Op & { readonly ignoring?: ReadonlySet<string> },
): Promise<string | undefined> {
  const { ignoring = new Set<string>(), ...op } = options;
  const ids = new Set([...ignoring].flatMap((ref) => parsePinRef(ref)?.id ?? []));
  const { folders, objects } = await store.storage.listFolder("", op);
  const foreign = [...folders, ...objects.map((o) => o.key)].find((name) => !LAYOUT.has(name));
  if (foreign !== undefined) return `"${foreign}"`;
  const view = await store.snapshotView({ ...op, what: "read the refs" });
  for (const name of await branchNames(view, op)) {
    if (ignoring.has(name)) continue;
    if (name !== MAIN) return `branch "${name}"`;
    if (await requireBranch(view, name, op) !== FIRST_SNAPSHOT) return `work on branch "${name}"`;
  }
  for (const name of await tagNames(view, op)) {
    // Every generation of a pin goes with it.
    if (!ids.has(parsePinRef(name)?.id ?? "")) return `tag "${name}"`;
  }
  return undefined;
}

/**
 * Deletes a repository that the owner made and that holds nothing else.
 *
 * @throws {StoreNotFoundError} if there is none.
 * @throws {RefConflictError} if it is another's, holds anything, or is reached through a link.
 */
export async function deleteRepository(folder: Folder, options: Op & { readonly owner: string }): Promise<void> {
  const { root, spelled, lease } = folder;
  const { owner, ...op } = options;
  const info = await lstatOf(leafOf(spelled));
  if (!info) throw new StoreNotFoundError(`Cannot delete "${spelled}": it does not exist`, { kind: KIND });
  if (!info.isDirectory) throw refused(spelled, info.isSymlink ? "it is a symbolic link" : "it is no folder");
  const check = async (at: string, call: Op): Promise<void> => {
    const held = await whyKept(new Store({ uri: spelled, storage: new LocalStorage(at, { kind: KIND }), lease }), {
      ...call,
      owner,
      folder: at,
    });
    if (held !== undefined) throw refused(spelled, held);
  };
  await check(root, op);
  await deleteFolderAside({ kind: KIND, folder: root, label: spelled, check: (aside) => check(aside, {}) });
}

async function whyKept(
  store: Store,
  options: Op & { readonly owner: string; readonly folder: string },
): Promise<string | undefined> {
  const { owner, folder, ...op } = options;
  const foreign = notOwned(await readOwner(store, op), owner);
  if (foreign !== undefined) return foreign;
  for await (const { name } of Deno.readDir(folder)) if (!LAYOUT.has(name)) return `it holds "${name}"`;
  const held = await whatElse(store, op);
  return held === undefined ? undefined : `it holds ${held}`;
}

function refused(spelled: string, why: string): RefConflictError {
  return keptStore(spelled, { kind: KIND, why });
}
