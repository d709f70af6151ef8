/**
 * Stores of every local kind that hold a list of numbers, made and read by either side's own libraries.
 *
 * @module
 */

import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { join } from "node:path";
import { DEFAULT_SETTINGS, type ObjectBackend, type Target } from "../../backends/backend.ts";
import { openBackend } from "../../backends/catalog.ts";
import { DeltaHandle } from "../../backends/delta/handle.ts";
import { LanceHandle } from "../../backends/lance/handle.ts";
import type { Json, JsonObject } from "../../engine/model/json.ts";
import type { State } from "../../engine/model/manifest.ts";
import { createDelta, type DeltaData } from "../helpers/delta_data.ts";
import { createRepository, readArray, writeArray } from "../helpers/icechunk_data.ts";
import { appendLanceRows, createLanceTable } from "../helpers/lance_data.ts";
import type { TempRepo } from "../helpers/repo.ts";
import { python, type Side } from "./_peer.ts";

/** The local kinds. */
export type Kind = "delta" | "file" | "git" | "icechunk" | "lance";

/** A store, and the key it is registered under. */
export interface Store {
  readonly kind: Kind;
  readonly key: string;
  readonly uri: string;
}

/** Stores by kind; each holds 1, 2, 3 at first. */
export interface Stores {
  readonly all: readonly Store[];
  /** Those that have pins and branches. */
  readonly forkable: readonly Store[];
  /** Appends a number to each of some stores: on a branch where one is named for its key, else at the base. */
  append(stores: readonly Store[], number: number, refs?: Readonly<Record<string, Json>>): Promise<void>;
}

const PLACES: Readonly<Record<Kind, readonly [key: string, folder: string]>> = {
  delta: ["cells", "cells"],
  file: ["raw/plate é😀", "plate"],
  git: ["code", "code"],
  icechunk: ["zarr/img", "img.icechunk"],
  lance: ["features", "features.lance"],
};

/** Every local kind. */
export const KINDS: readonly Kind[] = Object.keys(PLACES) as Kind[];

/**
 * Makes stores beside a repository: Icechunk, Lance and Delta with the Python libraries for the peer, with our helpers for
 * us. Icechunk's are of the format that both read.
 */
export async function makeStores(repo: TempRepo, maker: Side, kinds: readonly Kind[] = KINDS): Promise<Stores> {
  const all = kinds.map((kind) => ({ kind, key: PLACES[kind][0], uri: join(repo.outer, PLACES[kind][1]) }));
  const writer = maker.name === "peer" ? pythonWriter() : ourWriter();
  for (const { kind, uri } of all) {
    if (kind === "git") await repo.git(["init", "--quiet", "--initial-branch=main", uri]);
  }
  await writer.make(all.filter((s) => !isPlain(s)));
  for (const store of all.filter(isPlain)) {
    for (const number of [1, 2, 3]) await appendPlain(repo, store, number, undefined);
  }
  return {
    all,
    forkable: all.filter((s) => s.kind !== "delta" && s.kind !== "file"),
    async append(stores, number, refs = {}) {
      const refOf = (store: Store): string | undefined => {
        const ref = refs[store.key];
        return typeof ref === "string" ? ref : undefined;
      };
      await writer.append(stores.filter((s) => !isPlain(s)), number, refOf);
      for (const store of stores.filter(isPlain)) await appendPlain(repo, store, number, refOf(store));
    },
  };
}

/** What `tether open --json` printed for a store, by either side. */
export interface Opened {
  readonly store: Store;
  readonly by: Side;
  readonly json: JsonObject;
}

/** Reads the numbers at addresses that were opened for reading, each with the libraries of the side that opened it. */
export async function readOpened(repo: TempRepo, opened: readonly Opened[]): Promise<Record<string, number[]>> {
  const numbers = new Map<string, number[]>();
  const asked = opened.filter((o) => o.by.name === "peer" && !isPlain(o.store));
  const answers = asked.length === 0
    ? []
    : await python("stores.py", asked.map((o) => ["read", o.store.kind, String(o.json["address"])]));
  asked.forEach((o, i) => numbers.set(o.store.key, (answers as number[][])[i] ?? []));
  for (const { store, by, json } of opened) {
    if (isPlain(store)) numbers.set(store.key, await readPlain(repo, store, String(json["address"])));
    else if (by.name === "ours") numbers.set(store.key, await readOurs(store, json));
  }
  return Object.fromEntries(numbers);
}

