/**
 * Reads git's index without a child (gitformat-index), in the forms that stand by themselves.
 *
 * @module
 */

/** A regular file that an index names. */
export interface IndexFile {
  readonly path: string;
  readonly blob: string;
}

/** Bytes before the entries, of an entry before its object id, and of the flags after it. */
const HEADER_BYTES = 12;
const STAT_BYTES = 40;
const FLAG_BYTES = 2;
/** Where the mode stands in an entry. */
const MODE_AT = 24;
/** The type of a regular file in a mode, and the bits it stands in. */
const REGULAR = 0o100000;
const TYPE_BITS = 0o170000;
/** In the flags: more flags follow; the length of the name, which is this at least where it is all ones. */
const EXTENDED = 0x4000;
const NAME_BITS = 0x0fff;

/**
 * Returns the regular files whose path has an ending, of every conflict stage, in the index's order.
 *
 * Returns `undefined` for an index that only git can read: one with compressed names, one that builds on another (a split
 * index) or leaves folders out (a sparse one), one of a later version, a broken one.
 */
export function filesInIndex(
  bytes: Uint8Array,
  { idBytes, ending }: { readonly idBytes: number; readonly ending: string },
): IndexFile[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // The hash at the end covers the rest.
  const end = bytes.length - idBytes;
  if (end < HEADER_BYTES || textAt(bytes, 0, 4) !== "DIRC") return undefined;
  const version = view.getUint32(4);
  if (version !== 2 && version !== 3) return undefined;
  const wanted = new TextEncoder().encode(ending);
  const files: IndexFile[] = [];
  let at = HEADER_BYTES;
  for (let left = view.getUint32(8); left > 0; left--) {
    const flagsAt = at + STAT_BYTES + idBytes;
    if (flagsAt + FLAG_BYTES > end) return undefined;
    const flags = view.getUint16(flagsAt);
    const nameAt = flagsAt + ((flags & EXTENDED) === 0 ? FLAG_BYTES : 2 * FLAG_BYTES);
    const nameEnd = bytes.indexOf(0, nameAt + ((flags & NAME_BITS) === NAME_BITS ? NAME_BITS : flags & NAME_BITS));
    if (nameEnd < 0 || nameEnd >= end) return undefined;
    const regular = (view.getUint32(at + MODE_AT) & TYPE_BITS) === REGULAR;
    if (regular && endsWith(bytes.subarray(nameAt, nameEnd), wanted)) {
      const blob = bytes.subarray(at + STAT_BYTES, flagsAt).toHex();
      files.push({ path: new TextDecoder().decode(bytes.subarray(nameAt, nameEnd)), blob });
    }
    // One to eight zero bytes end a name, so that the next entry begins at a multiple of eight from this one.
    at += (nameEnd - at + 8) & ~7;
  }
  return standsAlone(bytes, view, { at, end }) ? files : undefined;
}

/** Tells whether no extension changes what the entries mean: those that do have names in lower case. */
function standsAlone(bytes: Uint8Array, view: DataView, { at, end }: { at: number; end: number }): boolean {
  while (at + 8 <= end) {
    if (!/^[A-Z]/.test(textAt(bytes, at, 4))) return false;
    at += 8 + view.getUint32(at + 4);
  }
  return at === end;
}

function endsWith(bytes: Uint8Array, ending: Uint8Array): boolean {
  const from = bytes.length - ending.length;
  return from >= 0 && ending.every((byte, i) => bytes[from + i] === byte);
}

function textAt(bytes: Uint8Array, at: number, length: number): string {
  return new TextDecoder().decode(bytes.subarray(at, at + length));
}
