/**
 * A repository's own history, followed parent by parent: the library's `ancestry()` would read all of it.
 *
 * @module
 */

import type { SnapshotInfo } from "@earthmover/icechunk-wasm32-wasi";
import type { HistoryEntry, Op } from "../backend.ts";
import { StateGoneError } from "../../engine/model/backend_errors.ts";
import { mapLimit } from "../../engine/io/pool.ts";
import { branchHead, branchNames, tagNames, tagTarget } from "./_refs.ts";
import type { Store, View } from "./_repository.ts";

const PARALLEL = 8;

/** Yields a snapshot and its ancestors, newest first. Ends where history was expired. */
export async function* lineage(view: View, head: string, op: Op): AsyncGenerator<SnapshotInfo> {
  for (let id: string | undefined = head; id !== undefined;) {
    const current: string = id;
    let snapshot: SnapshotInfo;
    try {
      snapshot = await view.use({ ...op, what: `read snapshot "${current}"` }, (r) => r.lookupSnapshot(current));
    } catch (error) {
      // A parent that is gone is where an operator cut history off.
      if (current !== head && error instanceof StateGoneError) return;
      throw error;
    }
    yield snapshot;
    id = snapshot.parentId;
  }
}

/** Returns the newest entries of the history of a snapshot. */
export async function historyOf(
  store: Store,
  head: string,
  options: Op & { readonly limit: number },
): Promise<readonly HistoryEntry[]> {
  const op: Op = options.signal ? { signal: options.signal } : {};
  const view = await store.snapshotView({ ...op, what: "read the history" });
  const snapshots: SnapshotInfo[] = [];
  if (options.limit > 0) {
    for await (const snapshot of lineage(view, head, op)) {
      snapshots.push(snapshot);
      if (snapshots.length >= options.limit) break;
    }
  }
  const refs = await refsBySnapshot(view, op);
  return snapshots.map((s) => ({
    id: s.id,
    when: new Date(s.writtenAt).toISOString(),
    message: s.message,
    refs: refs.get(s.id) ?? [],
  }));
}

/**
 * Tells whether one snapshot is another one or in its history; `undefined` when that history was cut off before an answer.
 *
 * @throws {StateGoneError} if the descendant does not exist.
 */
export async function isAncestor(
  store: Store,
  o: { readonly ancestor: string; readonly descendant: string },
  op: Op,
): Promise<boolean | undefined> {
  const view = await store.snapshotView({ ...op, what: "read the history" });
  let root = false;
  for await (const snapshot of lineage(view, o.descendant, op)) {
    if (snapshot.id === o.ancestor) return true;
    root = snapshot.parentId === undefined;
  }
  return root ? false : undefined;
}

/** Returns the newest snapshot that is in the history of both; `undefined` when there is none. */
export async function commonAncestor(
  view: View,
  [a, b]: readonly [string, string],
  op: Op,
): Promise<string | undefined> {
  // Both lines at once: usually they part near their heads. What one line reaches first after the other did is the newest.
  const sides = [a, b].map((head) => ({ line: lineage(view, head, op), seen: new Set<string>() }));
  for (let open = true; open;) {
    open = false;
    for (const side of sides) {
      const { done, value } = await side.line.next();
      if (done) continue;
      open = true;
      side.seen.add(value.id);
      if (sides.every(({ seen }) => seen.has(value.id))) return value.id;
    }
  }
  return undefined;
}

async function refsBySnapshot(view: View, op: Op): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = [
    ...await mapLimit(await branchNames(view, op), PARALLEL, async (n) => [n, await branchHead(view, n, op)] as const),
    ...await mapLimit(await tagNames(view, op), PARALLEL, async (n) => [n, await tagTarget(view, n, op)] as const),
  ];
  const refs = new Map<string, string[]>();
  for (const [name, snapshot] of found) {
    if (snapshot === undefined) continue;
    const names = refs.get(snapshot) ?? [];
    names.push(name);
    refs.set(snapshot, names);
  }
  return refs;
}
