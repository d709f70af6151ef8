/**
 * Runs command lines of a walkthrough in a dataset of either system, with real stores beside it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Ran } from "../cli/_tether.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";
import { createRepository, readArray, writeArray } from "../helpers/icechunk_data.ts";
import { inProcess } from "../hostile/_cli.ts";

/** A walkthrough under way. */
export interface Walk {
  readonly t: BothDataset;
  /** Runs a command line and expects success; returns standard output. */
  ok(line: string, options?: WalkOptions): Promise<string>;
  /** Runs a command line and expects an exit code; returns both streams. */
  ends(code: number, line: string, options?: WalkOptions): Promise<string>;
  /** Runs a command line with `--json`. */
  json(line: string, options?: WalkOptions): Promise<Record<string, unknown>>;
  /** Returns the branch an object is to be written on. */
  branch(key: string, options?: WalkOptions): Promise<string>;
  /** The path of something beside the repository. */
  beside(name: string): string;
}

/** Where a command line runs. */
export interface WalkOptions {
  /** @default {the dataset} */
  readonly at?: string;
}

/** Defines a walkthrough for git and for jj. */
export function walk(name: string, fn: (w: Walk, test: Deno.TestContext) => Promise<void>): void {
  onBoth(name, async (t, test) => await fn(walkIn(t), test));
}

function walkIn(t: BothDataset): Walk {
  const run = (line: string, options: WalkOptions = {}): Promise<Ran> => inProcess(options.at ?? t.root, words(line));
  const w: Walk = {
    t,
    async ok(line, options) {
      const ran = await run(line, options);
      assert.equal(ran.code, 0, `tether ${line}: ${ran.stderr}${ran.stdout}`);
      return ran.stdout;
    },
    async ends(code, line, options) {
      const ran = await run(line, options);
      assert.equal(ran.code, code, `tether ${line}: ${ran.stderr}${ran.stdout}`);
      return ran.stdout + ran.stderr;
    },
    json: async (line, options) => JSON.parse(await w.ok(`${line} --json`, options)),
    branch: async (key, options) => String((await w.json(`open ${key} --writable`, options))["ref"]),
    beside: (path) => `${t.repo.outer}/${path}`,
  };
  return w;
}

/** Words of a command line; single quotes keep spaces. */
function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

/** Runs git in a store. */
export async function git(cwd: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("git", { args, cwd, stdin: "null" }).output();
  assert.ok(success, `git ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trim();
}

/** Makes a bare git store with one commit. */
export async function gitStore(path: string): Promise<string> {
  await git(".", "init", "-q", "--bare", "--initial-branch=main", path);
  await commitTo(path, "main", "one");
  return path;
}

/** Commits a file of its own on a branch of a git store, without touching what is checked out; returns the commit. */
export async function commitTo(path: string, branch: string, name: string, text: string = name): Promise<string> {
  const parent = await git(path, "rev-parse", "-q", "--verify", branch).catch(() => "");
  const file = `${path}/../blob-${name}`;
  await Deno.writeTextFile(file, `${text}\n`);
  const blob = await git(path, "hash-object", "-w", file);
  const index = { GIT_INDEX_FILE: `${path}/../index-${name}` };
  const withIndex = async (...args: string[]): Promise<string> => {
    const output = await new Deno.Command("git", { args, cwd: path, env: index, stdin: "null" }).output();
    assert.ok(output.success, new TextDecoder().decode(output.stderr));
    return new TextDecoder().decode(output.stdout).trim();
  };
  if (parent !== "") await withIndex("read-tree", parent);
  await withIndex("update-index", "--add", "--cacheinfo", `100644,${blob},${name}`);
  const tree = await withIndex("write-tree");
  const made = await git(path, "commit-tree", ...(parent === "" ? [] : ["-p", parent]), "-m", name, tree);
  await git(path, "update-ref", `refs/heads/${branch}`, made);
  return made;
}

/** Makes an Icechunk store with one array. */
export async function icechunkStore(path: string): Promise<string> {
  await createRepository(path);
  await writeScores(path, "main", [1, 2, 3]);
  return path;
}

/** Writes the array of {@link icechunkStore}; returns the snapshot. */
export function writeScores(path: string, branch: string, values: readonly number[]): Promise<string> {
  return writeArray(path, branch, { name: "plate/scores", values });
}

/** Reads the array of {@link icechunkStore} on a branch. */
export function scores(path: string, branch: string): Promise<number[]> {
  return readArray(path, { on: "ref", ref: branch }, "plate/scores");
}
