/**
 * Where a Delta table lies: its storage, and the storage of files that its log names by absolute path.
 *
 * @module
 */

import type { BackendSettings, Locator } from "../backend.ts";
import { CapabilityError, ConcurrentChangeError, InvalidLocatorError } from "../../engine/model/backend_errors.ts";
import { canonicalUri, localPath } from "../../engine/io/paths.ts";
import { LocalStorage, requireLocal } from "../storage/local.ts";
import type { ObjectStorage } from "../storage/storage.ts";
import { isAbsolute, join, normalize } from "node:path";

/** The kind's name. */
export const KIND = "delta";
/** The folder of a table's log. */
export const LOG = "_delta_log";

/** A table that can be read. */
export interface Table {
  /** As the locator spells it, for messages and addresses. */
  readonly uri: string;
  /** Resolved absolute path. */
  readonly root: string;
  readonly storage: ObjectStorage;
}

/** Returns what the locator names: `uri`, else `path`; empty when there is neither. */
export function uriOf(locator: Locator): string {
  for (const name of ["uri", "path"]) {
    const value = locator[name];
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return "";
}

/**
 * Returns the table a locator names; a relative path of an old manifest is taken from the dataset root (DIV-2).
 *
 * @throws {InvalidLocatorError} if the locator names no table.
 * @throws {CapabilityError} if it names one in an object store.
 */
export function openTable(locator: Locator, settings: BackendSettings): Table {
  const uri = uriOf(locator);
  if (uri === "") {
    throw new InvalidLocatorError("Cannot open a Delta table: the locator has no uri", {
      kind: KIND,
      hints: ["Give the table's folder as `uri`"],
    });
  }
  const path = requireLocal(uri, KIND);
  const root = canonicalUri(isAbsolute(path) ? path : join(settings.datasetRoot ?? Deno.cwd(), path));
  return { uri, root, storage: new LocalStorage(root, { kind: KIND }) };
}

/**
 * Returns the place a path of the log names: relative to the table or absolute, percent-decoded once. A `%` that begins no
 * code is taken as it stands.
 */
export function resolveLogPath(root: string, path: string): string {
  let plain = path;
  try {
    plain = decodeURIComponent(path);
  } catch {
    // Some writers log plain paths; then the text is the name.
  }
  // Looked for before decoding: an encoded colon is part of a name.
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\//.test(path)) return normalize(isAbsolute(plain) ? plain : join(root, plain));
  const local = localPath(plain);
  return local === undefined ? plain : normalize(local);
}

/**
 * Returns the storage and key of a place that {@link resolveLogPath} returned.
 *
 * @throws {CapabilityError} if it lies in a store that cannot be reached from this table.
 */
export function storageOf(table: Table, place: string): { readonly storage: ObjectStorage; readonly key: string } {
  const below = table.root === "/" ? "/" : `${table.root}/`;
  if (place.startsWith(below)) return { storage: table.storage, key: place.slice(below.length) };
  if (isAbsolute(place)) return { storage: new LocalStorage("/", { kind: KIND }), key: place.slice(1) };
  throw new CapabilityError(`Cannot look for "${place}": it lies in another store than the table "${table.uri}"`, {
    kind: KIND,
  });
}

/** Returns the error for a file that a listing showed and a read did not find. */
export function changed(table: Table, key: string): ConcurrentChangeError {
  return new ConcurrentChangeError(`Cannot read "${table.uri}": "${key}" went away meanwhile`, { kind: KIND });
}
