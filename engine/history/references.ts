/**
 * The reference set: every manifest that history names, wherever its dataset lay then (formats §15.4, §19.1, §19.2).
 *
 * History is walked by object id. A tree or blob that many commits share is read once, and what was learnt of it is kept on
 * disk, so a second run costs the new commits only.
 *
 * @module
 */

import type { HistoryCommit, VcsAdapter } from "../../vcs/adapter.ts";
import { parseManifest, pinIdsIn } from "../files/manifests.ts";
import { MAX_TOML_BYTES } from "../files/toml.ts";
import { ConfigError, messageOf, VcsError } from "../model/errors.ts";
import { historyDigest } from "../model/hash.ts";
import type { ObjectManifest } from "../model/manifest.ts";
import { HistoryCache } from "./_cache.ts";
import { type DatasetTree, DatasetTrees, readTree } from "./dataset_trees.ts";

/** Where a manifest was met: in a commit that holds it, the newest as a rule. */
export interface Origin {
  readonly commit: string;
  /** From the VCS root, with `/`. */
  readonly path: string;
  /** Whether its dataset is this one, or has no id to tell by. Pins count either way; objects only of one's own. */
  readonly own: boolean;
}

/** One manifest of history. */
export type HistoricManifest =
  & Origin
  & { readonly blob: string }
  & (
    | { readonly type: "manifest"; readonly manifest: ObjectManifest }
    /** It does not parse; its pins are known by their form alone. */
    | { readonly type: "broken"; readonly error: ConfigError; readonly pinIds: readonly string[] }
    /** Its content is not known, so what it refers to is not either. */
    | { readonly type: "unreadable"; readonly reason: string }
  );

/** Options of {@link readHistory}. */
export interface HistoryOptions {
  readonly datasetId: string;
  /** Which commits' manifests are read; the digest covers all. @default {all} */
  readonly select?: (commit: string) => boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly verb: string; readonly done: number; readonly total: number }) => void;
}

/** History at one moment. */
export interface History {
  /** The commits it consists of, newest first. */
  readonly commits: readonly HistoryCommit[];
  /** Stands for the set of commits (formats §15.4, §18). */
  readonly digest: string;
  /** Yields each distinct manifest once, in no order, many at a time. */
  manifests(): AsyncGenerator<readonly HistoricManifest[]>;
}

/** How many commits are looked at together: their objects travel in one go. */
const COMMITS_AT_ONCE = 64;
const BLOBS_AT_ONCE = 256;

/** Reads which commits history consists of now, and digests them; their manifests are read on demand. */
export async function readHistory(vcs: VcsAdapter, options: HistoryOptions): Promise<History> {
  const all = await vcs.history();
  const trees = new DatasetTrees(vcs.objects());
  const { select } = options;
  const commits = select ? all.filter((commit) => select(commit.id)) : all;
  return {
    commits,
    digest: await digestOf(all, trees),
    manifests: () => walk(vcs, { ...options, commits, trees }),
  };
}

/**
 * Digests the commits. A working-copy commit of jj counts as the manifests it holds, so that an edit elsewhere changes
 * nothing (formats §18).
 */
async function digestOf(commits: readonly HistoryCommit[], trees: DatasetTrees): Promise<string> {
  const ids = new Set<string>();
  for (const { id, tree, workingCopy } of commits) {
    if (!workingCopy) {
      ids.add(id);
      continue;
    }
    for (const dataset of await trees.find(tree)) {
      for (const { blob } of await trees.manifests(dataset)) ids.add(blob);
    }
  }
  return historyDigest(ids);
}

interface Walk extends HistoryOptions {
  readonly commits: readonly HistoryCommit[];
  readonly trees: DatasetTrees;
}

async function* walk(vcs: VcsAdapter, options: Walk): AsyncGenerator<readonly HistoricManifest[]> {
  const cache = new HistoryCache(vcs.location.sharedDir);
  const blobs = new BlobCollector(vcs, options);
  yield* blobs.collect(cache);
  const { wanted } = blobs;
  const total = wanted.size;
  const progress = (): void => options.onProgress?.({ verb: "reading manifests", done: total - wanted.size, total });
  for await (const known of cache.manifests((id) => wanted.has(id))) {
    const found: HistoricManifest[] = [];
    for (const [blob, manifest] of known) {
      const met = wanted.get(blob);
      if (met === undefined) continue;
      wanted.delete(blob);
      found.push({ ...originOf(met), blob, type: "manifest", manifest });
    }
    yield found;
  }
  for (let batch = take(wanted, BLOBS_AT_ONCE); batch.length > 0; batch = take(wanted, BLOBS_AT_ONCE)) {
    options.signal?.throwIfAborted();
    const read = await Promise.all(batch.map(([blob, met]) => readManifest(vcs, blob, originOf(met))));
    const parsed = read.flatMap((r) => r.type === "manifest" ? [[r.blob, r.manifest] as const] : []);
    const kept = new Map(await cache.addManifests(new Map(parsed)));
    for (const [blob] of batch) wanted.delete(blob);
    progress();
    yield read.map((r) => r.type === "manifest" ? { ...r, manifest: kept.get(r.blob) ?? r.manifest } : r);
  }
}

