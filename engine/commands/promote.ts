/**
 * `promote`: lands a bookmark on its upstream branches, then on the trunk bookmark (commands §5.24).
 *
 * @module
 */

import { type Source, withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import type { RunningOp } from "../files/journal.ts";
import { entryOf } from "../files/workspace.ts";
import { redact } from "../model/redact.ts";
import { MergeConflict, RefMovedError } from "../model/backend_errors.ts";
import { messageOf, TetherError } from "../model/errors.ts";
import { MultiObjectError, reasonOf } from "../model/multi_object_error.ts";
import type { JsonObject } from "../model/json.ts";
import type { Locator, State } from "../model/manifest.ts";
import { operate, withLocks } from "../plan/operation.ts";
import type { Action, Plan } from "../plan/plan.ts";
import { actionsOf, checkPlan } from "../plan/preconditions.ts";
import { settle } from "../plan/settle.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { PromoteReport } from "../reports/moving.ts";
import { sourceFromParams } from "./branches.ts";
import { eachObject } from "./fan_out.ts";
import { ON_TRUNK, planPromote, type PromoteRequest } from "./promote_plan.ts";
import { TRUNK_STAYS, type TrunkMove, trunkMove } from "./promote_trunk.ts";
import { pickSignal } from "./snapshot.ts";

/** Plans and applies under one hold of the locks. @throws {MultiObjectError} with the `report`, when something did not land. */
export function promote(ctx: Context, request: PromoteRequest & CallOptions = {}): Promise<PromoteReport> {
  return withLocks(ctx, { command: "promote", repository: true, ...pickSignal(request) }, async () => {
    const plan = await planPromote(ctx, request);
    await checkPlan(ctx, plan, "promote");
    return await apply(ctx, plan, request);
  });
}

/** Applies a saved plan. */
export function applyPromote(ctx: Context, plan: Plan, options: CallOptions = {}): Promise<PromoteReport> {
  return withLocks(ctx, { command: "promote", repository: true, ...pickSignal(options) }, async () => {
    await checkPlan(ctx, plan, "promote");
    return await apply(ctx, plan, options);
  });
}

/** What became of each object. */
interface Landed {
  readonly fastForwarded: Record<string, State>;
  readonly merged: Record<string, State>;
  readonly refused: Record<string, string>;
  readonly held: Record<string, string>;
  readonly conflicts: Record<string, readonly string[]>;
  readonly keptForks: Record<string, string>;
  readonly failed: Record<string, string>;
  trunkMoved: string | null;
  trunkHeld: string | null;
  readonly hints: string[];
}

async function apply(ctx: Context, plan: Plan, options: CallOptions): Promise<PromoteReport> {
  options.signal?.throwIfAborted();
  const landed: Landed = {
    fastForwarded: {},
    merged: {},
    refused: Object.fromEntries(actionsOf(plan, "refuse").map((a) => [a.key || a.target, a.detail])),
    held: Object.fromEntries(actionsOf(plan, "hold").map((a) => [a.key, a.detail])),
    conflicts: {},
    keptForks: {},
    failed: {},
    trunkMoved: null,
    trunkHeld: null,
    hints: [],
  };
  const merges = actionsOf(plan, "merge");
  const forwards = actionsOf(plan, "fast-forward");
  const trunk = await judgeTrunk(ctx, plan, landed);
  if (merges.length + forwards.length > 0 || trunk.type === "move") {
    const bases = Object.fromEntries([...merges, ...forwards].map((a) => [a.key, a.params["base_state"] ?? null]));
    const pre: JsonObject = { workspace: await ctx.workspaceFile.text(), base_states: bases };
    await operate(ctx, { command: "promote", plan, pre }, {
      async run(op) {
        const failures: Error[] = [];
        await land(ctx, op, { plan, landed, failures, actions: merges, verb: "merge" });
        // A merge that did not land holds the rest: a bookmark lands whole or says what is missing.
        const stuck = merges.some((a) => !(a.key in landed.merged));
        if (stuck) { for (const a of forwards) landed.held[a.key] = "held: a merge did not land"; }
        else await land(ctx, op, { plan, landed, failures, actions: forwards, verb: "fast-forward" });
        await ctx.env.boundary?.("landed");
        await moveTrunk(ctx, plan, landed);
        await ctx.env.boundary?.("trunk");
        return { result: json(plan, landed), value: undefined, failures };
      },
    });
  } else {
    if (trunk.type === "held") holdTrunk(landed, trunk);
    await settle(ctx, { command: "promote", plan });
  }
  return finish(ctx, plan, landed);
}

interface Batch {
  readonly plan: Plan;
  readonly landed: Landed;
  /** Collects what failed. */
  readonly failures: Error[];
  readonly actions: readonly Action[];
  readonly verb: "merge" | "fast-forward";
}

async function land(ctx: Context, op: RunningOp, { plan, landed, failures, actions, verb }: Batch): Promise<void> {
  const byKey = new Map(actions.map((a) => [a.key, a]));
  const { values, errors } = await eachObject(ctx, actions.map((a) => ctx.object(a.key)), {
    verb: "landing",
    fn: async ({ object, backend }) => {
      const a = byKey.get(object.key);
      if (!a) throw new TetherError(`Cannot ${verb} "${object.key}": nothing is planned for it`);
      const locator = a.params["locator"] as Locator;
      const expected = a.params["base_state"] as State;
      // The state that was reviewed lands, not whatever the branch holds by now.
      const source: Source = { on: "state", state: a.params["target_state"] as State };
      const from = backend.statics.capabilities.has("addressable") ? source : sourceFrom(a);
      const state = verb === "merge"
        ? await backend.merge?.(locator, from, String(plan.context["message"]), { expected })
        : await backend.promote?.(locator, from, { expected });
      if (!state) throw new TetherError(`Cannot ${verb} "${object.key}": its system cannot`);
      await ctx.env.boundary?.(`${verb} ${object.key}`);
      await op.progress({ action: verb, key: object.key, state });
      if (verb === "merge" && !ofRevision(plan)) await followMerge(ctx, a, { state, landed });
      return state;
    },
  });
  const shared = (key: string): string[] =>
    actionsOf(plan, "share").filter((s) => s.params["with"] === key).map((s) => s.key);
  for (const [key, state] of values) {
    for (const k of [key, ...shared(key)]) {
      if (verb === "merge") landed.merged[k] = state;
      else landed.fastForwarded[k] = state;
    }
    // A branch that did not follow holds something else, and so may that of a bookmark a revision was landed for.
    const isThere = !(key in landed.keptForks) && !ofRevision(plan);
    // A branch that did not take the merge in does not start from it.
    if (verb === "merge" && ofRevision(plan)) continue;
    await remember(ctx, [key, ...shared(key)], { state, isThere });
  }
  for (const [key, error] of errors) {
    if (error instanceof MergeConflict) {
      landed.conflicts[key] = error.conflicts;
      landed.refused[key] = `conflicts: ${
        error.conflicts.join(", ")
      }; resolve them with its own tools, commit, and promote again`;
    } else if (error instanceof RefMovedError) landed.refused[key] = `${reasonOf(error)}: plan again`;
    else {
      failures.push(error);
      landed.failed[key] = redact(reasonOf(error));
    }
  }
}

/** Whether a revision is landed, not the bookmark: branches of this checkout are left alone then. */
function ofRevision(plan: Plan): boolean {
  return plan.context["rev"] !== null;
}

function sourceFrom(a: Action): Source {
  const source = a.params["source"] as JsonObject;
  const ref = source["ref"];
  return typeof ref === "string" ? { on: "ref", ref } : sourceFromParams(source);
}

/** The working branch follows a merge, unless somebody wrote to it meanwhile. */
async function followMerge(
  ctx: Context,
  a: Action,
  merged: { readonly state: State; readonly landed: Landed },
): Promise<void> {
  const ref = entryOf(ctx.workspace.workingRefs, a.key);
  const object = ctx.object(a.key);
  const backend = await ctx.backends.get(object.kind);
  if (ref === undefined || !backend.fork) return;
  try {
    await backend.fork(withoutAt(object.locator), { on: "state", state: merged.state }, ref, {
      expected: a.params["target_state"] as State,
    });
  } catch (error) {
    merged.landed.keptForks[a.key] = reasonOf(error);
  }
}

/** What landed is where the branch starts from now. */
async function remember(
  ctx: Context,
  keys: readonly string[],
  { state, isThere }: { readonly state: State; readonly isThere: boolean },
): Promise<void> {
  const { workspace } = ctx;
  const forkPoints = { ...workspace.forkPoints };
  const lastSnapshot = { ...workspace.lastSnapshot };
  for (const key of keys) {
    if (entryOf(workspace.workingRefs, key) === undefined) continue;
    forkPoints[key] = state;
    if (isThere) lastSnapshot[key] = state;
    else delete lastSnapshot[key];
  }
  await ctx.saveWorkspace({ ...workspace, forkPoints, lastSnapshot });
}

/** Whether the trunk bookmark goes to the reviewed commit: only when everything is there (Δ9). */
async function judgeTrunk(ctx: Context, plan: Plan, landed: Landed): Promise<TrunkMove> {
  if (ofRevision(plan) || ctx.onTrunk) return { type: "none" };
  const open = [landed.refused, landed.held, landed.merged, landed.failed].some((r) => Object.keys(r).length > 0);
  const to = plan.context["bookmark_commit"];
  if (open || actionsOf(plan, "merge").length > 0 || typeof to !== "string") return { type: "none" };
  const landing = actionsOf(plan, "fast-forward", "share").map((a) => a.key);
  return await trunkMove(ctx, {
    to,
    subset: plan.context["subset"] === true,
    landing: new Set([...landing, ...plan.context["current"] as string[]]),
  });
}

async function moveTrunk(ctx: Context, plan: Plan, landed: Landed): Promise<void> {
  const move = await judgeTrunk(ctx, plan, landed);
  if (move.type === "held") holdTrunk(landed, move);
  if (move.type !== "move") return;
  try {
    await ctx.vcs.moveBookmark(ctx.config.trunk, { from: move.from, to: move.to });
    landed.trunkMoved = move.to;
  } catch (error) {
    holdTrunk(landed, { why: messageOf(error), hints: error instanceof TetherError ? error.hints : [] });
  }
}

function holdTrunk(landed: Landed, { why, hints }: { readonly why: string; readonly hints: readonly string[] }): void {
  landed.trunkHeld = why;
  landed.hints.push(...hints);
}

function skipped(plan: Plan): string[] {
  return plan.notes.flatMap((n) => {
    const colon = n.indexOf(": ");
    return colon > 0 && ![ON_TRUNK, TRUNK_STAYS].some((other) => n.startsWith(other)) ? [n.slice(0, colon)] : [];
  });
}

function json(plan: Plan, landed: Landed): JsonObject {
  return {
    fast_forwarded: landed.fastForwarded,
    merged: landed.merged,
    skipped: skipped(plan),
    refused: landed.refused,
    held: landed.held,
    conflicts: landed.conflicts,
    kept_forks: landed.keptForks,
    trunk_moved: landed.trunkMoved,
    trunk_held: landed.trunkHeld,
    failed: landed.failed,
  };
}

function finish(ctx: Context, plan: Plan, landed: Landed): PromoteReport {
  if (Object.keys(landed.merged).length > 0 && !ofRevision(plan)) {
    landed.hints.push("tether commit -m MESSAGE, then tether promote again");
  }
  const notes = plan.notes.filter((note) => !note.startsWith(TRUNK_STAYS));
  const report = withJson(
    { ...landed, skipped: skipped(plan), notes, warnings: [...ctx.warnings] },
    () => json(plan, landed),
  );
  const errors = new Map<string, Error>();
  for (const [key, why] of [...Object.entries(landed.refused), ...Object.entries(landed.failed)]) {
    errors.set(key, new TetherError(why));
  }
  if (errors.size === 0) return report;
  const some = Object.keys(landed.fastForwarded).length + Object.keys(landed.merged).length > 0;
  throw new MultiObjectError(some ? "Cannot land all of it" : "Cannot land any of it", errors, {
    code: some ? "partial" : "refused",
    report,
  });
}
