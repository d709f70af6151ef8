/**
 * Changes a TOML document in place: only what a change touches is written anew, every other byte stays, comments included
 * (L34).
 *
 * The syntax tree's package is loaded on first use: most commands rewrite nothing.
 *
 * @module
 */

import type { AST } from "toml-eslint-parser";
import { ConfigError } from "../model/errors.ts";
import {
  isTable,
  normalizeToml,
  readsBackAs,
  readToml,
  tomlEqual,
  type TomlTable,
  type TomlValue,
  withoutTomlNulls,
  writeInline,
  writeKey,
  writePair,
  writeSections,
  writeToml,
} from "./toml.ts";

/** New values of top-level keys; `undefined` removes a key. */
export type TomlChanges = Readonly<Record<string, TomlValue | undefined>>;

/**
 * Returns a document with some top-level keys and tables changed; the same text when nothing differs. Inside a table only
 * the keys that differ are rewritten. In a changed text line ends become `\n` and a byte-order mark goes (L15).
 *
 * @throws {ConfigError} if the document does not parse, or the result would not read back as meant.
 */
export async function spliceToml(text: string, changes: TomlChanges, name: string): Promise<string> {
  const { parseTOML } = await import("toml-eslint-parser");
  const before = readToml(text, name);
  const wanted = changedTable(before, changes);
  if (tomlEqual(before, wanted)) return text;
  const source = withFinalNewline(normalizeToml(text));
  if (source === "") return writeToml(wanted);
  const editor = new Editor(source, parseTOML(source, { tomlVersion: "1.1" }).body[0].body);
  editor.editTable([], before, wanted);
  const result = editor.apply();
  if (!readsBackAs(result, wanted)) {
    throw new ConfigError(`Cannot rewrite "${name}": the new text would not read back as meant; nothing was changed`, {
      code: "toml-rewrite",
      details: { file: name },
    });
  }
  return result;
}

function changedTable(before: TomlTable, changes: TomlChanges): TomlTable {
  const entries = new Map<string, TomlValue | undefined>([...Object.entries(before), ...Object.entries(changes)]);
  return withoutTomlNulls(Object.fromEntries(entries) as TomlTable);
}

function withFinalNewline(text: string): string {
  return text === "" || text.endsWith("\n") ? text : text + "\n";
}

type Path = readonly (string | number)[];

/** A line group of the document: a table's header, or one `key = value`. */
interface Line {
  readonly type: "header" | "pair";
  /** Absolute path of the table or of the value. */
  readonly path: Path;
  /** Offsets from the start of the first line to behind the last line's newline. */
  readonly start: number;
  readonly end: number;
  /** A pair's value. */
  readonly value?: readonly [number, number];
  /** The path of the table a pair stands in. */
  readonly table: Path;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Order of texts put at one place: lines that belong to the table above, then new tables, then a header for what follows. */
  readonly rank: 0 | 1 | 2;
}

class Editor {
  readonly #source: string;
  readonly #lines: Line[] = [];
  readonly #edits: Edit[] = [];

  constructor(source: string, body: readonly (AST.TOMLKeyValue | AST.TOMLTable)[]) {
    this.#source = source;
    for (const node of body) {
      if (node.type === "TOMLKeyValue") this.#addPair(node, []);
      else {
        this.#lines.push({ type: "header", path: node.resolvedKey, table: node.resolvedKey, ...this.#span(node.key) });
        for (const pair of node.body) this.#addPair(pair, node.resolvedKey);
      }
    }
  }

  /** Turns a table that stands in the document into another value. */
  editTable(path: Path, before: TomlTable, after: TomlTable): void {
    const added: [string, TomlValue][] = [];
    for (const [key, value] of Object.entries(before)) {
      if (!Object.hasOwn(after, key)) this.#remove([...path, key]);
      else if (!this.#edit([...path, key], value, after[key] as TomlValue)) {
        this.#remove([...path, key]);
        added.push([key, after[key] as TomlValue]);
      }
    }
    for (const [key, value] of Object.entries(after)) if (!Object.hasOwn(before, key)) added.push([key, value]);
    if (added.length > 0) this.#insert(path, added);
  }

