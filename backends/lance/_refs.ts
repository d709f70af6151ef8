/**
 * Tags and branches: one JSON file each, below `_refs`. Fields and layout are those of pylance and LanceDB.
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { type Json, type JsonObject, parseJson, writeJson } from "../../engine/model/json.ts";
import { mapLimit } from "../../engine/io/pool.ts";
import { branchFolder, KIND, MAIN, type Table } from "./_table.ts";

const TAGS = "_refs/tags";
const BRANCHES = "_refs/branches";
const PARALLEL = 16;

/** A tag. */
export interface Tag {
  readonly name: string;
  /** `main` where Lance writes none. */
  readonly branch: string;
  readonly version: bigint;
}

/** One step of a branch's ancestry: the version of the parent it left from, and the id of the branch. */
export interface Lineage {
  readonly version: bigint;
  readonly id: string;
}

/** A branch other than main. */
export interface Branch {
  readonly name: string;
  readonly parent: string;
  /** The version of the parent that the branch's first version is. */
  readonly parentVersion: bigint;
  /** From the oldest ancestor off main to this branch, whose own id is the last. */
  readonly lineage: readonly Lineage[];
}

/** Returns the id of this life of a branch: another one of the same name has another id. */
export function branchId(branch: Branch): string {
  return branch.lineage.at(-1)?.id ?? "";
}

/** Reads a tag; `undefined` when there is none. */
export async function readTag(table: Table, name: string, op: Op): Promise<Tag | undefined> {
  return await readRef(table, { key: refKey(TAGS, name), op }, (json) => ({
    name,
    branch: textOrNull(json, "branch") ?? MAIN,
    version: whole(json, "version"),
  }));
}

/** Reads a branch; `undefined` when there is none. */
export async function readBranch(table: Table, name: string, op: Op): Promise<Branch | undefined> {
  return await readRef(table, { key: refKey(BRANCHES, name), op }, (json) => {
    const parent = textOrNull(json, "parentBranch");
    const parentVersion = whole(json, "parentVersion");
    const lineage = lineageOf(json) ??
      [{ version: 0n, id: legacyId({ name, parent, parentVersion, createAt: whole(json, "createAt") }) }];
    return { name, parent: parent ?? MAIN, parentVersion, lineage };
  });
}

/** Returns the names of all tags, sorted. */
export async function tagNames(table: Table, op: Op): Promise<readonly string[]> {
  return namesIn(await table.storage.listNames(TAGS, op));
}

/** Returns the names of all branches but main, sorted. */
export async function branchNames(table: Table, op: Op): Promise<readonly string[]> {
  return namesIn(await table.storage.listNames(BRANCHES, op));
}

/** Reads all tags. */
export async function listTags(table: Table, op: Op): Promise<readonly Tag[]> {
  const tags = await mapLimit(await tagNames(table, op), PARALLEL, (name) => readTag(table, name, op), op.signal);
  return tags.filter((tag) => tag !== undefined);
}

/** Reads all branches but main. */
export async function listBranches(table: Table, op: Op): Promise<readonly Branch[]> {
  const names = await branchNames(table, op);
  const branches = await mapLimit(names, PARALLEL, (name) => readBranch(table, name, op), op.signal);
  return branches.filter((branch) => branch !== undefined);
}

/** Creates a tag; false when there is one of that name, which is left alone. */
export async function createTag(
  table: Table,
  tag: Tag & { readonly manifestSize: number; readonly now: Date },
): Promise<boolean> {
  const when = tag.now.toISOString().replace(/\.000Z$/, "Z");
  return await createRef(table, refKey(TAGS, tag.name), {
    branch: tag.branch === MAIN ? null : tag.branch,
    version: tag.version,
    createdAt: when,
    updatedAt: when,
    manifestSize: tag.manifestSize,
    metadata: {},
  });
}

/** Creates the ref of a branch whose first manifest is written; false when there is one of that name. */
export async function createBranchRef(
  table: Table,
  branch: Branch & { readonly manifestSize: number; readonly now: Date },
): Promise<boolean> {
  return await createRef(table, refKey(BRANCHES, branch.name), {
    parentBranch: branch.parent === MAIN ? null : branch.parent,
    identifier: { version_mapping: branch.lineage.map(({ version, id }) => [version, id]) },
    parentVersion: branch.parentVersion,
    createAt: Math.floor(branch.now.getTime() / 1000),
    manifestSize: branch.manifestSize,
    metadata: {},
  });
}

/** Deletes a tag; already gone is success. */
export async function deleteTag(table: Table, name: string, op: Op): Promise<void> {
  await table.storage.delete(refKey(TAGS, name), op);
}

