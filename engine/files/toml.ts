/**
 * TOML with exact numbers: the one reader and the one writer of tether's own files (formats §6.1, L34, L35).
 *
 * Reading keeps integers of any size and floats apart from integers. Writing is for files that tether makes; a file a
 * person may have edited is changed by `toml_edit.ts`, which leaves everything else in it alone.
 *
 * @module
 */

import { parse, TomlDate, TomlError } from "smol-toml";
import { ConfigError } from "../model/errors.ts";
import { mendHints } from "./_mend.ts";
import { Float, integer, type Json, jsonEqual, type JsonObject } from "../model/json.ts";

/** A TOML value: JSON with exact numbers, or a date. */
export type TomlValue = Json | TomlDate | readonly TomlValue[] | TomlTable;

/** A TOML table. */
export interface TomlTable {
  readonly [key: string]: TomlValue;
}

/** Largest file that is read, in bytes, where a caller names no other. */
export const MAX_TOML_BYTES: number = 4 * 1024 * 1024;

/**
 * Reads a document. `name` is how errors call it: its path as the user knows it.
 *
 * @throws {ConfigError} with file, line and column; its code is `conflicted` when the text holds conflict markers, else
 * `toml`.
 */
export function readToml(
  text: string,
  name: string,
  options: {
    /** Largest size, in UTF-16 units. @default {MAX_TOML_BYTES} */
    readonly maxLength?: number;
  } = {},
): TomlTable {
  const maxLength = options.maxLength ?? MAX_TOML_BYTES;
  if (text.length > maxLength) {
    throw new ConfigError(`Cannot read "${name}": it is larger than ${maxLength} characters`, {
      code: "toml",
      hints: mendHints(name),
      details: { file: name },
    });
  }
  try {
    return fromParser(parse(normalizeToml(text), { integersAsBigInt: true })) as TomlTable;
  } catch (error) {
    if (error instanceof TooDeep) {
      throw new ConfigError(`Cannot read "${name}": it is nested deeper than ${MAX_DEPTH} levels`, {
        code: "toml",
        hints: mendHints(name),
        details: { file: name },
      });
    }
    if (!(error instanceof TomlError)) throw error;
    if (hasConflictMarkers(text)) throw conflictError(name, error);
    // Only the first line: the rest quotes the document, which may hold credentials.
    const reason = (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
    throw new ConfigError(`Cannot read "${name}": line ${error.line}, column ${error.column}: ${reason}`, {
      code: "toml",
      hints: mendHints(name),
      details: { file: name, line: error.line, column: error.column },
    });
  }
}

/**
 * Reads a document as JSON; dates become their text.
 *
 * @throws {ConfigError} as {@link readToml}.
 */
export function parseToml(text: string, name: string): JsonObject {
  return mapDates(readToml(text, name), (date) => date.toISOString()) as JsonObject;
}

/** Returns a text as TOML is read: without byte-order mark and with `\n` line ends (L15). */
export function normalizeToml(text: string): string {
  return (text.startsWith("\ufeff") ? text.slice(1) : text).replaceAll("\r\n", "\n");
}

/** Tells whether a text holds the conflict markers of git or jj. */
export function hasConflictMarkers(text: string): boolean {
  return /^<{7,}( |\r?$)/m.test(text) && /^>{7,}( |\r?$)/m.test(text);
}

function conflictError(name: string, cause: TomlError): ConfigError {
  return new ConfigError(`Cannot read "${name}": it holds conflict markers from a merge`, {
    code: "conflicted",
    hints: [`Edit "${name}" so that one side remains, or take one side's version from the version-control system`],
    details: { file: name, line: cause.line },
  });
}

/** Tells whether two TOML values mean the same. */
export function tomlEqual(a: TomlValue | undefined, b: TomlValue | undefined): boolean {
  // A pair that nobody writes, so that a date and a string with its text differ.
  const tagged = (date: TomlDate) => ["\u0000date", date.toISOString()];
  return jsonEqual(
    a === undefined ? a : mapDates(a, tagged) as Json,
    b === undefined ? b : mapDates(b, tagged) as Json,
  );
}

/** Tells whether a TOML value is a table. */
export function isTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Float) &&
    !(value instanceof TomlDate);
}

/** Returns a copy of a value with every date replaced. */
export function mapDates(value: TomlValue, replace: (date: TomlDate) => TomlValue): TomlValue {
  if (value instanceof TomlDate) return replace(value);
  if (Array.isArray(value)) return value.map((item: TomlValue) => mapDates(item, replace));
  if (isTable(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapDates(item, replace)]));
  }
  return value;
}

