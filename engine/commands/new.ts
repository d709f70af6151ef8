/**
 * `new`: goes to a bookmark and gives each system the branch that stands for it (commands §5.10).
 *
 * The workspace is written with every fork as pending before the first store write, so a killed process leaves exactly a
 * lazy `new`, which the next `new` or writable `open` finishes.
 *
 * @module
 */

import { ABSENT, type Expected } from "../../backends/backend.ts";
import type { Position } from "../../vcs/adapter.ts";
import type { Context } from "../context.ts";
import type { RunningOp } from "../files/journal.ts";
import { entryOf, type WorkspaceState } from "../files/workspace.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import { RefMovedError } from "../model/backend_errors.ts";
import { StalePlanError, TetherError } from "../model/errors.ts";
import { jsonEqual, type JsonObject } from "../model/json.ts";
import type { State } from "../model/manifest.ts";
import { Mutex } from "../io/pool.ts";
import { operate, withLocks } from "../plan/operation.ts";
import { type Action, type Plan, refuseIfRefused } from "../plan/plan.ts";
import { actionsOf, checkPlan } from "../plan/preconditions.ts";
import { settle } from "../plan/settle.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { NewReport } from "../reports/moving.ts";
import { forkBranch, sourceFromParams } from "./branches.ts";
import { eachObject } from "./fan_out.ts";
import { Begun } from "./begun.ts";
import { planNew } from "./new_plan.ts";
import { type NewRequest, type NewTarget, resolveTarget } from "./new_target.ts";
import { pickSignal } from "./snapshot.ts";

/**
 * Options of {@link newBookmark}.
 *
 * @example Go back to the trunk
 * ```ts
 * import { Dataset, type NewOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * await ds.new({ bookmark: "relabel" });
 *
 * const options: NewOptions = { rev: ds.config.trunk, signal: AbortSignal.timeout(60_000) };
 * assert((await ds.new(options)).trunk);
 * ```
 */
export type NewOptions = NewRequest & CallOptions;

/** Plans and applies `new` under one hold of the locks. */
export function newBookmark(ctx: Context, options: NewOptions = {}): Promise<NewReport> {
  return withLocks(ctx, { command: "new", repository: true, ...pickSignal(options) }, async () => {
    const { plan, target } = await planNew(ctx, options);
    // The plan's own refusals come before its preconditions: they say what really is in the way (Δ18).
    refuseIfRefused(plan, `Cannot go to ${name(plan.context["bookmark"])}`);
    await checkPlan(ctx, plan, "new");
    return await apply(ctx, plan, { target, looked: true, ...options });
  });
}

/** Goes to a bookmark as a step of another operation, with its locks held. */
export async function newWithin(ctx: Context, request: NewRequest, parent: string): Promise<NewReport> {
  const { plan, target } = await planNew(ctx, request);
  refuseIfRefused(plan, `Cannot go to ${name(plan.context["bookmark"])}`);
  return await apply(ctx, plan, { target, looked: true, parent });
}

/** Applies a saved plan. */
export function applyNew(ctx: Context, plan: Plan, options: CallOptions = {}): Promise<NewReport> {
  return withLocks(ctx, { command: "new", repository: true, ...pickSignal(options) }, async () => {
    if (plan.command === "new") refuseIfRefused(plan, `Cannot go to ${name(plan.context["bookmark"])}`);
    await checkPlan(ctx, plan, "new");
    const target = await requireTarget(ctx, plan);
    return await apply(ctx, plan, { target, ...options });
  });
}

/**
 * Returns where a saved plan goes, beyond what its preconditions say.
 *
 * @throws {StalePlanError} if that is another bookmark now.
 */
export async function requireTarget(ctx: Context, plan: Plan): Promise<NewTarget> {
  const target = await resolveTarget(ctx, requestOf(plan));
  if (target.bookmark === plan.context["bookmark"]) return target;
  throw new StalePlanError(
    `Cannot apply the plan: it goes to ${name(plan.context["bookmark"])}, now that is ${name(target.bookmark)}`,
    { hints: ["tether new --dry-run"] },
  );
}

