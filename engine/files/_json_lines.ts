/**
 * Append-only files of JSON lines (formats §11, §12): one write and one sync for each record, written as Python's `json`
 * writes it; a torn line is skipped and never swallows the next record.
 *
 * @module
 */

import { dirname } from "node:path";
import { ConfigError, messageOf } from "../model/errors.ts";
import { isJsonObject, type JsonObject, parseJson, writeJson } from "../model/json.ts";
import { mendHints } from "./_mend.ts";
import { syncFolder, writeAll, writeError } from "./atomic.ts";

const NEWLINE = 0x0a;

/** A line of the file. */
export interface JsonLine {
  /** The bytes as text, without the newline. */
  readonly text: string;
  /** `undefined` for a line that is no JSON object. */
  readonly record: JsonObject | undefined;
}

/** Returns a record as one line, newline included. */
export function formatLine(record: JsonObject): string {
  return writeJson(record, { separators: "spaced", ascii: true }) + "\n";
}

/**
 * Appends a record; when this returns it is durable. The file is made when missing; its folder must exist.
 *
 * @throws {TetherError} if it cannot be written; what of it was written is a torn line.
 */
export async function appendLine(path: string, record: JsonObject): Promise<void> {
  try {
    await append(path, record);
  } catch (error) {
    throw writeError(path, error);
  }
}

async function append(path: string, record: JsonObject): Promise<void> {
  using file = await Deno.open(path, { read: true, append: true, create: true });
  const size = (await file.stat()).size;
  const torn = size > 0 && !await endsWithNewline(file);
  await writeAll(file, new TextEncoder().encode((torn ? "\n" : "") + formatLine(record)));
  await file.sync();
  if (size === 0) await syncFolder(dirname(path));
}

async function endsWithNewline(file: Deno.FsFile): Promise<boolean> {
  await file.seek(-1, Deno.SeekMode.End);
  const last = new Uint8Array(1);
  await file.read(last);
  return last[0] === NEWLINE;
}

/**
 * Reads every line that is not empty; `undefined` when there is no file.
 *
 * @throws {ConfigError} if there is a file that cannot be read.
 */
export async function readLines(path: string): Promise<JsonLine[] | undefined> {
  let text: string;
  try {
    text = new TextDecoder().decode(await Deno.readFile(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw new ConfigError(`Cannot read "${path}": ${messageOf(error)}`, {
      code: "unreadable",
      hints: mendHints(path),
      cause: error,
    });
  }
  return text.split("\n").filter((line) => line.trim() !== "").map((line) => ({ text: line, record: parseLine(line) }));
}

/** Reads every record; none when there is no file. */
export async function readRecords(path: string): Promise<JsonObject[]> {
  return (await readLines(path) ?? []).map((line) => line.record).filter((record) => record !== undefined);
}

function parseLine(line: string): JsonObject | undefined {
  try {
    const value = parseJson(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // Torn by a crash: the record it was to hold never became true.
    return undefined;
  }
}
