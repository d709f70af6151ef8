/**
 * The files of a Delta table at one version: replayed from the log, and looked for in the store.
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { CapabilityError } from "../../engine/model/backend_errors.ts";
import { mapLimit } from "../../engine/io/pool.ts";
import type { Action, ActionType, AddFile, DeletionVector, Protocol } from "./_actions.ts";
import type { DeltaLog } from "./_log.ts";
import { KIND, resolveLogPath, storageOf, type Table } from "./_table.ts";

/** Reader features whose tables list their files as the plain protocol does. */
const KNOWN_FEATURES: ReadonlySet<string> = new Set([
  "columnMapping",
  "deletionVectors",
  "timestampNtz",
  "typeWidening",
  "typeWidening-preview",
  "v2Checkpoint",
  "vacuumProtocolCheck",
  "variantShredding-preview",
  "variantType",
  "variantType-preview",
]);

/** The newest reader version of the protocol; later needs are named as features. */
const READER_VERSION = 3;

/** How many files are looked for side by side. */
const PARALLEL = 32;
/** How many are looked for before the first result is judged. */
const BATCH = 1024;

/** The files of one version. */
export interface FileSet {
  /** Files of the table, by path and deletion vector. */
  readonly live: ReadonlyMap<string, AddFile>;
  /** When files that left were removed: milliseconds since 1970, `undefined` for unknown; old ones are forgotten. */
  readonly removed: ReadonlyMap<string, number | undefined>;
}

/** A file that is not as the log says. */
export interface FileProblem {
  readonly type: "gone" | "changed";
  readonly place: string;
  readonly detail: string;
}

/**
 * Returns the files of a version: its checkpoint's, with later commits applied.
 *
 * @throws {StateGoneError} if the version cannot be rebuilt.
 * @throws {CapabilityError} if the table needs a feature that tether does not know.
 */
export async function filesAt(log: DeltaLog, version: number, op: Op = {}): Promise<FileSet> {
  const base = log.baseOf(version);
  const live = new Map<string, AddFile>();
  const removed = new Map<string, number | undefined>();
  let protocol: Protocol | undefined;
  const wanted: readonly ActionType[] = ["add", "remove", "protocol"];
  function apply(action: Action): void {
    if (action.type === "protocol") {
      protocol = action;
    } else if (action.type === "add") {
      live.set(fileId(action), action);
      removed.delete(fileId(action));
    } else if (action.type === "remove") {
      live.delete(fileId(action));
      removed.set(fileId(action), action.deletionTimestamp);
    }
  }
  if (base) {
    for await (const action of log.checkpoint(base, wanted, op)) apply(action);
  }
  const range = { after: base?.version ?? -1, through: version };
  for await (const actions of log.commits(range, wanted, op)) actions.forEach(apply);
  checkReadable(log.table, protocol);
  return { live, removed };
}

function checkReadable(table: Table, protocol: Protocol | undefined): void {
  const unknown = protocol?.readerFeatures.find((name) => !KNOWN_FEATURES.has(name));
  const later = protocol !== undefined && protocol.minReaderVersion > READER_VERSION;
  if (unknown === undefined && !later) return;
  const feature = unknown ?? `reader version ${protocol?.minReaderVersion}`;
  throw new CapabilityError(`Cannot list the files of "${table.uri}": tether does not know its feature "${feature}"`, {
    kind: KIND,
    details: { feature },
  });
}

/**
 * Looks for every data file and deletion vector of a version, and returns the first that is missing or has another size
 * than the log says; `undefined` when all are there.
 */
export async function findProblem(table: Table, files: FileSet, op: Op = {}): Promise<FileProblem | undefined> {
  // One file may stand under several deletion vectors, and one file may hold several vectors.
  const sizes = new Map<string, number | undefined>();
  for (const file of files.live.values()) {
    sizes.set(resolveLogPath(table.root, file.path), file.size);
    const vector = vectorPlace(table.root, file.deletionVector);
    if (vector !== undefined) sizes.set(vector, undefined);
  }
  const places = [...sizes];
  for (let i = 0; i < places.length; i += BATCH) {
    const found = await mapLimit(
      places.slice(i, i + BATCH),
      PARALLEL,
      ([place, size]) => inspect(table, { place, size }, op),
      op.signal,
    );
    const problem = found.find((p) => p !== undefined);
    if (problem) return problem;
  }
  return undefined;
}

async function inspect(
  table: Table,
  file: { readonly place: string; readonly size: number | undefined },
  op: Op,
): Promise<FileProblem | undefined> {
  const { storage, key } = storageOf(table, file.place);
  const info = await storage.head(key, op);
  if (!info) return { type: "gone", place: file.place, detail: `"${file.place}" is gone` };
  if (file.size === undefined || info.size === file.size) return undefined;
  return {
    type: "changed",
    place: file.place,
    detail: `"${file.place}" has ${info.size} bytes, the log says ${file.size}`,
  };
}

/** Returns where a deletion vector lies; `undefined` for none and for one that the log itself holds. */
export function vectorPlace(root: string, vector: DeletionVector | undefined): string | undefined {
  if (vector?.storageType === "p") return resolveLogPath(root, vector.pathOrInlineDv);
  if (vector?.storageType !== "u") return undefined;
  // A random prefix of any length, then 20 characters that spell the UUID of the file's name.
  const prefix = vector.pathOrInlineDv.slice(0, -20);
  const name = `deletion_vector_${uuidOf(vector.pathOrInlineDv.slice(-20))}.bin`;
  return resolveLogPath(root, prefix === "" ? name : `${prefix}/${name}`);
}

function fileId(file: { readonly path: string; readonly deletionVector: DeletionVector | undefined }): string {
  const vector = file.deletionVector;
  // Two spellings of one path are one file.
  const path = resolveLogPath("/", file.path);
  return vector ? `${path}\0${vector.storageType}${vector.pathOrInlineDv}@${vector.offset ?? ""}` : path;
}

const Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/** Returns the UUID that 20 characters of Base85 (Z85 alphabet) spell, big-endian. */
export function uuidOf(encoded: string): string {
  let hex = "";
  for (let i = 0; i < encoded.length; i += 5) {
    let word = 0;
    for (const c of encoded.slice(i, i + 5)) word = word * 85 + Z85.indexOf(c);
    hex += word.toString(16).padStart(8, "0");
  }
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
