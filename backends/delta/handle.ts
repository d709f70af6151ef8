/**
 * A handle on one version of a Delta table.
 *
 * @module
 */

import type { Handle, HandleJson, Op } from "../backend.ts";
import { filesAt, vectorPlace } from "./_files.ts";
import { openLog } from "./_log.ts";
import { resolveLogPath, type Table } from "./_table.ts";

/** A data file of a version. */
export interface DeltaFile {
  /** Absolute path or URI, decoded. */
  readonly uri: string;
  /** In bytes. */
  readonly size: number;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  /** What marks rows of the file as deleted, as the log spells it; a reader must honour it. */
  readonly deletionVector?: {
    readonly storageType: string;
    readonly pathOrInlineDv: string;
    readonly offset?: number;
    /** The file it lies in; absent for an inline one. */
    readonly uri?: string;
  };
}

/** Handle of the kind `delta`: always read-only, at one version. */
export class DeltaHandle implements Handle {
  readonly type = "DeltaHandle";
  readonly key: string;
  readonly readOnly = true;
  readonly version: number;
  readonly #table: Table;

  constructor(table: Table, version: number) {
    this.key = table.uri;
    this.version = version;
    this.#table = table;
  }

  /** Returns `uri@v<version>`. */
  address(): string {
    return `${this.#table.uri}@v${this.version}`;
  }

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

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
