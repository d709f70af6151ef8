/**
 * Which version of which branch a state, a ref or a pin names, and whether it is still there.
 *
 * @module
 */

import { atOf, type Locator, type Op, type Source, type State } from "../backend.ts";
import { BackendError, ConcurrentChangeError, StateGoneError } from "../../engine/model/backend_errors.ts";
import { renderState } from "../../engine/model/render_state.ts";
import { integer } from "../../engine/model/json.ts";
import { type Branch, branchId, readBranch, readTag } from "./_refs.ts";
import { baseOf, findVersion, KIND, listVersions, MAIN, requireTable, type Table, type VersionFile } from "./_table.ts";

/** A version of a branch. */
export interface Position {
  readonly branch: string;
  readonly version: bigint;
  /** Which life of the branch; absent on main, and in states that were recorded without it. */
  readonly id?: string;
}

/** Returns a position as a state. */
export function stateOf(position: Position): State {
  return {
    branch: position.branch,
    version: integer(position.version),
    ...(position.id === undefined ? {} : { branch_id: position.id }),
  };
}

/**
 * Returns the position a state records.
 *
 * @throws {BackendError} if it is no state of a Lance table.
 */
export function positionOf(state: State): Position {
  const { branch, version, branch_id: id } = state;
  if (typeof branch !== "string" || branch === "" || (typeof version !== "number" && typeof version !== "bigint")) {
    throw new BackendError(`Cannot read the state ${renderState(state)}: it names no version of a branch`, {
      kind: KIND,
    });
  }
  return { branch, version: BigInt(version), ...(typeof id === "string" && branch !== MAIN ? { id } : {}) };
}

/** Tells whether two positions are the same one; an id that one of them lacks does not count. */
export function samePosition(a: Position, b: Position): boolean {
  return a.branch === b.branch && a.version === b.version &&
    (a.id === undefined || b.id === undefined || a.id === b.id);
}

/**
 * Returns the newest version of a branch; `undefined` when there is no such branch.
 *
 * @throws {StoreNotFoundError} if there is no table.
 * @throws {ConcurrentChangeError} if the branch was deleted and made anew again and again meanwhile.
 */
export async function newestOf(
  table: Table,
  name: string,
  op: Op,
): Promise<{ readonly position: Position; readonly branch?: Branch } | undefined> {
  if (name === MAIN) return { position: { branch: MAIN, version: (await requireTable(table, op)).version } };
  for (let attempt = 0; attempt < 3; attempt++) {
    const branch = await readBranch(table, name, op);
    if (!branch) {
      await requireTable(table, op);
      return undefined;
    }
    const [newest] = await listVersions(table, name, op);
    // Looked at again, so that a version never comes with the id of another life of the branch.
    const again = await readBranch(table, name, op);
    if (!again || branchId(again) !== branchId(branch)) continue;
    if (!newest) gone(`Cannot read branch "${name}" of "${table.uri}": it has no versions`);
    return { position: { branch: name, version: newest.version, id: branchId(branch) }, branch };
  }
  throw new ConcurrentChangeError(`Cannot read branch "${name}" of "${table.uri}": it changed while it was read`, {
    kind: KIND,
  });
}

/**
 * Returns the head of a branch as a state names it; `undefined` when there is no such branch. A branch that nobody wrote to
 * is where its parent was, so an untouched fork equals what it was forked from.
 */
export async function headOf(table: Table, name: string, op: Op): Promise<Position | undefined> {
  const newest = await newestOf(table, name, op);
  if (!newest?.branch || newest.position.version !== newest.branch.parentVersion) return newest?.position;
  const { parent, parentVersion, lineage } = newest.branch;
  const id = lineage.at(-2)?.id;
  return { branch: parent, version: parentVersion, ...(parent === MAIN || id === undefined ? {} : { id }) };
}

/**
 * As {@link headOf}, of a branch that must exist.
 *
 * @throws {StateGoneError} if it does not.
 */
export async function requireHead(table: Table, name: string, op: Op): Promise<Position> {
  return (await headOf(table, name, op)) ?? gone(`Cannot read branch "${name}" of "${table.uri}": it does not exist`);
}

/**
 * Returns the position that a locator is detached at: a tag, else a version of its branch. `undefined` when it follows the
 * branch.
 *
 * @throws {StateGoneError} if there is neither.
 */
export async function detachedAt(table: Table, locator: Locator, op: Op): Promise<Position | undefined> {
  const at = atOf(locator);
  if (at === undefined) return undefined;
  // What is no name of a tag is not looked for as one: it could name a file elsewhere.
  const tag = /^[\p{L}\p{N}._-]+$/u.test(at) ? await readTag(table, at, op) : undefined;
  if (tag) return await withLife(table, tag, op);
  if (/^[0-9]+$/.test(at)) {
    const position = await withLife(table, { branch: baseOf(locator), version: BigInt(at) }, op);
    await locate(table, position, op);
    return position;
  }
  await requireTable(table, op);
  return gone(`Cannot read "${table.uri}" at "${at}": there is no such tag or version`);
}

/**
 * Returns the manifest's place of a position that is still there and still the same.
 *
 * @throws {StateGoneError} if the version was removed, or the branch deleted, made anew or not.
 */
export async function locate(table: Table, position: Position, op: Op): Promise<VersionFile> {
  const what = `Cannot read ${renderState(stateOf(position))} of "${table.uri}"`;
  if (position.branch !== MAIN) {
    const branch = await readBranch(table, position.branch, op);
    if (!branch) {
      await requireTable(table, op);
      return gone(`${what}: the branch was deleted`);
    }
    if (position.id !== undefined && position.id !== branchId(branch)) {
      return gone(`${what}: the branch was deleted and another one made in its name`);
    }
  }
  const file = await findVersion(table, position, op);
  if (file) return file;
  await requireTable(table, op);
  return gone(`${what}: the version was removed`);
}

/**
 * Returns the position that a fork begins at.
 *
 * @throws {StateGoneError} if it is not there any more.
 */
export async function sourceOf(table: Table, from: Source, op: Op): Promise<Position> {
  switch (from.on) {
    case "ref":
      return await requireHead(table, from.ref, op);
    case "state": {
      const position = positionOf(from.state);
      await locate(table, position, op);
      return position.id === undefined ? await withLife(table, position, op) : position;
    }
    case "pin":
      return await pinned(table, from.pin.ref, op);
  }
}

/**
 * Returns where a tag points.
 *
 * @throws {StateGoneError} if the tag or its version is gone.
 */
export async function pinned(table: Table, ref: string, op: Op): Promise<Position> {
  const tag = await readTag(table, ref, op);
  if (!tag) {
    await requireTable(table, op);
    return gone(`Cannot read pin "${ref}" of "${table.uri}": it does not exist`);
  }
  const position = await withLife(table, tag, op);
  await locate(table, position, op);
  return position;
}

/** Adds the id of the branch's current life to a position that has none. */
async function withLife(table: Table, at: { branch: string; version: bigint }, op: Op): Promise<Position> {
  const { branch: name, version } = at;
  if (name === MAIN) return { branch: MAIN, version };
  const branch = await readBranch(table, name, op);
  if (!branch) {
    await requireTable(table, op);
    return gone(`Cannot read branch "${name}" of "${table.uri}": it does not exist`);
  }
  return { branch: name, version, id: branchId(branch) };
}

function gone(message: string): never {
  throw new StateGoneError(message, { kind: KIND });
}
