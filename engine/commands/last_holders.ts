/**
 * What removing commits would lose for good: states recorded without a pin that nothing else names (L05).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { collectReferences } from "../history/reference_set.ts";
import type { GcScope } from "./gc_input.ts";

/** Returns a sentence part for each recorded state that only the commits of the scope name. */
export async function lastHolders(
  ctx: Context,
  scope: Pick<GcScope, "excludedCommits" | "dropped" | "instead">,
): Promise<string[]> {
  if ([...scope.dropped.stores.values()].every(({ recorded }) => recorded.size === 0)) return [];
  const kept = await collectReferences(ctx, {
    exclude: scope.excludedCommits,
    ...(scope.instead ? { instead: scope.instead.values() } : {}),
  });
  const lost: string[] = [];
  for (const [name, store] of scope.dropped.stores) {
    for (const [content, holder] of store.recorded) {
      const other = kept.stores.get(name);
      if (other?.recorded.has(content) || other?.pinned.has(content)) continue;
      lost.push(`"${holder.key}" as ${holder.commit?.slice(0, 12) ?? "the working tree"} recorded it without a pin`);
    }
  }
  return lost.sort();
}
