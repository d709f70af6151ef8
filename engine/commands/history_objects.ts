/**
 * Every object of every commit: what `verify --all-history` goes through.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { DatasetTrees } from "../history/dataset_trees.ts";
import { readHistory } from "../history/references.ts";
import type { ObjectManifest } from "../model/manifest.ts";
import type { CallOptions } from "../reports/report.ts";
import { pickSignal } from "./snapshot.ts";

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
  const { datasetId } = ctx.config;
  const history = await readHistory(ctx.vcs, {
    datasetId,
    ...pickSignal(options),
    ...(options.onProgress ? { onProgress: options.onProgress } : {}),
  });
  const byBlob = new Map<string, ObjectManifest>();
  const warnings: string[] = [];
  for await (const found of history.manifests()) {
    if (!found.own) continue;
    const where = `"${found.path}" at ${found.commit.slice(0, 12)}`;
    if (found.type === "manifest") byBlob.set(found.blob, found.manifest);
    else if (found.type === "broken") warnings.push(`Not checked: ${where} does not parse: ${found.error.message}`);
    else warnings.push(`Not checked: ${where} cannot be read: ${found.reason}`);
  }
  const trees = new DatasetTrees(ctx.vcs.objects());
  const blobsOf = new Map<string, Promise<readonly string[]>>();
  const objects: HistoricObject[] = [];
  for (const { id, tree } of history.commits) {
    for (const dataset of await trees.find(tree)) {
      if (!await trees.isOwn(dataset, datasetId)) continue;
      let blobs = blobsOf.get(dataset.objects);
      if (!blobs) {
        blobsOf.set(
          dataset.objects,
          blobs = trees.manifests(dataset).then((files) => files.map((f) => f.blob)),
        );
      }
      for (const blob of await blobs) {
        const manifest = byBlob.get(blob);
        if (manifest) objects.push({ commit: id, manifest });
      }
    }
  }
  return { objects, warnings };
}