/** Returns the first entries of a map. */
function take<K, V>(map: ReadonlyMap<K, V>, count: number): [K, V][] {
  return [...map.entries().take(count)];
}

async function readManifest(vcs: VcsAdapter, blob: string, origin: Origin): Promise<HistoricManifest> {
  let bytes: Uint8Array | undefined;
  let reason = "the repository lacks its object";
  try {
    bytes = await vcs.objects().blob(blob, { maxBytes: MAX_TOML_BYTES });
  } catch (error) {
    if (!(error instanceof VcsError) || error.code !== "object-too-large") throw error;
    reason = messageOf(error);
  }
  if (bytes === undefined) return { ...origin, blob, type: "unreadable", reason };
  const text = new TextDecoder().decode(bytes);
  try {
    const name = `${origin.path} at ${origin.commit.slice(0, 12)}`;
    return { ...origin, blob, type: "manifest", manifest: parseManifest(text, name) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { ...origin, blob, type: "broken", error, pinIds: pinIdsIn(text) };
  }
}

/** A file met in a folder. There are very many: those of one folder share what they can. */
interface Met {
  readonly folder: Origin;
  readonly name: string;
}

function originOf({ folder, name }: Met): Origin {
  return { commit: folder.commit, path: `${folder.path}/${name}`, own: folder.own };
}

/** Goes through the trees of history and collects the blobs of manifests, each with one place where it was met. */
class BlobCollector {
  readonly wanted = new Map<string, Met>();
  readonly #vcs: VcsAdapter;
  readonly #walk: Walk;
  /** Trees below `.tether/objects` that were gone through, by whether their dataset is this one. */
  readonly #visited = new Set<string>();

  constructor(vcs: VcsAdapter, walk: Walk) {
    this.#vcs = vcs;
    this.#walk = walk;
  }

  /** Yields what could not be looked into. */
  async *collect(cache: HistoryCache): AsyncGenerator<readonly HistoricManifest[]> {
    const { commits, signal, onProgress } = this.#walk;
    const known = await cache.trees();
    const learnt = new Map<string, readonly DatasetTree[]>();
    for (let at = 0; at < commits.length; at += COMMITS_AT_ONCE) {
      signal?.throwIfAborted();
      const batch = commits.slice(at, at + COMMITS_AT_ONCE);
      const troubles = await Promise.all(batch.map((commit) => this.#commit(commit, known, learnt)));
      yield troubles.filter((trouble) => trouble !== undefined);
      onProgress?.({ verb: "reading commits", done: at + batch.length, total: commits.length });
    }
    await cache.addTrees(learnt);
  }

  async #commit(
    commit: HistoryCommit,
    known: ReadonlyMap<string, readonly DatasetTree[]>,
    learnt: Map<string, readonly DatasetTree[]>,
  ): Promise<HistoricManifest | undefined> {
    try {
      let datasets = known.get(commit.tree);
      if (datasets === undefined) learnt.set(commit.tree, datasets = await this.#walk.trees.find(commit.tree));
      await Promise.all(datasets.map((dataset) => this.#dataset(dataset, commit.id)));
      return undefined;
    } catch (error) {
      if (!(error instanceof VcsError) || error.code !== "object-missing") throw error;
      const origin: Origin = { commit: commit.id, path: ".", own: true };
      return { ...origin, blob: commit.tree, type: "unreadable", reason: error.message };
    }
  }

  async #dataset(dataset: DatasetTree, commit: string): Promise<void> {
    const own = await this.#walk.trees.isOwn(dataset, this.#walk.datasetId);
    const folder = dataset.root === "." ? ".tether/objects" : `${dataset.root}/.tether/objects`;
    await this.#folder(dataset.objects, { commit, path: folder, own });
  }

  async #folder(tree: string, at: Origin): Promise<void> {
    const visit = `${at.own} ${tree}`;
    if (this.#visited.has(visit)) return;
    this.#visited.add(visit);
    const folders: Promise<void>[] = [];
    for (const { name, id, type } of await readTree(this.#vcs.objects(), tree)) {
      if (type === "folder") folders.push(this.#folder(id, { ...at, path: `${at.path}/${name}` }));
      else if (type === "file" && name.endsWith(".toml")) this.#blob(id, name, at);
    }
    await Promise.all(folders);
  }

  /** One's own dataset wins over a copy in another. */
  #blob(blob: string, name: string, folder: Origin): void {
    const other = this.wanted.get(blob);
    if (other === undefined || (folder.own && !other.folder.own)) this.wanted.set(blob, { folder, name });
  }
}
