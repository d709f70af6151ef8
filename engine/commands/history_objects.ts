/**
 * Every object of every commit: what `verify --all-history` goes through, and what the library lists.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { type DatasetTree, DatasetTrees } from "../history/dataset_trees.ts";
import { readHistory } from "../history/references.ts";
import { compareCodePoints } from "../model/json.ts";
import type { ObjectManifest } from "../model/manifest.ts";
import type { CallOptions } from "../reports/report.ts";
import { pickSignal } from "./snapshot.ts";

/**
 * What one commit records of the dataset.
 *
 * @example See how a folder grew
 * ```ts
 * import { type CommitObjects, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * const { vcsCommit } = await ds.commit({ message: "Baseline" });
 *
 * const all: CommitObjects[] = await Array.fromAsync(ds.commits());
 * assert.equal(all[0]?.commit, vcsCommit);
 * assert.equal(all[0]?.objects.get("raw")?.state?.["count"], 0);
 * ```
 */
export interface CommitObjects {
  /** Full id. */
  readonly commit: string;
  /** The objects by key, in the order of keys. */
  readonly objects: ReadonlyMap<string, ObjectManifest>;
}

/** One object as one commit records it. */
export interface HistoricObject {
  readonly commit: string;
  readonly manifest: ObjectManifest;
}

/** All of them, newest commit first, and what could not be read. */
export interface HistoricObjects {
  readonly objects: readonly HistoricObject[];
  readonly warnings: readonly string[];
}

/** Reads what every commit records of this dataset. Each blob is parsed once, each tree is listed once. */
export async function historyObjects(ctx: Context, options: CallOptions = {}): Promise<HistoricObjects> {
  const reader = await HistoryReader.read(ctx, options);
  const objects: HistoricObject[] = [];
  for await (const { commit, datasets } of reader.commits()) {
    for (const dataset of datasets) {
      for (const manifest of await reader.manifests(dataset)) objects.push({ commit, manifest });
    }
  }
  return { objects, warnings: reader.warnings.map((text) => `Not checked: ${text}`) };
}

/**
 * Yields the commits that have the dataset, newest first, with what each records of it. A manifest that cannot be read is
 * left out, with a warning of the dataset. Where a commit holds the dataset twice, the folder it has today counts.
 *
 * @param options.revs Only these; by default every commit of every ref.
 * @throws {VcsError} if a revision does not resolve.
 */
export async function* commitObjects(
  ctx: Context,
  options: { readonly revs?: readonly string[] } & CallOptions = {},
): AsyncGenerator<CommitObjects> {
  await ctx.refresh();
  const only = options.revs && new Set(await Promise.all(options.revs.map((rev) => ctx.vcs.resolve(rev))));
  const reader = await HistoryReader.read(ctx, { ...options, ...(only ? { select: (id) => only.has(id) } : {}) });
  for (const warning of reader.warnings) ctx.warn(`Left out: ${warning}`);
  for await (const { commit, datasets } of reader.commits()) {
    const dataset = datasets.find((d) => d.root === ctx.vcs.location.rel) ?? datasets[0];
    if (!dataset) continue;
    const manifests = await reader.manifests(dataset);
    manifests.sort((a, b) => compareCodePoints(a.key, b.key));
    yield { commit, objects: new Map(manifests.map((m) => [m.key, m])) };
  }
}

/** The manifests of some commits, each distinct one read once before. */
class HistoryReader {
  readonly warnings: readonly string[];
  readonly #ctx: Context;
  readonly #history: Awaited<ReturnType<typeof readHistory>>;
  readonly #byBlob: ReadonlyMap<string, ObjectManifest>;
  readonly #trees: DatasetTrees;
  readonly #blobsOf = new Map<string, Promise<readonly string[]>>();

  private constructor(
    ctx: Context,
    history: Awaited<ReturnType<typeof readHistory>>,
    read: { readonly byBlob: ReadonlyMap<string, ObjectManifest>; readonly warnings: readonly string[] },
  ) {
    this.#ctx = ctx;
    this.#history = history;
    this.#byBlob = read.byBlob;
    this.warnings = read.warnings;
    this.#trees = new DatasetTrees(ctx.vcs.objects());
  }

  static async read(
    ctx: Context,
    options: { readonly select?: (commit: string) => boolean } & CallOptions,
  ): Promise<HistoryReader> {
    const history = await readHistory(ctx.vcs, {
      datasetId: ctx.config.datasetId,
      ...(options.select ? { select: options.select } : {}),
      ...pickSignal(options),
      ...(options.onProgress ? { onProgress: options.onProgress } : {}),
    });
    const byBlob = new Map<string, ObjectManifest>();
    const warnings: string[] = [];
    for await (const batch of history.manifests()) {
      for (const found of batch.filter(({ own }) => own)) {
        const where = `"${found.path}" at ${found.commit.slice(0, 12)}`;
        if (found.type === "manifest") byBlob.set(found.blob, found.manifest);
        else if (found.type === "broken") warnings.push(`${where} does not parse: ${found.error.message}`);
        else warnings.push(`${where} cannot be read: ${found.reason}`);
      }
    }
    return new HistoryReader(ctx, history, { byBlob, warnings });
  }

  /** Yields the commits, newest first, with the places where each has this dataset. */
  async *commits(): AsyncGenerator<{ readonly commit: string; readonly datasets: readonly DatasetTree[] }> {
    for (const { id, tree } of this.#history.commits) {
      const datasets: DatasetTree[] = [];
      for (const dataset of await this.#trees.find(tree)) {
        if (await this.#trees.isOwn(dataset, this.#ctx.config.datasetId)) datasets.push(dataset);
      }
      yield { commit: id, datasets };
    }
  }

  /** Returns the manifests of one of these places. */
  async manifests(dataset: DatasetTree): Promise<ObjectManifest[]> {
    let blobs = this.#blobsOf.get(dataset.objects);
    if (!blobs) {
      const files = this.#trees.manifests(dataset);
      this.#blobsOf.set(dataset.objects, blobs = files.then((f) => f.map(({ blob }) => blob)));
    }
    return (await blobs).flatMap((blob) => this.#byBlob.get(blob) ?? []);
  }
}
