/**
 * A handle on one version of a Delta table.
 *
 * @module
 */

import type { Handle, HandleJson, Op } from "../backend.ts";
import { filesAt, vectorPlace } from "./_files.ts";
import { openLog } from "./_log.ts";
import { resolveLogPath, type Table } from "./_table.ts";

/**
 * A data file of a version.
 *
 * @example Leave out files whose rows are partly deleted
 * ```ts
 * import type { DeltaFile } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const file: DeltaFile = { uri: "/t/part-0.parquet", size: 1024, partitionValues: { day: "2026-01-01" } };
 * assert.equal(file.deletionVector, undefined);
 * ```
 */
export interface DeltaFile {
  /** Absolute path or URI, decoded. */
  readonly uri: string;
  /** In bytes. */
  readonly size: number;
  /** Values of the partition columns, as the log spells them. */
  readonly partitionValues: Readonly<Record<string, string | null>>;
  /** What marks rows of the file as deleted, as the log spells it; a reader must honour it. */
  readonly deletionVector?: {
    /** `u`, `i` or `p`, as the Delta protocol has them. */
    readonly storageType: string;
    /** Where it lies, or itself, by `storageType`. */
    readonly pathOrInlineDv: string;
    /** Where it begins in its file, in bytes. */
    readonly offset?: number;
    /** The file it lies in; absent for an inline one. */
    readonly uri?: string;
  };
}

/**
 * Handle of the kind `delta`: always read-only, at one version.
 *
 * @example List the files of a version, for a reader of Parquet
 * ```ts
 * import { Dataset, type DeltaHandle } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await Deno.mkdir(`${cwd}-table/_delta_log`, { recursive: true });
 * await Deno.writeTextFile(
 *   `${cwd}-table/_delta_log/00000000000000000000.json`,
 *   '{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}\n' +
 *     '{"metaData":{"id":"0","format":{"provider":"parquet"},"schemaString":"{}","partitionColumns":[]}}\n' +
 *     '{"add":{"path":"part-0.parquet","partitionValues":{},"size":1024,"modificationTime":0,"dataChange":true}}\n',
 * );
 * await ds.add({ key: "table", kind: "delta", locator: { uri: `${cwd}-table` } });
 *
 * await using opened = await ds.open("table");
 * const files = await Array.fromAsync((opened.native as DeltaHandle).files());
 * assert.deepEqual(files.map((f) => f.size), [1024]);
 * ```
 */
export class DeltaHandle implements Handle {
  /** Class name. */
  readonly type = "DeltaHandle";
  /** The table's address as the locator spells it. */
  readonly key: string;
  /** Tables are written with Delta's own libraries. */
  readonly readOnly = true;
  /** The version, from 0. */
  readonly version: number;
  readonly #table: Table;

  /** @internal Backends make handles. */
  constructor(table: Table, version: number) {
    this.key = table.uri;
    this.version = version;
    this.#table = table;
  }

  /** Returns `uri@v<version>`. */
  address(): string {
    return `${this.#table.uri}@v${this.version}`;
  }

  /** Returns the handle as plain data. */
  toJSON(): HandleJson {
    return {
      key: this.key,
      read_only: this.readOnly,
      address: this.address(),
      type: this.type,
      kind: "delta",
      native: { uri: this.#table.uri, version: this.version },
    };
  }

  /**
   * Yields the data files of the version. Reads the log, never data. Needs read permission for the table.
   *
   * @throws {CapabilityError} if the table needs a reader feature that tether does not know.
   * @throws {StateGoneError} if the log of the version was cleaned up.
   */
  async *files(op: Op = {}): AsyncIterable<DeltaFile> {
    const table = this.#table;
    const log = await openLog(table, { ...op, reach: this.version });
    for (const file of (await filesAt(log, this.version, op)).live.values()) {
      const vector = file.deletionVector;
      const place = vectorPlace(table.root, vector);
      yield {
        uri: resolveLogPath(table.root, file.path),
        size: file.size,
        partitionValues: file.partitionValues,
        ...(vector === undefined ? {} : {
          deletionVector: {
            storageType: vector.storageType,
            pathOrInlineDv: vector.pathOrInlineDv,
            ...(vector.offset === undefined ? {} : { offset: vector.offset }),
            ...(place === undefined ? {} : { uri: place }),
          },
        }),
      };
    }
  }

  /** Does nothing: no file stays open. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
