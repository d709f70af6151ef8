/**
 * The values that completion knows: keys from the names of manifests, bookmarks from the repository, operations from the
 * journal, kinds, fixed words.
 *
 * @module
 */

import { resolve } from "node:path";

/** One thing a word can become. */
export interface Candidate {
  readonly word: string;
  /** What it is, for shells that show that. */
  readonly text: string;
}

/** What the rest of the line says. */
export interface Surroundings {
  readonly command: string;
  /** Folders of `-C` options, in order. */
  readonly folders: readonly string[];
  readonly kind: string | undefined;
}

const WORDS: Readonly<Record<string, readonly string[]>> = {
  "--color": ["auto", "always", "never"],
  "--file": ["immutable", "versioned"],
  "--pin": ["native", "record"],
  "--access": ["read", "refs", "lifecycle"],
  "--strategy": ["auto", "ff", "merge"],
  "action": ["show", "check"],
  "shell": ["bash", "zsh", "fish"],
};

const REVISIONS: ReadonlySet<string> = new Set([
  "rev",
  "rev_a",
  "rev_b",
  "bookmark",
  "--rev",
  "--from",
  "--to",
  "--keep-bookmark",
]);

/** Returns the values of an option (by its flag) or argument (by its name). None means that file names may do. */
export async function valuesOf(name: string, at: Surroundings): Promise<readonly Candidate[]> {
  const words = WORDS[name];
  if (words) return words.map((word) => ({ word, text: "" }));
  if (name === "--kind") return await kinds();
  if (REVISIONS.has(name)) return await bookmarks(at);
  if (name === "op") return await undoable(at);
  if (name === "--ack") return await gone(at);
  // A new key has nothing to be completed from, and with --kind the argument of log is a place.
  const isKey = name === "--key" || (name === "key" && at.command !== "add") ||
    (name === "key|locator" && at.kind === undefined);
  return isKey ? await keys(at) : [];
}

async function kinds(): Promise<Candidate[]> {
  const { kindsOnOffer } = await import("../engine/commands/backends.ts");
  const { stable, experimental } = await kindsOnOffer();
  return [
    ...stable.map((word) => ({ word, text: "" })),
    ...experimental.map((word) => ({ word, text: "experimental" })),
  ];
}

async function keys(at: Surroundings): Promise<Candidate[]> {
  const root = await rootOf(at);
  return root === undefined ? [] : (await keysBelow(`${root}/.tether/objects`)).map((word) => ({ word, text: "" }));
}

/** Names of manifests are keys, so none has to be read. */
async function keysBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isDirectory) {
      found.push(...(await keysBelow(`${folder}/${entry.name}`)).map((key) => `${entry.name}/${key}`));
    } else if (entry.isFile && entry.name.endsWith(".toml")) {
      found.push(entry.name.slice(0, -".toml".length));
    }
  }
  return found.sort();
}

async function bookmarks(at: Surroundings): Promise<Candidate[]> {
  const root = await rootOf(at);
  if (root === undefined) return [];
  const { Dataset } = await import("../engine/dataset.ts");
  await using dataset = await Dataset.open(root);
  return [...(await dataset.vcs.bookmarks()).keys()].sort().map((word) => ({ word, text: "bookmark" }));
}

/** Operations that an undo may name, newest first. */
async function undoable(at: Surroundings): Promise<Candidate[]> {
  const root = await rootOf(at);
  if (root === undefined) return [];
  const { Dataset } = await import("../engine/dataset.ts");
  await using dataset = await Dataset.open(root);
  const { ops } = await dataset.ops();
  return ops.filter((o) => o.undoneBy === null && o.undoes === null && o.status === "done" && o.parent === null)
    .map((o) => ({ word: o.id, text: o.command }));
}

/** Operations whose commit is gone without the user's having said to know. */
async function gone(at: Surroundings): Promise<Candidate[]> {
  const root = await rootOf(at);
  if (root === undefined) return [];
  const { Dataset } = await import("../engine/dataset.ts");
  await using dataset = await Dataset.open(root);
  return (await dataset.vcsDrift()).map(({ op, commit }) => ({ word: op, text: `commit ${commit.slice(0, 12)}` }));
}

async function rootOf(at: Surroundings): Promise<string | undefined> {
  const { findRoot } = await import("../engine/files/layout.ts");
  return await findRoot(resolve(...at.folders));
}
