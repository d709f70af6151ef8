/**
 * The owner marker of a repository of format 2: an entry of the metadata in its `repo` object, which the library does not
 * let its users reach (backends §3.4).
 *
 * The object is a header and a FlatBuffer compressed with zstd. Field 6 of the root is the metadata, a vector of tables with
 * a name and a value; the value of a text is a FlexBuffer.
 *
 * @module
 */

import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { KIND } from "./_locator.ts";

/** The object that holds everything about refs. */
export const REPO = "repo";

const NAME = "tether.owner";
const HEADER = 39;
const MAGIC = [0x49, 0x43, 0x45, 0xf0, 0x9f, 0xa7, 0x8a, 0x43, 0x48, 0x55, 0x4e, 0x4b];
/** Where the header says which format, which kind of object and which compression follow. */
const AT = { spec: 36, type: 37, compression: 38 } as const;
const REPO_TYPE = 6;
const ZSTD = 1;
const METADATA_FIELD = 6;
/** More fields than this is a format to come, whose metadata may lie elsewhere. */
const MOST_FIELDS = 13;
/** FlexBuffer: a text whose length fits a byte, and the width of the root. */
const TEXT_TYPE = 0x14;

/**
 * Returns the owner that a `repo` object names.
 *
 * @throws {BackendError} if it is of a format tether does not know.
 */
export function readMarker(bytes: Uint8Array): string | undefined {
  return inBounds(() => ownerIn(open(bytes)));
}

/** Calls `fn`; an offset that leads out of the buffer is a format that is not known, too. */
function inBounds<T>(fn: () => T): T {
  try {
    return fn();
  } catch (error) {
    throw error instanceof RangeError ? unknownFormat("an offset that leads nowhere") : error;
  }
}

function ownerIn(buffer: FlatBuffer): string | undefined {
  const metadata = buffer.field(buffer.root, METADATA_FIELD);
  if (metadata === undefined) return undefined;
  const vector = buffer.follow(metadata);
  for (let i = 0; i < buffer.u32(vector); i++) {
    const item = buffer.follow(vector + 4 + 4 * i);
    const [name, value] = [buffer.field(item, 0), buffer.field(item, 1)];
    if (name === undefined || value === undefined) continue;
    if (new TextDecoder().decode(buffer.bytes(buffer.follow(name))) !== NAME) continue;
    return textOf(buffer.bytes(buffer.follow(value)));
  }
  return undefined;
}

/**
 * Returns a new repository's `repo` object with an owner in it.
 *
 * @throws {BackendError} if the object is of a format tether does not know, or has metadata already.
 */
export function withMarker(bytes: Uint8Array, owner: string): Uint8Array {
  const marked = inBounds(() => {
    const buffer = open(bytes);
    const metadata = buffer.field(buffer.root, METADATA_FIELD);
    if (metadata === undefined || buffer.u32(buffer.follow(metadata)) !== 0) throw unknownFormat("its metadata");
    return appendItem(buffer.data, metadata, { name: NAME, value: flexText(owner) });
  });
  const compressed = zstdCompressSync(marked);
  const result = new Uint8Array(HEADER + compressed.length);
  result.set(bytes.subarray(0, HEADER));
  result.set(compressed, HEADER);
  return result;
}

/** Puts a vector of one item at the end and points the field at it: offsets of a FlatBuffer only reach forward. */
function appendItem(data: Uint8Array, field: number, item: { name: string; value: Uint8Array }): Uint8Array {
  const name = new TextEncoder().encode(item.name);
  const vector = align(data.length);
  const vtable = vector + 8;
  const table = vtable + 8;
  const nameAt = table + 12;
  // A string ends with a zero.
  const valueAt = align(nameAt + 4 + name.length + 1);
  const result = new Uint8Array(align(valueAt + 4 + item.value.length));
  result.set(data);
  const view = new DataView(result.buffer);
  const u32 = (at: number, value: number): void => view.setUint32(at, value, true);
  u32(field, vector - field);
  u32(vector, 1);
  u32(vector + 4, table - (vector + 4));
  // The size of the table of offsets, that of the table, and where its two fields are in it.
  [8, 12, 4, 8].forEach((value, i) => view.setUint16(vtable + 2 * i, value, true));
  view.setInt32(table, table - vtable, true);
  u32(table + 4, nameAt - (table + 4));
  u32(table + 8, valueAt - (table + 8));
  u32(nameAt, name.length);
  result.set(name, nameAt + 4);
  u32(valueAt, item.value.length);
  result.set(item.value, valueAt + 4);
  return result;
}

