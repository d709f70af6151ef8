/**
 * JSON values with exact numbers: what tether reads from and writes to every file, store and wire.
 *
 * A JSON integer is a `number` while it is a safe integer and a `bigint` beyond, so 64-bit ids never lose a digit.
 * A JSON or TOML float is a {@link Float}, so `1.0` stays `1.0` and is told apart from `1`.
 *
 * @module
 */

/**
 * A floating-point number that stays one: `1.0` prints as `1.0`, unlike a JavaScript number.
 *
 * @example Keep a float apart from an integer
 * ```ts
 * import { Float, writeJson } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.equal(writeJson([1, new Float(1)]), "[1,1.0]");
 * ```
 */
export class Float {
  /** The number itself. */
  readonly value: number;

  /** Takes any finite number, also one without a fraction; writing NaN or an infinity fails. */
  constructor(value: number) {
    this.value = value;
  }

  /** Returns the shortest text that reads back as the same float, in Python's spelling (`1e+16`, `1e-07`, `1.0`). */
  toString(): string {
    return formatFloat(this.value);
  }
}

/**
 * Any JSON value. A `number` is always a safe integer; larger integers are `bigint`, floats are {@link Float}.
 *
 * @example Hold an id beyond 2^53
 * ```ts
 * import type { Json } from "@tether/tether";
 * import { writeJson } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const snapshot: Json = { snapshot_id: 7349211070829257787n };
 * assert.equal(writeJson(snapshot), '{"snapshot_id":7349211070829257787}');
 * ```
 */
export type Json = null | boolean | number | bigint | string | Float | readonly Json[] | JsonObject;

/**
 * A JSON object.
 *
 * @example Read a member of a report
 * ```ts
 * import { parseJson, type JsonObject } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const state = parseJson('{"branch": "main", "version": 7}') as JsonObject;
 * assert.equal(state["version"], 7);
 * ```
 */
export interface JsonObject {
  /** Any member; write `object["name"]`, which may be absent. */
  readonly [key: string]: Json;
}

/** Tells whether a JSON value is an object. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Float);
}

/**
 * Options of {@link writeJson}.
 *
 * @example Sort, indent and escape
 * ```ts
 * import { writeJson, type WriteJsonOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const options: WriteJsonOptions = { indent: 2, sortKeys: true, ascii: true };
 * assert.equal(writeJson({ b: 1, a: "é" }, options), '{\n  "a": "\\u00e9",\n  "b": 1\n}');
 * ```
 */
export interface WriteJsonOptions {
  /**
   * Spaces of indentation; 0 writes one line.
   * @default {0}
   */
  readonly indent?: number;
  /**
   * Separators of a one-line text: `compact` is `,` and `:`, `spaced` is `, ` and `: ` (the peer's journal).
   * @default {"compact"}
   */
  readonly separators?: "compact" | "spaced";
  /**
   * Sorts object keys by Unicode code point.
   * @default {false}
   */
  readonly sortKeys?: boolean;
  /**
   * Escapes every character outside printable ASCII as `\uXXXX`, in lower-case hex with surrogate pairs.
   * @default {false}
   */
  readonly ascii?: boolean;
}

/**
 * Parses JSON without losing digits.
 *
 * @throws {SyntaxError} if the text is not JSON.
 *
 * @example Read a 64-bit id
 * ```ts
 * import { parseJson } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(parseJson("[7, 7349211070829257787]"), [7, 7349211070829257787n]);
 * ```
 */
export function parseJson(text: string): Json {
  // Asking for each value's digits takes ten times as long. A short text cannot be nested too deep.
  if (text.length < SHORT && isExact(text)) return JSON.parse(text) as Json;
  try {
    return JSON.parse(text, reviveExact as (key: string, value: unknown) => unknown) as Json;
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxError("it is nested too deep", { cause: error });
    throw error;
  }
}

/** Characters of a text that is surely not nested too deep. */
const SHORT = 2000;