function name(bookmark: unknown): string {
  return typeof bookmark === "string" ? `"${bookmark}"` : "no bookmark";
}

/** Returns the request a plan was made from. */
function requestOf(plan: Plan): NewRequest {
  const c = plan.context;
  return {
    ...(typeof c["rev"] === "string" ? { rev: c["rev"] } : {}),
    ...(c["create"] === true && typeof c["bookmark"] === "string" ? { bookmark: c["bookmark"] } : {}),
    shared: c["shared"] === true,
    keep: c["keep"] === true,
    eager: c["eager"] === true,
    discard: c["discard"] === true,
    adopt: c["adopt"] === true,
  };
}

interface ApplyOptions extends CallOptions {
  readonly target: NewTarget;
  /** Whether the plan was made just now, so that its pins were looked at. @default {false} */
  readonly looked?: boolean;
  /** The operation this is a step of. */
  readonly parent?: string;
}

async function apply(ctx: Context, plan: Plan, options: ApplyOptions): Promise<NewReport> {
  const { target } = options;
  options.signal?.throwIfAborted();
  const before = ctx.workspace;
  const begun = await Begun.find(ctx, plan, ["bookmark"]);
  if (!begun.any && changesNothing(ctx, plan, target)) {
    await settle(ctx, { command: "new", plan });
    return report(ctx, plan, target);
  }
  const heads = Object.fromEntries(
    actionsOf(plan, "fork").flatMap((a) => a.params["head"] ? [[a.key, a.params["head"]]] : []),
  );
  const left = await ctx.position();
  const pre: JsonObject = begun.merge({ workspace: await ctx.workspaceFile.text(), vcs: left.record, heads });
  const step = options.parent === undefined ? {} : { parent: options.parent };
  await operate(ctx, { command: "new", plan, pre, ...step }, {
    async run(op) {
      await moveVcs(ctx, target);
      await warnOfLoss(ctx, left);
      await ctx.env.boundary?.("vcs");
      if (plan.context["keep"] === true) return await keepRefs(ctx, target);
      const decided = decisions(before, plan, target);
      await ctx.saveWorkspace(decided);
      await ctx.env.boundary?.("workspace");
      const forks = actionsOf(plan, "fork");
      const made = await forkAll(ctx, op, { forks, before, looked: options.looked === true, ...pickSignal(options) });
      const workspace = withForks(ctx.workspace, plan, made.refs);
      await ctx.saveWorkspace(workspace);
      const done = forks.filter((a) => made.refs.has(a.key));
      const reused = actionsOf(plan, "reuse");
      const result: JsonObject = {
        vcs: (await ctx.position()).record,
        bookmark: target.bookmark,
        created_bookmark: target.move.type === "create" ? target.move.bookmark : begun.bookmark,
        created: [...done.filter((a) => !a.params["existing"]), ...reused.filter((a) => begun.created(a))].map(keyOf),
        reset: [...done.filter((a) => a.params["existing"]), ...reused.filter((a) => begun.reset(a))].map(keyOf),
        reused: reused.filter((a) => !begun.created(a) && !begun.reset(a)).map(keyOf),
        adopted: Object.fromEntries(actionsOf(plan, "adopt").map((a) => [a.key, a.target])),
        working_refs: workspace.workingRefs,
        pending_forks: workspace.pendingForks,
        failed: [...made.errors.keys()],
      };
      const error = made.errors.size === 0 ? undefined : failedForks(made.errors);
      return { result, value: undefined, ...(error ? { error } : {}) };
    },
  });
  return report(ctx, plan, target);
}

function keyOf(action: Action): string {
  return action.key;
}