/** Opens a backend of a store's kind, for what no command offers. */
export async function backendOf(store: Store): Promise<ObjectBackend> {
  return await openBackend(store.kind, DEFAULT_SETTINGS);
}

interface Writer {
  make(stores: readonly Store[]): Promise<void>;
  append(stores: readonly Store[], number: number, refOf: (store: Store) => string | undefined): Promise<void>;
}

function pythonWriter(): Writer {
  const run = async (steps: readonly Json[][]) => {
    if (steps.length > 0) await python("stores.py", steps);
  };
  return {
    make: (stores) => run(stores.map((s) => ["make", s.kind, s.uri])),
    append: (stores, number, refOf) => run(stores.map((s) => ["append", s.kind, s.uri, number, refOf(s) ?? null])),
  };
}

function ourWriter(): Writer {
  const tables = new Map<string, DeltaData>();
  const numbers = [1, 2, 3];
  return {
    async make(stores) {
      for (const { kind, uri } of stores) {
        if (kind === "icechunk") {
          await createRepository(uri, { format: 1 });
          await writeArray(uri, "main", { name: "values", values: numbers, chunk: 2 });
        } else if (kind === "lance") await createLanceTable(uri, numbers.map((id) => ({ id })));
        else {
          const table = await createDelta(uri);
          await table.append(numbers);
          tables.set(uri, table);
        }
      }
    },
    async append(stores, number, refOf) {
      for (const store of stores) {
        const branch = refOf(store);
        if (store.kind === "icechunk") {
          const before = await readArray(store.uri, { on: "ref", ref: branch ?? "main" }, "values");
          await writeArray(store.uri, branch ?? "main", { name: "values", values: [...before, number], chunk: 2 });
        } else if (store.kind === "lance") {
          await appendLanceRows(store.uri, [{ id: number }], branch === undefined ? {} : { branch });
        } else await tables.get(store.uri)?.append([number]);
      }
    },
  };
}

/** Tells whether a store needs no library: git is a program, and a folder is a folder. */
function isPlain(store: Store): boolean {
  return store.kind === "file" || store.kind === "git";
}

async function appendPlain(repo: TempRepo, { kind, uri }: Store, number: number, ref?: string): Promise<void> {
  if (kind === "file") {
    await Deno.mkdir(join(uri, "é"), { recursive: true });
    await Deno.writeTextFile(join(uri, "é", `${number}.txt`), `${number}\n`);
    return;
  }
  const git = (...args: string[]) => repo.git(args, { cwd: uri });
  if (ref !== undefined) await git("switch", "--quiet", ref);
  await Deno.writeTextFile(join(uri, "values.txt"), `${number}\n`, { append: true });
  await git("add", "values.txt");
  await git("commit", "--quiet", "-m", `append ${number}`);
  if (ref !== undefined) await git("switch", "--quiet", "main");
}

async function readPlain(repo: TempRepo, { kind, uri }: Store, address: string): Promise<number[]> {
  if (kind === "file") {
    return (await Array.fromAsync(Deno.readDir(join(address, "é")))).map((e) => parseInt(e.name)).sort();
  }
  const sha = address.slice(address.lastIndexOf("@") + 1);
  return (await repo.git(["show", `${sha}:values.txt`], { cwd: uri })).split("\n").map(Number);
}

async function readOurs(store: Store, json: JsonObject): Promise<number[]> {
  const target = targetOf(json);
  if (store.kind === "icechunk") return await readArray(store.uri, target, "values");
  await using backend = await backendOf(store);
  await using handle = await backend.openHandle({ uri: store.uri }, target, { readOnly: true });
  if (handle instanceof LanceHandle) {
    const table = await handle.table() as unknown as { toArrow(): Promise<{ toArray(): readonly { id: unknown }[] }> };
    return (await table.toArrow()).toArray().map((row) => Number(row.id));
  }
  const numbers: number[] = [];
  if (!(handle instanceof DeltaHandle)) throw new TypeError(`Cannot read a ${handle.type}`);
  for await (const { uri } of handle.files()) {
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(uri), compressors });
    numbers.push(...rows.map((row) => Number(row["id"])));
  }
  return numbers.sort((a, b) => a - b);
}

function targetOf({ pinned, ref, state }: JsonObject): Target {
  if (typeof ref !== "string") return { on: "state", state: state as State };
  return pinned === true ? { on: "pin", pin: { id: ref.replace("tether.", ""), ref } } : { on: "ref", ref };
}
