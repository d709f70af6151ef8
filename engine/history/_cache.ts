/**
 * What was learnt of history, on disk. Ids of objects never change their meaning, so an entry is true for ever.
 *
 * The files lie in the folder that all checkouts share, where no clone can put anything: an entry that came with a clone
 * could hide a reference. They are JSON lines; a line that cannot be read counts as absent. A file that cannot be written
 * costs speed only (L26).
 *
 * What successive manifests of an object share, their shape, stands in a line of its own somewhere before them, named by its
 * hash: `{"shape":…}`. A manifest is `[blob, shape, state, pin id, pin ref, time of capture]`; the ref is `null` when it is the
 * usual one of the id. One with numbers that `JSON.parse` would change follows a space: many others are parsed at once.
 *
 * @module
 */

import { join } from "node:path";
import { writeAll } from "../files/atomic.ts";
import { valueHash } from "../model/hash.ts";
import { isExact, isJsonObject, type Json, type JsonObject, parseJson, writeJson } from "../model/json.ts";
import type { ObjectManifest } from "../model/manifest.ts";
import { refForPin } from "../model/names.ts";
import type { DatasetTree } from "./dataset_trees.ts";

/** Raised with each change of what a line means. */
const FORMAT = 3;
/** Lines are appended in writes of about this size, each of whole lines, so that two processes do not mix theirs. */
const WRITE_BYTES = 64 * 1024;
const READ_BYTES = 256 * 1024;

/** The cache of one repository. */
export class HistoryCache {
  readonly #folder: string;
  /** The shapes written by this run, by their hashes. */
  readonly #shapes = new Map<string, Shape>();

  constructor(sharedDir: string) {
    this.#folder = join(sharedDir, "tether-cache");
  }

  /** Returns the datasets of every root tree that is known. */
  async trees(): Promise<Map<string, readonly DatasetTree[]>> {
    const found = new Map<string, readonly DatasetTree[]>();
    for await (const lines of this.#lines("trees")) {
      for (const line of lines) {
        const record = parseLine(line);
        const datasets = record && readDatasets(record["datasets"]);
        if (datasets && typeof record["tree"] === "string") found.set(record["tree"], datasets);
      }
    }
    return found;
  }

  /** Yields the manifests of those blobs that are known, many at a time. */
  async *manifests(wanted: (blob: string) => boolean): AsyncGenerator<(readonly [blob: string, ObjectManifest])[]> {
    const shapes = new Map<string, Shape>();
    for await (const lines of this.#lines("manifests")) {
      const rows: string[] = [];
      for (const line of lines) {
        if (line.startsWith("{")) {
          const record = parseLine(line);
          const shape = readShape(record?.["of"]);
          if (shape && typeof record?.["shape"] === "string") shapes.set(record["shape"], shape);
        } else if (isRow(line) && wanted(blobOf(line))) {
          rows.push(line);
        }
      }
      yield parseRows(rows).flatMap((row) => readManifest(row, shapes) ?? []);
    }
  }

