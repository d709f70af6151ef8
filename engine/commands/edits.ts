/**
 * Edits of the dataset's files that no commit has, as `undo` leaves them when it takes a commit back.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { shellQuote } from "../io/shell.ts";

/** Returns the commands that end a state in which files are edited: commit them, or take the edits out. */
export function waysOut(ctx: Context, paths: readonly string[]): readonly string[] {
  return paths.length === 0 ? [] : ["tether commit -m MESSAGE", asideCommand(ctx, paths)];
}

/** Paths count from the repository's root, wherever the command is typed. */
function asideCommand(ctx: Context, paths: readonly string[]): string {
  return ctx.vcs.kind === "git"
    ? `git stash push --include-untracked -- ${paths.map((p) => shellQuote(`:/${p}`)).join(" ")}`
    : `jj restore ${paths.map((p) => shellQuote(`root:${JSON.stringify(p)}`)).join(" ")}`;
}