function align(at: number): number {
  return (at + 3) & ~3;
}

/** A FlexBuffer of a text: its length, itself, a zero, then the way back to its start, its type and the root's width. */
function flexText(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > 250) throw new RangeError("An owner is short");
  return new Uint8Array([bytes.length, ...bytes, 0, bytes.length + 1, TEXT_TYPE, 1]);
}

function textOf(flex: Uint8Array): string | undefined {
  const [back = 0, type, width] = flex.subarray(-3);
  if (type !== TEXT_TYPE || width !== 1) return undefined;
  const start = flex.length - 3 - back;
  const length = flex[start - 1];
  if (length === undefined || start + length > flex.length - 3) return undefined;
  return new TextDecoder().decode(flex.subarray(start, start + length));
}

function open(bytes: Uint8Array): FlatBuffer {
  if (bytes.length < HEADER || MAGIC.some((byte, i) => bytes[i] !== byte)) throw unknownFormat("no Icechunk object");
  if ((bytes[AT.spec] ?? 0) > 2) throw unknownFormat(`format ${bytes[AT.spec]}`);
  if (bytes[AT.type] !== REPO_TYPE) throw unknownFormat(`an object of type ${bytes[AT.type]}`);
  if (bytes[AT.compression] !== ZSTD) throw unknownFormat(`compression ${bytes[AT.compression]}`);
  let data: Uint8Array;
  try {
    data = new Uint8Array(zstdDecompressSync(bytes.subarray(HEADER)));
  } catch {
    throw unknownFormat("what it is compressed with");
  }
  if (data.length < 8) throw unknownFormat("an empty object");
  const buffer = new FlatBuffer(data);
  if (buffer.fields(buffer.root) > MOST_FIELDS) throw unknownFormat("more fields than tether knows");
  return buffer;
}

function unknownFormat(what: string): BackendError {
  return new BackendError(`Cannot read the repository's metadata: ${what} is not known here`, {
    kind: KIND,
    hints: ["Upgrade tether"],
  });
}

/** As much of a FlatBuffer as it takes. Reading outside of it throws a `RangeError`. */
class FlatBuffer {
  readonly data: Uint8Array;
  readonly #view: DataView;

  constructor(data: Uint8Array) {
    this.data = data;
    this.#view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  /** The root table. */
  get root(): number {
    return this.follow(0);
  }

  u32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  /** Where the offset at a place leads. */
  follow(at: number): number {
    return at + this.u32(at);
  }

  /** How many fields a table may have. */
  fields(table: number): number {
    return (this.#view.getUint16(this.#vtable(table), true) - 4) / 2;
  }

  /** The place of a table's field; `undefined` when it has none. */
  field(table: number, index: number): number | undefined {
    if (index >= this.fields(table)) return undefined;
    const offset = this.#view.getUint16(this.#vtable(table) + 4 + 2 * index, true);
    return offset === 0 ? undefined : table + offset;
  }

  /** The bytes of a string or a vector of bytes. */
  bytes(at: number): Uint8Array {
    const length = this.u32(at);
    if (at + 4 + length > this.data.length) throw new RangeError("A vector reaches past the end");
    return this.data.subarray(at + 4, at + 4 + length);
  }

  #vtable(table: number): number {
    return table - this.#view.getInt32(table, true);
  }
}
