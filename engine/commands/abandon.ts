/**
 * `abandon`: takes commits out of a line of work that goes on, and says what that frees (commands §5.21).
 *
 * @module
 */

import type { Abandonment, Rewrites } from "../../vcs/adapter.ts";
import type { Context } from "../context.ts";
import { seconds } from "../env.ts";
import { collectReferences } from "../history/reference_set.ts";
import { operands } from "../io/shell.ts";
import { refForPin } from "../model/names.ts";
import { ConfigError, messageOf, TetherError } from "../model/errors.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import type { JsonObject } from "../model/json.ts";
import { operate, withLocks } from "../plan/operation.ts";
import { Plan } from "../plan/plan.ts";
import { actionsOf } from "../plan/preconditions.ts";
import { type CallOptions, type Report, withJson } from "../reports/report.ts";
import type { GcReport } from "../reports/releasing.ts";
import { manifestsOf } from "../revision.ts";
import { requireSettled } from "./commit_plan.ts";
import { type Abandoned, abandonedJson, completeAbandoned, keptFiles } from "./abandon_begun.ts";
import { applyPlannedGc, requireWholeHistory } from "./gc.ts";
import { planGc, refuseConflicts } from "./gc_plan.ts";
import { lastHolders } from "./last_holders.ts";
import { pickSignal } from "./snapshot.ts";

/**
 * Options of {@link Dataset.abandon}.
 *
 * @example Release at once what abandoning frees
 * ```ts
 * import type { AbandonOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const options: AbandonOptions = { gc: true };
 * assert.equal(options.force, undefined);
 * ```
 */
export interface AbandonOptions extends CallOptions {
  /**
   * Releases what the commits held, as `gc` would.
   * @default {false}
   */
  readonly gc?: boolean;
  /**
   * Goes on although a state recorded without a pin loses its last holder.
   * @default {false}
   */
  readonly force?: boolean;
}

/**
 * Report of `abandon`.
 *
 * @example Fold a try into what came after it
 * ```ts
 * import { type AbandonReport, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "a", kind: "memory", locator: { system: "a" } });
 * await ds.commit({ message: "Baseline" });
 * await ds.add({ key: "b", kind: "memory", locator: { system: "b" } });
 * const { vcsCommit } = await ds.commit({ message: "First try" });
 * await ds.add({ key: "c", kind: "memory", locator: { system: "c" } });
 * await ds.commit({ message: "Second try" });
 *
 * const report: AbandonReport = await ds.abandon(["HEAD~1"]);
 * assert.deepEqual([report.abandoned, report.gcPlan.isEmpty], [[vcsCommit], true]);
 * assert.deepEqual([...ds.objects.keys()], ["a", "b", "c"]);
 * ```
 */
