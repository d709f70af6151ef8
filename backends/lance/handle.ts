/**
 * A handle on a branch or a version of a Lance table.
 *
 * @module
 */

import type { Handle, HandleJson } from "../backend.ts";
import { BackendError, CapabilityError } from "../../engine/model/backend_errors.ts";
import { messageOf, TetherError } from "../../engine/model/errors.ts";
import { integer } from "../../engine/model/json.ts";
import { LANCE_ADDON, loadAddon } from "../native.ts";
import type { Position } from "./_positions.ts";
import { KIND, MAIN } from "./_table.ts";
import { basename, dirname } from "node:path";

/**
 * What tether itself calls of a table of `@lancedb/lancedb`; it has everything else that package documents.
 *
 * @example Append rows
 * ```ts
 * import type { LanceTable } from "@tether/tether";
 *
 * async function append(table: LanceTable, rows: readonly { readonly id: number }[]): Promise<number> {
 *   await table.add(rows);
 *   return await table.version();
 * }
 * ```
 */
export interface LanceTable {
  /** Returns the version it is on. */
  version(): Promise<number>;
  /** Returns the number of rows. */
  countRows(): Promise<number>;
  /** Appends rows as a new version. */
  add(rows: readonly Readonly<Record<string, unknown>>[]): Promise<unknown>;
  /** Moves it to a version, where it can only be read. */
  checkout(version: number): Promise<void>;
  /** Returns what opens it on a branch. */
  branches(): Promise<{ checkout(name: string, version?: number): Promise<LanceTable> }>;
  /** Releases what it holds. */
  close(): void;
}

interface LanceConnection {
  openTable(name: string): Promise<LanceTable>;
  close(): void;
}

/** What a handle is made of. */
export interface LanceHandleData {
  /** As the locator spells it. */
  readonly uri: string;
  /** Absolute path. */
  readonly root: string;
  /** The version, which a writable handle moves on from. */
  readonly position: Position;
  readonly readOnly: boolean;
  /** The tag that was opened. */
  readonly tag?: string;
}

/**
 * Handle of the kind `lance`: a table of LanceDB, on the branch or version that was opened.
 *
 * @example Count the rows of what a commit recorded
 * ```ts
 * import type { Dataset, LanceHandle } from "@tether/tether";
 *
 * async function countRows(ds: Dataset, key: string, rev: string): Promise<number> {
 *   await using opened = await ds.open(key, { rev });
 *   if (opened.type !== "LanceHandle") throw new TypeError(`${key} is no Lance table`);
 *   return await (await (opened.native as LanceHandle).table()).countRows();
 * }
 * ```
 */
export class LanceHandle implements Handle {
  /** Class name. */
  readonly type = "LanceHandle";
  /** The table's address as the locator spells it. */
  readonly key: string;
  /** Whether {@link LanceHandle.table} can only be read. */
  readonly readOnly: boolean;
  /** The branch it is on. */
  readonly branch: string;
  /** The version, which a writable handle moves on from. */
  readonly version: number | bigint;
  readonly #data: LanceHandleData;
  #table: Promise<LanceTable> | undefined;
  #close: (() => void) | undefined;

  /** @internal Backends make handles. */
  constructor(data: LanceHandleData) {
    this.key = data.uri;
    this.readOnly = data.readOnly;
    this.branch = data.position.branch;
    this.version = integer(data.position.version);
    this.#data = data;
  }

  /** Returns `uri#tag`, `uri#branch@v<version>`, or `uri#branch` of a writable handle (DIV-9). */
  address(): string {
    const { uri, tag } = this.#data;
    if (tag !== undefined) return `${uri}#${tag}`;
    return this.readOnly ? `${uri}#${this.branch}@v${this.version}` : `${uri}#${this.branch}`;
  }

  /** Returns the handle as plain data. */
  toJSON(): HandleJson {
    const { uri, tag } = this.#data;
    return {
      key: this.key,
      read_only: this.readOnly,
      address: this.address(),
      type: this.type,
      kind: KIND,
      native: { uri, version: this.version, branch: this.branch, ...(tag === undefined ? {} : { tag }) },
    };
  }

  /**
   * Returns the table, opened by LanceDB at first use: checked out at the version, or on the branch when writable. Loads
   * native code, whose I/O the runtime's permissions do not govern; {@link loadAddon} says what loading needs.
   *
   * @throws {ConfigError} if `@lancedb/lancedb` is not installed.
   * @throws {CapabilityError} if the table's folder is not named `<name>.lance`, the only names LanceDB opens.
   */
  table(): Promise<LanceTable> {
    this.#table ??= this.#open();
    return this.#table;
  }

  /** Closes the table if it was opened. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#table?.catch(() => {});
    this.#close?.();
    this.#close = undefined;
  }

  async #open(): Promise<LanceTable> {
    const { root } = this.#data;
    const name = basename(root, ".lance");
    if (!root.endsWith(".lance")) {
      throw new CapabilityError(`Cannot open "${root}" with LanceDB: its folder is not named "<name>.lance"`, {
        kind: KIND,
        hints: ["Open it with pylance, or with the address of this handle"],
      });
    }
    try {
      const connection = await connect(dirname(root));
      this.#close = () => connection.close();
      return await this.#checkout(await connection.openTable(name));
    } catch (error) {
      if (error instanceof TetherError) throw error;
      throw new BackendError(`Cannot open "${this.address()}" with LanceDB: ${messageOf(error)}`, {
        kind: KIND,
        cause: error,
      });
    }
  }

  async #checkout(table: LanceTable): Promise<LanceTable> {
    const version = Number(this.version);
    if (this.branch === MAIN) {
      if (this.readOnly) await table.checkout(version);
      return table;
    }
    const branches = await table.branches();
    return await (this.readOnly ? branches.checkout(this.branch, version) : branches.checkout(this.branch));
  }
}

// A plain connection would write a "__manifest" table beside the one that is opened.
async function connect(folder: string): Promise<LanceConnection> {
  const lancedb = await loadAddon(LANCE_ADDON) as {
    connectNamespace(type: string, properties: Record<string, unknown>): Promise<LanceConnection>;
  };
  return await lancedb.connectNamespace("dir", { root: folder, manifestEnabled: false });
}