/** Whether everything is where the plan wants it: then there is nothing to journal, and nothing for undo to stumble over. */
function changesNothing(ctx: Context, plan: Plan, target: NewTarget): boolean {
  if (target.move.type !== "stay" || actionsOf(plan, "fork").length > 0) return false;
  const { workspace } = ctx;
  const wanted = plan.context["keep"] === true ? kept(ctx, target) : decisions(workspace, plan, target);
  // What was read of branches that stay as they are is still true.
  const { lastSnapshot, lastSnapshotErrors } = workspace;
  return jsonEqual(
    { ...wanted, lastSnapshot, lastSnapshotErrors } as unknown as JsonObject,
    workspace as unknown as JsonObject,
  );
}

async function moveVcs(ctx: Context, target: NewTarget): Promise<void> {
  const { move } = target;
  switch (move.type) {
    case "stay":
      return;
    case "switch":
      await ctx.vcs.switchTo(move.bookmark);
      break;
    case "park":
      await ctx.vcs.moveTo(move.commit);
      break;
    case "create":
      await ctx.vcs.createBookmark(move.bookmark, move.commit);
      break;
    default:
      move satisfies never;
  }
  await ctx.refresh();
}

/** A commit made on a detached HEAD is on no branch once HEAD leaves it (L18). */
async function warnOfLoss(ctx: Context, { blocked, commit }: Position): Promise<void> {
  if (!blocked?.detachedOnly || commit === null || (await ctx.vcs.vanished([commit])).length === 0) return;
  ctx.warn(`Commit ${commit.slice(0, 12)} is on no branch any more: "git branch NAME ${commit}" keeps it`);
}

/** `--keep`: the branches stay as they are; only what they stand for is taken anew from the manifests. */
async function keepRefs(ctx: Context, target: NewTarget): Promise<{ result: JsonObject; value: undefined }> {
  await ctx.saveWorkspace(kept(ctx, target));
  return { result: { vcs: (await ctx.position()).record }, value: undefined };
}

/** Returns the workspace with the branches as they are, standing for what the manifests say. */
function kept(ctx: Context, target: NewTarget): WorkspaceState {
  const { workspace } = ctx;
  const baseStates = { ...workspace.baseStates };
  for (const key of [...Object.keys(workspace.workingRefs), ...Object.keys(workspace.pendingForks)]) {
    const state = ctx.objects.get(key)?.state;
    if (state) baseStates[key] = state;
  }
  return { ...workspace, bookmark: target.bookmark, baseStates };
}

/** Returns the workspace with every fork still pending, and all else as the plan decided. */
function decisions(before: WorkspaceState, plan: Plan, target: NewTarget): WorkspaceState {
  // Refs of objects that this revision lacks are kept, for gc.
  const keep = <T>(table: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(table).filter(([key]) => !target.objects.has(key)));
  const workingRefs: Record<string, string> = keep(before.workingRefs);
  const pendingForks: Record<string, string> = {};
  const pendingResets: Record<string, State> = {};
  const forkPoints: Record<string, State> = keep(before.forkPoints);
  const baseStates: Record<string, State> = keep(before.baseStates);
  const touched = new Set<string>();
  for (const action of plan.actions) {
    const { key, target: ref, params } = action;
    const state = target.objects.get(key)?.state ?? undefined;
    touched.add(key);
    if (state) baseStates[key] = state;
    const leader = action.op === "share" ? plan.actions.find((a) => a.key === params["with"]) : action;
    switch (leader?.op) {
      case "trunk":
      case "reuse":
        workingRefs[key] = ref;
        if (leader.op === "reuse" && state) forkPoints[key] = state;
        break;
      case "adopt":
        workingRefs[key] = ref;
        if (params["fork_point"]) forkPoints[key] = params["fork_point"] as State;
        break;
      case "fork":
      case "defer-fork":
        pendingForks[key] = ref;
        if (params["head"]) pendingResets[key] = params["head"] as State;
        break;
    }
  }
  // What the cache says of a branch that is left, reset or made describes another branch.
  const changed = (key: string): boolean => touched.has(key) || entryOf(before.workingRefs, key) !== undefined;
  const uncached = <T>(table: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(table).filter(([key]) => !changed(key)));
  return {
    ...before,
    bookmark: target.bookmark,
    workingRefs,
    pendingForks,
    pendingResets,
    forkPoints,
    baseStates,
    lastSnapshot: uncached(before.lastSnapshot),
    lastSnapshotErrors: uncached(before.lastSnapshotErrors),
  };
}

