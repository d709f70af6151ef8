import { strict as assert } from "node:assert";
import fc from "fast-check";
import { Float, type Json, parseJson } from "./json.ts";

/** Numbers as they may be written, with what they are read as. */
const NUMBERS: readonly (readonly [string, Json])[] = [
  ["0", 0],
  ["-7", -7],
  ["9007199254740991", Number.MAX_SAFE_INTEGER],
  ["9007199254740993", 9007199254740993n],
  ["-9223372036854775808", -9223372036854775808n],
  ["123456789012345678901234567890", 123456789012345678901234567890n],
  ["-0", 0],
  ["1.0", new Float(1)],
  ["-0.5", new Float(-0.5)],
  ["2e3", new Float(2000)],
  ["2E-3", new Float(0.002)],
];

Deno.test("[L35, formats 2.2] no number loses a digit, wherever and with whatever space it is written", () => {
  const space = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
  const leaf = fc.oneof(
    fc.constantFrom(...NUMBERS),
    // What looks like numbers inside a string is text.
    fc.constantFrom(":1.5", "[2e3", ", -0", "9007199254740993", "22:46:39.000000+00:00").map((s) =>
      [JSON.stringify(s), s] as const
    ),
  );
  const value = fc.letrec<{ value: readonly [string, Json] }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(fc.tuple(space, tie("value"), space), { maxLength: 3 }).map((items) =>
        [`[${items.map(([a, [text], b]) => a + text + b).join(",")}]`, items.map(([, [, read]]) => read)] as const
      ),
      fc.tuple(space, space, space, tie("value"), space).map(([a, b, c, [text, read], d]) =>
        [`{${a}"k"${b}:${c}${text}${d}}`, { k: read }] as const
      ),
    ),
  })).value;
  fc.assert(fc.property(space, value, space, (before, [text, expected], after) => {
    assert.deepEqual(parseJson(before + text + after), expected);
  }));
});
