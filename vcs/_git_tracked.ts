/**
 * Which files git's index has, and which of them the checkout leaves out.
 *
 * @module
 */

import { VcsError } from "../engine/model/errors.ts";
import type { Git } from "./_git_process.ts";
import type { GitObjectReader } from "./object_reader.ts";

/** An entry of the index has one of these: 0, or those of a conflict's sides. */
const STAGES = [0, 1, 2, 3];

/** What surely fits into the arguments of one child. */
const PATHS_AT_ONCE = 500;

/** Tells whether the index has an entry of a name. The reader's process reads the index once. */
export async function inIndex(reader: GitObjectReader, path: string): Promise<boolean> {
  if (path.includes("\n")) {
    throw new VcsError(`Cannot find out whether ${JSON.stringify(path)} is tracked: it holds a line break`);
  }
  const entries = await Promise.all(STAGES.map((stage) => reader.info(`:${stage}:${path}`)));
  return entries.some((entry) => entry !== undefined);
}

/** Returns those of some files that a sparse checkout leaves out: git marks them in its index ("skip-worktree"). */
export async function skippedFiles(git: Git, paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (let at = 0; at < paths.length; at += PATHS_AT_ONCE) {
    const args = ["--literal-pathspecs", "ls-files", "-t", "-z", "--", ...paths.slice(at, at + PATHS_AT_ONCE)];
    const result = await git.run(args, { doing: "find the files that a sparse checkout leaves out" });
    for (const record of result.text().split("\0")) {
      if (record.startsWith("S ")) found.push(record.slice(2));
    }
  }
  return found;
}
