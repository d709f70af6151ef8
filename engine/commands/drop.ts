/**
 * `drop`: throws a bookmark away: its own commits, itself, then its pins and branches (commands §5.22). A dry run unless told
 * otherwise.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { planContext } from "../files/journal.ts";
import { operands } from "../io/shell.ts";
import { messageOf, StalePlanError, TetherError } from "../model/errors.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import type { JsonObject } from "../model/json.ts";
import { operate, withLocks } from "../plan/operation.ts";
import type { Plan } from "../plan/plan.ts";
import { actionsOf, checkPlan } from "../plan/preconditions.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { DropReport, GcReport } from "../reports/releasing.ts";
import { requireSettled } from "./commit_plan.ts";
import { type DropRequest, planDrop, remoteNotes, scopeOf } from "./drop_plan.ts";
import { applyPlannedGc, requireWholeHistory } from "./gc.ts";
import type { GcRequest } from "./gc_input.ts";
import { planGc, refuseConflicts } from "./gc_plan.ts";
import { newWithin } from "./new.ts";
import { pickSignal } from "./snapshot.ts";
import { unfinished } from "./unfinished.ts";

/** Plans and applies under one hold of the locks. */
export function drop(ctx: Context, request: DropRequest & CallOptions): Promise<DropReport> {
  return withLocks(ctx, { command: "drop", repository: true, ...pickSignal(request) }, async () => {
    await requireSettled(ctx, `drop "${request.bookmark}"`);
    await finishLeaving(ctx, request.bookmark);
    const plan = await planDrop(ctx, request);
    await checkPlan(ctx, plan, "drop");
    return await apply(ctx, plan, request);
  });
}

/** Goes on where an interrupted drop of the bookmark had left it in version control, and not yet in the working state. */
async function finishLeaving(ctx: Context, bookmark: string): Promise<void> {
  if (ctx.workspace.bookmark !== bookmark) return;
  for (const { id, command, plan } of await unfinished(ctx)) {
    const { bookmark: dropped, leave } = planContext(plan);
    if (command !== "drop" || dropped !== bookmark) continue;
    if (typeof leave !== "string" || !(await ctx.position()).bookmarks.includes(leave)) continue;
    await newWithin(ctx, { rev: leave }, id);
    return;
  }
}

/** Applies a saved plan. */
export function applyDrop(ctx: Context, plan: Plan, options: CallOptions = {}): Promise<DropReport> {
  return withLocks(ctx, { command: "drop", repository: true, ...pickSignal(options) }, async () => {
    await checkPlan(ctx, plan, "drop");
    await requireSameReleases(ctx, plan);
    return await apply(ctx, plan, options);
  });
}

/**
 * Checks that a saved plan would still release what it showed: a store may have got another holder, or a branch other writes,
 * and no commit shows that.
 *
 * @throws {StalePlanError} if something would stay.
 */
export async function requireSameReleases(ctx: Context, plan: Plan): Promise<void> {
  const { context } = plan;
  const leave = typeof context["leave"] === "string" ? context["leave"] : null;
  const [bookmark, commits] = [String(context["bookmark"]), (context["commits"] as readonly string[]).map(String)];
  const scope = await scopeOf(ctx, { bookmark, commits, leave });
  const now = await planGc(ctx, { ...flagsOf(plan), scope });
  const goes = new Set(now.writes.map((a) => `${a.op} ${a.key} ${a.target}`));
  const stays = plan.writes.find((a) => RELEASES.has(a.op) && !goes.has(`${a.op} ${a.key} ${a.target}`));
  if (!stays) return;
  const why = now.actions.find((a) => a.op.startsWith("keep-") && a.target === stays.target)?.detail;
  throw new StalePlanError(
    `Cannot apply the plan: "${stays.target}" would stay by now${why === undefined ? "" : `: ${why}`}`,
    { hints: [`tether drop ${operands([bookmark])}`] },
  );
}

/** Verbs of gc that a plan of `drop` shows. */
const RELEASES: ReadonlySet<string> = new Set(["unpin", "delete-branch", "delete-store"]);

/** What a plan asks gc for. */
function flagsOf({ context }: Plan): GcRequest {
  return {
    pruneBookmarks: true,
    ...(context["force_prune"] === true ? { forcePrune: true } : {}),
    ...(context["delete_stores"] === true ? { deleteStores: true } : {}),
  };
}

/** What a drop that may be applied starts from. */
interface Droppable {
  readonly bookmark: string;
  readonly commits: readonly string[];
  /** Where the bookmark is. */
  readonly head: string;
}

/**
 * Checks what applying a plan checks before it writes, beyond the preconditions.
 *
 * @throws {TetherError} if it would be refused.
 */
export async function requireDroppable(ctx: Context, plan: Plan): Promise<Droppable> {
  await requireWholeHistory(ctx, "drop anything");
  await refuseConflicts(ctx);
  const bookmark = String(plan.context["bookmark"]);
  await requireSettled(ctx, `drop "${bookmark}"`);
  const commits = (plan.context["commits"] as readonly string[]).map(String);
  const force = plan.context["force_prune"] === true;
  const loses = plan.context["loses"];
  if (Array.isArray(loses) && loses.length > 0 && !force) {
    throw new TetherError(`Cannot drop "${bookmark}": ${loses.join("; ")} would lose its last holder`, {
      code: "last-holder",
      hints: [`tether drop --force-prune --no-dry-run ${operands([bookmark])}`],
    });
  }
  const now = await ctx.vcs.exclusiveCommits(bookmark);
  if (now.length !== commits.length || now.some((c) => !commits.includes(c))) {
    throw new StalePlanError(`Cannot apply the plan: other commits are only on "${bookmark}" now`, {
      hints: [`tether drop ${operands([bookmark])}`],
    });
  }
  const head = (await ctx.vcs.bookmarks()).get(bookmark);
  if (typeof head !== "string") {
    throw new StalePlanError(`Cannot apply the plan: bookmark "${bookmark}" is gone`, {
      hints: ["tether gc --prune-bookmarks"],
    });
  }
  return { bookmark, commits, head };
}

