/**
 * Runs a test on git and on jj, where jj is there.
 *
 * @module
 */

import { type TempDataset, tempDataset, tempJjDataset } from "./dataset.ts";
import { HAS_JJ } from "./jj_repo.ts";

/** A dataset of either system, and what tests do to its repository. */
export interface BothDataset extends TempDataset<AsyncDisposable & { readonly path: string; readonly outer: string }> {
  readonly kind: "git" | "jj";
  /** Returns the id of a revision as this system spells it: `here` and `here~n` are relative to the last commit. */
  id(rev: string): Promise<string>;
  /** Writes files beside the dataset and commits everything, on the bookmark underfoot, by the system's own means. */
  commitFiles(message: string, files: Readonly<Record<string, string>>): Promise<string>;
  /** Adds a checkout on a new bookmark, by the system's own means; returns its root. */
  checkout(bookmark: string): Promise<string>;
  /** Runs the system's program; returns what it printed. */
  vcs(args: readonly string[], options?: { readonly cwd?: string }): Promise<string>;
  /** Returns the paths and contents of all files of a commit. */
  filesOf(commit: string): Promise<Record<string, string>>;
  /** Puts a bookmark at a commit, by the system's own means. */
  bookmark(name: string, commit: string): Promise<void>;
  /** Deletes a bookmark, by the system's own means. */
  deleteBookmark(name: string): Promise<void>;
  /** Returns the ids a bookmark reaches, newest first. */
  line(bookmark: string): Promise<string[]>;
}

/** Defines a test for each system. */
export function onBoth(name: string, fn: (t: BothDataset, test: Deno.TestContext) => Promise<void>): void {
  Deno.test(`${name} (git)`, async (test) => {
    await using t = await gitDataset();
    await fn(t, test);
  });
  Deno.test({
    name: `${name} (jj)`,
    ignore: !HAS_JJ,
    fn: async (test) => {
      await using t = await jjDataset();
      await fn(t, test);
    },
  });
}

/** Makes a dataset in a git repository. */
export async function gitDataset(): Promise<BothDataset> {
  const t = await tempDataset();
  const { repo } = t;
  return {
    ...t,
    kind: "git",
    id: (rev) => repo.git(["rev-parse", rev.replace(/^here/, "HEAD")]),
    commitFiles: (message, files) => repo.commit(message, files),
    checkout: (bookmark) => repo.worktree(bookmark),
    vcs: (args, options) => repo.git(args, options),
    filesOf: (commit) => filesOf((args) => repo.git(args, { trim: false }), commit),
    bookmark: async (name, commit) => void await repo.git(["branch", "-f", name, commit]),
    deleteBookmark: async (name) => void await repo.git(["branch", "-D", name]),
    line: async (name) => (await repo.git(["rev-list", name])).split("\n"),
  };
}

async function jjDataset(): Promise<BothDataset> {
  const t = await tempJjDataset();
  const { repo } = t;
  return {
    ...t,
    kind: "jj",
    id: (rev) => repo.id(rev.replace(/^here(~(\d+))?$/, (_, _all, n) => `@${"-".repeat(Number(n ?? 0) + 1)}`)),
    async commitFiles(message, files) {
      for (const [name, content] of Object.entries(files)) await repo.write(name, content);
      const here = await repo.jj([
        "log",
        "--no-graph",
        "-r",
        "@-",
        "-T",
        `local_bookmarks.map(|b| b.name()).join(" ")`,
      ]);
      return await repo.commit(message, {}, here.split(" ")[0] || "main");
    },
    checkout: (bookmark) => repo.workspace(bookmark),
    vcs: (args, options) => repo.jj(args, options),
    filesOf: (commit) => filesOf((args) => repo.git(args, { trim: false }), commit),
    bookmark: async (name, commit) => void await repo.jj(["bookmark", "set", name, "-r", commit, "--allow-backwards"]),
    deleteBookmark: async (name) => void await repo.jj(["bookmark", "delete", name]),
    line: async (name) =>
      (await repo.jj(["log", "--no-graph", "-r", `::${name} ~ root()`, "-T", 'commit_id ++ "\\n"'])).split("\n"),
  };
}

async function filesOf(
  git: (args: string[]) => Promise<string>,
  commit: string,
): Promise<Record<string, string>> {
  const names = (await git(["ls-tree", "-r", "-z", "--name-only", commit])).split("\0").filter((name) => name !== "");
  const texts = await Promise.all(names.map((name) => git(["cat-file", "blob", `${commit}:${name}`])));
  return Object.fromEntries(names.map((name, i) => [name, texts[i] ?? ""]));
}
