/**
 * What was learnt of history, on disk. Ids of objects never change their meaning, so an entry is true for ever.
 *
 * The files lie in the folder that all checkouts share, where no clone can put anything: an entry that came with a clone
 * could hide a reference. They are JSON lines; a line that cannot be read counts as absent. A file that cannot be written
 * costs speed only (L26).
 *
 * What successive manifests of an object share, their shape, stands in a line of its own somewhere before them, named by its
 * hash: `{"shape":…}`. A manifest is `[blob, shape, state, pin id, pin ref, time of capture]`; the ref is `null` when it is the
 * usual one of the id.
 *
 * @module
 */

import { join } from "node:path";
import { writeAll } from "../files/atomic.ts";
import { valueHash } from "../model/hash.ts";
import { isJsonObject, type Json, type JsonObject, parseJson, writeJson } from "../model/json.ts";
import type { ObjectManifest } from "../model/manifest.ts";
import { refForPin } from "../model/names.ts";
import type { DatasetTree } from "./dataset_trees.ts";

/** Raised with each change of what a line means. */
const FORMAT = 2;
/** Lines are appended in writes of about this size, each of whole lines, so that two processes do not mix theirs. */
const WRITE_BYTES = 64 * 1024;

/** The cache of one repository. */
export class HistoryCache {
  readonly #folder: string;
  /** Hashes of the shapes written by this run. */
  readonly #shapes = new Set<string>();

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
      const found: (readonly [string, ObjectManifest])[] = [];
      for (const line of lines) {
        if (line.startsWith("{")) {
          const record = parseLine(line);
          const shape = readShape(record?.["of"]);
          if (shape && typeof record?.["shape"] === "string") shapes.set(record["shape"], shape);
          continue;
        }
        // Cheaper than parsing lines nobody asked for.
        const blob = line.slice(2, line.indexOf('"', 2));
        if (!line.startsWith('["') || !wanted(blob)) continue;
        const manifest = readManifest(line, shapes);
        if (manifest) found.push([blob, manifest]);
      }
      yield found;
    }
  }

  addTrees(trees: ReadonlyMap<string, readonly DatasetTree[]>): Promise<void> {
    return this.#append(
      "trees",
      [...trees].map(([tree, datasets]) => ({ tree, datasets: datasets.map((d) => ({ ...d })) })),
    );
  }

  addManifests(manifests: ReadonlyMap<string, ObjectManifest>): Promise<void> {
    const records: Json[] = [];
    for (const [blob, manifest] of manifests) {
      const of = shapeOf(manifest);
      const shape = valueHash(of).slice(0, 16);
      if (!this.#shapes.has(shape)) records.push({ shape, of });
      this.#shapes.add(shape);
      records.push(row(blob, shape, manifest));
    }
    return this.#append("manifests", records);
  }

  #path(name: string): string {
    return join(this.#folder, `history-${name}-${FORMAT}.jsonl`);
  }

  /** Yields whole lines, many at a time. */
  async *#lines(name: string): AsyncGenerator<readonly string[]> {
    let file: Deno.FsFile;
    try {
      file = await Deno.open(this.#path(name));
    } catch {
      // Nothing is known yet, or may be read.
      return;
    }
    let rest = "";
    for await (const chunk of file.readable.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      yield lines;
    }
  }

  async #append(name: string, records: readonly Json[]): Promise<void> {
    if (records.length === 0) return;
    try {
      await Deno.mkdir(this.#folder, { recursive: true });
      using file = await Deno.open(this.#path(name), { append: true, create: true });
      // The first newline ends a line that a crash tore.
      let text = "\n";
      for (const record of records) {
        text += writeJson(record) + "\n";
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

function row(blob: string, shape: string, { state, pin, capturedAt }: ObjectManifest): Json[] {
  const ref = pin === null || pin.ref === refForPin(pin.id) ? null : pin.ref;
  return [blob, shape, state, pin?.id ?? null, ref, capturedAt];
}

function readManifest(line: string, shapes: ReadonlyMap<string, Shape>): ObjectManifest | undefined {
  const value = parse(line);
  if (!Array.isArray(value)) return undefined;
  const [, name, state, pinId, pinRef, capturedAt] = value as readonly Json[];
  const shape = typeof name === "string" ? shapes.get(name) : undefined;
  if (!shape || state === undefined || (state !== null && !isJsonObject(state))) return undefined;
  if (!isTextOrNull(pinId) || !isTextOrNull(pinRef) || !isTextOrNull(capturedAt)) return undefined;
  const pin = pinId === null ? null : { id: pinId, ref: pinRef ?? refForPin(pinId) };
  return { ...shape, state, pin, capturedAt };
}

function isTextOrNull(value: Json | undefined): value is string | null {
  return value === null || typeof value === "string";
}
