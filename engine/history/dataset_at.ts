/**
 * Where a dataset lay in a commit, which need not be where it lies today (formats §19.1).
 *
 * @module
 */

import type { VcsAdapter } from "../../vcs/adapter.ts";
import { compareCodePoints } from "../model/json.ts";
import { datasetIdsIn, DatasetTrees } from "./dataset_trees.ts";

/**
 * Returns the root of a dataset in a commit, from the VCS root: today's if the commit has the dataset there, else the first
 * other folder with its id, else today's.
 */
export async function datasetRootAt(vcs: VcsAdapter, commit: string, datasetId: string): Promise<string> {
  const { rel } = vcs.location;
  const config = await vcs.fileAt(commit, rel === "." ? "tether.toml" : `${rel}/tether.toml`);
  if (config !== undefined && datasetIdsIn(new TextDecoder().decode(config)).includes(datasetId)) return rel;
  const tree = await vcs.treeOf(commit);
  if (tree === undefined) return rel;
  const trees = new DatasetTrees(vcs.objects());
  const named: string[] = [];
  for (const dataset of await trees.find(tree)) {
    if (dataset.config !== null && (await trees.idsOf(dataset.config)).includes(datasetId)) named.push(dataset.root);
  }
  return named.sort(compareCodePoints)[0] ?? rel;
}