/** Returns a table without its nulls, at every depth. */
export function withoutTomlNulls(table: TomlTable): TomlTable {
  function clean(value: TomlValue): TomlValue {
    if (Array.isArray(value)) return value.filter((item: TomlValue) => item !== null).map(clean);
    return isTable(value) ? withoutTomlNulls(value) : value;
  }
  const entries = Object.entries(table).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries.map(([key, value]) => [key, clean(value)]));
}

/** Tells whether a text parses to a table, less its nulls: asked of every new text before it replaces a file (L34). */
export function readsBackAs(text: string, wanted: TomlTable): boolean {
  try {
    return tomlEqual(readToml(text, "", { maxLength: text.length }), withoutTomlNulls(wanted));
  } catch {
    // A text that does not parse surely does not read back; the caller names the file.
    return false;
  }
}

/**
 * Writes a document: keys in the order given, values before tables, nulls dropped at every depth, strings basic with
 * characters outside ASCII as they are.
 *
 * @throws {TypeError} if a string holds a lone surrogate, or a number is not a safe integer.
 */
export function writeToml(table: TomlTable): string {
  return writeSections([], table).join("\n");
}

/** Writes a table and the tables in it, each as one text that ends with a newline. */
export function writeSections(path: readonly string[], table: TomlTable): string[] {
  const entries = Object.entries(table).filter(([, value]) => value !== null && value !== undefined);
  const tables = entries.filter((entry): entry is [string, TomlTable] => isTable(entry[1]));
  const pairs = entries.filter(([, value]) => !isTable(value)).map(([key, value]) => writePair([key], value));
  const sections: string[] = [];
  if (path.length > 0 && (pairs.length > 0 || tables.length === 0)) {
    sections.push(`[${writeKey(path)}]\n${pairs.join("")}`);
  } else if (pairs.length > 0) {
    sections.push(pairs.join(""));
  }
  for (const [key, value] of tables) sections.push(...writeSections([...path, key], value));
  return sections;
}

/** Writes one `key = value` line, newline included. */
export function writePair(path: readonly string[], value: TomlValue): string {
  return `${writeKey(path)} = ${writeInline(value)}\n`;
}

/** Writes a dotted key; what is not bare is quoted. */
export function writeKey(path: readonly string[]): string {
  return path.map((key) => /^[A-Za-z0-9_-]+$/.test(key) ? key : quote(key)).join(".");
}

/** Writes a value on one line. */
export function writeInline(value: TomlValue): string {
  if (typeof value === "string") return quote(value);
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new TypeError(`Cannot write ${value} as TOML: it is not a safe integer`);
    return String(value);
  }
  if (value instanceof Float) return writeFloat(value);
  if (value instanceof TomlDate) return value.toISOString();
  if (Array.isArray(value)) {
    return `[${value.filter((item: TomlValue) => item !== null).map(writeInline).join(", ")}]`;
  }
  if (!isTable(value)) throw new TypeError("Cannot write null as TOML");
  const pairs = Object.entries(value).filter(([, item]) => item !== null && item !== undefined)
    .map(([key, item]) => `${writeKey([key])} = ${writeInline(item)}`);
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
}

function writeFloat(float: Float): string {
  if (Number.isFinite(float.value)) return float.toString();
  return Number.isNaN(float.value) ? "nan" : float.value > 0 ? "inf" : "-inf";
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\f": "\\f",
  "\r": "\\r",
};

function quote(text: string): string {
  if (!text.isWellFormed()) throw new TypeError(`Cannot write a lone surrogate as TOML: ${JSON.stringify(text)}`);
  // deno-lint-ignore no-control-regex -- TOML wants exactly these escaped.
  const escaped = text.replace(/["\\\u0000-\u001f\u007f]/g, (c) => {
    return ESCAPES[c] ?? "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0");
  });
  return `"${escaped}"`;
}

/** Tables and arrays within each other; what is deeper would overflow the stack of those who walk it. */
const MAX_DEPTH = 200;

class TooDeep extends Error {}

function fromParser(value: unknown, depth = 0): TomlValue {
  if (depth > MAX_DEPTH) throw new TooDeep();
  if (typeof value === "bigint") return integer(value);
  if (typeof value === "number") return new Float(value);
  if (Array.isArray(value)) return value.map((item) => fromParser(item, depth + 1));
  if (typeof value === "object" && value !== null && !(value instanceof TomlDate)) {
    // The parser's tables have no prototype; entries keep a key such as "__proto__" an ordinary one.
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fromParser(item, depth + 1)]));
  }
  return value as string | boolean | TomlDate;
}
