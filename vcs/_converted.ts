/**
 * Line ends and byte-order marks: what editors and version control convert without changing what a file says (L15).
 *
 * @module
 */

const CR = 13;
const LF = 10;
const MARK = [0xef, 0xbb, 0xbf];

/** Tells whether two contents differ in line ends and byte-order marks at most. */
export function sameText(a: Uint8Array, b: Uint8Array): boolean {
  const [x, y] = [unconverted(a), unconverted(b)];
  return x.length === y.length && x.every((byte, i) => byte === y[i]);
}

/** Returns content as tether writes it: LF at line ends, no byte-order mark. */
function unconverted(content: Uint8Array): Uint8Array<ArrayBuffer> {
  const start = MARK.every((byte, i) => content[i] === byte) ? MARK.length : 0;
  const plain = new Uint8Array(content.length - start);
  let length = 0;
  for (let i = start; i < content.length; i++) {
    const byte = content[i] ?? 0;
    if (byte !== CR || content[i + 1] !== LF) plain[length++] = byte;
  }
  return plain.slice(0, length);
}
