/**
 * Checkpoints of a Delta log: classic, in several parts, and v2 in Parquet or JSON with sidecars.
 *
 * @module
 */

import type { AsyncBuffer, Compressors, FileMetaData } from "hyparquet";
import type { Op } from "../backend.ts";
import { BackendError } from "../../engine/model/backend_errors.ts";
import type { ObjectInfo } from "../storage/storage.ts";
import { type Action, type ActionType, parseCommit, type Row, toActions } from "./_actions.ts";
import { changed, KIND, LOG, resolveLogPath, type Table } from "./_table.ts";

/** Options of {@link readCheckpoint}. */
export interface CheckpointOptions extends Op {
  readonly wanted: readonly ActionType[];
}

/** Codecs that hyparquet decodes by itself. */
const BUILT_IN = new Set(["UNCOMPRESSED", "SNAPPY"]);

/** Yields the wanted actions of a checkpoint's files, in no promised order, and those of the sidecars they name. */
export async function* readCheckpoint(
  table: Table,
  files: readonly ObjectInfo[],
  options: CheckpointOptions,
): AsyncIterable<Action> {
  const filesWanted = options.wanted.includes("add") || options.wanted.includes("remove");
  // A checkpoint with a classic name may have sidecars too.
  const wanted: readonly ActionType[] = filesWanted ? [...options.wanted, "sidecar"] : options.wanted;
  for (const file of files) {
    for await (const action of readFile(table, file, { ...options, wanted })) {
      if (action.type !== "sidecar") {
        yield action;
        continue;
      }
      // Sidecars always lie in this folder; the path may repeat it or not.
      const name = resolveLogPath("/", action.path).split("/").at(-1) ?? "";
      const sidecar = { key: `${LOG}/_sidecars/${name}`, size: action.size };
      yield* readFile(table, sidecar, options);
    }
  }
}

async function* readFile(table: Table, file: ObjectInfo, options: CheckpointOptions): AsyncIterable<Action> {
  if (file.key.endsWith(".json")) {
    const found = await table.storage.get(file.key, options);
    if (found === undefined) throw changed(table, file.key);
    try {
      yield* parseCommit(new TextDecoder().decode(found.bytes), options.wanted);
    } catch (error) {
      throw unreadable(table, file, error);
    }
    return;
  }
  for await (const row of readRows(table, file, options)) yield* toActions(row, options.wanted);
}

/** Yields the rows of a Parquet file with the wanted columns, one row group in memory at a time. */
async function* readRows(table: Table, file: ObjectInfo, options: CheckpointOptions): AsyncIterable<Row> {
  const { parquetMetadataAsync, parquetReadObjects, parquetSchema } = await import("hyparquet");
  const source = asyncBuffer(table, file, options);
  try {
    const metadata = await parquetMetadataAsync(source);
    const present = new Set(parquetSchema(metadata).children.map((c) => c.element.name));
    const columns = options.wanted.filter((name) => present.has(name));
    if (columns.length === 0) return;
    const common = { file: source, metadata, columns, ...await compressorsFor(metadata) };
    let rowStart = 0;
    for (const group of metadata.row_groups) {
      const rowEnd = rowStart + Number(group.num_rows);
      yield* await parquetReadObjects({ ...common, rowStart, rowEnd });
      rowStart = rowEnd;
    }
  } catch (error) {
    throw error instanceof BackendError || options.signal?.aborted ? error : unreadable(table, file, error);
  }
}

async function compressorsFor(metadata: FileMetaData): Promise<{ readonly compressors?: Compressors }> {
  const codecs = metadata.row_groups.flatMap((g) => g.columns.map((c) => c.meta_data?.codec ?? "UNCOMPRESSED"));
  if (codecs.every((codec) => BUILT_IN.has(codec))) return {};
  const { compressors } = await import("hyparquet-compressors");
  return { compressors };
}

function asyncBuffer(table: Table, file: ObjectInfo, op: Op): AsyncBuffer {
  return {
    byteLength: file.size,
    async slice(start, end) {
      const range = end === undefined ? { start } : { start, end };
      const bytes = await table.storage.getRange(file.key, range, op);
      if (bytes === undefined) throw changed(table, file.key);
      return bytes.byteLength === bytes.buffer.byteLength
        ? bytes.buffer
        : bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    },
  };
}

function unreadable(table: Table, file: ObjectInfo, error: unknown): BackendError {
  return new BackendError(`Cannot read the checkpoint "${file.key}" of "${table.uri}": it is damaged`, {
    kind: KIND,
    cause: error,
  });
}