export interface AbandonReport extends Report {
  /** The commits, in the order they were named. */
  readonly abandoned: readonly string[];
  /** What `gc` would release now, or was about to. */
  readonly gcPlan: Plan;
  /** What was released; `null` when that was not asked for or did not come about. */
  readonly gc: GcReport | null;
  /** New ids of the commits that build on them, by the old ones. */
  readonly rewritten: Readonly<Record<string, string>>;
  /** Where bookmarks are that moved. */
  readonly bookmarksMoved: Readonly<Record<string, string>>;
  /** Pins that were new with these commits and stay all the same: what names each, by its ref. */
  readonly held: Readonly<Record<string, string>>;
  /** What keeps a commit's pins all the same, or kept `gc` from running, a sentence each. */
  readonly notes: readonly string[];
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/** Abandons commits. @throws {MultiObjectError} with the `report`, when releasing failed after history changed. */
export function abandon(ctx: Context, revs: readonly string[], options: AbandonOptions): Promise<AbandonReport> {
  return withLocks(ctx, { command: "abandon", repository: true, ...pickSignal(options) }, async () => {
    if (options.gc) await requireWholeHistory(ctx, "release anything");
    const begun = (await completeAbandoned(ctx)).at(-1);
    if (begun) return await goOn(ctx, begun, { revs, options });
    await requireSettled(ctx, "abandon commits");
    await refuseConflicts(ctx);
    const commits = await resolveAll(ctx, revs);
    const prepared = await ctx.vcs.prepareAbandon(commits, keptFiles(ctx));
    if (!options.force) await refuseLosses(ctx, { revs, commits, prepared });
    const brought = await pinsBrought(ctx, commits);
    options.signal?.throwIfAborted();
    const done = await applyHistory(ctx, { commits, prepared, brought });
    return await release(ctx, { ...done, commits, options });
  });
}

/**
 * Goes on where an interrupted run had changed history. Only if it is what is asked for: a revision such as `HEAD~1` is another
 * commit by now, which nobody meant to lose.
 */
async function goOn(
  ctx: Context,
  begun: Abandoned,
  request: { readonly revs: readonly string[]; readonly options: AbandonOptions },
): Promise<AbandonReport> {
  const { commits, rewrites } = begun;
  const asked = new Set<string>();
  for (const rev of request.revs) {
    try {
      asked.add(await ctx.vcs.resolve(rev));
    } catch {
      // A change of jj's that is gone has no name any more.
      asked.add("");
    }
  }
  if (asked.size !== commits.length || !commits.every((id) => asked.has(id))) {
    const gone = commits.map((id) => id.slice(0, 12)).join(", ");
    throw new TetherError(
      `Cannot abandon ${
        request.revs.map((r) => `"${r}"`).join(", ")
      }: an interrupted abandon of ${gone} is completed first`,
      { code: "completed", hints: ["tether ops", `tether abandon ${operands(request.revs)}`] },
    );
  }
  return await release(ctx, { rewrites, ...await planFreed(ctx, new Set()), commits, options: request.options });
}

/** Resolves revisions to commits that can go. */
async function resolveAll(ctx: Context, revs: readonly string[]): Promise<string[]> {
  if (revs.length === 0) throw new ConfigError("Cannot abandon: no commit is named", { code: "empty" });
  const commits: string[] = [];
  for (const rev of revs) {
    const id = await ctx.vcs.resolve(rev);
    if (!commits.includes(id)) commits.push(id);
  }
  const workingCopies = new Set((await ctx.vcs.history()).filter((c) => c.workingCopy).map((c) => c.id));
  for (const info of await ctx.vcs.commitInfos(commits)) {
    const why = info.parents.length === 0
      ? "it is the first one"
      : workingCopies.has(info.id)
      ? "it is a working copy, not history yet"
      : undefined;
    if (why !== undefined) {
      throw new ConfigError(`Cannot abandon commit "${info.id.slice(0, 12)}": ${why}`, { code: "not-abandonable" });
    }
  }
  return commits;
}

/** Stops where a state recorded without a pin would lose the last that names it (L05). */
async function refuseLosses(
  ctx: Context,
  request: { readonly revs: readonly string[]; readonly commits: readonly string[]; readonly prepared: Abandonment },
): Promise<void> {
  const gone = new Set(request.commits.filter((id) => !request.prepared.kept.includes(id)));
  const { commit, record } = await ctx.position();
  const here = commit === null ? null : await keptAncestor(ctx, commit, new Set(request.commits));
  const dropped = await collectReferences(ctx, { only: gone });
  const excludedCommits = new Set(gone);
  // jj's working copy is a commit of its own; without edits it will be what is under it then.
  if (here !== commit && record["kind"] === "jj" && record["empty"] === true) {
    excludedCommits.add(String(record["commit"]));
  }
  const scope = here === null || here === commit ? {} : { instead: await manifestsOf(ctx, here) };
  const lost = await lastHolders(ctx, { excludedCommits, dropped, ...scope });
  if (lost.length === 0) return;
  throw new TetherError(`Cannot abandon: ${lost.join("; ")} would lose its last holder`, {
    code: "last-holder",
    hints: [`tether abandon --force ${operands(request.revs)}`],
    details: { loses: lost },
  });
}

/** Returns the ids of the pins that some commits name and what they build on does not: those that may be free without them. */
async function pinsBrought(ctx: Context, commits: readonly string[]): Promise<ReadonlySet<string>> {
  const parents = new Set((await ctx.vcs.commitInfos(commits)).flatMap((info) => info.parents));
  try {
    const named = await collectReferences(ctx, { only: new Set(commits) });
    const before = await collectReferences(ctx, { only: parents.difference(new Set(commits)) });
    const own = [...named.pinIds].filter((id) => id.startsWith(`${ctx.config.datasetId}.`));
    return new Set(own).difference(before.pinIds);
  } catch (error) {
    if (!(error instanceof TetherError)) throw error;
    // A commit that cannot be read may be just the one to take out; then what stays is not named.
    return new Set();
  }
}

/** Returns the nearest commit at or before one, along first parents, that is not abandoned. */
async function keptAncestor(ctx: Context, commit: string, abandoned: ReadonlySet<string>): Promise<string> {
  let id = commit;
  while (abandoned.has(id)) {
    const [info] = await ctx.vcs.commitInfos([id]);
    const [parent] = info?.parents ?? [];
    if (parent === undefined) break;
    id = parent;
  }
  return id;
}

interface Changed {
  readonly rewrites: Rewrites;
  readonly plan: Plan;
  readonly held: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
  /** Why nothing could be planned. */
  readonly trouble?: Error;
  /** Whether something is in the way of releasing. */
  readonly blocked: boolean;
}

/** The half that version control does, journaled before it begins (L37). */
async function applyHistory(
  ctx: Context,
  { commits, prepared, brought }: {
    readonly commits: readonly string[];
    readonly prepared: Abandonment;
    readonly brought: ReadonlySet<string>;
  },
): Promise<Changed> {
  const pre: JsonObject = {
    vcs: (await ctx.position()).record,
    workspace: await ctx.workspaceFile.text(),
    commits: [...commits],
  };
  return await operate(ctx, { command: "abandon", pre }, {
    async run(op) {
      const rewrites = await prepared.apply(async (record) => {
        await op.progress({ action: "prepare", record });
        await ctx.env.boundary?.("prepare");
      });
      await ctx.refresh();
      await ctx.env.boundary?.("rewritten");
      const { abandoned, ...rest } = abandonedJson(commits, rewrites);
      await op.progress({ action: "abandon", commits: abandoned ?? [], ...rest });
      await ctx.env.boundary?.("abandon");
      const freed = await planFreed(ctx, brought);
      const result: JsonObject = {
        ...abandonedJson(commits, rewrites),
        unreferenced: actionsOf(freed.plan, "unpin").map((a) => a.target),
      };
      const kept = prepared.kept.map((id) =>
        `${id.slice(0, 12)} is still reached by another ref or checkout: its pins stay`
      );
      return { result, value: { rewrites, ...freed, notes: [...kept, ...freed.notes] } };
    },
  });
}

/** Plans what can be released. History has changed by now, so a failure is told beside what was done. */
async function planFreed(ctx: Context, brought: ReadonlySet<string>): Promise<Omit<Changed, "rewrites">> {
  const nothing = new Plan({
    command: "gc",
    createdAt: seconds(ctx.env.now()),
    context: {},
    preconditions: [],
    actions: [],
  });
  try {
    const conflicts = await ctx.vcs.conflicts();
    const notes = conflicts.map((c) => `nothing is released while ${c.reason}: settle it, then run gc`);
    if (conflicts.length > 0) return { plan: nothing, held: {}, notes, blocked: true };
    const references = await collectReferences(ctx, { about: brought });
    const held = Object.fromEntries([...references.holders].map(([id, where]) => [refForPin(id), where]).sort());
    return { plan: await planGc(ctx, { references }), held, notes: [], blocked: false };
  } catch (error) {
    const trouble = error instanceof Error ? error : new Error(String(error));
    return { plan: nothing, held: {}, notes: [`nothing is released: ${messageOf(error)}`], trouble, blocked: true };
  }
}

async function release(
  ctx: Context,
  done: Changed & { readonly commits: readonly string[]; readonly options: AbandonOptions },
): Promise<AbandonReport> {
  const { plan, options, rewrites } = done;
  let gc: GcReport | null = null;
  let trouble = options.gc ? done.trouble : undefined;
  if (options.gc && !done.blocked) {
    try {
      gc = await applyPlannedGc(ctx, plan, options);
    } catch (error) {
      trouble = error instanceof Error ? error : new Error(String(error));
      if (error instanceof MultiObjectError && error.report) gc = error.report as GcReport;
    }
  }
  const data = {
    abandoned: done.commits,
    gcPlan: plan,
    gc,
    rewritten: Object.fromEntries(rewrites.commits),
    bookmarksMoved: Object.fromEntries(rewrites.bookmarks),
    held: done.held,
    notes: done.notes,
    warnings: [...ctx.warnings],
  };
  const report = withJson(data, () => ({
    abandoned: [...data.abandoned],
    gc_plan: plan.toJSON(),
    gc_applied: gc !== null,
    gc: gc === null ? null : gc.toJSON(),
    rewritten_commits: data.rewritten,
    bookmarks_moved: data.bookmarksMoved,
    held: data.held,
    notes: [...data.notes],
  }));
  if (trouble === undefined) return report;
  throw new MultiObjectError(
    "Cannot release all that the commits held: they are gone from history",
    new Map([["gc", trouble]]),
    { code: "partial", hints: ["tether gc --no-dry-run"], report },
  );
}
