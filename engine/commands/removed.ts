/**
 * Objects the commit under the working copy records and the working tree has no more: the next commit leaves them out, but
 * for those that a sparse checkout hides.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { parseManifest } from "../files/manifests.ts";
import { shellQuote } from "../io/shell.ts";
import { ConfigError } from "../model/errors.ts";
import { compareCodePoints } from "../model/json.ts";

/** Returns the keys of removed objects, sorted. Warns of hidden ones, which are not removed. Contacts no store. */
export async function removedKeys(ctx: Context): Promise<string[]> {
  const { removed, hidden } = await absentObjects(ctx);
  const [first] = hidden;
  if (first !== undefined) {
    ctx.warn(
      `This sparse checkout leaves out ${hidden.length} object(s) of the last commit, such as "${first}": they are not ` +
        `listed, and commits keep them; ${showCommand(ctx)} brings them in`,
    );
  }
  return removed;
}

/** Returns the keys of the objects that a sparse checkout leaves out, sorted. Contacts no store. */
export async function hiddenKeys(ctx: Context): Promise<string[]> {
  return (await absentObjects(ctx)).hidden;
}

/** Returns the command that lets a sparse checkout have the dataset. */
export function showCommand(ctx: Context): string {
  const { rel } = ctx.vcs.location;
  const folder = rel === "." ? ".tether" : `${rel}/.tether`;
  return ctx.vcs.kind === "git"
    ? `git sparse-checkout add ${shellQuote(folder)}`
    : `jj sparse set --add ${shellQuote(folder)}`;
}

interface AbsentObjects {
  readonly removed: string[];
  readonly hidden: string[];
}

async function absentObjects(ctx: Context): Promise<AbsentObjects> {
  const { commit } = await ctx.position();
  if (commit === null) return { removed: [], hidden: [] };
  const here = new Set(ctx.keys());
  const { rel } = ctx.vcs.location;
  const folder = `${rel === "." ? "" : `${rel}/`}.tether/objects/`;
  const absent = new Map<string, string>();
  for (const [path, bytes] of await ctx.vcs.manifestsAt(commit)) {
    const key = path.slice(folder.length, -".toml".length);
    if (here.has(key)) continue;
    const recorded = recordedKey(bytes, key);
    if (!here.has(recorded)) absent.set(path, recorded);
  }
  const hidden = new Set(absent.size === 0 ? [] : await ctx.vcs.leftOut([...absent.keys()]));
  const keys = (isHidden: boolean): string[] => {
    const paths = [...absent.keys()].filter((path) => hidden.has(path) === isHidden);
    return [...new Set(paths.map((path) => absent.get(path) ?? path))].sort(compareCodePoints);
  };
  return { removed: keys(false), hidden: keys(true) };
}

/** A manifest may lie where its key does not say. One that does not parse is called by its path. */
function recordedKey(bytes: Uint8Array, path: string): string {
  try {
    return parseManifest(new TextDecoder().decode(bytes), path).key;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return path;
  }
}
