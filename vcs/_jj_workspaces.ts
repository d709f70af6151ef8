/**
 * Where the workspaces of a jj repository are. jj records a folder when it makes one, never looks whether it is still there,
 * and has no command that tells it of another place.
 *
 * @module
 */

import { shellQuote } from "../engine/io/shell.ts";
import type { AbsentCheckout } from "./adapter.ts";
import { readWorkspaceState } from "./_jj_operations.ts";
import { bookmarksHere } from "./_jj_position.ts";
import type { Workspace } from "./_jj_view.ts";

/** Returns the root of a workspace; `undefined` when it is not where jj keeps it, or jj keeps no place. */
export async function rootOf({ name, root }: Pick<Workspace, "name" | "root">): Promise<string | undefined> {
  if (root === "") return undefined;
  try {
    // Another one may have taken its place.
    return (await readWorkspaceState(root)).name === name ? await Deno.realPath(root) : undefined;
  } catch (error) {
    // Its folder was deleted or moved.
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}

/** Returns what is known of a workspace that cannot be read. jj does not say where it was. */
export function absentCheckout({ name, workingCopy }: Pick<Workspace, "name" | "workingCopy">): AbsentCheckout {
  return {
    root: null,
    name,
    bookmarks: bookmarksHere(workingCopy),
    reason: "jj does not know where its folder is",
    hints: [
      "Move its folder back to where it was made",
      `jj workspace forget ${shellQuote(name)}, if it is gone for good; "jj workspace add" makes another one`,
    ],
  };
}
