/**
 * What a locator, a working ref or a source names: always one commit.
 *
 * @module
 */

import type { Op, Pin, Source } from "../backend.ts";
import { BackendError, StateGoneError } from "../../engine/model/backend_errors.ts";
import { parsePinRef, parseWorkingRef } from "../../engine/model/names.ts";
import { baseOfHead, headBranch, readHead, resolveCommit } from "./_checkout.ts";
import type { Git } from "./_program.ts";
import { branchRef, isRefName, readRef, type Ref, tagRef } from "./_refs.ts";
import { KIND, type Repo, shaOf } from "./_repo.ts";

/** A commit, and the branch it was read from. */
export interface Named {
  readonly sha: string;
  readonly branch?: Ref;
}

/** Returns the commit at a working ref, or at the base without one. */
export async function readCommit(git: Git, repo: Repo, ref: string | undefined, op: Op = {}): Promise<Named> {
  if (ref === undefined && repo.at !== undefined) return { sha: await resolveCommit(git, repo, repo.at, op) };
  const name = ref ?? repo.ref ?? await besideHead(git, repo, await headBranch(git, repo, op), op);
  if (name === undefined) return { sha: await resolveCommit(git, repo, "HEAD", op) };
  // A branch wins over a tag of the same name, which git itself would take.
  const branch = isRefName(name) ? await readRef(git, repo, branchRef(name), op) : undefined;
  if (branch) return { sha: branch.sha, branch };
  if (ref === undefined) return { sha: await resolveCommit(git, repo, name, op) };
  throw new StateGoneError(`Cannot read "${repo.path}": it has no branch "${ref}"`, { kind: KIND, details: { ref } });
}

/** Returns the base branch where HEAD is on one that tether made; `undefined` where HEAD itself is the base. */
async function besideHead(git: Git, repo: Repo, head: string | undefined, op: Op): Promise<string | undefined> {
  return head !== undefined && parseWorkingRef(head) !== undefined ? await baseOfHead(git, repo, op) : undefined;
}

/** As {@link readCommit}, and whether the commit's checkout holds uncommitted work. */
export async function readState(
  git: Git,
  repo: Repo,
  ref: string | undefined,
  op: Op = {},
): Promise<{ readonly sha: string; readonly dirty: boolean }> {
  if (ref === undefined && repo.at === undefined && repo.ref === undefined) {
    const head = await readHead(git, repo, op);
    if (await besideHead(git, repo, head.branch, op) === undefined) return head;
  }
  const { sha, branch } = await readCommit(git, repo, ref, op);
  return branch?.here === true ? await readHead(git, repo, op) : { sha, dirty: false };
}

/**
 * Returns the commit a source names. That of a state need not exist.
 *
 * @throws {StateGoneError} if the pin or the branch does not exist.
 */
export async function readSource(git: Git, repo: Repo, from: Source, op: Op = {}): Promise<string> {
  switch (from.on) {
    case "state":
      return shaOf(from.state);
    case "ref":
      return (await readCommit(git, repo, from.ref, op)).sha;
    case "pin": {
      const tag = await readRef(git, repo, pinRef(from.pin), op);
      if (tag) return tag.sha;
      throw new StateGoneError(`Cannot read "${repo.path}": it has no tag "${from.pin.ref}"`, { kind: KIND });
    }
    default:
      return from satisfies never;
  }
}

/**
 * Returns the full name of a pin's tag.
 *
 * @throws {BackendError} if the ref is none that a pin can have.
 */
export function pinRef(pin: Pin): string {
  if (parsePinRef(pin.ref) !== undefined) return tagRef(pin.ref);
  throw new BackendError(`Cannot use "${pin.ref}" as a pin: no pin has such a name`, { kind: KIND });
}
