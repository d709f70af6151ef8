/**
 * Refs of a repository: many are read with one child process, each is moved from the value it must still have.
 *
 * @module
 */

import type { Op } from "../backend.ts";
import {
  BackendError,
  CommitStateUnknownError,
  RefConflictError,
  RefMovedError,
} from "../../engine/model/backend_errors.ts";
import { messageOf } from "../../engine/model/errors.ts";
import type { Git } from "./_program.ts";
import { KIND, type Repo } from "./_repo.ts";

/** A ref as it was read. */
export interface Ref {
  /** In full, such as `refs/heads/main`. */
  readonly name: string;
  /** The object it names; an annotated tag is peeled. */
  readonly sha: string;
  /** Whether it is the branch checked out at the locator's path. */
  readonly here: boolean;
  /** The checkout it is checked out in. */
  readonly worktree: string | undefined;
  /** The ref it is another name for. */
  readonly alias: string | undefined;
}

/** How a ref is to move. */
export interface RefMove {
  /** In full. */
  readonly ref: string;
  /** The object to name; `undefined` deletes the ref. */
  readonly to: string | undefined;
  /** The object it must name now; `null` for "it must not exist", absent for whatever it is. */
  readonly from?: string | null;
  /** What the move is for, as in "Cannot fork". */
  readonly action: string;
}

const FORMAT = "%1e%(refname)%00%(objectname)%00%(*objectname)%00%(HEAD)%00%(worktreepath)%00%(symref)";

/** Returns the refs that full names or patterns match. */
export async function readRefs(git: Git, repo: Repo, patterns: readonly string[], op: Op = {}): Promise<Ref[]> {
  const args = ["for-each-ref", `--format=${FORMAT}`, "--end-of-options", ...patterns];
  const result = await git.call(repo, args, { ...op, action: "read the refs of" });
  return result.text().split("\x1e").slice(1).map((record) => {
    const [name = "", object = "", peeled = "", head = "", place = "", alias = ""] = record.replace(/\n$/, "").split(
      "\0",
    );
    // The branch that HEAD of a bare repository names is checked out nowhere.
    const worktree = place === "" || (repo.bare && place === repo.root) ? undefined : place;
    return {
      name,
      sha: peeled === "" ? object : peeled,
      here: head === "*" && !repo.bare,
      worktree,
      alias: alias === "" ? undefined : alias,
    };
  });
}

/** Returns the names of the refs that patterns match, as users name them. It looks at no object, so many cost little. */
export async function readRefNames(git: Git, repo: Repo, patterns: readonly string[], op: Op = {}): Promise<string[]> {
  const args = ["for-each-ref", "--format=%(refname)", "--end-of-options", ...patterns];
  const result = await git.call(repo, args, { ...op, action: "read the refs of" });
  return result.text().split("\n").slice(0, -1).map(shortName);
}

/** Returns one ref by its full name; `undefined` when there is none. */
export async function readRef(git: Git, repo: Repo, name: string, op: Op = {}): Promise<Ref | undefined> {
  // The name is a pattern too, and matches everything below it.
  return (await readRefs(git, repo, [name], op)).find((r) => r.name === name);
}

/**
 * Moves, creates or deletes a ref in one step, against every other writer. Once started the move is seen through: it is
 * over in milliseconds, and stopping git in between would leave its outcome open.

 * @throws {RefMovedError} if the ref does not name `from` any more.
 * @throws {RefConflictError} if the ref is another name for one.
 * @throws {StateGoneError} if the object does not exist.
 */
export async function moveRef(git: Git, repo: Repo, move: RefMove): Promise<void> {
  const { ref, to, from } = move;
  const old = from === undefined ? [] : [from ?? "0".repeat(to?.length ?? 40)];
  const args = to === undefined
    ? ["update-ref", "--no-deref", "-d", "--end-of-options", ref, ...old]
    : ["update-ref", "--no-deref", "-m", `tether: ${move.action}`, "--end-of-options", ref, to, ...old];
  let refused: unknown;
  try {
    await git.call(repo, args, { action: `${move.action} "${shortName(ref)}" in` });
  } catch (error) {
    refused = error;
  }
  if (refused === undefined) return;
  const found = await readBack(git, repo, move, refused);
  // Also when it names the same object now: git refused this call, so another writer made that move.
  const moved = from === null ? found !== undefined : from !== undefined && found?.sha !== from;
  if (moved) throw movedError(move.action, { ref, expected: from, found: found?.sha });
  throw refused;
}

async function readBack(git: Git, repo: Repo, move: RefMove, refused: unknown): Promise<Ref | undefined> {
  try {
    return await readRef(git, repo, move.ref);
  } catch (error) {
    throw new CommitStateUnknownError(
      `Cannot tell whether "${shortName(move.ref)}" of "${repo.path}" moved: ${messageOf(error)}`,
      { kind: KIND, cause: refused },
    );
  }
}

/** Returns the error for a ref that does not name what a caller reviewed. */
export function movedError(
  action: string,
  seen: { readonly ref: string; readonly expected: string | null | undefined; readonly found: string | undefined },
): RefMovedError {
  const name = shortName(seen.ref);
  const [expected, found] = [seen.expected ?? undefined, seen.found].map((sha) => sha?.slice(0, 16) ?? "absent");
  return new RefMovedError(`Cannot ${action} "${name}": head is ${found}, expected ${expected}`, {
    kind: KIND,
    ref: name,
    expected: seen.expected === undefined || seen.expected === null ? null : { sha: seen.expected },
    found: seen.found === undefined ? null : { sha: seen.found },
  });
}

/** Returns a ref without its folder, as users name it. */
export function shortName(ref: string): string {
  return ref.replace(/^refs\/(?:heads|tags)\//, "");
}

/**
 * Returns the full name of a branch.
 *
 * @throws {BackendError} if git would not take the name, or take it as a pattern.
 */
export function branchRef(name: string): string {
  return fullName("refs/heads/", name);
}

/**
 * Returns the full name of a tag.
 *
 * @throws {BackendError} as {@link branchRef}.
 */
export function tagRef(name: string): string {
  return fullName("refs/tags/", name);
}

function fullName(folder: string, name: string): string {
  if (isRefName(name)) return folder + name;
  throw new BackendError(`Cannot use "${name}" as a ref: git has no such names`, { kind: KIND });
}

/** Tells whether a text can be the name of a branch or tag, by the rules of git-check-ref-format. */
export function isRefName(name: string): boolean {
  return name !== "" && name !== "@" && !name.startsWith("-") && !name.endsWith(".") &&
    !/[\p{Cc} ~^:?*[\\]|\.\.|@\{/u.test(name) &&
    name.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
}

/**
 * Checks that a branch may be moved by anyone but the checkout it is checked out in.
 *
 * @throws {RefConflictError} naming the checkout, or the ref the branch stands for.
 */
export function checkFree(repo: Repo, branch: Ref, action: string): void {
  const name = shortName(branch.name);
  if (branch.alias !== undefined) {
    throw new RefConflictError(
      `Cannot ${action} "${name}" in "${repo.path}": it is another name for "${branch.alias}"`,
      {
        kind: KIND,
      },
    );
  }
  if (branch.worktree === undefined) return;
  throw new RefConflictError(
    `Cannot ${action} "${name}" in "${repo.path}": it is checked out in "${branch.worktree}"`,
    {
      kind: KIND,
      hints: [`Switch "${branch.worktree}" to another branch`],
      details: { worktree: branch.worktree },
    },
  );
}
