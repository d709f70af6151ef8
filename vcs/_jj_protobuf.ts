/**
 * Reads the length-delimited fields of a protobuf message, the format of jj's working-copy files.
 *
 * @module
 */

import { VcsError } from "../engine/model/errors.ts";

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;

/** Yields number and content of each length-delimited field of a message, in its order. */
export function* lengthDelimited(message: Uint8Array): Generator<readonly [field: number, content: Uint8Array]> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1;; shift *= 128) {
      const byte = message[at++];
      if (byte === undefined) throw malformed();
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const type = tag & 7;
    if (type === VARINT) varint();
    else if (type === FIXED64) at += 8;
    else if (type === FIXED32) at += 4;
    else if (type === LENGTH) {
      const size = varint();
      if (at + size > message.length) throw malformed();
      yield [Math.floor(tag / 8), message.subarray(at, at + size)];
      at += size;
    } else throw malformed();
  }
}

function malformed(): VcsError {
  return new VcsError("Cannot read the state of jj's working copy: it is malformed", { hints: ["jj status"] });
}
