/**
 * The plan of `drop`: a bookmark's own commits, the bookmark, and what they held (commands §5.22). Reads only.
 *
 * @module
 */

import { bookmarkHolders, called } from "../checkouts.ts";
import type { Context } from "../context.ts";
import { seconds } from "../env.ts";
import { collectReferences } from "../history/reference_set.ts";
import { operands, shellQuote } from "../io/shell.ts";
import { ConfigError, StaleWorkingCopyError } from "../model/errors.ts";
import { type Action, Plan, type Precondition } from "../plan/plan.ts";
import type { CallOptions } from "../reports/report.ts";
import { manifestHash, type ObjectManifest } from "../model/manifest.ts";
import { manifestsOf } from "../revision.ts";
import { requireOnBookmark } from "./commit_plan.ts";
import { action, type GcScope } from "./gc_input.ts";
import { historyPreconditions, planGc } from "./gc_plan.ts";
import { lastHolders } from "./last_holders.ts";

/**
 * What to drop.
 *
 * @example Plan throwing a bookmark away
 * ```ts
 * import { Dataset, type DropRequest } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * await ds.new({ bookmark: "attempt" });
 *
 * const request: DropRequest = { bookmark: "attempt" };
 * const { actions } = await ds.plan.drop(request);
 * assert.deepEqual(actions.map((a) => a.op), ["leave-bookmark", "delete-bookmark"]);
 * ```
 */
export interface DropRequest {
  /** The bookmark to throw away; never the trunk. */
  readonly bookmark: string;
  /**
   * Where this checkout goes when it is on the bookmark.
   * @default {the trunk}
   */
  readonly to?: string;
  /**
   * Deletes branches and loses recorded states although nothing else keeps them.
   * @default {false}
   */
  readonly forcePrune?: boolean;
  /**
   * Deletes the stores that tether made on the bookmark and nothing else names. Experimental: a deleted store cannot be made
   * again.
   * @default {false}
   */
  readonly deleteStores?: boolean;
}

/** Plans dropping a bookmark. Nothing is written. */
export async function planDrop(ctx: Context, request: DropRequest & CallOptions): Promise<Plan> {
  const { bookmark } = request;
  const bookmarks = await ctx.vcs.bookmarks();
  const head = await requireDroppable(ctx, request, bookmarks);
  const here = (await ctx.position()).bookmarks.includes(bookmark) || ctx.workspace.bookmark === bookmark;
  const leave = here ? request.to ?? ctx.config.trunk : null;
  const commits = await ctx.vcs.exclusiveCommits(bookmark);
  const scope = await scopeOf(ctx, { bookmark, commits, leave });
  const preview = await planGc(ctx, {
    pruneBookmarks: true,
    ...(request.forcePrune ? { forcePrune: true } : {}),
    ...(request.deleteStores ? { deleteStores: true } : {}),
    ...(request.signal ? { signal: request.signal } : {}),
    scope,
  });
  const infos = await ctx.vcs.commitInfos(commits);
  const digest = String(preview.context["history_digest"]);
  const lost = await lastHolders(ctx, scope);
  return new Plan({
    command: "drop",
    createdAt: seconds(ctx.env.now()),
    context: {
      bookmark,
      commits,
      leave,
      delete_stores: request.deleteStores === true,
      force_prune: request.forcePrune === true,
      workspace_id: ctx.workspace.workspaceId,
      vcs_head: (await ctx.position()).commit,
      history_digest: digest,
      loses: lost,
    },
    notes: [
      ...await remoteNotes(ctx, bookmark),
      ...lost.map((l) =>
        `loses its last holder: ${l}${request.forcePrune ? "" : " (applying stops without --force-prune)"}`
      ),
      ...preview.notes,
    ],
    preconditions: [
      ...preconditions(ctx, bookmark, head),
      ...(await historyPreconditions(ctx, digest)).filter((p) => p.kind !== "manifest_hash"),
    ],
    actions: [
      ...(leave === null
        ? []
        : [action("leave-bookmark", { target: leave, detail: `this checkout goes to "${leave}"` })]),
      ...infos.map((info): Action =>
        action("abandon-commit", {
          target: info.id.slice(0, 12),
          detail: info.message.split("\n")[0] ?? "",
          params: { commit: info.id },
        })
      ),
      action("delete-bookmark", { target: bookmark, detail: `at ${head.slice(0, 12)}` }),
      ...preview.actions,
    ],
  });
}

/** Says which remote bookmarks keep the commits of one that is dropped here. */
export async function remoteNotes(ctx: Context, bookmark: string): Promise<string[]> {
  return (await ctx.vcs.remoteBookmarks(bookmark)).map((r) =>
    `${r} still reaches these commits, and their pins stay; delete it there to let go of them`
  );
}

