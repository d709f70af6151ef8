/**
 * Which files a dataset commit hands to the VCS (formats §15.6).
 *
 * @module
 */

import { relative } from "node:path";
import type { Context } from "../context.ts";
import { listListings } from "../files/listings.ts";
import { listingName } from "../model/hash.ts";
import { contentState, type ObjectManifest } from "../model/manifest.ts";
import { leftBehind, refuseMoved } from "./moved.ts";

/** What a commit covers. */
export interface CommitScope {
  readonly objects: readonly ObjectManifest[];
  /** What a selective commit names, removed keys among them; absent when the whole dataset is committed. */
  readonly keys?: readonly string[];
}

/** Returns the paths of a commit, from the VCS root: literal files and folders. */
export async function commitPaths(ctx: Context, scope: CommitScope): Promise<string[]> {
  const { rel } = ctx.vcs.location;
  const at = (path: string): string => rel === "." ? path : `${rel}/${path}`;
  const frame = ["tether.toml", ".tether/.gitignore", ".tether/.gitattributes"].filter((p) =>
    isFile(`${ctx.root}/${p}`)
  ).map(at);
  const stored = new Set(await listListings(ctx.paths));
  if (scope.keys === undefined) {
    const listings = stored.size > 0 ? [at(".tether/listings")] : [];
    return [...frame, at(".tether/objects"), ...listings, ...await leftBehind(ctx)];
  }
  await refuseMoved(ctx);
  // A first commit of some keys brings the files without which no clone could open the dataset (formats §18).
  const tracked = new Set(await ctx.vcs.tracked(frame));
  const listings: string[] = [];
  for (const object of scope.objects) {
    const name = await listingOf(ctx, object);
    if (name !== undefined && stored.has(name)) listings.push(at(`.tether/listings/${name}`));
  }
  return [
    ...frame.filter((p) => !tracked.has(p)),
    ...scope.keys.map((k) => at(relative(ctx.root, ctx.manifests.fileOf(k)))),
    ...new Set(listings),
  ];
}

/** Returns the name a manifest's listing has; `undefined` for a state that has none. */
export async function listingOf(ctx: Context, object: ObjectManifest): Promise<string | undefined> {
  if (!object.state) return undefined;
  const statics = await ctx.backends.statics(object.kind);
  if (!statics.capabilities.has("diff")) return undefined;
  const backend = await ctx.backends.get(object.kind);
  if (!backend.listing) return undefined;
  return listingName({
    kind: object.kind,
    identity: backend.identity(object.locator),
    content: contentState(object.state, statics.volatileKeys),
  });
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
