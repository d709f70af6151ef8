/**
 * Objects the commit under the working copy records and the working tree has no more: the next commit leaves them out, but
 * for those that a sparse checkout hides.
 *
 * @module
 */

import { join } from "node:path";
import type { Context } from "../context.ts";
import { parseManifest, saysElse } from "../files/manifests.ts";
import { shellQuote } from "../io/shell.ts";
import { ConfigError } from "../model/errors.ts";
import { compareCodePoints } from "../model/json.ts";
import type { ObjectManifest } from "../model/manifest.ts";

/** Returns the keys of removed objects, sorted. Warns of hidden ones, which are not removed. Contacts no store. */
export async function removedKeys(ctx: Context): Promise<string[]> {
  return (await uncommitted(ctx)).removed;
}

/** What the next commit takes from manifests alone. */
export interface Uncommitted {
  /** Keys of removed objects, sorted. */
  readonly removed: string[];
  /** Tells whether the last commit records an object otherwise than the working tree, or not at all. */
  readonly isEdited: (object: ObjectManifest) => boolean;
}

/** Compares the manifests here with those of the commit. Warns of hidden objects. Contacts no store. */
export async function uncommitted(ctx: Context): Promise<Uncommitted> {
  const { removed, hidden, recorded } = await absentObjects(ctx);
  const [first] = hidden;
  if (first !== undefined) {
    ctx.warn(
      `This sparse checkout leaves out ${hidden.length} object(s) of the last commit, such as "${first}": they are not ` +
        `listed, and commits keep them; ${showCommand(ctx)} brings them in`,
    );
  }
  const isEdited = (object: ObjectManifest): boolean => {
    const bytes = recorded.get(ctx.manifests.fileOf(object.key));
    return bytes === undefined || saysElse(object, new TextDecoder().decode(bytes));
  };
  return { removed, isEdited };
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
  /** What the commit has, by the absolute path of its file here. */
  readonly recorded: ReadonlyMap<string, Uint8Array>;
}

async function absentObjects(ctx: Context): Promise<AbsentObjects> {
  const { commit } = await ctx.position();
  if (commit === null) return { removed: [], hidden: [], recorded: new Map() };
  const present = new Set(ctx.keys());
  const { rel } = ctx.vcs.location;
  const folder = `${rel === "." ? "" : `${rel}/`}.tether/objects/`;
  const absent = new Map<string, string>();
  const recorded = await ctx.vcs.manifestsAt(commit);
  for (const [path, bytes] of recorded) {
    const key = path.slice(folder.length, -".toml".length);
    if (present.has(key)) continue;
    const own = recordedKey(bytes, key);
    if (!present.has(own)) absent.set(path, own);
  }
  const hidden = new Set(absent.size === 0 ? [] : await ctx.vcs.leftOut([...absent.keys()]));
  const keys = (isHidden: boolean): string[] => {
    const paths = [...absent.keys()].filter((path) => hidden.has(path) === isHidden);
    return [...new Set(paths.map((path) => absent.get(path) ?? path))].sort(compareCodePoints);
  };
  const prefix = rel === "." ? 0 : rel.length + 1;
  const here = new Map([...recorded].map(([path, bytes]) => [join(ctx.root, path.slice(prefix)), bytes]));
  return { removed: keys(false), hidden: keys(true), recorded: here };
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
