/**
 * Values for property tests.
 *
 * @module
 */

import fc from "fast-check";
import { Float, type Json, type JsonObject } from "../model/json.ts";

/** Keys that need care: dots, quotes, emoji, spaces, empty, and names of object members. */
export const keys: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.constantFrom(
    "a.b",
    'say "hi"',
    "it's",
    "😀",
    "",
    " ",
    "__proto__",
    "constructor",
    "\u0000",
    "\u007f",
    "a\nb",
    "-",
  ),
);

/** Values that need care: large integers, odd floats, any text. */
const leaves: fc.Arbitrary<Json> = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.boolean(),
  fc.maxSafeInteger(),
  fc.constantFrom(9007199254740993n, -9223372036854775808n, 5184430069070270604n, 2n ** 70n),
  fc.double().map((value) => new Float(value)),
  fc.constantFrom(Infinity, -Infinity, NaN, -0, 1, 1e16, 1e-7, 5e-324).map((value) => new Float(value)),
);

/** Documents such as TOML can hold, nested arrays of tables included. */
export const documents: fc.Arbitrary<JsonObject> = fc.letrec<{ value: Json; table: JsonObject }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, leaves, fc.array(tie("value"), { maxLength: 3 }), tie("table")),
  table: fc.uniqueArray(fc.tuple(keys, tie("value")), { maxLength: 5, selector: ([key]) => key })
    .map((entries) => Object.fromEntries(entries)),
})).table;
