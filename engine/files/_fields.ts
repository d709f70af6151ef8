/**
 * Checked access to the fields of a TOML document: every wrong value is an error that names file and path.
 *
 * @module
 */

import { TomlDate } from "smol-toml";
import { ConfigError } from "../model/errors.ts";
import { Float, type Json, type JsonObject } from "../model/json.ts";
import { mendHints } from "./_mend.ts";
import { isTable, type TomlTable, type TomlValue, writeKey } from "./toml.ts";

/** One table of a document, with what is needed to name a value in it. */
export class Fields {
  readonly #table: TomlTable;
  readonly #name: string;
  readonly #path: readonly string[];

  /** `name` is the document's; `path` is where the table stands in it. */
  constructor(table: TomlTable, name: string, path: readonly string[] = []) {
    this.#table = table;
    this.#name = name;
    this.#path = path;
  }

  /** The keys of the table, in file order. */
  get keys(): string[] {
    return Object.keys(this.#table);
  }

  /** Tells whether a key is there. */
  has(key: string): boolean {
    return Object.hasOwn(this.#table, key);
  }

  /** The table below a key; an empty one when absent. */
  table(key: string): Fields {
    const value = this.#get(key) ?? {};
    if (!isTable(value)) throw this.problem(key, "it is not a table");
    return new Fields(value, this.#name, [...this.#path, key]);
  }

  /** A string that is not blank; `undefined` when absent (L42). */
  text(key: string): string | undefined {
    const value = this.#get(key);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw this.problem(key, "it is not a string");
    if (value.trim() === "") throw this.problem(key, "it is blank");
    return value;
  }

  /** Any string; `undefined` when absent. */
  anyText(key: string): string | undefined {
    const value = this.#get(key);
    if (value !== undefined && typeof value !== "string") throw this.problem(key, "it is not a string");
    return value;
  }

  /** A string that is not blank. */
  requiredText(key: string): string {
    const value = this.text(key);
    if (value === undefined) throw this.problem(key, "it is missing");
    return value;
  }

  /** A point in time, as a string or as a TOML date, whose text is taken; `undefined` when absent. */
  time(key: string): string | undefined {
    const value = this.#get(key);
    return value instanceof TomlDate ? value.toISOString() : this.text(key);
  }

  /** A boolean. */
  flag(key: string, byDefault: boolean): boolean {
    const value = this.#get(key) ?? byDefault;
    if (typeof value !== "boolean") throw this.problem(key, "it is not true or false");
    return value;
  }

  /** One of some words. */
  choice<const T extends string>(key: string, words: readonly T[], byDefault: T): T {
    const value = this.#get(key) ?? byDefault;
    const word = words.find((w) => w === value);
    if (word === undefined) {
      throw this.problem(key, `it is neither ${words.map((w) => JSON.stringify(w)).join(" nor ")}`);
    }
    return word;
  }

  /** A whole number; `undefined` when absent. */
  whole(key: string): number | undefined {
    const value = this.#get(key);
    if (value !== undefined && typeof value !== "number") throw this.problem(key, "it is not a whole number");
    return value;
  }

  /** A table as JSON; `undefined` when absent. */
  object(key: string): JsonObject | undefined {
    const value = this.#get(key);
    if (value === undefined) return undefined;
    if (!isTable(value)) throw this.problem(key, "it is not a table");
    return this.#json(value, [key]) as JsonObject;
  }

  /** Every value of the table through `read`, by key. */
  record<T>(read: (fields: Fields, key: string) => T): Record<string, T> {
    return Object.fromEntries(this.keys.map((key) => [key, read(this, key)]));
  }

  /** Returns the error that a value is wrong. The value itself is not in it: it may be a secret. */
  problem(key: string | readonly string[], reason: string): ConfigError {
    const path = writeKey([...this.#path, ...[key].flat()]);
    return new ConfigError(`Cannot use "${this.#name}": ${path}: ${reason}`, {
      code: "value",
      hints: mendHints(this.#name),
      details: { file: this.#name, path },
    });
  }

  #get(key: string): TomlValue | undefined {
    return Object.hasOwn(this.#table, key) ? this.#table[key] : undefined;
  }

  #json(value: TomlValue, path: readonly string[]): Json {
    if (value instanceof TomlDate) throw this.problem(path, "a date has no place here: put it in quotes");
    if (value instanceof Float && !Number.isFinite(value.value)) {
      throw this.problem(path, "it is not a finite number");
    }
    if (Array.isArray(value)) return value.map((item: TomlValue) => this.#json(item, path));
    if (!isTable(value)) return value as Json;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#json(item, [...path, key])]));
  }
}
