/**
 * What a user does with git or jj around a dataset, said once for both.
 *
 * @module
 */

import { HAS_JJ } from "../helpers/jj_repo.ts";
import { jjLab, type Lab, lab, type LabOptions } from "./_lab.ts";
import { OPTIONS, type Side } from "./_peer.ts";

/** A dataset with the commands of its version control. */
export interface Work extends AsyncDisposable {
  readonly lab: Lab;
  /** Returns the id of the commit under the working copy. */
  head(): Promise<string>;
  /** Returns the names of the bookmarks, sorted. */
  bookmarks(): Promise<string[]>;
  /** Returns the paths that differ from the commit under the working copy, sorted. */
  changed(): Promise<string[]>;
  /** Throws the commit under the working copy away, and its files' changes with it; the bookmark goes one back. */
  rewind(): Promise<void>;
}

/** A version-control system to work with. */
export interface System {
  readonly name: "git" | "jj";
  readonly options: { readonly ignore: boolean };
  /** Makes stores and a dataset on them. */
  work(maker: Side, options?: Pick<LabOptions, "kinds" | "commit">): Promise<Work>;
}

/** Both systems. */
export const SYSTEMS: readonly System[] = [
  { name: "git", options: OPTIONS, work: async (maker, options) => gitWork(await lab(maker, options)) },
  { name: "jj", options: { ignore: OPTIONS.ignore || !HAS_JJ }, work: jjWork },
];

function gitWork(made: Lab): Work {
  const { git } = made.repo;
  return {
    lab: made,
    head: () => git(["rev-parse", "HEAD"]),
    bookmarks: async () => (await git(["branch", "--format=%(refname:short)"])).split("\n").sort(),
    async changed() {
      const text = await git(["status", "--porcelain", "--no-renames"], { trim: false });
      return text.split("\n").filter((line) => line !== "").map((line) => line.slice(3)).sort();
    },
    async rewind() {
      await git(["reset", "--quiet", "--hard", "HEAD~1"]);
    },
    [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
  };
}

async function jjWork(maker: Side, options: Pick<LabOptions, "kinds" | "commit"> = {}): Promise<Work> {
  const made = await jjLab(maker, options);
  const { jj } = made.jj;
  return {
    lab: made,
    head: () => made.jj.id("@-"),
    bookmarks: async () => (await jj(["bookmark", "list", "-T", 'name ++ "\\n"'])).split("\n").sort(),
    async changed() {
      const text = await jj(["diff", "--name-only", "-r", "@"]);
      return text.split("\n").filter((line) => line !== "").sort();
    },
    async rewind() {
      const [name] = (await jj(["log", "--no-graph", "-r", "@-", "-T", 'local_bookmarks.map(|b| b.name()).join(" ")']))
        .split(" ");
      const gone = await made.jj.id("@-");
      await jj(["bookmark", "set", name ?? "", "-r", "@--", "--allow-backwards"]);
      await jj(["new", "@--"]);
      await jj(["abandon", gone]);
    },
    [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
  };
}
