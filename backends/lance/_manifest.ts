/**
 * Lance's manifest of one table version: a protocol-buffer message behind whatever sections it points to, and a trailer
 * of 16 bytes. Format: lance.org, `protos/table.proto` and "table format"; checked against pylance and LanceDB.
 *
 * @module
 */

import { integer } from "../../engine/model/json.ts";
import { concat, Message } from "./_protobuf.ts";

const MAGIC = "LANC";
const TRAILER = 16;

/** A manifest file taken apart. */
export interface ManifestFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where the message begins, its length prefix included. What other sections there are lie before it. */
  readonly position: number;
  readonly message: Message;
}

/** Where files of another dataset or branch lie. */
export interface BasePath {
  readonly id: number;
  /** Absolute path or URI. */
  readonly path: string;
  /** Whether `path` is a dataset, with `data` and `_deletions` in it, or the folder of the files themselves. */
  readonly isDataset: boolean;
}

/** A file of a fragment. */
export interface FragmentFile {
  /** Path below the dataset the file belongs to, such as `data/x.lance`; below `base` alone when that is no dataset. */
  readonly path: string;
  /** Size in bytes; absent when the writer did not note it. */
  readonly size?: number;
  /** Where the file is; absent: in the branch the manifest is of. */
  readonly base?: BasePath;
}

/** A horizontal slice of the table. */
export interface Fragment {
  /** Unique in one line of versions. */
  readonly id: string;
  readonly files: readonly FragmentFile[];
  readonly deletions?: FragmentFile;
  /** Rows written. */
  readonly rows: number;
  /** Rows deleted since. */
  readonly deletedRows: number;
}

/** What tether reads of a manifest. */
export interface Manifest {
  readonly version: number | bigint;
  /** When the version was committed. */
  readonly created: Date;
  readonly fragments: readonly Fragment[];
  /** Dotted column paths, in order. */
  readonly columns: readonly string[];
  /** Table configuration, such as `lance.auto_cleanup.older_than`. */
  readonly config: ReadonlyMap<string, string>;
}

/**
 * Takes a manifest file apart.
 *
 * @throws {SyntaxError} if it is none.
 */
export function parseManifestFile(bytes: Uint8Array<ArrayBuffer>): ManifestFile {
  if (bytes.length < TRAILER + 4 || new TextDecoder().decode(bytes.subarray(-4)) !== MAGIC) {
    throw new SyntaxError(`The file does not end in "${MAGIC}"`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const position = Number(view.getBigUint64(bytes.length - TRAILER, true));
  if (position > bytes.length - TRAILER - 4) throw new SyntaxError("The manifest begins beyond the file");
  const length = view.getUint32(position, true);
  if (position + 4 + length + TRAILER !== bytes.length) throw new SyntaxError("The manifest has another length");
  return { bytes, position, message: Message.decode(bytes.subarray(position + 4, bytes.length - TRAILER)) };
}

/** Returns a manifest file: sections that the message points into, the message, the trailer. */
export function buildManifestFile(sections: Uint8Array, message: Message): Uint8Array<ArrayBuffer> {
  const trailer = new Uint8Array(TRAILER);
  const view = new DataView(trailer.buffer);
  view.setBigUint64(0, BigInt(sections.length), true);
  view.setUint16(8, 0, true);
  view.setUint16(10, 2, true);
  trailer.set(new TextEncoder().encode(MAGIC), 12);
  return concat([sections, withLength(message), trailer]);
}

/** Returns a message behind its length in 4 bytes, as a section of a manifest file is written. */
export function withLength(message: Message): Uint8Array<ArrayBuffer> {
  const bytes = message.encode();
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length, true);
  return concat([length, bytes]);
}

/**
 * Reads the section at a position.
 *
 * @throws {SyntaxError} if there is none.
 */
export function sectionAt(file: ManifestFile, position: number): Message {
  const view = new DataView(file.bytes.buffer, file.bytes.byteOffset, file.bytes.length);
  if (position + 4 > file.position) throw new SyntaxError("A section begins beyond the file");
  const end = position + 4 + view.getUint32(position, true);
  if (end > file.position) throw new SyntaxError("A section ends beyond the file");
  return Message.decode(file.bytes.subarray(position + 4, end));
}

/**
 * Reads what tether uses of a manifest.
 *
 * @throws {SyntaxError} if the manifest is damaged.
 */
export function readManifest(file: ManifestFile): Manifest {
  const { message } = file;
  const bases = new Map(basePaths(message).map((base) => [base.id, base]));
  return {
    version: integer(message.integer(3) ?? 0n),
    created: timestamp(message.message(7)),
    fragments: message.messages(2).map((fragment) => readFragment(fragment, bases)),
    columns: columnPaths(message.messages(1)),
    config: message.map(16),
  };
}

/** Returns the base paths a manifest's files refer to. */
export function basePaths(manifest: Message): BasePath[] {
  return manifest.messages(18).map((base) => ({
    id: Number(base.integer(1) ?? 0n),
    path: base.text(4) ?? "",
    isDataset: base.integer(3) === 1n,
  }));
}

function readFragment(fragment: Message, bases: ReadonlyMap<number, BasePath>): Fragment {
  const id = (fragment.integer(1) ?? 0n).toString();
  const deletions = fragment.message(3);
  return {
    id,
    files: fragment.messages(2).map((file) => {
      const size = Number(file.integer(6) ?? 0n);
      return { ...locate("data", file.text(1) ?? "", baseOf(file, bases)), ...(size > 0 ? { size } : {}) };
    }),
    ...(deletions ? { deletions: locate("_deletions", deletionName(id, deletions), baseOf(deletions, bases)) } : {}),
    rows: Number(fragment.integer(4) ?? 0n),
    deletedRows: Number(deletions?.integer(4) ?? 0n),
  };
}

// Data and deletion files both have the id of their base in field 7.
function baseOf(file: Message, bases: ReadonlyMap<number, BasePath>): BasePath | undefined {
  const id = file.integer(7);
  if (id === undefined) return undefined;
  const base = bases.get(Number(id));
  if (!base) throw new SyntaxError(`A file lies below the base path ${id}, which the manifest does not name`);
  return base;
}

function locate(folder: string, name: string, base: BasePath | undefined): FragmentFile {
  if (!base) return { path: `${folder}/${name}` };
  return { path: base.isDataset ? `${folder}/${name}` : name, base };
}

function deletionName(fragmentId: string, file: Message): string {
  const extension = file.integer(1) === 1n ? "bin" : "arrow";
  return `${fragmentId}-${file.integer(2) ?? 0n}-${file.integer(3) ?? 0n}.${extension}`;
}

function columnPaths(fields: readonly Message[]): string[] {
  const byId = new Map<bigint, string>();
  return fields.map((field) => {
    const parent = byId.get(field.integer(4) ?? 0n);
    const path = (parent === undefined ? "" : `${parent}.`) + (field.text(2) ?? "");
    byId.set(field.integer(3) ?? 0n, path);
    return path;
  });
}

function timestamp(value: Message | undefined): Date {
  const seconds = Number(value?.integer(1) ?? 0n);
  return new Date(seconds * 1000 + Math.floor(Number(value?.integer(2) ?? 0n) / 1_000_000));
}