async function apply(ctx: Context, plan: Plan, options: CallOptions): Promise<DropReport> {
  const { bookmark, commits, head } = await requireDroppable(ctx, plan);
  const leave = plan.context["leave"];
  options.signal?.throwIfAborted();
  const scope = await scopeOf(ctx, { bookmark, commits, leave: null });
  const pre: JsonObject = { vcs: (await ctx.position()).record, workspace: await ctx.workspaceFile.text() };
  const { loses } = plan.context;
  const notes = [
    ...await remoteNotes(ctx, bookmark),
    ...(Array.isArray(loses) ? loses.map((l) => `lost its last holder: ${l}`) : []),
  ];
  let released: GcReport | null = null;
  let trouble: Error | undefined;
  await operate(ctx, { command: "drop", plan, pre }, {
    async run(op) {
      if (typeof leave === "string") {
        await newWithin(ctx, { rev: leave }, op.id);
        await op.progress({ action: "leave-bookmark", target: leave });
        await ctx.env.boundary?.("leave-bookmark");
      }
      await ctx.vcs.dropCommits(commits, { bookmark, at: head });
      await ctx.refresh();
      await ctx.env.boundary?.("dropped");
      await op.progress({ action: "delete-bookmark", target: bookmark });
      await ctx.env.boundary?.("delete-bookmark");
      try {
        // Judged anew, by history as it is now; the plan only showed what that would come to.
        const gc = await planGc(ctx, { ...flagsOf(plan), scope });
        released = await applyPlannedGc(ctx, gc, { ...options, parent: op.id });
        trouble = keptAfterAll(plan, released);
      } catch (error) {
        trouble = error instanceof Error ? error : new Error(String(error));
        if (error instanceof MultiObjectError && error.report) released = error.report as GcReport;
      }
      const result: JsonObject = {
        bookmark,
        left_for: typeof leave === "string" ? leave : null,
        abandoned: commits,
        gc: released ? released.toJSON() : null,
        ...(trouble ? { failed: messageOf(trouble) } : {}),
      };
      return { result, value: undefined, failures: trouble ? [trouble] : [] };
    },
  });
  return finish(ctx, {
    bookmark,
    leave: typeof leave === "string" ? leave : null,
    commits,
    released,
    trouble,
    notes,
    deleteStores: plan.context["delete_stores"] === true,
  });
}

/** A store that was to go and got a holder only after history had changed: part of what was shown is not done (commands §3.3). */
function keptAfterAll(plan: Plan, { deletedStores, keptStores }: GcReport): Error | undefined {
  const gone = new Set(Object.values(deletedStores));
  const kept = actionsOf(plan, "delete-store").filter((a) => !gone.has(a.target));
  if (kept.length === 0) return undefined;
  const why = kept.map((a) => `the store at "${a.target}": ${keptStores[a.key] ?? "it is not judged as before"}`);
  return new StalePlanError(`Cannot delete ${why.join("; ")}`, { hints: ["tether gc --delete-stores"] });
}

interface Dropped {
  readonly bookmark: string;
  readonly leave: string | null;
  readonly commits: readonly string[];
  readonly released: GcReport | null;
  readonly trouble: Error | undefined;
  readonly notes: readonly string[];
  /** Whether stores were to go too. */
  readonly deleteStores: boolean;
}

function finish(ctx: Context, d: Dropped): DropReport {
  const data = {
    bookmark: d.bookmark,
    leftFor: d.leave,
    abandoned: d.commits,
    gc: d.released,
    notes: d.notes,
    warnings: [...ctx.warnings],
  };
  const report = withJson(data, () => ({
    bookmark: data.bookmark,
    left_for: data.leftFor,
    abandoned: data.abandoned,
    gc: d.released ? d.released.toJSON() : null,
    notes: data.notes,
  }));
  if (!d.trouble) return report;
  // The commits and the bookmark are gone: part of the work was done (Δ11).
  throw new MultiObjectError(
    `Cannot release all refs of "${d.bookmark}": it is dropped from history`,
    new Map([["gc", d.trouble]]),
    {
      code: "partial",
      hints: d.trouble instanceof StalePlanError ? d.trouble.hints : [wayToFinish(d)],
      report,
    },
  );
}

/**
 * Names the command that releases what a drop could not. A branch whose pin is released already has writes without a pin, which
 * only force deletes; so that one is shown first.
 */
function wayToFinish({ released, deleteStores }: Dropped): string {
  const left = Object.keys(released?.failed ?? {});
  const gc = `tether gc --prune-bookmarks${deleteStores ? " --delete-stores" : ""}`;
  return left.some((what) => what.startsWith("delete-branch"))
    ? `${gc} --force-prune shows what is left, and deletes it with --no-dry-run`
    : `${gc} --no-dry-run`;
}
