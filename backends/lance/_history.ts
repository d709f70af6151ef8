/**
 * The versions of a branch, and how two differ (backends §3.5).
 *
 * @module
 */

import { type Change, type HistoryEntry, MAX_DIFF_ENTRIES, type ObjectDiff, type Op } from "../backend.ts";
import { mapLimit } from "../../engine/io/pool.ts";
import type { Fragment, Manifest } from "./_manifest.ts";
import type { Position } from "./_positions.ts";
import { listTags } from "./_refs.ts";
import { listVersions, readManifestOf, type Table } from "./_table.ts";

/** Returns the versions of a branch up to a position, newest first. */
export async function history(
  table: Table,
  from: Position,
  options: Op & { readonly limit: number },
): Promise<readonly HistoryEntry[]> {
  const versions = await listVersions(table, from.branch, options);
  const head = versions[0]?.version;
  const shown = versions.filter((v) => v.version <= from.version).slice(0, options.limit);
  const tags = (await listTags(table, options)).filter((tag) => tag.branch === from.branch);
  return await mapLimit(shown, 8, async (file) => {
    const manifest = await readManifestOf(table, file, options);
    const names = tags.filter((tag) => tag.version === file.version).map((tag) => tag.name);
    return {
      id: file.version.toString(),
      when: manifest.created.toISOString(),
      message: summary(manifest),
      refs: file.version === head ? [from.branch, ...names] : names,
    };
  }, options.signal);
}

/** Returns how `b` differs from `a`: fragments and columns. */
export function diffManifests(a: Manifest, b: Manifest): ObjectDiff {
  const changes = [...fragmentChanges(a.fragments, b.fragments), ...columnChanges(a.columns, b.columns)];
  const count = (change: Change["change"]): number => changes.filter((c) => c.change === change).length;
  return {
    unit: "fragments",
    added: count("added"),
    removed: count("removed"),
    modified: count("modified"),
    entries: changes.slice(0, MAX_DIFF_ENTRIES),
    truncated: changes.length > MAX_DIFF_ENTRIES,
    note: "",
  };
}

/** Returns the figures that Lance itself lists a version with, in its spelling. */
function summary({ fragments }: Manifest): string {
  const sum = (of: (fragment: Fragment) => number): number => fragments.reduce((total, f) => total + of(f), 0);
  const [rows, deleted] = [sum((f) => f.rows), sum((f) => f.deletedRows)];
  const figures = {
    total_data_file_rows: rows,
    total_data_files: sum((f) => f.files.length),
    total_deletion_file_rows: deleted,
    total_deletion_files: sum((f) => f.deletions ? 1 : 0),
    total_files_size: sum((f) => f.files.reduce((size, file) => size + (file.size ?? 0), 0)),
    total_fragments: fragments.length,
    total_rows: rows - deleted,
  };
  return Object.entries(figures).map(([name, value]) => `${name}=${value}`).join(", ");
}

function fragmentChanges(a: readonly Fragment[], b: readonly Fragment[]): Change[] {
  const [before, after] = [new Map(a.map((f) => [f.id, f])), new Map(b.map((f) => [f.id, f]))];
  const removed = a.filter((f) => !after.has(f.id));
  const others = b.flatMap((fragment): Change[] => {
    const old = before.get(fragment.id);
    if (!old) return [{ path: `fragment ${fragment.id}`, change: "added", detail: `+${liveRows(fragment)} rows` }];
    const detail = fragmentDetail(old, fragment);
    return detail === undefined ? [] : [{ path: `fragment ${fragment.id}`, change: "modified", detail }];
  });
  return [
    ...removed.map((f): Change => ({
      path: `fragment ${f.id}`,
      change: "removed",
      detail: `-${liveRows(f)} rows`,
    })),
    ...others,
  ];
}

// Branches that went apart give one id to different fragments, and added columns add files to a fragment.
function fragmentDetail(a: Fragment, b: Fragment): string | undefined {
  const [before, after] = [a, b].map((f) => new Set(f.files.map((file) => file.path)));
  const kept = [...before ?? []].filter((path) => after?.has(path)).length;
  if (kept === 0 && a.files.length > 0) return `rewritten, ${signed(liveRows(b) - liveRows(a))} rows`;
  const files = kept === before?.size && kept === after?.size ? [] : ["data files changed"];
  const rows = a.deletions?.path === b.deletions?.path ? [] : [`${signed(liveRows(b) - liveRows(a))} rows`];
  return files.length + rows.length === 0 ? undefined : [...files, ...rows].join(", ");
}

function columnChanges(a: readonly string[], b: readonly string[]): Change[] {
  const [before, after] = [new Set(a), new Set(b)];
  return [
    ...b.filter((c) => !before.has(c)).map((c): Change => ({ path: `column ${c}`, change: "added" })),
    ...a.filter((c) => !after.has(c)).map((c): Change => ({ path: `column ${c}`, change: "removed" })),
  ];
}

function liveRows(fragment: Fragment): number {
  return fragment.rows - fragment.deletedRows;
}

function signed(value: number): string {
  return value < 0 ? String(value) : `+${value}`;
}
