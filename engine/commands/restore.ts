/**
 * `restore`: takes a bookmark's branches back to what a revision recorded, or to a state of their own store (commands §5.19).
 *
 * @module
 */

import { ABSENT, type Expected } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import type { RunningOp } from "../files/journal.ts";
import type { WorkspaceState } from "../files/workspace.ts";
import { messageOf, TetherError } from "../model/errors.ts";
import { RefMovedError } from "../model/backend_errors.ts";
import { isJsonObject, type JsonObject } from "../model/json.ts";
import { sameContent, type State } from "../model/manifest.ts";
import { operate, withLocks } from "../plan/operation.ts";
import { type Action, type Plan, refuseIfRefused } from "../plan/plan.ts";
import { actionsOf, checkPlan } from "../plan/preconditions.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { RestoreReport } from "../reports/moving.ts";
import { Begun } from "./begun.ts";
import { forkBranch, sourceFromParams } from "./branches.ts";
import { planRestore, type RestoreRequest } from "./restore_plan.ts";
import { pickSignal } from "./snapshot.ts";

/** Plans and applies a restore under one hold of the locks. */
export function restore(ctx: Context, request: RestoreRequest & CallOptions): Promise<RestoreReport> {
  return withLocks(ctx, { command: "restore", repository: true, ...pickSignal(request) }, async () => {
    const plan = await planRestore(ctx, request);
    refuseIfRefused(plan, "Cannot restore");
    await checkPlan(ctx, plan, "restore");
    return await apply(ctx, plan, request);
  });
}

/** Applies a saved plan. */
export function applyRestore(ctx: Context, plan: Plan, options: CallOptions = {}): Promise<RestoreReport> {
  return withLocks(ctx, { command: "restore", repository: true, ...pickSignal(options) }, async () => {
    if (plan.command === "restore") refuseIfRefused(plan, "Cannot restore");
    await checkPlan(ctx, plan, "restore");
    return await apply(ctx, plan, options);
  });
}

async function apply(ctx: Context, plan: Plan, options: CallOptions): Promise<RestoreReport> {
  options.signal?.throwIfAborted();
  const forks = actionsOf(plan, "fork");
  const heads = Object.fromEntries(forks.flatMap((a) => a.params["head"] ? [[a.key, a.params["head"]]] : []));
  const begun = await Begun.find(ctx, plan, ["from_commit", "at"]);
  const pre: JsonObject = begun.merge({ workspace: await ctx.workspaceFile.text(), heads });
  const done = new Map<string, string>();
  // A sibling of another name is a branch this operation made (Δ31).
  const isNew = (a: Action): boolean => !a.params["existing"] || done.get(a.key) !== a.target || begun.created(a);
  const before = isJsonObject(pre["heads"]) ? pre["heads"] : {};
  // One that stood there already lost nothing, and has nothing to go back to.
  const stood = new Set<string>();
  for (const { key, kind, params } of forks) {
    const { volatileKeys } = await ctx.backends.statics(kind);
    const head = before[key];
    if (isJsonObject(head) && sameContent(head, params["then_state"] as State, volatileKeys)) stood.add(key);
  }
  await operate(ctx, { command: "restore", plan, pre }, {
    async run(op) {
      let failure: TetherError | undefined;
      for (const action of forks) {
        options.signal?.throwIfAborted();
        try {
          done.set(action.key, await resetOne(ctx, op, { action, shared: actionsOf(plan, "share") }));
        } catch (error) {
          // Each branch stands by itself: those already reset stay reset, and are said.
          failure = done.size === 0 ? rethrow(error) : partial(error, done);
          break;
        }
      }
      const result: JsonObject = {
        created: forks.filter((a) => done.has(a.key) && isNew(a)).map((a) => a.key),
        reset: forks.filter((a) => done.has(a.key) && !isNew(a) && !stood.has(a.key)).map((a) => a.key),
        working_refs: Object.fromEntries(done),
        from_commit: plan.context["from_commit"] ?? null,
        at: plan.context["at"] ?? null,
        ...(failure ? { failed: failure.message } : {}),
      };
      return { result, value: undefined, ...(failure ? { error: failure, failures: [failure.cause] } : {}) };
    },
  });
  const from = plan.context["from_rev"];
  const at = plan.context["at"];
  const data = {
    from: typeof from === "string" ? from : null,
    at: typeof at === "string" ? at : null,
    workingRefs: Object.fromEntries(done),
  };
  return withJson(data, () => ({ from: data.from, at: data.at, working_refs: data.workingRefs }));
}

async function resetOne(
  ctx: Context,
  op: RunningOp,
  step: { readonly action: Action; readonly shared: readonly Action[] },
): Promise<string> {
  const { action } = step;
  const object = ctx.object(action.key);
  const backend = await ctx.backends.get(object.kind);
  const state = action.params["then_state"] as State;
  const expected: Expected = action.params["head"] ? action.params["head"] as State : ABSENT;
  const from = sourceFromParams(action.params);
  const ref = await forkBranch(ctx, { object: { ...object, state }, backend }, { from, name: action.target, expected });
  await ctx.env.boundary?.(`restore ${action.key}`);
  await op.progress({ action: "fork", key: action.key, ref });
  const identity = backend.identity(object.locator);
  await ctx.indexes.addTouched({ kind: object.kind, identity, locator: object.locator, key: object.key });
  const keys = [action.key, ...step.shared.filter((a) => a.params["with"] === action.key).map((a) => a.key)];
  await ctx.saveWorkspace(restored(ctx, keys, { ref, state }));
  return ref;
}

/** The branch is made of another state now; what it stands for is still what the manifest says, so it shows as modified. */
function restored(
  ctx: Context,
  keys: readonly string[],
  to: { readonly ref: string; readonly state: State },
): WorkspaceState {
  const { workspace } = ctx;
  const workingRefs = { ...workspace.workingRefs };
  const pendingForks = { ...workspace.pendingForks };
  const pendingResets = { ...workspace.pendingResets };
  const forkPoints = { ...workspace.forkPoints };
  const baseStates = { ...workspace.baseStates };
  const lastSnapshot = { ...workspace.lastSnapshot };
  for (const key of keys) {
    workingRefs[key] = to.ref;
    delete pendingForks[key];
    delete pendingResets[key];
    forkPoints[key] = to.state;
    lastSnapshot[key] = to.state;
    const state = ctx.objects.get(key)?.state;
    if (state) baseStates[key] = state;
  }
  return { ...workspace, workingRefs, pendingForks, pendingResets, forkPoints, baseStates, lastSnapshot };
}

function rethrow(error: unknown): never {
  throw error;
}

function partial(error: unknown, done: ReadonlyMap<string, string>): TetherError {
  const message = `Restored ${[...done.keys()].map((k) => `"${k}"`).join(", ")}, then stopped: ${messageOf(error)}`;
  return new TetherError(message, {
    code: "partial",
    hints: [
      error instanceof RefMovedError
        ? "Plan again for the rest: tether restore --dry-run"
        : "tether restore for the rest",
    ],
    cause: error,
  });
}