/** Deletes a branch: its ref, then its files. The caller has made sure that nothing resolves into it. */
export async function deleteBranch(table: Table, name: string): Promise<void> {
  await table.storage.delete(refKey(BRANCHES, name));
  await table.storage.deleteFolder(branchFolder(name));
}

/**
 * Returns what resolves into a branch and would break without it: tags on it, branches made from it or kept in its folder,
 * whoever made them (L04). Empty when it can be deleted, or could once the refs to ignore are gone.
 */
export async function holdersOf(
  table: Table,
  name: string,
  options: Op & { readonly ignoring?: ReadonlySet<string> },
): Promise<readonly string[]> {
  const [tags, branches] = [await listTags(table, options), await listBranches(table, options)];
  const own = branches.find((b) => b.name === name);
  const holds = (b: Branch): boolean => b.parent === name || descends(b, own) || b.name.startsWith(`${name}/`);
  const counts = (ref: { readonly name: string }): boolean => !options.ignoring?.has(ref.name);
  return [
    ...tags.filter((t) => t.branch === name && counts(t)).map((t) => `tag "${t.name}" (version ${t.version})`),
    ...branches.filter((b) => b.name !== name && holds(b) && counts(b)).map((b) => `branch "${b.name}"`),
  ];
}

function descends(branch: Branch, ancestor: Branch | undefined): boolean {
  return ancestor !== undefined && branch.lineage.length > ancestor.lineage.length &&
    ancestor.lineage.every((step, i) => step.id === branch.lineage[i]?.id);
}

// Lance escapes the slash of a branch's name, and what is outside ASCII; tags have only what is kept as it is.
function refKey(folder: string, name: string): string {
  return `${folder}/${encodeURIComponent(name)}.json`;
}

function namesIn(files: readonly string[]): string[] {
  return files.filter((f) => f.endsWith(".json")).map((f) => decodeName(f.slice(0, -".json".length)));
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not a name that Lance wrote; it stands for itself.
    return text;
  }
}

async function readRef<T>(
  table: Table,
  at: { readonly key: string; readonly op: Op },
  parse: (json: JsonObject) => T,
): Promise<T | undefined> {
  const object = await table.storage.get(at.key, at.op);
  if (!object) return undefined;
  try {
    return parse(asObject(parseJson(new TextDecoder("utf-8", { fatal: true }).decode(object.bytes))));
  } catch (cause) {
    throw new BackendError(`Cannot read "${at.key}" of "${table.uri}": it is damaged`, { kind: KIND, cause });
  }
}

async function createRef(table: Table, key: string, value: JsonObject): Promise<boolean> {
  const bytes = new TextEncoder().encode(writeJson(value, { indent: 2 }));
  return (await table.storage.putIfAbsent(key, bytes)).written;
}

function lineageOf(json: JsonObject): readonly Lineage[] | undefined {
  const identifier = json["identifier"];
  if (identifier === undefined || identifier === null) return undefined;
  const lineage = asList(asObject(identifier)["version_mapping"]).map((step) => {
    const [version, id] = asList(step);
    if (typeof id !== "string") throw new SyntaxError("An identifier has no id");
    return { version: asWhole(version), id };
  });
  if (lineage.length === 0) throw new SyntaxError("The identifier is empty");
  return lineage;
}

function textOrNull(json: JsonObject, name: string): string | undefined {
  const value = json[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new SyntaxError(`"${name}" is no text`);
  return value;
}

function whole(json: JsonObject, name: string): bigint {
  return asWhole(json[name]);
}

function asWhole(value: Json | undefined): bigint {
  if (typeof value !== "number" && typeof value !== "bigint") throw new SyntaxError("A version is no integer");
  return BigInt(value);
}

function asList(value: Json | undefined): readonly Json[] {
  if (!Array.isArray(value)) throw new SyntaxError("A list is expected");
  return value;
}

function asObject(value: Json): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new SyntaxError("It is no object");
  return value as JsonObject;
}

// Branches of Lance before identifiers have the one that newer versions derive of their other fields: two FNV-1a hashes.
function legacyId(
  branch: {
    readonly name: string;
    readonly parent: string | undefined;
    readonly parentVersion: bigint;
    readonly createAt: bigint;
  },
): string {
  const text =
    `branch_name=${branch.name}\nparent_branch=${branch.parent ?? ""}\nparent_version=${branch.parentVersion}\n` +
    `create_at=${branch.createAt}`;
  const offset = 0xcbf29ce484222325n;
  return [offset, offset ^ 0x9e3779b97f4a7c15n].map((seed) => fnv1a(text, seed).toString(16).padStart(16, "0")).join(
    "",
  );
}

function fnv1a(text: string, seed: bigint): bigint {
  return new TextEncoder().encode(text)
    .reduce((hash, byte) => BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n), seed);
}
