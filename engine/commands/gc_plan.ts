/**
 * The plan of `gc`: what history no longer names (commands §5.23, formats §13.3). Reads only.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { seconds } from "../env.ts";
import { listListings } from "../files/listings.ts";
import { collectReferences, type References } from "../history/reference_set.ts";
import type { PlannedStores } from "../experimental/lifecycle.ts";
import { storeOf } from "../kinds.ts";
import { ConfigError } from "../model/errors.ts";
import type { Locator } from "../model/manifest.ts";
import { type Action, Plan, type Precondition } from "../plan/plan.ts";
import type { CallOptions } from "../reports/report.ts";
import { planBranches } from "./gc_branches.ts";
import { action, type GcInput, type GcRequest, type GcScope } from "./gc_input.ts";
import { planPins } from "./gc_pins.ts";

/** Refuses flags that contradict each other (L42). */
export function checkGcRequest(request: GcRequest): void {
  if (request.forcePrune && !request.pruneBookmarks) {
    throw new ConfigError("Cannot force what is not asked for: --force-prune needs --prune-bookmarks", {
      code: "flags",
      hints: ["tether gc --prune-bookmarks --force-prune"],
    });
  }
  const blank = request.stores?.find(({ locator }) => Object.values(locator).every((v) => String(v).trim() === ""));
  if (blank) {
    throw new ConfigError(`Cannot judge a store of kind "${blank.kind}" without an address`, { code: "empty" });
  }
  if (request.keepBookmarks?.some((b) => b.trim() === "")) {
    throw new ConfigError("Cannot keep a bookmark without a name", { code: "empty" });
  }
}

/** Plans what to release. Nothing is written. */
export async function planGc(
  ctx: Context,
  request: GcRequest & CallOptions & {
    readonly scope?: GcScope;
    /** What is referenced, if that was read just now. @default {it is read} */
    readonly references?: References;
  },
): Promise<Plan> {
  checkGcRequest(request);
  await refuseConflicts(ctx);
  const { scope } = request;
  const references = request.references ?? await collectReferences(ctx, {
    ...request,
    ...(scope ? { exclude: scope.excludedCommits } : {}),
    ...(scope?.instead ? { instead: scope.instead.values() } : {}),
  });
  const notes = [
    `history: ${references.commits} commit(s) read, every ref and every checkout counted`,
    ...references.notes,
  ];
  const unread = new Map<string, string>();
  const input: GcInput = { ...request, references, notes, unread };
  const pins = await planPins(ctx, input);
  const branches = await planBranches(ctx, { ...input, released: pins.actions.filter((a) => a.op === "unpin") });
  const stores = await planWholeStores(ctx, input);
  const before = await withoutStores(ctx, [...pins.actions, ...branches.actions], stores);
  const actions = [
    ...before.filter((a) => a.op === "unpin" || a.op === "keep-pin"),
    ...forgottenRefs(ctx, scope),
    ...before.filter((a) => a.op === "delete-branch" || a.op === "keep-branch"),
    ...(scope ? [] : await orphanListings(ctx, references)),
    ...stores.actions,
  ];
  const completeness = await ctx.vcs.completeness();
  if (!completeness.complete) notes.push(`partial: ${completeness.reason}; this cannot be applied here`);
  return new Plan({
    command: "gc",
    createdAt: seconds(ctx.env.now()),
    context: {
      workspace_id: ctx.workspace.workspaceId,
      prune_bookmarks: request.pruneBookmarks === true,
      keep_bookmarks: request.keepBookmarks ?? [],
      force_prune: request.forcePrune === true,
      scope: scope ? { bookmarks: scope.bookmarks, excluded_commits: [...scope.excludedCommits].sort() } : null,
      delete_stores: wantsStores(request),
      stores: (request.stores ?? []).map(({ kind, locator }) => [kind, locator]),
      release_foreign: request.releaseForeign === true,
      manifest_hash: ctx.manifestHash(),
      vcs_head: (await ctx.position()).commit,
      history_digest: references.digest,
      ...(branches.live ? { live_bookmarks: branches.live } : {}),
      ...(unread.size > 0 ? { unread: Object.fromEntries(unread) } : {}),
    },
    notes,
    preconditions: [...await historyPreconditions(ctx, references.digest), ...stores.preconditions],
    actions,
  });
}

function wantsStores(request: GcRequest): boolean {
  return request.deleteStores === true || (request.stores ?? []).length > 0;
}

async function planWholeStores(ctx: Context, input: GcInput): Promise<PlannedStores> {
  if (!wantsStores(input)) return { actions: [], preconditions: [], handsOff: new Set() };
  const { planStores } = await import("../experimental/lifecycle.ts");
  return await planStores(ctx, input);
}

/** Leaves out what the plan for whole stores says again, and what it forbids. */
async function withoutStores(ctx: Context, actions: readonly Action[], stores: PlannedStores): Promise<Action[]> {
  const named = async (a: Action): Promise<string> =>
    storeOf(await ctx.backends.get(a.kind), a.params["locator"] as Locator);
  const again = new Set<string>();
  for (const a of stores.actions) {
    if (a.op === "unpin" || a.op === "delete-branch") again.add(`${a.op} ${await named(a)} ${a.target}`);
  }
  const kept: Action[] = [];
  for (const a of actions) {
    const store = await named(a);
    if (!stores.handsOff.has(store) && !again.has(`${a.op} ${store} ${a.target}`)) kept.push(a);
  }
  return kept;
}

/** What binds a plan to this checkout, its manifests and every visible commit. */
export async function historyPreconditions(ctx: Context, digest: string): Promise<Precondition[]> {
  const base = { key: null, params: {} };
  return [
    {
      ...base,
      kind: "workspace_id",
      expected: ctx.workspace.workspaceId,
      detail: "Cannot apply the plan: it was made in another checkout than {observed}",
    },
    {
      ...base,
      kind: "history_digest",
      expected: digest,
      detail: "Cannot apply the plan: commits appeared or vanished since it was made",
    },
    {
      ...base,
      kind: "vcs_head",
      expected: (await ctx.position()).commit,
      detail: "Cannot apply the plan: the working copy stands on {observed} now",
    },
    {
      ...base,
      kind: "manifest_hash",
      expected: ctx.manifestHash(),
      detail: "Cannot apply the plan: the manifests changed since it was made",
    },
  ];
}

/** A conflicted bookmark counts as reaching nothing, a conflicted manifest is several answers: neither can be judged. */
export async function refuseConflicts(ctx: Context): Promise<void> {
  const conflicts = await ctx.vcs.conflicts();
  if (conflicts.length === 0) return;
  throw new ConfigError(`Cannot judge what history names: ${conflicts.map((c) => c.reason).join("; ")}`, {
    code: "conflicted",
    hints: conflicts.flatMap((c) => c.hints),
  });
}

/** Working refs of objects that were removed; the branches themselves stay. */
function forgottenRefs(ctx: Context, scope: GcScope | undefined): Action[] {
  if (scope) return [];
  return Object.entries(ctx.workspace.workingRefs)
    .filter(([key]) => !ctx.objects.has(key) && !ctx.broken.some((b) => b.key === key))
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([key, ref]) =>
      action("forget-working-ref", { key, target: ref, detail: "the object was removed; the branch stays" })
    );
}

async function orphanListings(ctx: Context, references: References): Promise<Action[]> {
  const orphans = (await listListings(ctx.paths)).filter((name) => !references.listings.has(name)).sort();
  return orphans.map((name) => action("delete-listing", { target: name, detail: "no manifest names it" }));
}
