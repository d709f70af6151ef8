/**
 * What a clone remembers of its own work in stores, beside the repository and shared by all checkouts (formats §12).
 * They are hints: no decision to delete rests on them alone.
 *
 * Call whatever writes with the repository lock held.
 *
 * @module
 */

import { join } from "node:path";
import { canonical } from "../model/hash.ts";
import { isJsonObject, type Json, type JsonObject } from "../model/json.ts";
import type { Locator } from "../model/manifest.ts";
import { isoMicros, isoSeconds } from "../model/time.ts";
import { appendLine, formatLine, type JsonLine, readLines, readRecords } from "./_json_lines.ts";
import { writeAtomic } from "./atomic.ts";
import type { SeededPin } from "./journal.ts";

/**
 * A store this clone wrote refs into.
 *
 * @example List where this clone has pins
 * ```ts
 * import { Dataset, type TouchedStore } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * const stores: TouchedStore[] = await ds.touchedStores();
 * assert.deepEqual(stores.map((s) => s.key), ["m"]);
 * ```
 */
export interface TouchedStore {
  /** Its kind, such as `icechunk`. */
  readonly kind: string;
  /** What tells the store from others, as its backend forms it. */
  readonly identity: JsonObject;
  /** Where it is. */
  readonly locator: Locator;
  /** The object it was written for. */
  readonly key: string;
  /** ISO 8601 UTC, to the microsecond. */
  readonly at: string;
}

/**
 * A store this clone created.
 *
 * @example List the stores that gc may delete one day
 * ```ts
 * import { type CreatedStore, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await using _handle = await ds.create({ key: "m", kind: "memory", locator: { system: "new" } });
 * const stores: CreatedStore[] = await ds.createdStores();
 * assert.deepEqual(stores.map((s) => s.locator), [{ system: "new" }]);
 * ```
 */
export interface CreatedStore extends TouchedStore {
  /** The bookmark it was created on. */
  readonly bookmark: string | null;
}

/** The three indexes of one dataset in one clone. */
export class CloneIndexes {
  readonly #pinned: string;
  readonly #touched: string;
  readonly #created: string;
  readonly #datasetId: string;
  readonly #now: () => Date;

  /** `sharedDir` is the folder all checkouts of the repository share. */
  constructor(sharedDir: string, datasetId: string, options: { readonly now?: () => Date } = {}) {
    this.#pinned = join(sharedDir, "tether-pinned.jsonl");
    this.#touched = join(sharedDir, "tether-touched.jsonl");
    this.#created = join(sharedDir, "tether-created.jsonl");
    this.#datasetId = datasetId;
    this.#now = options.now ?? (() => new Date());
  }

  /** Returns the ids of pins this clone made. */
  async pinned(): Promise<ReadonlySet<string>> {
    const records = await this.#records(this.#pinned);
    return new Set(records.flatMap((record) => typeof record["pin_id"] === "string" ? [record["pin_id"]] : []));
  }

