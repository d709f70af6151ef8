/**
 * Whether the trunk bookmark follows a promotion (commands §5.24, Δ9).
 *
 * @module
 */

import { withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { entryOf } from "../files/workspace.ts";
import { operands, shellQuote } from "../io/shell.ts";
import { type ObjectManifest, sameContent } from "../model/manifest.ts";
import { manifestsOf } from "../revision.ts";
import { eachObject } from "./fan_out.ts";

/** Where the trunk bookmark goes, or why it stays and which commands end that. */
export type TrunkMove =
  | { readonly type: "move"; readonly from: string; readonly to: string }
  | { readonly type: "held"; readonly why: string; readonly hints: readonly string[] }
  | { readonly type: "none" };

/** How a plan's note begins that says why the trunk stays. */
export const TRUNK_STAYS = "the trunk stays: ";

/** Judges the trunk for a promotion of the bookmark that lands everything it has to. */
export async function trunkMove(
  ctx: Context,
  { to, landing, subset }: {
    /** The reviewed commit. */
    readonly to: string | null;
    /** Keys that land, or are there already. */
    readonly landing: ReadonlySet<string>;
    /** Whether only some objects were named: then it stays. */
    readonly subset: boolean;
  },
): Promise<TrunkMove> {
  const { trunk } = ctx.config;
  const from = (await ctx.vcs.bookmarks()).get(trunk);
  if (to === null || from === to) return { type: "none" };
  const jj = ctx.vcs.kind === "jj";
  if (from === undefined) {
    const make = jj ? `jj bookmark create ${shellQuote(trunk)} -r ${to}` : `git branch ${operands([trunk, to])}`;
    return held(`there is no bookmark "${trunk}"`, make);
  }
  if (from === null) return held(`bookmark "${trunk}" has conflicting targets`);
  if (!await ctx.vcs.isAncestor(from, to)) return held(`bookmark "${trunk}" has commits this one lacks`);
  if (subset) return held("only some objects were named", "tether promote");
  const behind = await unlanded(ctx, { trunk: from, landing });
  const deferred = behind.filter((key) => entryOf(ctx.workspace.pendingForks, key) !== undefined);
  if (behind.length > deferred.length) {
    const rest = behind.filter((key) => !deferred.includes(key));
    const here = ctx.workspace.bookmark ?? to;
    const merge = jj
      ? `jj bookmark set ${shellQuote(trunk)} -r ${shellQuote(here)}`
      : `git switch ${operands([trunk])} && git merge --ff-only ${operands([here])}`;
    return held(
      `${rest.join(", ")} moved here and cannot land through a branch`,
      `${merge} && tether new ${operands([trunk])} && tether pull`,
    );
  }
  if (deferred.length > 0) {
    const open = deferred.map((key) => `tether open ${operands([key])}`);
    return held(`${deferred.join(", ")} moved here and has no branch in this checkout yet`, ...open, "tether promote");
  }
  // jj moves a bookmark whoever looks at it.
  const other = ctx.vcs.kind === "git"
    ? (await ctx.vcs.checkouts()).find((c) => !c.current && c.bookmark === trunk)
    : undefined;
  if (!other) return { type: "move", from, to };
  return held(
    `the checkout at "${other.root}" is on it`,
    `git -C ${shellQuote(other.root)} merge --ff-only ${operands([ctx.workspace.bookmark ?? to])}`,
  );
}

/** Returns a plan's note of why the trunk will stay; none when it follows or is there. */
export async function trunkNote(ctx: Context, promoted: Parameters<typeof trunkMove>[1]): Promise<string[]> {
  const move = await trunkMove(ctx, promoted);
  if (move.type !== "held") return [];
  return [TRUNK_STAYS + move.why + (move.hints.length > 0 ? `: ${move.hints.join(", then ")}` : "")];
}

function held(why: string, ...hints: string[]): TrunkMove {
  return { type: "held", why, hints };
}

/** Objects without a branch that record neither what the trunk records nor what their base holds. */
async function unlanded(
  ctx: Context,
  { trunk, landing }: { readonly trunk: string; readonly landing: ReadonlySet<string> },
): Promise<string[]> {
  const onTrunk = await manifestsOf(ctx, trunk);
  const open: ObjectManifest[] = [...ctx.objects.values()].filter((o) =>
    !landing.has(o.key) && entryOf(ctx.workspace.workingRefs, o.key) === undefined
  );
  const { values } = await eachObject(ctx, open, {
    verb: "comparing with the trunk",
    fn: async ({ object, backend }) => {
      const volatile = backend.statics.volatileKeys;
      if (object.state === null || sameContent(object.state, onTrunk.get(object.key)?.state, volatile)) return true;
      return sameContent(object.state, await backend.fingerprint(withoutAt(object.locator), undefined), volatile);
    },
  });
  return open.filter((o) => values.get(o.key) !== true).map((o) => o.key);
}

/** Returns the command that puts this bookmark's commits on top of another bookmark. */
export function onTopOf(ctx: Context, bookmark: string): string {
  return ctx.vcs.kind === "jj" ? `jj rebase -b @ -d ${shellQuote(bookmark)}` : `git rebase ${operands([bookmark])}`;
}