  addTrees(trees: ReadonlyMap<string, readonly DatasetTree[]>): Promise<void> {
    return this.#append(
      "trees",
      [...trees].map(([tree, datasets]) => ({ tree, datasets: datasets.map((d) => ({ ...d })) })),
    );
  }

  /**
   * Adds manifests and returns them as a later run reads them: those of one shape share it, and none keeps the text alive that
   * it was parsed from.
   */
  async addManifests(
    manifests: ReadonlyMap<string, ObjectManifest>,
  ): Promise<(readonly [blob: string, ObjectManifest])[]> {
    const records: (JsonObject | string)[] = [];
    const rows: string[] = [];
    for (const [blob, manifest] of manifests) {
      const of = shapeOf(manifest);
      const shape = valueHash(of).slice(0, 16);
      if (!this.#shapes.has(shape)) {
        records.push({ shape, of });
        const read = readShape(of);
        if (read) this.#shapes.set(shape, read);
      }
      const text = row(blob, shape, manifest);
      rows.push(text);
      records.push(text);
    }
    await this.#append("manifests", records);
    return parseRows(rows).flatMap((value) => readManifest(value, this.#shapes) ?? []);
  }

  #path(name: string): string {
    return join(this.#folder, `history-${name}-${FORMAT}.jsonl`);
  }

  /** Yields whole lines, many at a time. */
  async *#lines(name: string): AsyncGenerator<readonly string[]> {
    let opened: Deno.FsFile;
    try {
      opened = await Deno.open(this.#path(name));
    } catch {
      // Nothing is known yet, or may be read.
      return;
    }
    using file = opened;
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(READ_BYTES);
    let rest = "";
    for (let count = await file.read(buffer); count !== null; count = await file.read(buffer)) {
      const lines = (rest + decoder.decode(buffer.subarray(0, count), { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield lines;
    }
  }

  /** Appends lines: values, or texts that are lines already. */
  async #append(name: string, records: readonly (JsonObject | string)[]): Promise<void> {
    if (records.length === 0) return;
    try {
      await Deno.mkdir(this.#folder, { recursive: true });
      using file = await Deno.open(this.#path(name), { append: true, create: true });
      // The first newline ends a line that a crash tore.
      let text = "\n";
      for (const record of records) {
        text += (typeof record === "string" ? record : writeJson(record)) + "\n";
        if (text.length < WRITE_BYTES) continue;
        await writeAll(file, new TextEncoder().encode(text));
        text = "";
      }
      await writeAll(file, new TextEncoder().encode(text));
    } catch {
      // Read-only, full or not granted: the next run learns it again.
    }
  }
}

function parseLine(line: string): JsonObject | undefined {
  const value = parse(line);
  return value !== undefined && isJsonObject(value) ? value : undefined;
}

function parse(line: string): Json | undefined {
  try {
    return parseJson(line);
  } catch {
    // Torn.
    return undefined;
  }
}

function readDatasets(value: Json | undefined): DatasetTree[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const datasets: DatasetTree[] = [];
  for (const item of value as readonly Json[]) {
    if (!isJsonObject(item)) return undefined;
    const { root, config, objects } = item;
    if (typeof root !== "string" || typeof objects !== "string") return undefined;
    if (config !== null && typeof config !== "string") return undefined;
    datasets.push({ root, config, objects });
  }
  return datasets;
}

/** What successive manifests of an object share. */
type Shape = Omit<ObjectManifest, "state" | "pin" | "capturedAt">;

function shapeOf(m: ObjectManifest): JsonObject {
  return {
    key: m.key,
    kind: m.kind,
    locator: m.locator,
    policy: { ...m.policy },
    recoverable: m.recoverable,
    origin: m.origin,
  };
}

function readShape(value: Json | undefined): Shape | undefined {
  if (!isJsonObject(value)) return undefined;
  const { key, kind, locator, policy, recoverable, origin } = value;
  if (typeof key !== "string" || typeof kind !== "string" || !isJsonObject(locator) || !isJsonObject(policy)) {
    return undefined;
  }
  if (typeof recoverable !== "boolean") return undefined;
  return {
    key,
    kind,
    locator,
    policy: {
      file: policy["file"] === "versioned" ? "versioned" : "immutable",
      pin: policy["pin"] === "record" ? "record" : "native",
    },
    recoverable,
    origin: origin === "created" ? "created" : "adopted",
  };
}

function row(blob: string, shape: string, { state, pin, capturedAt }: ObjectManifest): string {
  const ref = pin === null || pin.ref === refForPin(pin.id) ? null : pin.ref;
  const text = writeJson([blob, shape, state, pin?.id ?? null, ref, capturedAt]);
  return isExact(text) ? text : ` ${text}`;
}

function isRow(line: string): boolean {
  return line.startsWith('["') || line.startsWith(' ["');
}

function blobOf(line: string): string {
  const from = line.indexOf('"') + 1;
  return line.slice(from, line.indexOf('"', from));
}

/** Parses rows; those that are torn are left out. */
function parseRows(rows: readonly string[]): readonly (Json | undefined)[] {
  const plain = rows.filter((row) => !row.startsWith(" "));
  const exact = rows.length === plain.length ? [] : rows.filter((row) => row.startsWith(" ")).map(parse);
  try {
    return exact.concat(JSON.parse(`[${plain.join()}]`) as Json[]);
  } catch {
    return exact.concat(plain.map(parse));
  }
}

function readManifest(
  value: Json | undefined,
  shapes: ReadonlyMap<string, Shape>,
): [(readonly [blob: string, ObjectManifest])] | undefined {
  if (!Array.isArray(value)) return undefined;
  const [blob, name, state, pinId, pinRef, capturedAt] = value as readonly Json[];
  const shape = typeof name === "string" ? shapes.get(name) : undefined;
  if (!shape || typeof blob !== "string") return undefined;
  if (state === undefined || (state !== null && !isJsonObject(state))) return undefined;
  if (!isTextOrNull(pinId) || !isTextOrNull(pinRef) || !isTextOrNull(capturedAt)) return undefined;
  const pin = pinId === null ? null : { id: pinId, ref: pinRef ?? refForPin(pinId) };
  const { key, kind, locator, policy, recoverable, origin } = shape;
  return [[blob, { key, kind, locator, policy, recoverable, origin, state, pin, capturedAt }]];
}

function isTextOrNull(value: Json | undefined): value is string | null {
  return value === null || typeof value === "string";
}
