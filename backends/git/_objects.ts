/**
 * Whether commits, and the trees and files below them, are in a repository.
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { BackendError } from "../../engine/model/backend_errors.ts";
import type { Git } from "./_program.ts";
import { KIND, type Repo } from "./_repo.ts";

/** Tells whether a commit exists. */
export async function hasCommit(git: Git, repo: Repo, sha: string, op: Op = {}): Promise<boolean> {
  const result = await git.call(repo, ["cat-file", "--batch-check"], {
    ...op,
    action: "look for a commit in",
    stdin: `${sha}\n`,
  });
  const answer = result.text().trim();
  if (answer.startsWith(`${sha} commit `)) return true;
  if (answer === `${sha} missing`) return false;
  throw new BackendError(`Cannot use ${sha} in "${repo.path}": it is no commit`, { kind: KIND });
}

/** Returns the first object of a commit's tree that does not exist; `undefined` when all do. Reads no history. */
export async function findMissing(git: Git, repo: Repo, sha: string, op: Op = {}): Promise<string | undefined> {
  const args = ["rev-list", "--objects", "--no-walk", "--quiet", "--missing=print", "--end-of-options", sha];
  const result = await git.call(repo, args, { ...op, action: "look for the files of a commit in" });
  return result.text().split("\n").find((line) => line.startsWith("?"))?.slice(1);
}

/** Tells whether a commit is another one or one of its ancestors. */
export async function isAncestor(
  git: Git,
  repo: Repo,
  pair: Op & { readonly ancestor: string; readonly of: string },
): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", "--end-of-options", pair.ancestor, pair.of];
  return (await git.call(repo, args, { ...pair, action: "compare commits of", answers: [0, 1] })).code === 0;
}
