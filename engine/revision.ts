/**
 * Manifests as a revision has them.
 *
 * @module
 */

import type { Context } from "./context.ts";
import { parseManifest } from "./files/manifests.ts";
import { datasetRootAt } from "./history/dataset_at.ts";
import { compareCodePoints } from "./model/json.ts";
import type { ObjectManifest } from "./model/manifest.ts";
import { ConfigError } from "./model/errors.ts";

/**
 * Returns the manifests a revision records, by key.
 *
 * @throws {VcsError} if the revision does not resolve.
 * @throws {ConfigError} naming the first manifest that does not parse, or has the key of another.
 */
export async function manifestsAt(ctx: Context, rev: string): Promise<ReadonlyMap<string, ObjectManifest>> {
  return await manifestsOf(ctx, await ctx.vcs.resolve(rev));
}

/**
 * As {@link manifestsAt}, for a commit id. The dataset may have lain elsewhere in the repository then: `root` is where, if that
 * is known.
 */
export async function manifestsOf(
  ctx: Context,
  commit: string,
  root?: string,
): Promise<ReadonlyMap<string, ObjectManifest>> {
  const decoder = new TextDecoder();
  const found = new Map<string, { readonly path: string; readonly manifest: ObjectManifest }>();
  const at = root ?? await datasetRootAt(ctx.vcs, commit, ctx.config.datasetId);
  for (const [path, bytes] of await ctx.vcs.manifestsAt(commit, at)) {
    const name = `${path} at ${commit.slice(0, 12)}`;
    const manifest = parseManifest(decoder.decode(bytes), name);
    const { key } = manifest;
    const other = found.get(key);
    if (other) {
      throw new ConfigError(`Cannot use "${name}": it has the same key "${key}" as "${other.path}"`, {
        code: "duplicate-key",
        hints: ["Commit the dataset without one of the two files; that revision itself stays as it is"],
        details: { file: path, others: [other.path], key },
      });
    }
    found.set(key, { path, manifest });
  }
  return new Map([...found].sort(([a], [b]) => compareCodePoints(a, b)).map(([key, { manifest }]) => [key, manifest]));
}

/** Returns one object as a revision records it. @throws {ConfigError} if it is not there. */
export async function objectAt(ctx: Context, rev: string, key: string): Promise<ObjectManifest> {
  const object = (await manifestsAt(ctx, rev)).get(key);
  if (object) return object;
  throw new ConfigError(`Cannot find object "${key}" at revision "${rev}": that commit has none of that key`, {
    code: "no-object",
    hints: [`tether diff ${rev}`],
  });
}
