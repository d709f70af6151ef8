/**
 * Landing on the base branch: fast-forward or merge, and bringing along the checkout it may be checked out in.
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { BackendError, MergeConflict, RefConflictError } from "../../engine/model/backend_errors.ts";
import { foreignPrograms, readHead } from "./_checkout.ts";
import { isAncestor } from "./_objects.ts";
import type { Git } from "./_program.ts";
import { checkFree, movedError, moveRef, readRef, type Ref, shortName } from "./_refs.ts";
import { KIND, type Repo } from "./_repo.ts";
import { gitStatics } from "./statics.ts";

/** What lands where. */
export interface Landing extends Op {
  /** The base branch as it was read. */
  readonly base: Ref;
  /** The commit to land. */
  readonly source: string;
  /** The commit the caller reviewed the base at. */
  readonly expected?: string;
}

/**
 * Fast-forwards the base to the source and returns the base's commit.
 *
 * @throws {RefMovedError} if the base is not where the caller saw it.
 * @throws {RefConflictError} if the base has commits of its own, or its checkout is in the way.
 */
export async function fastForward(git: Git, repo: Repo, landing: Landing): Promise<string> {
  const { base, source } = landing;
  checkReviewed(landing, "promote");
  if (base.sha === source) return source;
  if (!await isAncestor(git, repo, { ...landing, ancestor: base.sha, of: source })) {
    throw new RefConflictError(
      `Cannot promote to "${shortName(base.name)}" in "${repo.path}": it has commits that ${source} does not have`,
      { kind: KIND, hints: [gitStatics.promoteHint] },
    );
  }
  await land(git, repo, { base, to: source, action: "promote" });
  return source;
}

/**
 * Merges the source into the base and returns the base's commit. The merge is made beside the checkout, which is brought
 * along only when there was no conflict.
 *
 * @throws {MergeConflict} if both sides changed the same files.
 * @throws {RefMovedError} as {@link fastForward}.
 */
export async function merge(git: Git, repo: Repo, landing: Landing & { readonly message: string }): Promise<string> {
  const { base, source, message } = landing;
  checkReviewed(landing, "merge");
  if (await isAncestor(git, repo, { ...landing, ancestor: source, of: base.sha })) return base.sha;
  const args = [
    "merge-tree",
    "--write-tree",
    "-z",
    "--name-only",
    "--no-messages",
    "--end-of-options",
    base.sha,
    source,
  ];
  const { muted } = await foreignPrograms(git, repo, landing);
  const options = { ...landing, action: `merge into "${shortName(base.name)}" in`, settings: muted };
  const merged = await git.call(repo, args, { ...options, answers: [0, 1] });
  const [tree = "", ...files] = merged.text().split("\0").filter((field) => field !== "");
  if (merged.code === 1) {
    const conflicts = [...new Set(files)];
    throw new MergeConflict(
      `Cannot merge into "${shortName(base.name)}" in "${repo.path}": both sides changed ${
        conflicts.map((f) => `"${f}"`).join(", ")
      }`,
      { kind: KIND, conflicts, hints: [gitStatics.promoteHint] },
    );
  }
  const commit = await git.call(
    repo,
    ["commit-tree", "--no-gpg-sign", "-p", base.sha, "-p", source, "-F", "-", tree],
    { ...options, stdin: message },
  );
  const to = commit.text().trim();
  landing.signal?.throwIfAborted();
  await land(git, repo, { base, to, action: "merge" });
  return to;
}

function checkReviewed(landing: Landing, action: string): void {
  const { base, expected } = landing;
  if (expected !== undefined && expected !== base.sha) {
    throw movedError(action, { ref: base.name, expected, found: base.sha });
  }
}

/** Moves the base from the commit it was read at. */
async function land(git: Git, repo: Repo, move: { base: Ref; to: string; action: string }): Promise<void> {
  const { base, to, action } = move;
  if (!base.here) {
    checkFree(repo, base, action);
    await moveRef(git, repo, { ref: base.name, to, from: base.sha, action });
    return;
  }
  const name = shortName(base.name);
  await checkCheckout(git, repo, move);
  const args = ["merge", "--ff-only", "--no-stat", "--quiet", "--no-verify-signatures", "--end-of-options", to];
  let refused: unknown;
  try {
    // Options of a branch's own could make another merge of it.
    const settings = [[`branch.${name}.mergeOptions`, ""]] as const;
    await git.call(repo, args, { action: `${action} "${name}" in`, checkout: true, settings });
  } catch (error) {
    refused = error;
  }
  const found = (await readRef(git, repo, base.name))?.sha;
  if (found === to) return;
  if (found !== base.sha) throw movedError(action, { ref: base.name, expected: base.sha, found });
  throw refused ?? new BackendError(`Cannot ${action} "${name}" in "${repo.path}": git left it alone`, { kind: KIND });
}

async function checkCheckout(git: Git, repo: Repo, move: { base: Ref; action: string }): Promise<void> {
  const { base, action } = move;
  const what = `Cannot ${action} "${shortName(base.name)}" in "${repo.path}": it is checked out there`;
  const head = await readHead(git, repo);
  if (head.sha !== base.sha) throw movedError(action, { ref: base.name, expected: base.sha, found: head.sha });
  if (head.dirty) {
    throw new RefConflictError(`${what} with work that no commit has`, {
      kind: KIND,
      hints: [`Commit or stash the work in "${repo.root}"`],
    });
  }
  const { filters } = await foreignPrograms(git, repo);
  if (filters.length > 0) {
    throw new RefConflictError(
      `${what}, and the repository's own configuration names programs to write its files with: "${
        filters.join('", "')
      }"`,
      {
        kind: KIND,
        hints: [`Check out another branch in "${repo.root}"`, "Set up the filters in your own configuration"],
      },
    );
  }
}
