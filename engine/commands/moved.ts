/**
 * A dataset folder that was moved inside its repository since the commit underfoot: the next commit takes the old place out
 * together with what it brings in, or it would record half of the move.
 *
 * @module
 */

import { join } from "node:path";
import type { Context } from "../context.ts";
import { datasetRootAt } from "../history/dataset_at.ts";
import { ConfigError } from "../model/errors.ts";

/** What a commit records of a dataset, from its root. */
const OWN = ["tether.toml", ".tether/.gitignore", ".tether/.gitattributes", ".tether/objects", ".tether/listings"];

/**
 * Returns what the commit underfoot has of this dataset at another place, from the VCS root; empty when it was not moved.
 *
 * @throws {ConfigError} if something of it is still there: then half of it was moved, or it was copied.
 */
export async function leftBehind(ctx: Context): Promise<string[]> {
  const { commit } = await ctx.position();
  if (commit === null) return [];
  const { rel, root } = ctx.vcs.location;
  const old = await datasetRootAt(ctx.vcs, commit, ctx.config.datasetId);
  if (old === rel) return [];
  const paths = OWN.map((name) => old === "." ? name : `${old}/${name}`);
  for (const path of paths) {
    const left = await firstFile(join(root, path));
    if (left === undefined) continue;
    throw new ConfigError(
      `Cannot commit the dataset: it was moved from "${
        join(root, old)
      }" to "${ctx.root}", and "${left}" is still there`,
      {
        code: "half-moved",
        hints: [
          `Move the rest of tether.toml and .tether to "${ctx.root}" too, or all of it back`,
          "Or give a copy an id of its own: 8 other hex digits as the id of [dataset] in its tether.toml",
        ],
        details: { from: old, to: rel },
      },
    );
  }
  return paths;
}

/** Refuses to commit some objects of a dataset that was moved: the others would be in no place. */
export async function refuseMoved(ctx: Context): Promise<void> {
  if ((await leftBehind(ctx)).length === 0) return;
  throw new ConfigError(`Cannot commit some objects only: the dataset was moved to "${ctx.root}" as a whole`, {
    code: "moved",
    hints: ["tether commit -m MESSAGE"],
  });
}

async function firstFile(path: string): Promise<string | undefined> {
  try {
    if (!(await Deno.lstat(path)).isDirectory) return path;
    for await (const entry of Deno.readDir(path)) {
      const found = await firstFile(join(path, entry.name));
      if (found !== undefined) return found;
    }
    return undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}
