/**
 * A Delta table's own history, and the difference of two versions as the commits between them.
 *
 * @module
 */

import { type Change, type HistoryEntry, MAX_DIFF_ENTRIES, type ObjectDiff, type Op } from "../backend.ts";
import { mapLimit } from "../../engine/io/pool.ts";
import { type CommitInfo, type Row, toNumber } from "./_actions.ts";
import type { DeltaLog } from "./_log.ts";

/** Counts by writer: Spark spells metrics in camel case and as text, delta-rs in snake case. The first present wins. */
const COUNTS: readonly { readonly sign: string; readonly unit: string; readonly names: readonly string[] }[] = [
  {
    sign: "+",
    unit: "rows",
    names: ["num_added_rows", "num_target_rows_inserted", "numTargetRowsInserted", "numOutputRows"],
  },
  {
    sign: "-",
    unit: "rows",
    names: ["num_deleted_rows", "num_target_rows_deleted", "numTargetRowsDeleted", "numDeletedRows"],
  },
  {
    sign: "~",
    unit: "rows",
    names: ["num_updated_rows", "num_target_rows_updated", "numTargetRowsUpdated", "numUpdatedRows"],
  },
  {
    sign: "+",
    unit: "files",
    names: [
      "num_added_files",
      "num_target_files_added",
      "numTargetFilesAdded",
      "numAddedFiles",
      "numFilesAdded",
      "numFiles",
    ],
  },
  {
    sign: "-",
    unit: "files",
    names: [
      "num_removed_files",
      "num_target_files_removed",
      "numTargetFilesRemoved",
      "numRemovedFiles",
      "numFilesRemoved",
    ],
  },
];

/** How many commits are read side by side. */
const PARALLEL = 16;

/** Returns the newest commits from a version backwards, as far as the log still has them. */
export async function historyOf(
  log: DeltaLog,
  options: Op & { readonly from: number; readonly limit: number },
): Promise<HistoryEntry[]> {
  const versions: number[] = [];
  for (let v = options.from; v >= 0 && log.hasCommit(v) && versions.length < options.limit; v--) versions.push(v);
  return await mapLimit(versions, PARALLEL, async (version) => {
    const info = await log.commitInfo(version, options);
    return {
      id: String(version),
      ...(info.timestamp === undefined ? {} : { when: new Date(info.timestamp).toISOString() }),
      message: describe(info, ["rows"]),
      refs: [],
    };
  }, options.signal);
}

/** One side of a difference. */
export interface VersionState {
  readonly version: number;
  readonly tableId: string;
}

/** Returns the commits between two versions. */
export async function diffOf(
  log: DeltaLog,
  sides: { readonly a: VersionState; readonly b: VersionState },
  op: Op = {},
): Promise<ObjectDiff> {
  const { a, b } = sides;
  const recreated = a.tableId !== b.tableId;
  const backwards = b.version < a.version;
  // The versions of a table made anew have nothing to do with those of the old one.
  const after = recreated && b.version <= a.version ? -1 : Math.min(a.version, b.version);
  const through = recreated ? b.version : Math.max(a.version, b.version);
  const listed = Array.from({ length: Math.min(through - after, MAX_DIFF_ENTRIES) }, (_, i) => after + 1 + i);
  const entries = await mapLimit(listed, PARALLEL, async (version): Promise<Change> => {
    const path = `v${version}`;
    if (!log.hasCommit(version)) return { path, change: "modified", detail: "its log entry was cleaned up" };
    return { path, change: "modified", detail: describe(await log.commitInfo(version, op), ["rows", "files"]) };
  }, op.signal);
  const note = recreated ? "another table lies there now" : backwards ? "the second state is the older one" : "";
  return {
    unit: "commits",
    added: 0,
    removed: 0,
    modified: through - after,
    entries,
    truncated: entries.length < through - after,
    note,
  };
}

/** Renders a commit: its operation and the counts that are not zero. */
export function describe(info: CommitInfo, units: readonly string[]): string {
  const counts = COUNTS.filter((c) => units.includes(c.unit)).flatMap((c) => {
    const count = countOf(info.metrics, c.names);
    return count === 0 ? [] : [`${c.sign}${count} ${c.unit}`];
  });
  const operation = info.operation === "" ? "commit" : info.operation;
  return counts.length === 0 ? operation : `${operation}: ${counts.join(", ")}`;
}

function countOf(metrics: Row, names: readonly string[]): number {
  for (const name of names) {
    const count = toNumber(metrics[name]);
    if (count !== undefined) return count;
  }
  return 0;
}