/** Finds each number that is no safe integer as it is written: a float, sixteen digits or more, minus zero. */
const MAYBE_INEXACT = /(?:^|[[,\s]|["\s]:)(?:-?(?:\d{16}|\d+[.eE])|-0)/;

/** Tells whether `JSON.parse` reads a text as {@link parseJson} does, but for how deep it may be nested. May err towards no. */
export function isExact(text: string): boolean {
  return !MAYBE_INEXACT.test(text);
}

function reviveExact(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number") return value;
  const source = context?.source ?? String(value);
  if (/[.eE]/.test(source)) return new Float(value);
  return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : integer(BigInt(source));
}

/** Returns an integer in its canonical form: a `number` while safe, else a `bigint`. */
export function integer(value: bigint): number | bigint {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

/**
 * Writes a JSON value. Integers keep every digit; members that are `undefined` are left out.
 *
 * @throws {TypeError} if the value holds a lone surrogate, a non-finite float or something that is not JSON.
 *
 * @example Print a report for another program
 * ```ts
 * import { writeJson } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.equal(writeJson({ committed: null, pins: ["a"] }), '{"committed":null,"pins":["a"]}');
 * ```
 */
export function writeJson(value: Json, options: WriteJsonOptions = {}): string {
  const indent = options.indent ?? 0;
  const spaced = indent > 0 || options.separators === "spaced";
  const item = indent > 0 ? "," : spaced ? ", " : ",";
  const colon = spaced ? ": " : ":";
  const quote = options.ascii ? quoteAscii : quoteMinimal;

  function write(v: Json, depth: number): string {
    if (v === null || typeof v === "boolean") return String(v);
    if (typeof v === "string") return quote(v);
    if (typeof v === "bigint") return v.toString();
    if (typeof v === "number") {
      if (!Number.isSafeInteger(v)) throw new TypeError(`Cannot write ${v} as JSON: it is not a safe integer`);
      return String(v);
    }
    if (v instanceof Float) return v.toString();
    if (Array.isArray(v)) return wrap("[", v.map((x: Json) => write(x, depth + 1)), "]", depth);
    if (typeof v !== "object") throw new TypeError(`Cannot write a ${typeof v} as JSON`);
    const entries = Object.entries(v as JsonObject).filter(([, x]) => x !== undefined);
    if (options.sortKeys) entries.sort(([a], [b]) => compareCodePoints(a, b));
    return wrap("{", entries.map(([k, x]) => quote(k) + colon + write(x, depth + 1)), "}", depth);
  }

  function wrap(open: string, parts: readonly string[], close: string, depth: number): string {
    if (parts.length === 0) return open + close;
    if (indent === 0) return open + parts.join(item) + close;
    const pad = "\n" + " ".repeat(indent * (depth + 1));
    return open + pad + parts.join("," + pad) + "\n" + " ".repeat(indent * depth) + close;
  }

  return write(value, 0);
}

/**
 * Compares two strings by Unicode code point, which is also the order of their UTF-8 bytes. JavaScript's own order is by
 * UTF-16 unit and puts U+FFEE after U+1F600.
 */
export function compareCodePoints(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // A surrogate stands for a code point above every other UTF-16 unit.
    const xs = x >= 0xd800 && x <= 0xdfff;
    const ys = y >= 0xd800 && y <= 0xdfff;
    if (xs !== ys) return xs ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return a.length - b.length;
}

/** Tells whether two JSON values are equal: object keys in any order, integers by value, floats only to floats. */
export function jsonEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined || a === null || b === null) return false;
  if (typeof a !== "object" || typeof b !== "object") {
    return (typeof a === "bigint" || typeof b === "bigint") && typeof a !== "object" && typeof b !== "object" &&
      typeof a !== "string" && typeof b !== "string" && typeof a !== "boolean" && typeof b !== "boolean" &&
      BigInt(a) === BigInt(b);
  }
  if (a instanceof Float || b instanceof Float) {
    return a instanceof Float && b instanceof Float && Object.is(a.value, b.value);
  }
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((x, i) => jsonEqual(x, b[i]));
  }
  const ka = Object.keys(a).filter((k) => (a as JsonObject)[k] !== undefined);
  const kb = Object.keys(b).filter((k) => (b as JsonObject)[k] !== undefined);
  return ka.length === kb.length && ka.every((k) => {
    // A key such as "constructor" must not be found on the prototype.
    return Object.hasOwn(b, k) && jsonEqual((a as JsonObject)[k], (b as JsonObject)[k]);
  });
}

function quoteMinimal(text: string): string {
  if (!text.isWellFormed()) throw new TypeError(`Cannot write a lone surrogate as JSON: ${JSON.stringify(text)}`);
  // JSON.stringify escapes exactly what the canonical form wants of a well-formed string.
  return JSON.stringify(text);
}

function quoteAscii(text: string): string {
  // DEL too, as Python's json does: listings of both implementations are the same bytes.
  return quoteMinimal(text).replace(
    /[\u007f-\uffff]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}

function formatFloat(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`Cannot write ${value} as JSON`);
  if (Object.is(value, -0)) return "-0.0";
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 16) {
    const digits = String(Math.abs(power)).padStart(2, "0");
    return `${mantissa}e${power < 0 ? "-" : "+"}${digits}`;
  }
  const plain = String(value).includes("e") ? value.toFixed(Math.max(0, mantissa.length - 2 - power)) : String(value);
  return plain.includes(".") ? plain : plain + ".0";
}
