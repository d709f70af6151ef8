/**
 * Whether recorded states and their pins are still there (backends §3.5, L06).
 *
 * @module
 */

import type { Op, Pin, State, Verdict } from "../backend.ts";
import { BackendError, StateGoneError } from "../../engine/model/backend_errors.ts";
import { renderState } from "../../engine/model/render_state.ts";
import { isInside, localPath, resolveExisting } from "../../engine/io/paths.ts";
import { mapLimit } from "../../engine/io/pool.ts";
import { LocalStorage } from "../storage/local.ts";
import type { ObjectStorage } from "../storage/storage.ts";
import type { Fragment, FragmentFile } from "./_manifest.ts";
import { locate, type Position, positionOf, stateOf } from "./_positions.ts";
import { branchId, readBranch, readTag } from "./_refs.ts";
import { branchKey, KIND, MAIN, readManifestOf, requireTable, type Table } from "./_table.ts";

/** How many fragments of a version a deep look checks the files of; all when there are no more. */
const SAMPLE = 64;

/** Returns what became of a state; whatever else the store says leaves the answer open. */
export async function verify(
  table: Table,
  item: { readonly state: State; readonly pin: Pin | undefined },
  options: Op & { readonly deep: boolean },
): Promise<Verdict> {
  try {
    const position = positionOf(item.state);
    if (item.pin) {
      const verdict = await verifyTag(table, { ref: item.pin.ref, position }, options);
      if (verdict.status !== "ok" || !options.deep) return verdict;
    }
    // Without a pin a shallow look can still prove the state gone, but not that it will stay.
    const file = await locate(table, position, options);
    if (!options.deep) return { status: "unknown", message: "recorded without a pin; a deep look opens it" };
    const manifest = await readManifestOf(table, file, options);
    return await verifyFiles(table, { branch: position.branch, fragments: manifest.fragments }, options);
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    // Only the table itself can say that something is gone. One that is not there may be a disk that is not mounted.
    const gone = error instanceof StateGoneError;
    return { status: gone ? "missing" : "unknown", message: error.reason, cause: error };
  }
}

async function verifyTag(
  table: Table,
  wanted: { readonly ref: string; readonly position: Position },
  op: Op,
): Promise<Verdict> {
  const { ref, position } = wanted;
  const tag = await readTag(table, ref, op);
  if (!tag) {
    await requireTable(table, op);
    return { status: "missing", message: `pin "${ref}" does not exist` };
  }
  if (tag.branch !== position.branch || tag.version !== position.version) {
    return { status: "drifted", message: `pin "${ref}" is at ${renderState(stateOf(tag))}` };
  }
  if (tag.branch === MAIN) return { status: "ok" };
  const branch = await readBranch(table, tag.branch, op);
  if (!branch) return { status: "missing", message: `branch "${tag.branch}" of pin "${ref}" was deleted` };
  return position.id === undefined || position.id === branchId(branch)
    ? { status: "ok" }
    : { status: "drifted", message: `branch "${tag.branch}" of pin "${ref}" was deleted and made anew` };
}

async function verifyFiles(
  table: Table,
  version: { readonly branch: string; readonly fragments: readonly Fragment[] },
  op: Op,
): Promise<Verdict> {
  const sample = spread(version.fragments, SAMPLE);
  const files = sample.flatMap((fragment) => [...fragment.files, ...(fragment.deletions ? [fragment.deletions] : [])]);
  const problems = await mapLimit(
    files,
    16,
    (file) => problemOf(table, { branch: version.branch, file }, op),
    op.signal,
  );
  const missing = problems.find((problem) => problem !== undefined && problem.status === "missing");
  const unknown = problems.find((problem) => problem !== undefined);
  const looked = `files of ${sample.length} of ${version.fragments.length} fragments looked for`;
  if (!missing && !unknown) return { status: "ok", message: looked };
  const { status, message } = missing ?? unknown as Verdict;
  return { status, message: `${message} (${looked})` };
}

async function problemOf(
  table: Table,
  at: { readonly branch: string; readonly file: FragmentFile },
  op: Op,
): Promise<Verdict | undefined> {
  const place = placeOf(table, at);
  const name = at.file.path;
  if (!place) return { status: "unknown", message: `file "${name}" lies in another store, "${at.file.base?.path}"` };
  const info = await place.storage.head(place.key, op);
  if (!info) return { status: "missing", message: `file "${name}" does not exist` };
  if (at.file.size === undefined || info.size === at.file.size) return undefined;
  return { status: "missing", message: `file "${name}" has ${info.size} bytes instead of ${at.file.size}` };
}

function placeOf(
  table: Table,
  at: { readonly branch: string; readonly file: FragmentFile },
): { readonly storage: ObjectStorage; readonly key: string } | undefined {
  const { base, path } = at.file;
  if (!base) return { storage: table.storage, key: branchKey(at.branch, path) };
  const local = localPath(base.path);
  if (local === undefined) return undefined;
  const folder = resolveExisting(local);
  if (!isInside(folder, table.root)) return { storage: new LocalStorage(folder, { kind: KIND }), key: path };
  return { storage: table.storage, key: `${folder.slice(table.root.length)}/${path}`.replace(/^\/+/, "") };
}

/** Returns at most `count` items, evenly spread and with both ends. */
function spread<T>(items: readonly T[], count: number): readonly T[] {
  if (items.length <= count) return items;
  const step = (items.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, i) => items[Math.round(i * step)] as T);
}
