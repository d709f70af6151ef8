/**
 * Finds datasets in a commit's tree. A dataset may have moved inside its repository, and one repository may hold several,
 * so every folder counts, not only today's (formats §19.1).
 *
 * @module
 */

import type { ObjectReader, TreeEntry } from "../../vcs/adapter.ts";
import { ConfigError, VcsError } from "../model/errors.ts";
import { isDatasetId } from "../model/names.ts";
import { isTable, readToml } from "../files/toml.ts";

/** A folder with manifests. */
export interface DatasetTree {
  /** Its path from the VCS root, with `/`; `.` for the root itself. */
  readonly root: string;
  /** Blob of its `tether.toml`; `null` when it has none. */
  readonly config: string | null;
  /** Tree of its `.tether/objects`. */
  readonly objects: string;
}

/** A file of a tree. */
export interface TreeFile {
  readonly path: string;
  readonly blob: string;
}

const NONE: readonly DatasetTree[] = [];

/** Finds datasets in trees; a folder that several trees share is looked at once. */
export class DatasetTrees {
  readonly #reader: ObjectReader;
  readonly #found = new Map<string, Promise<readonly DatasetTree[]>>();
  readonly #idsOf = new Map<string, Promise<readonly string[]>>();

  constructor(reader: ObjectReader) {
    this.#reader = reader;
  }

  /**
   * Returns the datasets of a tree, roots relative to it.
   *
   * @throws {VcsError} with code `object-missing` if the repository lacks a tree below it.
   */
  find(tree: string): Promise<readonly DatasetTree[]> {
    let found = this.#found.get(tree);
    if (found === undefined) this.#found.set(tree, found = this.#find(tree));
    return found;
  }

  /**
   * Tells whether a dataset is the one of an id. One whose `tether.toml` is missing or names no id is taken for it: what is
   * not known is not somebody else's.
   *
   * @throws {VcsError} with code `object-missing` if the repository lacks the file.
   */
  async isOwn(dataset: DatasetTree, datasetId: string): Promise<boolean> {
    if (dataset.config === null) return true;
    const ids = await this.idsOf(dataset.config);
    return ids.length === 0 || ids.includes(datasetId);
  }

  /** Returns the ids that a `tether.toml` names, by its blob. */
  idsOf(config: string): Promise<readonly string[]> {
    let ids = this.#idsOf.get(config);
    if (ids === undefined) this.#idsOf.set(config, ids = this.#readIds(config));
    return ids;
  }

  /** Returns the manifests of a dataset, in the tree's order. */
  manifests(dataset: DatasetTree): Promise<readonly TreeFile[]> {
    const folder = dataset.root === "." ? ".tether/objects" : `${dataset.root}/.tether/objects`;
    return this.#files(dataset.objects, folder);
  }

  async #find(tree: string): Promise<readonly DatasetTree[]> {
    const entries = await readTree(this.#reader, tree);
    const folders = entries.filter((e) => e.type === "folder");
    const below = await Promise.all(
      folders.filter((e) => e.name !== ".tether").map(async ({ name, id }) => {
        const found = await this.find(id);
        return found.map((d) => ({ ...d, root: d.root === "." ? name : `${name}/${d.root}` }));
      }),
    );
    const here = await this.#here(entries);
    const all = [...(here ? [here] : []), ...below.flat()];
    return all.length === 0 ? NONE : all;
  }

  async #here(entries: readonly TreeEntry[]): Promise<DatasetTree | undefined> {
    const folder = entries.find((e) => e.name === ".tether" && e.type === "folder");
    if (folder === undefined) return undefined;
    const inside = await readTree(this.#reader, folder.id);
    const objects = inside.find((e) => e.name === "objects" && e.type === "folder");
    if (objects === undefined) return undefined;
    const config = entries.find((e) => e.name === "tether.toml" && e.type === "file");
    return { root: ".", config: config?.id ?? null, objects: objects.id };
  }

  async #files(tree: string, folder: string): Promise<readonly TreeFile[]> {
    const entries = await readTree(this.#reader, tree);
    const files = await Promise.all(entries.map(async ({ name, id, type }) => {
      const path = `${folder}/${name}`;
      if (type === "folder") return await this.#files(id, path);
      return type === "file" && name.endsWith(".toml") ? [{ path, blob: id }] : [];
    }));
    return files.flat();
  }

  async #readIds(blob: string): Promise<readonly string[]> {
    const bytes = await this.#reader.blob(blob);
    if (bytes === undefined) throw missing(blob);
    return datasetIdsIn(new TextDecoder().decode(bytes));
  }
}

/** Returns the dataset ids a `tether.toml` names: one, none, or those of both sides of a conflict. */
export function datasetIdsIn(text: string): string[] {
  try {
    const { dataset } = readToml(text, "tether.toml");
    const id = isTable(dataset) ? dataset["id"] : undefined;
    return typeof id === "string" && isDatasetId(id) ? [id] : [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [...new Set([...text.matchAll(/\bid\s*=\s*["']([0-9a-f]{8})["']/g)].map((match) => match[1] ?? ""))];
  }
}

/** Returns a tree's entries. @throws {VcsError} with code `object-missing` if the repository lacks it. */
export async function readTree(reader: ObjectReader, id: string): Promise<readonly TreeEntry[]> {
  const entries = await reader.tree(id);
  if (entries === undefined) throw missing(id);
  return entries;
}

function missing(id: string): VcsError {
  return new VcsError(`Cannot read object "${id}": the repository lacks it`, {
    code: "object-missing",
    hints: ["git fetch", "git fsck --full"],
  });
}
