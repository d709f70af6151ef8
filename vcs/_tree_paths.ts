/**
 * Finding files in a commit's tree by path.
 *
 * @module
 */

import { missingObject } from "./_missing.ts";
import type { ObjectReader, TreeEntry } from "./adapter.ts";

/** Returns what lies at a path of a tree; `undefined` for nothing. */
export async function objectAt(reader: ObjectReader, tree: string, path: string): Promise<TreeEntry | undefined> {
  let entry: TreeEntry | undefined = { name: "", id: tree, type: "folder" };
  for (const name of path.split("/")) {
    if (entry?.type !== "folder") return undefined;
    entry = (await entriesOf(reader, entry.id)).find((e) => e.name === name);
  }
  return entry;
}

/** Returns every file below a tree, each with its path below `prefix`; with `links` also links and submodules. */
export async function listTree(
  reader: ObjectReader,
  tree: string,
  prefix: string,
  options: { readonly links?: boolean } = {},
): Promise<{ readonly path: string; readonly id: string }[]> {
  const found = await Promise.all((await entriesOf(reader, tree)).map(async ({ name, id, type }) => {
    const path = `${prefix}/${name}`;
    if (type === "folder") return await listTree(reader, id, path, options);
    return type === "file" || options.links ? [{ path, id }] : [];
  }));
  return found.flat();
}

async function entriesOf(reader: ObjectReader, tree: string): Promise<readonly TreeEntry[]> {
  const entries = await reader.tree(tree);
  if (entries === undefined) throw missingObject(`tree "${tree}"`);
  return entries;
}
