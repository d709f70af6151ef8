/**
 * Writes small Delta tables for tests: real data files, a JSON log, and checkpoints of every kind. One integer column,
 * one data file per commit.
 *
 * @module
 */

import { ByteWriter, parquetWrite } from "hyparquet-writer";
import type { SchemaElement } from "hyparquet";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

type Action = Readonly<Record<string, unknown>>;

/** Options of {@link createDelta}. */
export interface CreateOptions {
  /** The table's id. @default {a random UUID} */
  readonly id?: string;
  /** `metaData.configuration`. @default {{}} */
  readonly configuration?: Readonly<Record<string, string>>;
  /** Reader features; with any the protocol is 3 and 7, else 1 and 2. @default {[]} */
  readonly readerFeatures?: readonly string[];
}

/** What a commit holds. */
export interface CommitOptions {
  readonly operation?: string;
  readonly metrics?: Action;
  /** Milliseconds since 1970. @default {now} */
  readonly timestamp?: number;
  /** Further members of `commitInfo`. */
  readonly info?: Action;
}

/** How a checkpoint is laid out. */
export type CheckpointLayout = "classic" | "parts" | "v2-parquet" | "v2-json" | "sidecars" | "classic-sidecars";

/** Options of {@link DeltaData.checkpoint}. */
export interface CheckpointWriteOptions {
  readonly layout?: CheckpointLayout;
  readonly codec?: "UNCOMPRESSED" | "SNAPPY" | "GZIP";
  /** Rows of a row group. @default {1000} */
  readonly rowGroupSize?: number;
  /** Whether `_last_checkpoint` is written. @default {true} */
  readonly hint?: boolean;
}

/** A table under construction; every call makes one version. */
export class DeltaData {
  /** The table's folder. */
  readonly path: string;
  #version = -1;
  #files = 0;
  readonly #live = new Map<string, Action>();
  readonly #removed = new Map<string, Action>();
  #protocol: Action = {};
  #metadata: Action = {};

  constructor(path: string) {
    this.path = path;
  }

  /** The newest version. */
  get version(): number {
    return this.#version;
  }

