/**
 * Actions of a Delta log, as commits (JSON lines) and checkpoints (Parquet rows) spell them. Source of the format: the
 * Delta transaction log protocol, https://github.com/delta-io/delta/blob/master/PROTOCOL.md.
 *
 * @module
 */

import { Float, parseJson } from "../../engine/model/json.ts";

/** A JSON object or a checkpoint's row: member names to values of either source. */
export type Row = Readonly<Record<string, unknown>>;

/** The table's identity and settings from one version on. */
export interface Metadata {
  readonly type: "metaData";
  readonly id: string;
  readonly configuration: Readonly<Record<string, string>>;
}

/** What a reader must understand from one version on. */
export interface Protocol {
  readonly type: "protocol";
  readonly minReaderVersion: number;
  readonly readerFeatures: readonly string[];
}

/** Rows of a data file that count as deleted. */
export interface DeletionVector {
  /** `u` in a file named by a UUID, `p` in a file named by its path, `i` inline. */
  readonly storageType: string;
  readonly pathOrInlineDv: string;
  readonly offset: number | undefined;
}

/** A data file that belongs to the table from one version on. */
export interface AddFile {
  readonly type: "add";
  /** As logged: a percent-encoded URI, relative to the table or absolute. */
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly deletionVector: DeletionVector | undefined;
}

/** A data file that no longer belongs to the table. */
export interface RemoveFile {
  readonly type: "remove";
  readonly path: string;
  /** Milliseconds since 1970; absent counts as long ago. */
  readonly deletionTimestamp: number | undefined;
  readonly deletionVector: DeletionVector | undefined;
}

/** What a commit says of itself. */
export interface CommitInfo {
  readonly type: "commitInfo";
  readonly operation: string;
  /** Milliseconds since 1970: the in-commit timestamp where the table has one, else the writer's clock. */
  readonly timestamp: number | undefined;
  readonly metrics: Row;
}

/** A file that holds a part of a v2 checkpoint's adds and removes. */
export interface Sidecar {
  readonly type: "sidecar";
  readonly path: string;
  /** In bytes. */
  readonly size: number;
}

/** An action tether reads; all others are passed over. */
export type Action = Metadata | Protocol | AddFile | RemoveFile | CommitInfo | Sidecar;
/** The member name an action stands under. */
export type ActionType = Action["type"];

/**
 * Returns the actions of a commit's JSON lines. Lines without one of the wanted names are passed over unread, except the
 * last: that it parses shows that the text is whole.
 *
 * @throws {SyntaxError} if a line that was read is not JSON.
 */
export function parseCommit(text: string, wanted: readonly ActionType[]): Action[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const actions: Action[] = [];
  for (const [i, line] of lines.entries()) {
    if (i < lines.length - 1 && !wanted.some((name) => line.includes(`"${name}"`))) continue;
    const row = parseJson(line);
    if (row === null || typeof row !== "object" || Array.isArray(row)) throw new SyntaxError("A line holds no action");
    actions.push(...toActions(row as Row, wanted));
  }
  return actions;
}

/** Returns the wanted actions of one row; a row holds one, the others being null or missing. */
export function toActions(row: Row, wanted: readonly ActionType[]): Action[] {
  return wanted.flatMap((name) => {
    const value = row[name];
    return isRow(value) ? [toAction(name, value)] : [];
  });
}

function toAction(type: ActionType, row: Row): Action {
  switch (type) {
    case "metaData":
      return { type, id: text(row["id"]), configuration: texts(row["configuration"]) };
    case "protocol":
      return {
        type,
        minReaderVersion: toNumber(row["minReaderVersion"]) ?? 1,
        readerFeatures: Array.isArray(row["readerFeatures"]) ? row["readerFeatures"].map(text) : [],
      };
    case "add":
      return {
        type,
        path: text(row["path"]),
        size: toNumber(row["size"]) ?? 0,
        partitionValues: nullableTexts(row["partitionValues"]),
        deletionVector: toDeletionVector(row["deletionVector"]),
      };
    case "remove":
      return {
        type,
        path: text(row["path"]),
        deletionTimestamp: toNumber(row["deletionTimestamp"]),
        deletionVector: toDeletionVector(row["deletionVector"]),
      };
    case "commitInfo":
      return {
        type,
        operation: text(row["operation"]),
        timestamp: toNumber(row["inCommitTimestamp"]) ?? toNumber(row["timestamp"]),
        metrics: isRow(row["operationMetrics"]) ? row["operationMetrics"] : {},
      };
    case "sidecar":
      return { type, path: text(row["path"]), size: toNumber(row["sizeInBytes"]) ?? 0 };
    default:
      return type satisfies never;
  }
}

function toDeletionVector(value: unknown): DeletionVector | undefined {
  if (!isRow(value) || typeof value["storageType"] !== "string") return undefined;
  return {
    storageType: value["storageType"],
    pathOrInlineDv: text(value["pathOrInlineDv"]),
    offset: toNumber(value["offset"]),
  };
}

/** Returns a count or time as a number, also one that a writer spelled as text; `undefined` when it is none. */
export function toNumber(value: unknown): number | undefined {
  const plain = value instanceof Float ? value.value : value;
  if (typeof plain === "string" && !/^-?[0-9]+$/.test(plain)) return undefined;
  if (typeof plain !== "number" && typeof plain !== "bigint" && typeof plain !== "string") return undefined;
  return Number(plain);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(isRow(value) ? value : {}).map(([name, v]) => [name, text(v)]));
}

function nullableTexts(value: unknown): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(isRow(value) ? value : {}).map(([name, v]) => [name, typeof v === "string" ? v : null]),
  );
}

function isRow(value: unknown): value is Row {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Float);
}
