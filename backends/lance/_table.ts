/**
 * Where a Lance table lies, and how its folders and manifests are named.
 *
 * @module
 */

import type { BackendSettings, Locator, Op } from "../backend.ts";
import {
  BackendError,
  InvalidLocatorError,
  StateGoneError,
  StoreNotFoundError,
} from "../../engine/model/backend_errors.ts";
import { canonicalUri } from "../../engine/io/paths.ts";
import { LocalStorage, requireLocal } from "../storage/local.ts";
import type { ObjectStorage } from "../storage/storage.ts";
import { type Manifest, type ManifestFile, parseManifestFile, readManifest } from "./_manifest.ts";
import { isAbsolute, join } from "node:path";

/** The kind's name. */
export const KIND = "lance";
/** The branch every table has; Lance itself writes it as "no branch". */
export const MAIN = "main";

const MAX_U64 = 2n ** 64n - 1n;

/** A table that can be read. */
export interface Table {
  /** As the locator spells it, for messages and addresses. */
  readonly uri: string;
  /** Resolved absolute path: what branches name their parent by. */
  readonly root: string;
  readonly storage: ObjectStorage;
}

/** A version that is there. */
export interface VersionFile {
  readonly version: bigint;
  /** Key of its manifest. */
  readonly key: string;
}

/** Returns what the locator names: `uri`, else `path`; empty when there is neither. */
export function uriOf(locator: Locator): string {
  for (const name of ["uri", "path"]) {
    const value = locator[name];
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return "";
}

/** Returns the upstream branch of a locator. */
export function baseOf(locator: Locator): string {
  const branch = locator["branch"];
  return typeof branch === "string" && branch.trim() !== "" ? branch.trim() : MAIN;
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
    throw new InvalidLocatorError("Cannot open a Lance table: the locator has no uri", {
      kind: KIND,
      hints: ["Give the table's folder as `uri`"],
    });
  }
  const path = requireLocal(uri, KIND);
  const root = canonicalUri(isAbsolute(path) ? path : join(settings.datasetRoot ?? Deno.cwd(), path));
  return { uri, root, storage: new LocalStorage(root, { kind: KIND }) };
}

/**
 * Runs `fn` while no other process of tether moves a ref of the table (L32). Writers that know nothing of tether's lock are
 * held off by the conditional writes alone.
 */
export async function exclusively<T>(table: Table, fn: (table: Table) => Promise<T>, op: Op): Promise<T> {
  if (!(table.storage instanceof LocalStorage)) return await fn(table);
  return await table.storage.locked((storage) => fn({ ...table, storage }), op);
}

/** Returns the folder of a branch below the table; empty for main. */
export function branchFolder(branch: string): string {
  return branch === MAIN ? "" : `tree/${branch}`;
}

/** Returns a key below a branch's folder. */
export function branchKey(branch: string, key: string): string {
  const folder = branchFolder(branch);
  return folder === "" ? key : `${folder}/${key}`;
}

/** Returns the absolute path of a branch, as manifests name it. */
export function branchUri(table: Table, branch: string): string {
  const folder = branchFolder(branch);
  return folder === "" ? table.root : `${table.root}/${folder}`;
}

/** Returns the key of a version's manifest, named so that the newest sorts first. */
export function manifestKey(branch: string, version: bigint): string {
  return branchKey(branch, `_versions/${(MAX_U64 - version).toString().padStart(20, "0")}.manifest`);
}

/** Returns the versions of a branch, newest first; none when there is no such branch. */
export async function listVersions(table: Table, branch: string, op: Op): Promise<VersionFile[]> {
  const names = await table.storage.listNames(branchKey(branch, "_versions"), op);
  return names.flatMap((name) => {
    const version = versionOf(name);
    return version === undefined ? [] : [{ version, key: branchKey(branch, `_versions/${name}`) }];
  }).sort((a, b) => a.version < b.version ? 1 : a.version > b.version ? -1 : 0);
}

/** Finds one version of a branch, in either naming; `undefined` when it is gone. */
export async function findVersion(
  table: Table,
  at: { readonly branch: string; readonly version: bigint },
  op: Op,
): Promise<VersionFile | undefined> {
  for (const key of [manifestKey(at.branch, at.version), branchKey(at.branch, `_versions/${at.version}.manifest`)]) {
    if (await table.storage.head(key, op)) return { version: at.version, key };
  }
  return undefined;
}

/**
 * Reads the manifest file of a version.
 *
 * @throws {StateGoneError} if it is gone.
 * @throws {BackendError} if it is damaged.
 */
export async function readVersion(table: Table, file: VersionFile, op: Op): Promise<ManifestFile> {
  const object = await table.storage.get(file.key, op);
  if (!object) {
    throw new StateGoneError(`Cannot read version ${file.version} of "${table.uri}": it was removed`, { kind: KIND });
  }
  return undamaged(table, file, () => parseManifestFile(object.bytes));
}

/**
 * Reads the manifest of a version, as {@link readVersion} does.
 *
 * @throws {StateGoneError} if it is gone.
 * @throws {BackendError} if it is damaged.
 */
export async function readManifestOf(table: Table, file: VersionFile, op: Op): Promise<Manifest> {
  const manifest = await readVersion(table, file, op);
  return undamaged(table, file, () => readManifest(manifest));
}

/**
 * Runs `fn` over a manifest of the table.
 *
 * @throws {BackendError} in place of a SyntaxError.
 */
export function undamaged<T>(table: Table, file: VersionFile, fn: () => T): T {
  try {
    return fn();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new BackendError(`Cannot read version ${file.version} of "${table.uri}": its manifest is damaged`, {
      kind: KIND,
      cause: error,
      details: { manifest: file.key },
    });
  }
}

/**
 * Returns the newest version of main, which every table has.
 *
 * @throws {StoreNotFoundError} if there is no table.
 */
export async function requireTable(table: Table, op: Op): Promise<VersionFile> {
  const [newest] = await listVersions(table, MAIN, op);
  if (newest) return newest;
  throw new StoreNotFoundError(`Cannot read "${table.uri}": there is no Lance table`, {
    kind: KIND,
    details: { uri: table.uri },
  });
}

// "00…13.manifest" counts down from the largest number, "7.manifest" up; detached versions ("d…") belong to no branch.
function versionOf(name: string): bigint | undefined {
  const digits = /^([0-9]+)\.manifest$/.exec(name)?.[1];
  if (digits === undefined) return undefined;
  return digits.length === 20 ? MAX_U64 - BigInt(digits) : BigInt(digits);
}