  /** Tells whether the index of pins exists: even an empty one counts. */
  async isSeeded(): Promise<boolean> {
    return await readLines(this.#pinned) !== undefined;
  }

  /** Makes the index of pins from what the journals say; nothing when there is one already. */
  async seed(pins: readonly SeededPin[]): Promise<void> {
    if (await this.isSeeded()) return;
    await writeAtomic(this.#pinned, pins.map((pin) => formatLine(this.#pinRecord(pin))).join(""));
  }

  /**
   * Remembers a pin that a store reported as new; nothing when it is known.
   *
   * @throws {TypeError} if the index was not seeded: an index made here would hide what earlier operations pinned.
   */
  async addPin(pin: SeededPin): Promise<void> {
    if (!await this.isSeeded()) throw new TypeError("Cannot add a pin: the index of pins is not seeded");
    if (!(await this.pinned()).has(pin.pinId)) await appendLine(this.#pinned, this.#pinRecord(pin));
  }

  /** Forgets released pins. */
  async removePins(pinIds: Iterable<string>): Promise<void> {
    const gone = new Set(pinIds);
    await this.#rewrite(this.#pinned, (record) => gone.has(String(record["pin_id"])) ? undefined : record);
  }

  /** Returns the stores this clone wrote refs into. */
  async touched(): Promise<TouchedStore[]> {
    return (await this.#records(this.#touched)).flatMap((record) => readStore(record) ?? []);
  }

  /** Remembers a store; nothing when its identity is known. */
  async addTouched(store: Omit<TouchedStore, "at">): Promise<void> {
    const identity = canonical(store.identity);
    const known = (await this.touched()).some((entry) => canonical(entry.identity) === identity);
    if (!known) await appendLine(this.#touched, this.#storeRecord(store));
  }

  /** Forgets stores by identity. */
  async removeTouched(identities: Iterable<JsonObject>): Promise<void> {
    await this.#removeStores(this.#touched, identities);
  }

  /** Returns the stores this clone created. */
  async created(): Promise<CreatedStore[]> {
    return (await this.#records(this.#created)).flatMap((record) => {
      const store = readStore(record);
      const bookmark = record["bookmark"];
      return store ? { ...store, bookmark: typeof bookmark === "string" ? bookmark : null } : [];
    });
  }

  /** Remembers a store that was just created. */
  async addCreated(store: Omit<CreatedStore, "at">): Promise<void> {
    await appendLine(this.#created, { ...this.#storeRecord(store), bookmark: store.bookmark });
  }

  /** Forgets created stores by identity. */
  async removeCreated(identities: Iterable<JsonObject>): Promise<void> {
    await this.#removeStores(this.#created, identities);
  }

  /**
   * Gives touched and created stores the identities their backends form now; duplicates that arise among touched ones go.
   * `identityOf` returns `undefined` for an entry to leave alone. Returns how many entries changed.
   */
  async reidentify(identityOf: (entry: TouchedStore) => JsonObject | undefined): Promise<number> {
    let changed = 0;
    for (const path of [this.#touched, this.#created]) {
      const seen = new Set<string>();
      await this.#rewrite(path, (record) => {
        const store = readStore(record);
        if (!store) return record;
        const identity = identityOf(store) ?? store.identity;
        const name = canonical(identity);
        if (name !== canonical(store.identity)) changed++;
        if (path === this.#touched && seen.has(name)) return undefined;
        seen.add(name);
        return { ...record, identity };
      });
    }
    return changed;
  }

  async #removeStores(path: string, identities: Iterable<JsonObject>): Promise<void> {
    const gone = new Set([...identities].map(canonical));
    await this.#rewrite(path, (record) => {
      const store = readStore(record);
      return store && gone.has(canonical(store.identity)) ? undefined : record;
    });
  }

  async #records(path: string): Promise<JsonObject[]> {
    return (await readRecords(path)).filter((record) => this.#isOurs(record));
  }

  /** Changes this dataset's records; every other line stays as it is. */
  async #rewrite(path: string, change: (record: JsonObject) => JsonObject | undefined): Promise<void> {
    const lines = await readLines(path);
    if (lines === undefined) return;
    const after = lines.map((line) => this.#changed(line, change));
    if (after.every((text, i) => text === lines[i]?.text)) return;
    await writeAtomic(path, after.filter((text) => text !== undefined).map((text) => text + "\n").join(""));
  }

  #changed(line: JsonLine, change: (record: JsonObject) => JsonObject | undefined): string | undefined {
    if (!line.record || !this.#isOurs(line.record)) return line.text;
    const record = change(line.record);
    return record === line.record ? line.text : record && formatLine(record).trimEnd();
  }

  #isOurs(record: JsonObject): boolean {
    return record["dataset_id"] === this.#datasetId;
  }

  #pinRecord(pin: SeededPin): JsonObject {
    return {
      dataset_id: this.#datasetId,
      pin_id: pin.pinId,
      kind: pin.kind,
      key: pin.key,
      at: isoSeconds(this.#now()),
    };
  }

  #storeRecord(store: Omit<TouchedStore, "at">): JsonObject {
    return {
      dataset_id: this.#datasetId,
      kind: store.kind,
      identity: store.identity,
      locator: store.locator,
      key: store.key,
      at: isoMicros(this.#now()),
    };
  }
}

function readStore(record: JsonObject): TouchedStore | undefined {
  const { kind, identity, locator, key, at } = record as Record<string, Json>;
  if (typeof kind !== "string" || !isJsonObject(identity) || !isJsonObject(locator)) return undefined;
  return {
    kind,
    identity,
    locator,
    key: typeof key === "string" ? key : "",
    at: typeof at === "string" ? at : "",
  };
}
