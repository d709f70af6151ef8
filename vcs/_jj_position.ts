/**
 * Where a jj working copy stands, in the terms of the contract (formats §13.2, §15.5; L17, L18).
 *
 * @module
 */

import type { JsonObject } from "../engine/model/json.ts";
import type { Blocked, Position } from "./adapter.ts";
import { PARKING_PREFIX } from "./_git_refs.ts";
import { readWorkspaceState, readWorkspaceTrees, relationOf } from "./_jj_operations.ts";
import { ROOT_COMMIT, type WorkingCopy } from "./_jj_view.ts";
import type { GitObjectReader } from "./object_reader.ts";

/** Returns the bookmarks at the working copy and under it; those of a merge's further parents while it is empty. */
export function bookmarksHere({ bookmarks, parents, empty }: WorkingCopy): string[] {
  const under = empty && bookmarks.length === 0 ? parents : parents.slice(0, 1);
  const here = [...bookmarks, ...under.flatMap((parent) => parent.bookmarks)];
  return [...new Set(here)].filter((name) => !name.startsWith(PARKING_PREFIX));
}

/** Returns the commit under a working copy; `null` when that is jj's root. */
export function commitUnder({ parents }: WorkingCopy): string | null {
  const id = parents[0]?.id;
  return id === undefined || id === ROOT_COMMIT ? null : id;
}

/** Returns the position of a working copy. */
export function positionOf(workingCopy: WorkingCopy, blocked: Blocked | undefined): Position {
  const { id, changeId, empty, parents } = workingCopy;
  // Of a merge's parents only this says later which one a bookmark was at.
  const heads: JsonObject = parents.length > 1
    ? { heads: Object.fromEntries(parents.flatMap((p) => p.bookmarks.map((name) => [name, p.id]))) }
    : {};
  const commit = commitUnder(workingCopy);
  return {
    commit,
    bookmarks: bookmarksHere(workingCopy),
    record: { kind: "jj", id: changeId, commit: id, parent: commit, empty, ...heads },
    ...(blocked ? { blocked } : {}),
  };
}

/**
 * Tells why nothing may be written now: another workspace, or a command that left the files alone, changed what this working
 * copy stands on, or its operation is none of those that the newest one builds on. As jj does, the former is judged by the
 * trees where the operations differ.
 *
 * @param places The root of the workspace, and the repository folder that all workspaces share.
 */
export async function staleness(
  places: { readonly root: string; readonly repoDir: string },
  reader: GitObjectReader,
  now: { readonly operation: string; readonly workingCopy: WorkingCopy },
): Promise<Blocked | undefined> {
  const { root, repoDir } = places;
  const { operation } = await readWorkspaceState(root);
  if (operation === now.operation) return undefined;
  const relation = await relationOf(repoDir, operation, now.operation);
  if (relation === "aside") {
    return {
      detachedOnly: false,
      reason: "jj's operations went on without the one that the files here are of",
      hints: [`jj op integrate ${operation.slice(0, 12)}`],
    };
  }
  const stale: Blocked = {
    detachedOnly: false,
    reason: "the working copy is stale: another workspace or command changed what it stands on",
    hints: ["jj workspace update-stale"],
  };
  if (relation === "gone") return { ...stale, reason: "jj has lost the operation that the files here are of" };
  const commit = await reader.commit(now.workingCopy.id);
  const wanted = commit?.conflict ?? [commit?.tree];
  const trees = await readWorkspaceTrees(root);
  return trees.length === wanted.length && trees.every((tree, i) => tree === wanted[i]) ? undefined : stale;
}