  /** Paths of the data files of the newest version, as logged. */
  get files(): readonly string[] {
    return [...this.#live.values()].map((a) => String(a["path"]));
  }

  /** Adds rows in a new file; returns its path as logged. */
  async append(ids: readonly number[], options: CommitOptions & { readonly name?: string } = {}): Promise<string> {
    const add = await this.#dataFile(ids, options.name);
    await this.commit([{ add }], { operation: "WRITE", metrics: { num_added_rows: ids.length }, ...options });
    return String(add["path"]);
  }

  /** Replaces all rows. */
  async overwrite(ids: readonly number[], options: CommitOptions = {}): Promise<void> {
    const deletionTimestamp = options.timestamp ?? Date.now();
    const removes = [...this.#live.values()].map((add) => ({
      remove: { path: add["path"], deletionTimestamp, dataChange: true, ...vectorOf(add) },
    }));
    const add = await this.#dataFile(ids);
    await this.commit([...removes, { add }], {
      operation: "WRITE",
      metrics: { num_added_rows: ids.length },
      ...options,
    });
  }

  /** Writes a version with these actions as they are. */
  async commit(actions: readonly Action[], options: CommitOptions = {}): Promise<void> {
    const commitInfo = {
      timestamp: options.timestamp ?? Date.now(),
      operation: options.operation ?? "MANUAL",
      ...(options.metrics ? { operationMetrics: options.metrics } : {}),
      ...options.info,
    };
    this.#version++;
    const text = [{ commitInfo }, ...actions].map((a) => JSON.stringify(a) + "\n").join("");
    await Deno.writeTextFile(this.logFile(this.#version), text);
    for (const action of actions) this.#apply(action);
  }

  /** Writes a checkpoint of the newest version. */
  async checkpoint(options: CheckpointWriteOptions = {}): Promise<void> {
    const layout = options.layout ?? "classic";
    const files = [
      ...[...this.#live.values()].map((add) => ({ add })),
      ...[...this.#removed.values()].map((remove) => ({ remove })),
    ];
    const rest = [{ protocol: this.#protocol }, { metaData: this.#metadata }];
    const name = String(this.#version).padStart(20, "0");
    const log = join(this.path, "_delta_log");
    const uuid = crypto.randomUUID();
    const metadata = { checkpointMetadata: { version: this.#version } };
    switch (layout) {
      case "classic":
        await this.#parquet(join(log, `${name}.checkpoint.parquet`), [...files, ...rest], options);
        break;
      case "parts": {
        const parts = [rest, files.slice(0, 1), files.slice(1)];
        for (const [i, part] of parts.entries()) {
          const file = `${name}.checkpoint.${pad10(i + 1)}.${pad10(parts.length)}.parquet`;
          await this.#parquet(join(log, file), part, options);
        }
        break;
      }
      case "v2-parquet":
        await this.#parquet(join(log, `${name}.checkpoint.${uuid}.parquet`), [metadata, ...files, ...rest], options);
        break;
      case "v2-json":
        await this.#json(join(log, `${name}.checkpoint.${uuid}.json`), [metadata, ...files, ...rest]);
        break;
      case "sidecars":
      case "classic-sidecars": {
        await Deno.mkdir(join(log, "_sidecars"), { recursive: true });
        const sidecars = [];
        for (const [i, part] of [files.slice(0, 1), files.slice(1)].entries()) {
          const file = join(log, "_sidecars", `${uuid.slice(0, -1)}${i}.parquet`);
          await this.#parquet(file, part, options);
          const { size } = await Deno.stat(file);
          sidecars.push({ sidecar: { path: file.split("/").at(-1), sizeInBytes: size, modificationTime: Date.now() } });
        }
        const actions = [metadata, ...sidecars, ...rest];
        if (layout === "sidecars") await this.#json(join(log, `${name}.checkpoint.${uuid}.json`), actions);
        else await this.#parquet(join(log, `${name}.checkpoint.parquet`), actions, options);
      }
    }
    if (options.hint === false) return;
    const hint = JSON.stringify({ version: this.#version, size: files.length + rest.length });
    await Deno.writeTextFile(join(log, "_last_checkpoint"), hint);
  }

  /** Removes the commits and checkpoints before a version, as the clean-up of a log does. */
  async cleanLog(before: number): Promise<void> {
    const log = join(this.path, "_delta_log");
    for await (const entry of Deno.readDir(log)) {
      const version = /^[0-9]{20}/.exec(entry.name)?.[0];
      if (version !== undefined && Number(version) < before) await Deno.remove(join(log, entry.name));
    }
  }

  /** Returns the path of a version's commit. */
  logFile(version: number): string {
    return join(this.path, "_delta_log", `${String(version).padStart(20, "0")}.json`);
  }

  #apply(action: Action): void {
    const { add, remove, protocol, metaData } = action as Record<string, Action | undefined>;
    if (protocol) this.#protocol = protocol;
    if (metaData) this.#metadata = metaData;
    if (add) {
      this.#live.set(idOf(add), add);
      this.#removed.delete(idOf(add));
    }
    if (remove) {
      this.#live.delete(idOf(remove));
      this.#removed.set(idOf(remove), remove);
    }
  }

  async #dataFile(ids: readonly number[], name?: string): Promise<Action> {
    const path = name ?? `part-${String(this.#files++).padStart(5, "0")}-${crypto.randomUUID()}.parquet`;
    const writer = new ByteWriter();
    parquetWrite({ writer, columnData: [{ name: "id", data: ids.map(BigInt), type: "INT64" }] });
    const target = join(this.path, decodeURIComponent(path));
    await Deno.mkdir(join(target, ".."), { recursive: true });
    await Deno.writeFile(target, writer.getBytes());
    return {
      path,
      partitionValues: {},
      size: writer.getBytes().length,
      modificationTime: Date.now(),
      dataChange: true,
      stats: JSON.stringify({ numRecords: ids.length }),
    };
  }

  async #json(path: string, actions: readonly Action[]): Promise<void> {
    await Deno.writeTextFile(path, actions.map((a) => JSON.stringify(a) + "\n").join(""));
  }

  async #parquet(path: string, actions: readonly Action[], options: CheckpointWriteOptions): Promise<void> {
    const writer = new ByteWriter();
    parquetWrite({
      writer,
      schema: [...CHECKPOINT_SCHEMA],
      columnData: ["add", "remove", "metaData", "protocol", "sidecar", "checkpointMetadata"].map((name) => ({
        name,
        data: actions.map((a) => toParquet(a[name])),
      })),
      codec: options.codec ?? "SNAPPY",
      compressors: { GZIP: (bytes: Uint8Array) => new Uint8Array(gzipSync(bytes)) },
      rowGroupSize: options.rowGroupSize ?? 1000,
      statistics: false,
    });
    await Deno.writeFile(path, writer.getBytes());
  }
}

/** Makes an empty table (version 0 has no data) in a folder that may not exist yet. */
export async function createDelta(path: string, options: CreateOptions = {}): Promise<DeltaData> {
  await Deno.mkdir(join(path, "_delta_log"), { recursive: true });
  const features = options.readerFeatures ?? [];
  const schema = { type: "struct", fields: [{ name: "id", type: "long", nullable: true, metadata: {} }] };
  const table = new DeltaData(path);
  await table.commit([
    {
      protocol: features.length === 0
        ? { minReaderVersion: 1, minWriterVersion: 2 }
        : { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: features, writerFeatures: features },
    },
    {
      metaData: {
        id: options.id ?? crypto.randomUUID(),
        format: { provider: "parquet", options: {} },
        schemaString: JSON.stringify(schema),
        partitionColumns: [],
        configuration: options.configuration ?? {},
        createdTime: Date.now(),
      },
    },
  ], { operation: "CREATE TABLE" });
  return table;
}

function idOf(file: Action): string {
  return JSON.stringify([file["path"], file["deletionVector"] ?? null]);
}

function vectorOf(file: Action): Action {
  return file["deletionVector"] === undefined ? {} : { deletionVector: file["deletionVector"] };
}

function pad10(n: number): string {
  return String(n).padStart(10, "0");
}

/** Integers that the schema stores in 64 bits must be bigints for the writer, and maps lists of pairs. */
function toParquet(value: unknown): unknown {
  if (value === undefined || value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, v]) => {
      if (LONGS.has(name)) return [name, BigInt(v)];
      if (name === "deletionVector") return [name, { ...v, cardinality: BigInt(v.cardinality) }];
      if (MAPS.has(name)) return [name, Object.entries(v).map(([key, x]) => ({ key, value: x }))];
      return [name, toParquet(v)];
    }),
  );
}

const LONGS = new Set([
  "size",
  "modificationTime",
  "deletionTimestamp",
  "createdTime",
  "sizeInBytes",
  "version",
]);
const MAPS = new Set(["partitionValues", "configuration", "options"]);

function group(name: string, children: readonly SchemaElement[][], more: Partial<SchemaElement> = {}): SchemaElement[] {
  return [{ name, repetition_type: "OPTIONAL", num_children: children.length, ...more }, ...children.flat()];
}

function leaf(name: string, type: "STRING" | "INT64" | "INT32" | "BOOLEAN", required = false): SchemaElement[] {
  const repetition_type = required ? "REQUIRED" : "OPTIONAL";
  if (type === "STRING") return [{ name, type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type }];
  return [{ name, type, repetition_type }];
}

function map(name: string): SchemaElement[] {
  const entry = group("key_value", [leaf("key", "STRING", true), leaf("value", "STRING")], {
    repetition_type: "REPEATED",
  });
  return group(name, [entry], { converted_type: "MAP" });
}

function list(name: string): SchemaElement[] {
  const entry = group("list", [leaf("element", "STRING")], { repetition_type: "REPEATED" });
  return group(name, [entry], { converted_type: "LIST" });
}

const VECTOR = group("deletionVector", [
  leaf("storageType", "STRING"),
  leaf("pathOrInlineDv", "STRING"),
  leaf("offset", "INT32"),
  leaf("sizeInBytes", "INT32"),
  leaf("cardinality", "INT64"),
]);

const CHECKPOINT_SCHEMA: readonly SchemaElement[] = [
  { name: "root", num_children: 6 },
  ...group("add", [
    leaf("path", "STRING"),
    map("partitionValues"),
    leaf("size", "INT64"),
    leaf("modificationTime", "INT64"),
    leaf("dataChange", "BOOLEAN"),
    leaf("stats", "STRING"),
    VECTOR,
  ]),
  ...group("remove", [
    leaf("path", "STRING"),
    leaf("deletionTimestamp", "INT64"),
    leaf("dataChange", "BOOLEAN"),
    VECTOR,
  ]),
  ...group("metaData", [
    leaf("id", "STRING"),
    group("format", [leaf("provider", "STRING"), map("options")]),
    leaf("schemaString", "STRING"),
    list("partitionColumns"),
    map("configuration"),
    leaf("createdTime", "INT64"),
  ]),
  ...group("protocol", [
    leaf("minReaderVersion", "INT32"),
    leaf("minWriterVersion", "INT32"),
    list("readerFeatures"),
    list("writerFeatures"),
  ]),
  ...group("sidecar", [leaf("path", "STRING"), leaf("sizeInBytes", "INT64"), leaf("modificationTime", "INT64")]),
  ...group("checkpointMetadata", [leaf("version", "INT64")]),
];
