/**
 * Files of a jj commit, read from the git store (formats §15.2, §15.4). A conflicted commit has several trees: where they
 * agree a file is what it is; where they do not, it is shown with conflict markers, as in the working copy.
 *
 * @module
 */

import { missingObject } from "./_missing.ts";
import { listTree, objectAt } from "./_tree_paths.ts";
import type { GitObjectReader } from "./object_reader.ts";
import type { TreeEntry } from "./adapter.ts";

/** What the sides of a commit have at one path; `undefined` where one has nothing. */
type Sides = readonly (string | undefined)[];

/** Reads files of commits. */
export class JjTrees {
  readonly #reader: GitObjectReader;

  constructor(reader: GitObjectReader) {
    this.#reader = reader;
  }

  /** Returns a file's bytes; `undefined` when the commit has none there. @throws {VcsError} if the commit is missing. */
  async fileAt(commit: string, path: string): Promise<Uint8Array | undefined> {
    const entries = await this.#entriesAt(commit, path);
    return await this.#content(entries.map((entry) => entry?.type === "file" ? entry.id : undefined), path);
  }

  /** Tells whether a commit, or one side of a conflict in it, has something other than a folder at a path. */
  async hasFile(commit: string, path: string): Promise<boolean> {
    return (await this.#entriesAt(commit, path)).some((entry) => entry !== undefined && entry.type !== "folder");
  }

  /** Returns the bytes of all files below a folder, by path, if `select` takes them. */
  async filesBelow(
    commit: string,
    folder: string,
    select: (path: string) => boolean,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const sides = await Promise.all((await this.#sides(commit)).map((tree) => this.#idsAt(tree, folder)));
    const paths = [...new Set(sides.flatMap((side) => [...side.keys()]))].filter(select);
    const contents = await Promise.all(paths.map((path) => this.#content(sides.map((side) => side.get(path)), path)));
    return new Map(paths.flatMap((path, i) => {
      const content = contents[i];
      return content === undefined ? [] : [[path, content]];
    }));
  }

  /** Returns the object of every file and link at or below some paths; a conflicted one has all its sides' ids. */
  async idsAt(commit: string, paths: readonly string[]): Promise<Map<string, string>> {
    const sides = await this.#sides(commit);
    const found = new Map<string, string>();
    await Promise.all(paths.map(async (path) => {
      const each = await Promise.all(sides.map((tree) => this.#idsAt(tree, path)));
      for (const name of new Set(each.flatMap((side) => [...side.keys()]))) {
        found.set(name, [...new Set(each.map((side) => side.get(name) ?? "none"))].join(" "));
      }
    }));
    return found;
  }

  /** Returns the change a commit is of; `undefined` when it is not here or does not say. */
  async changeId(commit: string): Promise<string | undefined> {
    return (await this.#reader.commit(commit))?.changeId;
  }

  async #idsAt(tree: string, path: string): Promise<Map<string, string>> {
    const entry = await objectAt(this.#reader, tree, path);
    if (entry === undefined) return new Map();
    if (entry.type !== "folder") return new Map([[path, entry.id]]);
    const files = await listTree(this.#reader, entry.id, path, { links: true });
    return new Map(files.map((file) => [file.path, file.id]));
  }

  async #entriesAt(commit: string, path: string): Promise<(TreeEntry | undefined)[]> {
    return await Promise.all((await this.#sides(commit)).map((tree) => objectAt(this.#reader, tree, path)));
  }

  /** Returns the trees of a commit: one, or those of the sides of its conflict. */
  async #sides(commit: string): Promise<readonly string[]> {
    const found = await this.#reader.commit(commit);
    if (found === undefined) throw missingObject(`commit "${commit}"`);
    // The bases lie between the sides.
    return found.conflict?.filter((_, i) => i % 2 === 0) ?? [found.tree];
  }

  async #content(sides: Sides, path: string): Promise<Uint8Array | undefined> {
    const [first] = sides;
    if (sides.every((id) => id === first)) return first === undefined ? undefined : await this.#blob(first, path);
    const decoder = new TextDecoder();
    const texts = await Promise.all(
      sides.map(async (id) => id === undefined ? "" : decoder.decode(await this.#blob(id, path))),
    );
    return new TextEncoder().encode(withMarkers(texts));
  }

  async #blob(id: string, path: string): Promise<Uint8Array> {
    const bytes = await this.#reader.blob(id);
    if (bytes === undefined) throw missingObject(`"${path}"`);
    return bytes;
  }
}

/** Returns what the sides of a conflict say, with markers around. */
function withMarkers(texts: readonly string[]): string {
  const lines = texts.map((text) => text === "" || text.endsWith("\n") ? text : text + "\n");
  return `<<<<<<< side 1\n${lines.join("=======\n")}>>>>>>> side ${texts.length}\n`;
}