/** Makes the branches side by side, each conditional on the head the plan saw. */
async function forkAll(
  ctx: Context,
  op: RunningOp,
  options: {
    readonly forks: readonly Action[];
    readonly before: WorkspaceState;
    readonly looked: boolean;
    readonly signal?: AbortSignal;
  },
): Promise<{ refs: ReadonlyMap<string, string>; errors: ReadonlyMap<string, Error> }> {
  const byKey = new Map(options.forks.map((a) => [a.key, a]));
  const notes = new Mutex();
  const { values, errors } = await eachObject(ctx, options.forks.map((a) => ctx.object(a.key)), {
    verb: "forking",
    ...pickSignal(options),
    fn: async ({ object, backend }) => {
      const action = byKey.get(object.key);
      if (!action) throw new TetherError(`Cannot fork "${object.key}": no fork is planned for it`);
      const expected: Expected = action.params["head"] ? action.params["head"] as State : ABSENT;
      const ref = await forkBranch(ctx, { object, backend }, {
        from: sourceFromParams(action.params),
        name: action.target,
        expected,
        looked: options.looked,
        ...pickSignal(options),
      });
      await ctx.env.boundary?.(`fork ${object.key}`);
      await notes.run(async () => {
        await op.progress({ action: "fork", key: object.key, ref });
        await ctx.indexes.addTouched({
          kind: object.kind,
          identity: backend.identity(object.locator),
          locator: object.locator,
          key: object.key,
        });
      });
      return ref;
    },
  });
  return { refs: values, errors };
}

/** Returns the workspace with the branches that exist now; those that failed stay pending. */
function withForks(workspace: WorkspaceState, plan: Plan, refs: ReadonlyMap<string, string>): WorkspaceState {
  const workingRefs = { ...workspace.workingRefs };
  const pendingForks = { ...workspace.pendingForks };
  const pendingResets = { ...workspace.pendingResets };
  const forkPoints = { ...workspace.forkPoints };
  for (const action of actionsOf(plan, "fork", "share")) {
    const ref = refs.get(action.op === "share" ? String(action.params["with"]) : action.key);
    if (ref === undefined) continue;
    workingRefs[action.key] = ref;
    delete pendingForks[action.key];
    delete pendingResets[action.key];
    const start = entryOf(workspace.baseStates, action.key);
    if (start) forkPoints[action.key] = start;
  }
  return { ...workspace, workingRefs, pendingForks, pendingResets, forkPoints };
}

function failedForks(errors: ReadonlyMap<string, Error>): MultiObjectError {
  const moved = [...errors.values()].some((e) => e instanceof RefMovedError);
  return new MultiObjectError(`Cannot make ${errors.size} branch(es), the rest is done`, errors, {
    hints: [moved ? "tether new --shared" : "tether new"],
  });
}

function report(ctx: Context, plan: Plan, target: NewTarget): NewReport {
  const { workspace } = ctx;
  const data = {
    bookmark: workspace.bookmark,
    trunk: target.trunk,
    kept: plan.context["keep"] === true,
    workingRefs: workspace.workingRefs,
    pendingForks: workspace.pendingForks,
    forkPoints: workspace.forkPoints,
    adopted: Object.fromEntries(actionsOf(plan, "adopt").map((a) => [a.key, a.target])),
    absent: Object.keys(workspace.workingRefs).filter((k) => !ctx.objects.has(k)),
    warnings: [...ctx.warnings, ...plan.notes],
  };
  return withJson(data, () => ({
    bookmark: data.bookmark,
    working_refs: data.workingRefs,
    pending_forks: data.pendingForks,
    fork_points: data.forkPoints,
    adopted: data.adopted,
  }));
}
