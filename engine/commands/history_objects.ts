/**
 * Every object of every commit: what `verify --all-history` goes through, and what the library lists.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { type DatasetTree, DatasetTrees, type TreeFile } from "../history/dataset_trees.ts";
import { type History, readHistory } from "../history/references.ts";
import { compareCodePoints } from "../model/json.ts";
import { keyOfPath } from "../model/keys.ts";
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
  /** Its manifest's path from the VCS root, with `/`. */
  readonly path: string;
  readonly manifest: ObjectManifest;
}

/** A manifest of one commit that says nothing: what was recorded there is not known. */
export interface UnknownObject {
  readonly commit: string;
  readonly path: string;
  /** The key its path stands for. */
  readonly key: string;
  readonly reason: string;
}

/** All of them, newest commit first, and what could not be read. */
export interface HistoricObjects {
  readonly objects: readonly HistoricObject[];
  readonly unknown: readonly UnknownObject[];
}

/** Reads what every commit records of this dataset. Each blob is parsed once, each tree is listed once. */
export async function historyObjects(ctx: Context, options: CallOptions = {}): Promise<HistoricObjects> {
  const reader = await HistoryReader.open(ctx, options);
  const objects: HistoricObject[] = [];
  const unknown: UnknownObject[] = [];
  for await (const { commit, datasets } of reader.commits()) {
    for (const dataset of datasets) {
      for (const { path, manifest, reason } of await reader.read(dataset)) {
        if (manifest) objects.push({ commit, path, manifest });
        else unknown.push({ commit, path, key: keyOfPath(path), reason });
      }
    }
  }
  return { objects, unknown };
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
  const reader = await HistoryReader.open(ctx, { ...options, ...(only ? { select: (id) => only.has(id) } : {}) });
  for (const warning of reader.warnings) ctx.warn(`Left out: ${warning}`);
  for await (const { commit, datasets } of reader.commits()) {
    const dataset = datasets.find((d) => d.root === ctx.vcs.location.rel) ?? datasets[0];
    if (!dataset) continue;
    const manifests = (await reader.read(dataset)).flatMap(({ manifest }) => manifest ?? []);
    manifests.sort((a, b) => compareCodePoints(a.key, b.key));
    yield { commit, objects: new Map(manifests.map((m) => [m.key, m])) };
  }
}

/** What a manifest's file holds. */
type Content =
  | { readonly manifest: ObjectManifest; readonly reason?: never }
  | { readonly manifest?: never; readonly reason: string };

/** The manifests of some commits, each distinct one read once before. */
class HistoryReader {
  readonly warnings: readonly string[];
  readonly #ctx: Context;
  readonly #history: History;
  readonly #byBlob: ReadonlyMap<string, Content>;
  readonly #trees: DatasetTrees;
  readonly #filesOf = new Map<string, Promise<readonly TreeFile[]>>();

  private constructor(
    ctx: Context,
    history: History,
    read: { readonly byBlob: ReadonlyMap<string, Content>; readonly warnings: readonly string[] },
  ) {
    this.#ctx = ctx;
    this.#history = history;
    this.#byBlob = read.byBlob;
    this.warnings = read.warnings;
    this.#trees = new DatasetTrees(ctx.vcs.objects());
  }

  static async open(
    ctx: Context,
    options: { readonly select?: (commit: string) => boolean } & CallOptions,
  ): Promise<HistoryReader> {
    const history = await readHistory(ctx.vcs, {
      datasetId: ctx.config.datasetId,
      ...(options.select ? { select: options.select } : {}),
      ...pickSignal(options),
      ...(options.onProgress ? { onProgress: options.onProgress } : {}),
    });
    const byBlob = new Map<string, Content>();
    const warnings: string[] = [];
    for await (const batch of history.manifests()) {
      for (const found of batch.filter(({ own }) => own)) {
        if (found.type === "manifest") {
          byBlob.set(found.blob, { manifest: found.manifest });
          continue;
        }
        const where = `"${found.path}" at ${found.commit.slice(0, 12)}`;
        const reason = found.type === "broken" ? found.error.message : `Cannot read ${where}: ${found.reason}`;
        byBlob.set(found.blob, { reason });
        warnings.push(
          found.type === "broken" ? `${where} does not parse: ${reason}` : `${where} cannot be read: ${found.reason}`,
        );
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

  /** Returns what the manifests of one of these places hold. */
  async read(dataset: DatasetTree): Promise<({ readonly path: string } & Content)[]> {
    const place = `${dataset.objects} ${dataset.root}`;
    let files = this.#filesOf.get(place);
    if (!files) this.#filesOf.set(place, files = this.#trees.manifests(dataset));
    return (await files).map(({ path, blob }) => ({
      path,
      ...this.#byBlob.get(blob) ?? { reason: `Cannot read "${path}": it was not in the history that was read` },
    }));
  }
}
