/**
 * How two snapshots differ, node by node, from the transaction logs between them; no chunk is read (backends §3.4).
 *
 * @module
 */

import type { DiffResult } from "@earthmover/icechunk-wasm32-wasi";
import { type Change, MAX_DIFF_ENTRIES, type ObjectDiff, type Op } from "../backend.ts";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { compareCodePoints } from "../../engine/model/json.ts";
import { refusalOf } from "./_errors.ts";
import { commonAncestor } from "./_history.ts";
import { KIND } from "./_locator.ts";
import type { Store, View } from "./_repository.ts";

type NodeKind = "group" | "array";

/** What happened to one node along a line of snapshots. */
export interface NodeChange {
  readonly change: Change["change"];
  readonly kind: NodeKind | undefined;
  /** Whether its own document changed. */
  readonly metadata: boolean;
  /** Coordinates of the chunks written, each as text. */
  readonly chunks: ReadonlySet<string>;
}

/** Changes by path. A moved node stands under `from -> to`. */
export type NodeChanges = ReadonlyMap<string, NodeChange>;

/** Returns how snapshot `b` differs from snapshot `a`, wherever the two stand in history. */
export async function diffSnapshots(store: Store, [a, b]: readonly [string, string], op: Op): Promise<ObjectDiff> {
  if (a === b) return toDiff(new Map(), "");
  const what = `compare "${a}" with "${b}"`;
  const view = await store.snapshotView({ ...op, what });
  const forward = await changesBetween(view, { from: a, to: b, what }, op);
  if (forward) return toDiff(forward, "");
  const base = await commonAncestor(view, [a, b], op);
  if (base === undefined) {
    throw new BackendError(`Cannot ${what}: they have no snapshot in common`, { kind: KIND });
  }
  const [left, right] = [
    base === a ? new Map() : await changesBetween(view, { from: base, to: a, what }, op),
    base === b ? new Map() : await changesBetween(view, { from: base, to: b, what }, op),
  ];
  if (!left || !right) throw new BackendError(`Cannot ${what}: "${base}" is not in their history`, { kind: KIND });
  const note = base === b
    ? `"${b}" is older than "${a}"`
    : `the two are on different lines; "${base}" is their newest common snapshot`;
  return toDiff(across(left, right), note);
}

/** Returns the changes along one line; `undefined` when `from` is not in the history of `to`. */
async function changesBetween(
  view: View,
  o: { readonly from: string; readonly to: string; readonly what: string },
  op: Op,
): Promise<NodeChanges | undefined> {
  try {
    const found = await view.use(
      { ...op, what: o.what },
      (r) => r.diff({ fromSnapshotId: o.from, toSnapshotId: o.to }),
    );
    return nodeChanges(found);
  } catch (error) {
    if (refusalOf(error) === "unrelated") return undefined;
    throw error;
  }
}

/** Returns what the library found, by path. Chunks of a new array are part of its being new. */
export function nodeChanges(found: DiffResult): NodeChanges {
  const changes = new Map<string, NodeChange>();
  const put = (paths: readonly string[], change: Change["change"], kind: NodeKind): void => {
    for (const path of paths) changes.set(path, { change, kind, metadata: change === "modified", chunks: new Set() });
  };
  put(found.updatedGroups, "modified", "group");
  put(found.updatedArrays, "modified", "array");
  for (const [path, coordinates] of Object.entries<readonly (readonly number[])[]>(found.updatedChunks)) {
    const chunks = new Set(coordinates.map((c) => c.join("/")));
    changes.set(path, { change: "modified", kind: "array", metadata: changes.has(path), chunks });
  }
  put(found.newGroups, "added", "group");
  put(found.newArrays, "added", "array");
  put(found.deletedGroups, "removed", "group");
  put(found.deletedArrays, "removed", "array");
  for (const { from, to } of found.movedNodes) {
    changes.set(`${from} -> ${to}`, { change: "renamed", kind: undefined, metadata: false, chunks: new Set() });
  }
  return changes;
}

/**
 * Returns how the end of the right line differs from the end of the left one, both starting at one snapshot: the left line
 * backwards, then the right one.
 */
export function across(left: NodeChanges, right: NodeChanges): NodeChanges {
  const result = new Map<string, NodeChange>();
  for (const [path, undone] of left) result.set(...backwards(path, undone));
  for (const [path, done] of right) {
    const before = result.get(path);
    const both = before ? followedBy(before, done) : done;
    if (both) result.set(path, both);
    else result.delete(path);
  }
  return result;
}

function backwards(path: string, done: NodeChange): [string, NodeChange] {
  switch (done.change) {
    case "added":
      return [path, { ...done, change: "removed" }];
    case "removed":
      return [path, { ...done, change: "added" }];
    case "renamed":
      return [path.split(" -> ").reverse().join(" -> "), done];
    case "modified":
      return [path, done];
  }
}

/** Returns what two changes in a row come to; `undefined` when they undo each other. */
function followedBy(first: NodeChange, then: NodeChange): NodeChange | undefined {
  if (first.change === "added" && then.change === "removed") return undefined;
  if (first.change === "added") return { ...then, change: "added" };
  if (then.change === "removed") return { ...then, change: "removed" };
  if (first.change === "removed") {
    // Both lines have a node here that the other one's ancestor had not: two nodes, one path.
    return { ...then, change: "modified", metadata: true };
  }
  return { ...then, metadata: first.metadata || then.metadata, chunks: first.chunks.union(then.chunks) };
}

function toDiff(changes: NodeChanges, note: string): ObjectDiff {
  const counts = { added: 0, removed: 0, modified: 0 };
  for (const { change } of changes.values()) counts[change === "renamed" ? "modified" : change]++;
  const paths = [...changes.keys()].sort(compareCodePoints);
  return {
    unit: "nodes",
    ...counts,
    entries: paths.slice(0, MAX_DIFF_ENTRIES).map((path) => entryOf(path, changes.get(path))),
    truncated: paths.length > MAX_DIFF_ENTRIES,
    note,
  };
}

function entryOf(path: string, node: NodeChange | undefined): Change {
  const change = node?.change ?? "modified";
  const { kind, metadata = false, chunks = new Set() } = node ?? {};
  if (kind === undefined) return { path, change };
  if (change !== "modified") return { path, change, detail: kind };
  const parts = [
    ...(metadata ? [`${kind} metadata`] : []),
    ...(chunks.size > 0 ? [`${chunks.size} ${chunks.size === 1 ? "chunk" : "chunks"}`] : []),
  ];
  return { path, change, detail: parts.join(", ") };
}