  /** Returns the document with every change made. */
  apply(): string {
    const edits = [...this.#edits].sort((a, b) => a.start - b.start || a.rank - b.rank);
    let result = "";
    let at = 0;
    for (const edit of edits) {
      result += this.#source.slice(at, Math.max(at, edit.start)) + edit.text;
      at = Math.max(at, edit.end);
    }
    return result + this.#source.slice(at);
  }

  /** Changes one value where it stands; `false` when it has to be removed and written anew. */
  #edit(path: Path, before: TomlValue, after: TomlValue): boolean {
    if (tomlEqual(before, after)) return true;
    const pair = this.#lines.find((line) => line.type === "pair" && samePath(line.path, path));
    if (pair?.value) {
      this.#edits.push({ start: pair.value[0], end: pair.value[1], text: writeInline(after), rank: 0 });
      return true;
    }
    if (!isTable(before) || !isTable(after)) return false;
    // A table without a header of its own would vanish with its last key.
    if (!this.#header(path) && Object.keys(after).length === 0) return false;
    this.editTable(path, before, after);
    return true;
  }

  /** Removes everything at or below a path; comments between tables stay. */
  #remove(path: Path): void {
    for (const line of this.#lines) {
      if (!startsWith(line.path, path)) continue;
      if (line.type === "pair") this.#edits.push({ start: line.start, end: line.end, text: "", rank: 0 });
      else this.#edits.push({ start: this.#beforeBlankLines(line.start), end: this.#bodyEnd(line), text: "", rank: 0 });
    }
  }

  /** Adds keys to a table. */
  #insert(path: Path, added: readonly [string, TomlValue][]): void {
    const inside = this.#lines.filter((line) => startsWith(line.path, path));
    const header = this.#header(path);
    const dotted = inside.findLast((line) => line.type === "pair" && !startsWith(line.table, path));
    if (path.length > 0 && !header && dotted) {
      const relative = [...dotted.path.slice(dotted.table.length, path.length)].map(String);
      this.#put(dotted.end, added.map(([key, value]) => writePair([...relative, key], value)).join(""), 0);
      return;
    }
    const names = path.map(String);
    const tables = added.filter((entry): entry is [string, TomlTable] => isTable(entry[1]));
    const pairs = added.filter(([, value]) => !isTable(value)).map(([key, value]) => writePair([key], value)).join("");
    if (pairs !== "") this.#insertPairs(path, pairs);
    const sections = tables.flatMap(([key, value]) => writeSections([...names, key], value));
    const last = path.length === 0 ? undefined : inside.at(-1);
    const end = last === undefined ? this.#source.length : last.type === "header" ? this.#bodyEnd(last) : last.end;
    if (sections.length > 0) this.#put(end, sections.map((section) => "\n" + section).join(""), 1);
  }

  #insertPairs(path: Path, pairs: string): void {
    const last = this.#lines.findLast((line) => line.type === "pair" && samePath(line.table, path));
    const header = this.#header(path);
    if (last) this.#put(last.end, pairs, 0);
    else if (header) this.#put(header.end, pairs, 0);
    else if (path.length === 0) this.#put(0, pairs + "\n", 0);
    else {
      const first = this.#lines.find((line) => startsWith(line.path, path));
      this.#put(first?.start ?? this.#source.length, `[${writeKey(path.map(String))}]\n${pairs}\n`, 2);
    }
  }

  #put(at: number, text: string, rank: Edit["rank"]): void {
    this.#edits.push({ start: at, end: at, text, rank });
  }

  #header(path: Path): Line | undefined {
    return this.#lines.find((line) => line.type === "header" && samePath(line.path, path));
  }

  #addPair(node: AST.TOMLKeyValue, table: Path): void {
    const keys = node.key.keys.map((key) => key.type === "TOMLBare" ? key.name : key.value);
    this.#lines.push({ type: "pair", path: [...table, ...keys], table, value: node.value.range, ...this.#span(node) });
  }

  #span(node: { readonly range: readonly [number, number] }): { start: number; end: number } {
    return {
      start: this.#source.lastIndexOf("\n", node.range[0] - 1) + 1,
      end: this.#source.indexOf("\n", node.range[1]) + 1,
    };
  }

  #bodyEnd(header: Line): number {
    const index = this.#lines.indexOf(header);
    let end = header.end;
    for (const line of this.#lines.slice(index + 1)) {
      if (line.type === "header") break;
      end = line.end;
    }
    return end;
  }

  #beforeBlankLines(start: number): number {
    let at = start;
    while (at > 0 && this.#source[at - 1] === "\n" && (at === 1 || this.#source[at - 2] === "\n")) at--;
    return at;
  }
}

function samePath(a: Path, b: Path): boolean {
  return a.length === b.length && startsWith(a, b);
}

function startsWith(path: Path, prefix: Path): boolean {
  return prefix.length <= path.length && prefix.every((part, i) => part === path[i]);
}
