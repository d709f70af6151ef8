/**
 * Creating, moving, joining and deleting git branches (formats §15.3, §15.5).
 *
 * @module
 */

import { shellQuote } from "../engine/io/shell.ts";
import { VcsError } from "../engine/model/errors.ts";
import { type Git, gitFailure } from "./_git_process.ts";
import { BRANCH_PREFIX, type Head, PARKING_PREFIX } from "./_git_refs.ts";
import { heldBy, heldElsewhere, type Worktree } from "./_git_worktrees.ts";
import { checkId } from "./object_reader.ts";

/** How many parking branches of one commit are tried before giving up. */
const MAX_PARKING = 1000;

/** Puts HEAD on a branch. @throws {VcsError} if there is no such branch, another checkout is on it, or edits are in the way. */
export async function switchTo(git: Git, branch: string, worktrees: () => Promise<readonly Worktree[]>): Promise<void> {
  const doing = `go to bookmark "${branch}"`;
  const result = await git.run(["switch", "--quiet", "--no-guess", "--end-of-options", branch], {
    doing,
    codes: [0, 1, 128],
    writes: true,
  });
  if (result.code === 0) return;
  const holder = (await worktrees()).find((w) => !w.current && w.head.branch === branch);
  if (holder) throw heldElsewhere(branch, holder);
  throw gitFailure(doing, result.stderr, result.code);
}

/** Creates a branch and puts HEAD on it. */
export async function createBranch(git: Git, branch: string, commit: string | undefined): Promise<void> {
  await git.run(["switch", "--quiet", "--no-track", "-c", branch, ...(commit === undefined ? [] : [checkId(commit)])], {
    doing: `create bookmark "${branch}"`,
    writes: true,
  });
}

/** Puts HEAD on a parking branch at a commit: one that sits there already, else a new one. */
export async function park(
  git: Git,
  commit: string,
  view: { readonly branches: ReadonlyMap<string, string>; readonly worktrees: readonly Worktree[] },
): Promise<void> {
  for (let n = 1; n <= MAX_PARKING; n++) {
    const name = `${PARKING_PREFIX}${commit.slice(0, 12)}${n === 1 ? "" : `-${n}`}`;
    const at = view.branches.get(name);
    if (at === undefined) return await createBranch(git, name, commit);
    const free = !view.worktrees.some((w) => !w.current && w.head.branch === name);
    if (at === commit && free) return await switchTo(git, name, () => Promise.resolve(view.worktrees));
  }
  throw new VcsError(`Cannot go to commit "${commit}": all its ${MAX_PARKING} parking branches are taken`, {
    hints: [`git branch --list ${shellQuote(`${PARKING_PREFIX}*`)}`],
  });
}

/** Moves a branch if it is where the caller saw it, and the working tree along when HEAD is on it. */
export async function moveBranch(
  git: Git,
  branch: string,
  move: { readonly from: string; readonly to: string; readonly head: Head; readonly worktrees: readonly Worktree[] },
): Promise<void> {
  const doing = `move bookmark "${branch}"`;
  const holder = move.worktrees.find((w) => !w.current && w.head.branch === branch);
  if (holder) throw heldBy(doing, branch, holder);
  if (move.head.branch !== branch) {
    await git.run(["update-ref", "-m", "tether", BRANCH_PREFIX + branch, move.to, move.from], { doing, writes: true });
    return;
  }
  if (move.head.commit !== move.from) {
    throw new VcsError(`Cannot ${doing}: it is at "${move.head.commit}" and was expected at "${move.from}"`);
  }
  await git.run(["reset", "--quiet", "--keep", checkId(move.to)], { doing, writes: true });
}

/** Deletes a branch if it is where the caller saw it and no checkout is on it. */
export async function deleteBranch(
  git: Git,
  branch: string,
  options: { readonly at: string; readonly worktrees: readonly Worktree[] },
): Promise<void> {
  const doing = `delete bookmark "${branch}"`;
  const holder = options.worktrees.find((w) => w.head.branch === branch);
  if (holder) throw heldBy(doing, branch, holder);
  await git.run(["update-ref", "-d", BRANCH_PREFIX + branch, options.at], { doing, writes: true });
  // What a branch had of settings would come back with a new branch of that name.
  await git.run(["config", "--remove-section", `branch.${branch}`], { doing, codes: [0, 128], writes: true });
}

/** Tells why git would not take a name for a new branch; `undefined` when it would. */
export async function branchProblem(
  git: Git,
  name: string,
  branches: ReadonlyMap<string, string>,
): Promise<string | undefined> {
  if (name.startsWith("-")) return "it begins with a hyphen";
  // "@" is git's other word for HEAD, and a full name would be taken for another branch wherever a revision is wanted.
  if (name === "HEAD" || name === "@") return "git reserves it";
  if (name.startsWith("refs/")) return `names that begin with "refs/" are git's full names`;
  if (name.startsWith(PARKING_PREFIX)) return `names that begin with "${PARKING_PREFIX}" are for parking`;
  const check = await git.run(["check-ref-format", BRANCH_PREFIX + name], {
    doing: `check the name "${name}"`,
    codes: [0, 1],
  });
  if (check.code !== 0) return "git allows no branch of that name";
  if (branches.has(name)) return "it exists";
  // Refs are files for git: one branch cannot be the folder of another.
  const clash = [...branches.keys()].find((b) => b.startsWith(`${name}/`) || name.startsWith(`${b}/`));
  return clash === undefined ? undefined : `git cannot have it beside the branch "${clash}"`;
}
