/**
 * What was learnt of history, on disk. Ids of objects never change their meaning, so an entry is true for ever.
 *
 * The files lie in the folder that all checkouts share, where no clone can put anything: an entry that came with a clone
 * could hide a reference. They are JSON lines in no order; a line that cannot be read counts as absent. A file that cannot be
 * written costs speed only (L26).
 *
 * @module
 */

import { join } from "node:path";
import { writeAll } from "../files/atomic.ts";
import { isJsonObject, type Json, type JsonObject, parseJson, writeJson } from "../model/json.ts";
import type { ObjectManifest, Pin } from "../model/manifest.ts";
import type { DatasetTree } from "./dataset_trees.ts";

/** Raised with each change of what a line means. */
const FORMAT = 1;
/** Lines are appended in writes of about this size, each of whole lines, so that two processes do not mix theirs. */
const WRITE_BYTES = 64 * 1024;

/** The cache of one repository. */
export class HistoryCache {
  readonly #folder: string;

  constructor(sharedDir: string) {
    this.#folder = join(sharedDir, "tether-cache");
  }

  /** Returns the datasets of every root tree that is known. */
  async trees(): Promise<Map<string, readonly DatasetTree[]>> {
    const found = new Map<string, readonly DatasetTree[]>();
    for await (const line of this.#lines("trees")) {
      const record = parseLine(line);
      const datasets = record && readDatasets(record["datasets"]);
      if (datasets && typeof record["tree"] === "string") found.set(record["tree"], datasets);
    }
    return found;
  }

  /** Yields the manifests of those blobs that are known, each once. */
  async *manifests(wanted: (blob: string) => boolean): AsyncGenerator<[blob: string, manifest: ObjectManifest]> {
    for await (const line of this.#lines("manifests")) {
      // Cheaper than parsing lines nobody asked for.
      const blob = /^\{"blob":"([0-9a-f]+)"/.exec(line)?.[1];
      if (blob === undefined || !wanted(blob)) continue;
      const manifest = readManifest(parseLine(line)?.["manifest"]);
      if (manifest) yield [blob, manifest];
    }
  }

  addTrees(trees: ReadonlyMap<string, readonly DatasetTree[]>): Promise<void> {
    return this.#append(
      "trees",
      [...trees].map(([tree, datasets]) => ({ tree, datasets: datasets.map((d) => ({ ...d })) })),
    );
  }

  addManifests(manifests: ReadonlyMap<string, ObjectManifest>): Promise<void> {
    return this.#append("manifests", [...manifests].map(([blob, m]) => ({ blob, manifest: writeManifest(m) })));
  }

  #path(name: string): string {
    return join(this.#folder, `history-${name}-${FORMAT}.jsonl`);
  }

  async *#lines(name: string): AsyncGenerator<string> {
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
      yield* lines;
    }
  }

  async #append(name: string, records: readonly JsonObject[]): Promise<void> {
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
  try {
    const value = parseJson(line);
    return isJsonObject(value) ? value : undefined;
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

function writeManifest(m: ObjectManifest): JsonObject {
  return {
    key: m.key,
    kind: m.kind,
    locator: m.locator,
    policy: { ...m.policy },
    state: m.state,
    pin: m.pin && { id: m.pin.id, ref: m.pin.ref },
    recoverable: m.recoverable,
    origin: m.origin,
    capturedAt: m.capturedAt,
  };
}

function readManifest(value: Json | undefined): ObjectManifest | undefined {
  if (!isJsonObject(value)) return undefined;
  const { key, kind, locator, policy, state, pin, recoverable, origin, capturedAt } = value;
  if (typeof key !== "string" || typeof kind !== "string" || !isJsonObject(locator) || !isJsonObject(policy)) {
    return undefined;
  }
  if (state !== null && !isJsonObject(state)) return undefined;
  if (typeof recoverable !== "boolean" || (capturedAt !== null && typeof capturedAt !== "string")) return undefined;
  const readPin = pin === null ? null : toPin(pin);
  if (readPin === undefined) return undefined;
  return {
    key,
    kind,
    locator,
    policy: {
      file: policy["file"] === "versioned" ? "versioned" : "immutable",
      pin: policy["pin"] === "record" ? "record" : "native",
    },
    state,
    pin: readPin,
    recoverable,
    origin: origin === "created" ? "created" : "adopted",
    capturedAt,
  };
}

function toPin(value: Json | undefined): Pin | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, ref } = value;
  return typeof id === "string" && typeof ref === "string" ? { id, ref } : undefined;
}
