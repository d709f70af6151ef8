/**
 * `remove`: takes an object out of the dataset. No store is touched; its branch stays for gc to forget (commands §5.4).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { editManifests } from "../plan/edit.ts";
import { withLocks } from "../plan/operation.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { RemoveReport } from "../reports/registering.ts";
import { withoutKey } from "./add.ts";
import { pickSignal } from "./snapshot.ts";

/**
 * Removes an object's manifest, also one that does not parse.
 *
 * @throws {ConfigError} if another manifest has the key too: the object would still be there.
 */
export function remove(ctx: Context, key: string, options: CallOptions = {}): Promise<RemoveReport> {
  return withLocks(ctx, { command: "remove", repository: false, ...pickSignal(options) }, async () => {
    const broken = ctx.broken.find((b) => b.key === key);
    if (!broken) ctx.object(key);
    if (broken?.error.details["key"] === key) throw broken.error;
    await editManifests(ctx, { command: "remove", keys: [key], result: { key } }, async () => {
      // What a full disk would refuse comes first, the deletion last.
      await ctx.saveWorkspace(withoutKey(ctx, key, { workingRef: false }));
      await ctx.env.boundary?.("workspace");
      await ctx.manifests.remove(key);
    });
    await ctx.refresh();
    return withJson({ removed: key }, () => ({ removed: key }));
  });
}
