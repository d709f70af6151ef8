/**
 * Makes and writes real Lance tables for tests, with LanceDB itself. Needs the native addon, which it installs at first use.
 *
 * @module
 */

import { LANCE_ADDON, loadAddon } from "../../backends/native.ts";
import { installAddon } from "../../scripts/addons.ts";
import { basename, dirname } from "node:path";

/** A row: every one of a table has the same columns. */
export type Row = Readonly<Record<string, number | string | boolean>>;

/** Where to write: main by default. */
export interface OnBranch {
  readonly branch?: string;
}

interface NativeTable {
  version(): Promise<number>;
  countRows(): Promise<number>;
  add(rows: readonly Row[]): Promise<unknown>;
  delete(where: string): Promise<unknown>;
  addColumns(columns: readonly { readonly name: string; readonly valueSql: string }[]): Promise<unknown>;
  createIndex(column: string): Promise<void>;
  checkout(version: number): Promise<void>;
  branches(): Promise<NativeBranches>;
  tags(): Promise<NativeTags>;
  toArrow(): Promise<{ toArray(): readonly { toJSON(): Row }[] }>;
  close(): void;
}

interface NativeBranches {
  list(): Promise<Record<string, { readonly parentVersion: number; readonly parentBranch?: string }>>;
  create(name: string, from?: string, version?: number): Promise<NativeTable>;
  checkout(name: string): Promise<NativeTable>;
  delete(name: string): Promise<void>;
}

interface NativeTags {
  list(): Promise<Record<string, { readonly version: number }>>;
  create(name: string, version: number): Promise<void>;
  delete(name: string): Promise<void>;
}

interface NativeConnection {
  createTable(name: string, rows: readonly Row[]): Promise<NativeTable>;
  openTable(name: string): Promise<NativeTable>;
  close(): void;
}

/** Makes a table at a path that ends in `.lance`, and returns its first version. */
export async function createLanceTable(path: string, rows: readonly Row[] = [{ id: 1, name: "a" }]): Promise<number> {
  const connection = await connect(path);
  const table = await connection.createTable(basename(path, ".lance"), rows);
  const version = await table.version();
  table.close();
  connection.close();
  return version;
}

/** Appends rows and returns the version that makes. */
export async function appendLanceRows(path: string, rows: readonly Row[], on: OnBranch = {}): Promise<number> {
  return await withLanceTable(path, async (table) => {
    await table.add(rows);
    return await table.version();
  }, on);
}

/** Returns all rows. */
export async function lanceRows(path: string, on: OnBranch = {}): Promise<readonly Row[]> {
  return await withLanceTable(path, async (table) => (await table.toArrow()).toArray().map((row) => row.toJSON()), on);
}

/** Calls `fn` with a table as LanceDB has it. */
export async function withLanceTable<T>(
  path: string,
  fn: (table: NativeTable) => Promise<T>,
  on: OnBranch = {},
): Promise<T> {
  const connection = await connect(path);
  try {
    const main = await connection.openTable(basename(path, ".lance"));
    const table = on.branch === undefined || on.branch === "main" ? main : await checkout(main, on.branch);
    try {
      return await fn(table);
    } finally {
      table.close();
    }
  } finally {
    connection.close();
  }
}

async function checkout(table: NativeTable, branch: string): Promise<NativeTable> {
  return await (await table.branches()).checkout(branch);
}

async function connect(path: string): Promise<NativeConnection> {
  if (!path.endsWith(".lance")) throw new TypeError(`LanceDB opens only folders named "<name>.lance", not "${path}"`);
  await installAddon(LANCE_ADDON);
  const lancedb = await loadAddon(LANCE_ADDON) as {
    connectNamespace(type: string, properties: Record<string, unknown>): Promise<NativeConnection>;
  };
  return await lancedb.connectNamespace("dir", { root: dirname(path), manifestEnabled: false });
}
