/**
 * Objects the commit under the working copy records and the working tree has no more: the next commit leaves them out.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { parseManifest } from "../files/manifests.ts";
import { ConfigError } from "../model/errors.ts";
import { compareCodePoints } from "../model/json.ts";

/** Returns the keys of removed objects, sorted. Contacts no store. */
export async function removedKeys(ctx: Context): Promise<string[]> {
  const { commit } = await ctx.position();
  if (commit === null) return [];
  const here = new Set(ctx.keys());
  const { rel } = ctx.vcs.location;
  const folder = `${rel === "." ? "" : `${rel}/`}.tether/objects/`;
  const found = new Set<string>();
  for (const [path, bytes] of await ctx.vcs.manifestsAt(commit)) {
    const key = path.slice(folder.length, -".toml".length);
    if (!here.has(key)) found.add(recordedKey(bytes, key));
  }
  return [...found].filter((key) => !here.has(key)).sort(compareCodePoints);
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