async function requireDroppable(
  ctx: Context,
  request: DropRequest,
  bookmarks: ReadonlyMap<string, string | null>,
): Promise<string> {
  const { bookmark, to } = request;
  for (const name of [bookmark, ...(to === undefined ? [] : [to])]) {
    if (name.trim() === "") throw new ConfigError("Cannot drop a bookmark without a name", { code: "empty" });
  }
  if (bookmark === ctx.config.trunk) {
    throw new ConfigError(`Cannot drop "${bookmark}": it is the trunk`, { code: "trunk" });
  }
  const head = bookmarks.get(bookmark);
  if (head === undefined) {
    throw new ConfigError(`Cannot drop "${bookmark}": there is no such bookmark`, {
      code: "no-bookmark",
      hints: ["tether gc --prune-bookmarks"],
    });
  }
  if (head === null) {
    throw new ConfigError(`Cannot drop "${bookmark}": it is conflicted`, {
      code: "conflicted",
      hints: [`jj bookmark set ${shellQuote(bookmark)} -r REV`],
    });
  }
  const goal = to ?? ctx.config.trunk;
  if (goal === bookmark) throw new ConfigError(`Cannot go to "${goal}": it is what is dropped`, { code: "flags" });
  if (!bookmarks.has(goal)) {
    throw new ConfigError(`Cannot go to "${goal}": there is no such bookmark`, { code: "no-bookmark" });
  }
  const holders = await bookmarkHolders(ctx, bookmark);
  if (holders.length > 0) {
    throw new StaleWorkingCopyError(
      `Cannot drop "${bookmark}": held by ${holders.map((h) => h.slice(0, 8)).join(", ")}, another live checkout`,
      {
        code: "bookmark-held",
        hints: [
          ...holders.map((h) => `tether forget-workspace ${h.slice(0, 8)}`),
          `Go elsewhere in that checkout, with "tether new"`,
        ],
      },
    );
  }
  const absent = (await ctx.vcs.absentCheckouts()).find(({ bookmarks }) => bookmarks.includes(bookmark));
  if (absent !== undefined) {
    throw new StaleWorkingCopyError(
      `Cannot drop "${bookmark}": held by ${called(absent)}, and ${absent.reason}`,
      { code: "bookmark-held", hints: absent.hints },
    );
  }
  const taken = (await ctx.vcs.checkouts()).find((c) => !c.current && c.bookmark === goal && ctx.vcs.kind === "git");
  const onIt = ctx.workspace.bookmark === bookmark;
  // Leaving it starts from there: git or jj may have gone elsewhere meanwhile.
  if (onIt) await requireOnBookmark(ctx, `drop "${bookmark}"`);
  if (onIt && taken) {
    throw new StaleWorkingCopyError(`Cannot leave for "${goal}": the checkout at "${taken.root}" is on it`, {
      code: "bookmark-held",
      hints: [`tether drop --to OTHER ${operands([bookmark])}`],
    });
  }
  return head;
}

function preconditions(ctx: Context, bookmark: string, head: string): Precondition[] {
  const base = { key: null, params: {} };
  return [
    {
      ...base,
      kind: "workspace_bookmark",
      expected: ctx.workspace.bookmark,
      detail:
        `Cannot apply the plan: it was made on bookmark "${ctx.workspace.bookmark}", the checkout is on {observed}`,
    },
    {
      ...base,
      kind: "bookmark_head",
      expected: head,
      params: { bookmark },
      detail: `Cannot apply the plan: bookmark "${bookmark}" is at {observed} now`,
    },
    {
      ...base,
      kind: "no_new_holders",
      expected: null,
      params: { bookmark },
      detail: `Cannot apply the plan: bookmark "${bookmark}" is held by {observed}, another live checkout`,
    },
  ];
}

/** Returns what gc is narrowed to, as if the commits were gone and this checkout elsewhere. */
export async function scopeOf(
  ctx: Context,
  drop: { readonly bookmark: string; readonly commits: readonly string[]; readonly leave: string | null },
): Promise<GcScope> {
  const excludedCommits = new Set([...drop.commits, ...drop.leave === null ? [] : await leftBehind(ctx)]);
  // An empty working copy records nothing that the commit under it does not.
  const dropped = await collectReferences(ctx, { only: new Set(drop.commits) });
  const scope = { bookmarks: [drop.bookmark], excludedCommits, dropped };
  if (drop.leave === null) return scope;
  const instead = new Map([
    ...await manifestsOf(ctx, await ctx.vcs.resolve(drop.leave)),
    ...ctx.vcs.kind === "git" ? await carried(ctx) : [],
  ]);
  return { ...scope, instead, leftFor: drop.leave };
}

/** Manifests that no commit has as they are here: git takes them along when another branch is checked out. */
async function carried(ctx: Context): Promise<[string, ObjectManifest][]> {
  const { commit } = await ctx.position();
  const recorded = commit === null ? new Map<string, ObjectManifest>() : await manifestsOf(ctx, commit);
  const hash = (object: ObjectManifest | undefined): string => manifestHash(object ? [object] : []);
  return [...ctx.objects].filter(([key, object]) => hash(recorded.get(key)) !== hash(object));
}

/** In jj the working copy is a commit above the bookmark; an empty one goes when it is left. */
async function leftBehind(ctx: Context): Promise<string[]> {
  const { kind, commit, empty } = (await ctx.position()).record;
  return kind === "jj" && empty === true && typeof commit === "string" ? [commit] : [];
}
