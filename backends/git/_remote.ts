/**
 * Pins on a remote: pushed after the local tag was made, deleted before it is removed.
 *
 * @module
 */

import type { Op } from "../backend.ts";
import {
  BackendError,
  CommitStateUnknownError,
  CredentialsError,
  InvalidLocatorError,
  RefConflictError,
  StoreNotFoundError,
} from "../../engine/model/backend_errors.ts";
import { messageOf } from "../../engine/model/errors.ts";
import type { Git } from "./_program.ts";
import { shortName } from "./_refs.ts";
import { KIND, type Repo } from "./_repo.ts";

const PUSH = ["push", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"];

/**
 * Returns what to push to; `undefined` when the locator names no remote.
 *
 * @throws {InvalidLocatorError} if the repository has no remote of that name: git would take it for a path.
 */
export async function remoteOf(git: Git, repo: Repo, op: Op = {}): Promise<string | undefined> {
  if (repo.remote === undefined || repo.remote.type === "url") return repo.remote?.text;
  const name = repo.remote.text;
  const result = await git.call(repo, ["remote"], { ...op, action: "read the remotes of" });
  if (result.text().split("\n").includes(name)) return name;
  throw new InvalidLocatorError(`Cannot use "${name}": "${repo.path}" has no remote of that name`, {
    kind: KIND,
    hints: [`git -C ${repo.path} remote add ${name} URL`],
  });
}

/**
 * Pushes a tag. A lost answer is read back.
 *
 * @throws {CommitStateUnknownError} if the remote may have taken the tag; everything else means that it did not.
 */
export async function pushTag(
  git: Git,
  repo: Repo,
  push: Op & { remote: string; ref: string; sha: string },
): Promise<void> {
  const { remote, ref, sha, ...op } = push;
  try {
    const args = [...PUSH, "--end-of-options", remote, `${ref}:${ref}`];
    await git.call(repo, args, { ...op, action: `push "${shortName(ref)}" from`, transport: true });
  } catch (error) {
    if (wasRefused(error)) throw refusal(error, repo, ref);
    if (await isOnRemote(git, repo, { remote, ref, sha, error })) return;
    throw error;
  }
}

/** Deletes a tag from a remote; already gone is success. */
export async function deleteFromRemote(
  git: Git,
  repo: Repo,
  push: Op & { remote: string; ref: string },
): Promise<void> {
  const { remote, ref, ...op } = push;
  try {
    const args = [...PUSH, "--end-of-options", remote, `:${ref}`];
    await git.call(repo, args, { ...op, action: `delete "${shortName(ref)}" from the remote of`, transport: true });
  } catch (error) {
    if (error instanceof BackendError && /remote ref does not exist/.test(stderrOf(error))) return;
    throw error;
  }
}

async function isOnRemote(
  git: Git,
  repo: Repo,
  lost: { remote: string; ref: string; sha: string; error: unknown },
): Promise<boolean> {
  try {
    // Without the signal: a caller who gave up must still be told what was done.
    const args = ["ls-remote", "--end-of-options", lost.remote, lost.ref];
    const result = await git.call(repo, args, { action: "read the remote of", transport: true });
    return result.text().split("\n").includes(`${lost.sha}\t${lost.ref}`);
  } catch (error) {
    throw new CommitStateUnknownError(
      `Cannot tell whether the remote of "${repo.path}" took "${shortName(lost.ref)}": ${messageOf(error)}`,
      { kind: KIND, cause: lost.error, details: { remote: lost.remote, ref: lost.ref } },
    );
  }
}

/** Tells whether the remote was not reached, or said no. */
function wasRefused(error: unknown): boolean {
  if (error instanceof CredentialsError || error instanceof StoreNotFoundError) return true;
  const text = error instanceof BackendError ? stderrOf(error) : "";
  return /\[(remote )?rejected\]|Could not resolve|Connection refused|not allowed|Failed to connect/.test(text);
}

function refusal(error: unknown, repo: Repo, ref: string): unknown {
  if (!(error instanceof BackendError) || !/\[(remote )?rejected\]/.test(stderrOf(error))) return error;
  return new RefConflictError(`Cannot push "${shortName(ref)}" from "${repo.path}": the remote refused it`, {
    kind: KIND,
    cause: error,
    details: error.details,
  });
}

function stderrOf(error: BackendError): string {
  return String(error.details["stderr"] ?? "");
}
