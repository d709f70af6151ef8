/**
 * Throw-away datasets for tests: a real git or jj repository, and memory systems as objects.
 *
 * @module
 */

import { type MemorySnapshot, namedStore } from "../../backends/memory/store.ts";
import { type Context, openContext } from "../../engine/context.ts";
import { Dataset } from "../../engine/dataset.ts";
import { initDataset } from "../../engine/commands/init.ts";
import { type EngineEnv, REAL_ENV } from "../../engine/env.ts";
import type { JsonObject } from "../../engine/model/json.ts";
import { type TempJjRepo, tempJjRepo, type TempJjRepoOptions } from "./jj_repo.ts";
import { type TempRepo, tempRepo, type TempRepoOptions } from "./repo.ts";

type Repo = AsyncDisposable & { readonly path: string };

/** A dataset in a temporary repository. */
export interface TempDataset<R extends Repo = TempRepo> extends AsyncDisposable {
  readonly repo: R;
  readonly root: string;
  /** The dataset, freshly opened; closed with this. */
  open(options?: { env?: EngineEnv; at?: string; lockTimeoutMs?: number }): Promise<Dataset>;
  /** Calls `fn` with a freshly opened dataset and closes it. */
  with<T>(fn: (dataset: Dataset) => Promise<T>, options?: { env?: EngineEnv; at?: string }): Promise<T>;
  /** Calls `fn` with the inside of a freshly opened dataset. */
  inside<T>(fn: (ctx: Context) => Promise<T>): Promise<T>;
  /** Registers memory systems under keys; the system of a key is its own. */
  addMemory(...keys: string[]): Promise<void>;
  /** The name of a key's memory system. */
  system(key: string): string;
  /** Writes something new into a key's system. */
  write(key: string, branch?: string): MemorySnapshot;
  /** Reads a file of the dataset. */
  read(path: string): Promise<string>;
}

let count = 0;

/** Makes a repository with a dataset at `at` (default: the root). */
export async function tempDataset(options: TempRepoOptions & { readonly at?: string } = {}): Promise<TempDataset> {
  return await datasetIn(await tempRepo(options), options);
}

/** As {@link tempDataset}, in a jj repository. */
export async function tempJjDataset(
  options: TempJjRepoOptions & { readonly at?: string } = {},
): Promise<TempDataset<TempJjRepo>> {
  return await datasetIn(await tempJjRepo(options), options);
}

async function datasetIn<R extends Repo>(repo: R, options: { readonly at?: string }): Promise<TempDataset<R>> {
  const root = options.at === undefined ? repo.path : `${repo.path}/${options.at}`;
  await initDataset(root);
  const unique = `t${Deno.pid}-${count++}`;
  const opened: Dataset[] = [];
  let written = 0;
  const dataset: TempDataset<R> = {
    repo,
    root,
    async open({ at = root, ...o } = {}) {
      const ds = await Dataset.open(at, { env: REAL_ENV, ...o });
      opened.push(ds);
      return ds;
    },
    async with(fn, { at = root, ...o } = {}) {
      await using ds = await Dataset.open(at, { env: REAL_ENV, ...o });
      return await fn(ds);
    },
    async inside(fn) {
      await using ctx = await openContext(root);
      return await fn(ctx);
    },
    async addMemory(...keys) {
      await dataset.with(async (ds) => {
        for (const key of keys) await ds.add({ key, kind: "memory", locator: { system: dataset.system(key) } });
      });
    },
    system: (key) => `${unique}/${key}`,
    write: (key, branch = "main") =>
      namedStore().write(dataset.system(key), { [`k${written}`]: written++ } as JsonObject, { branch }),
    read: (path) => Deno.readTextFile(`${root}/${path}`),
    async [Symbol.asyncDispose]() {
      for (const ds of opened) await ds[Symbol.asyncDispose]();
      await repo[Symbol.asyncDispose]();
    },
  };
  return dataset;
}
