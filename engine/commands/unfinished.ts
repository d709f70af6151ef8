/**
 * What a commit that was killed left behind: its manifests may be written although the working state does not know of them
 * (formats §17, L37).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { entryOf, parseWorkspace, type WorkspaceState } from "../files/workspace.ts";
import { isJsonObject } from "../model/json.ts";
import { sameContent, type State } from "../model/manifest.ts";
import { staleKeys, type Standing } from "../state.ts";

/**
 * Returns a standing whose base states are those that unfinished commits of this checkout were about to record. Without
 * them the branches would count as stale, and the commit that was killed could not be made again.
 */
export async function withUnfinished(ctx: Context, standing: Standing): Promise<Standing> {
  const stale = staleKeys(standing);
  if (stale.length === 0) return standing;
  const { workspace, objects } = standing;
  const baseStates: Record<string, State> = { ...workspace.baseStates };
  for (const entry of await ctx.journal.read()) {
    const states = entry.plan?.["context"];
    const planned = isJsonObject(states) ? states["states"] : undefined;
    if (entry.status !== "started" || !["commit", "pull"].includes(entry.command) || !isJsonObject(planned)) continue;
    const before = workspaceOf(entry.pre["workspace"]);
    if (!before) continue;
    for (const key of stale) {
      const object = objects.get(key);
      const volatile = standing.statics.get(object?.kind ?? "")?.volatileKeys ?? new Set<string>();
      const same = (a: State | null | undefined, b: State | null | undefined) => sameContent(a, b, volatile);
      // Only while the branch is the one that commit read, and nothing was decided about it since.
      if (entryOf(before.workingRefs, key) !== entryOf(workspace.workingRefs, key)) continue;
      if (!same(entryOf(before.baseStates, key), entryOf(workspace.baseStates, key))) continue;
      const state = entryOf(planned, key);
      if (object?.state && isJsonObject(state) && same(state, object.state)) baseStates[key] = object.state;
    }
  }
  return { ...standing, workspace: { ...workspace, baseStates } };
}

function workspaceOf(text: unknown): WorkspaceState | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return parseWorkspace(text, "the journal");
  } catch {
    // Written by a version whose files this one does not read: then nothing is known of that commit.
    return undefined;
  }
}
