/**
 * Protocol-buffer messages as lists of fields: enough to read Lance's manifests and to write one that keeps every field
 * it does not change.
 *
 * @module
 */

/** One field of a message, in the order of the wire. */
export type Field =
  | { readonly number: number; readonly type: "varint"; readonly value: bigint }
  /** A string, bytes, a packed list or a message. */
  | { readonly number: number; readonly type: "bytes"; readonly value: Uint8Array }
  /** 4 or 8 bytes, little-endian. */
  | { readonly number: number; readonly type: "fixed"; readonly value: Uint8Array };

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

/** A message whose fields are looked up by number. Immutable: what changes it returns another one. */
export class Message {
  readonly fields: readonly Field[];

  constructor(fields: readonly Field[] = []) {
    this.fields = fields;
  }

  /**
   * Reads a message.
   *
   * @throws {SyntaxError} if the bytes are none.
   */
  static decode(bytes: Uint8Array): Message {
    const fields: Field[] = [];
    const at = { offset: 0 };
    while (at.offset < bytes.length) {
      const key = readVarint(bytes, at);
      fields.push(readField(bytes, at, { number: Number(key >> 3n), wire: Number(key & 7n) }));
    }
    return new Message(fields);
  }

  /** Returns the message's bytes, fields in ascending order as Lance's own writer has them. */
  encode(): Uint8Array<ArrayBuffer> {
    const parts: Uint8Array[] = [];
    for (const field of this.fields.toSorted((a, b) => a.number - b.number)) {
      const wire = field.type === "varint" ? 0n : field.type === "bytes" ? 2n : field.value.length === 8 ? 1n : 5n;
      parts.push(varint(BigInt(field.number) << 3n | wire));
      if (field.type === "varint") parts.push(varint(field.value));
      else if (field.type === "bytes") parts.push(varint(BigInt(field.value.length)), field.value);
      else parts.push(field.value);
    }
    return concat(parts);
  }

  /** The last value of an integer field; `undefined` when it is absent. */
  integer(number: number): bigint | undefined {
    return this.fields.findLast((f) => f.number === number && f.type === "varint")?.value as bigint | undefined;
  }

  /**
   * The last value of a text field; `undefined` when it is absent.
   *
   * @throws {SyntaxError} if it is not UTF-8.
   */
  text(number: number): string | undefined {
    const bytes = this.bytes(number);
    try {
      return bytes && decoder.decode(bytes);
    } catch (cause) {
      throw new SyntaxError(`Field ${number} is not UTF-8`, { cause });
    }
  }

  /** The last value of a bytes field; `undefined` when it is absent. */
  bytes(number: number): Uint8Array | undefined {
    return this.#all(number).at(-1);
  }

  /** The last value of a message field; `undefined` when it is absent. */
  message(number: number): Message | undefined {
    const bytes = this.bytes(number);
    return bytes && Message.decode(bytes);
  }

  /** Every value of a repeated message field. */
  messages(number: number): Message[] {
    return this.#all(number).map((bytes) => Message.decode(bytes));
  }

  /** A map of texts. */
  map(number: number): Map<string, string> {
    return new Map(this.messages(number).map((entry) => [entry.text(1) ?? "", entry.text(2) ?? ""]));
  }

  /** Returns the message with one value of a field in place of those it had; `undefined` removes the field. */
  with(number: number, value: bigint | string | Message | undefined): Message {
    return new Message([...this.fields.filter((f) => f.number !== number), ...fieldOf(number, value)]);
  }

  /** Returns the message with one more value of a repeated field. */
  and(number: number, value: bigint | string | Message): Message {
    return new Message([...this.fields, ...fieldOf(number, value)]);
  }

  /** Returns the message with every value of a repeated message field replaced by `fn` of it. */
  mapped(number: number, fn: (message: Message) => Message): Message {
    return new Message(
      this.fields.map((field) =>
        field.number === number && field.type === "bytes"
          ? { ...field, value: fn(Message.decode(field.value)).encode() }
          : field
      ),
    );
  }

  #all(number: number): Uint8Array[] {
    return this.fields.flatMap((f) => f.number === number && f.type === "bytes" ? [f.value] : []);
  }
}

/** Returns some bytes one after the other. */
export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

function fieldOf(number: number, value: bigint | string | Message | undefined): Field[] {
  if (value === undefined) return [];
  if (typeof value === "bigint") return [{ number, type: "varint", value }];
  return [{ number, type: "bytes", value: typeof value === "string" ? encoder.encode(value) : value.encode() }];
}

function readField(bytes: Uint8Array, at: { offset: number }, key: { number: number; wire: number }): Field {
  const { number, wire } = key;
  if (number === 0) throw new SyntaxError("A field has the number 0");
  if (wire === 0) return { number, type: "varint", value: readVarint(bytes, at) };
  if (wire !== 1 && wire !== 2 && wire !== 5) throw new SyntaxError(`Field ${number} has the wire type ${wire}`);
  const length = wire === 1 ? 8 : wire === 5 ? 4 : Number(readVarint(bytes, at));
  const end = at.offset + length;
  if (end > bytes.length) throw new SyntaxError(`Field ${number} ends beyond the message`);
  const value = bytes.subarray(at.offset, end);
  at.offset = end;
  return { number, type: wire === 2 ? "bytes" : "fixed", value };
}

function readVarint(bytes: Uint8Array, at: { offset: number }): bigint {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = bytes[at.offset++];
    if (byte === undefined) throw new SyntaxError("A number ends beyond the message");
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return BigInt.asUintN(64, value);
  }
  throw new SyntaxError("A number is longer than 10 bytes");
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    const byte = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? byte | 0x80 : byte);
  } while (rest > 0n);
  return Uint8Array.from(bytes);
}
