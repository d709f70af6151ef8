/**
 * `gc`: releases what history no longer names (commands §5.23). A dry run unless told otherwise.
 *
 * @module
 */

import { type State, withoutAt } from "../../backends/backend.ts";
import { requireEveryCheckout, seedPinnedIndex } from "../checkouts.ts";
import type { Context } from "../context.ts";
import { removeListing } from "../files/listings.ts";
import type { RunningOp } from "../files/journal.ts";
import { entryOf } from "../files/workspace.ts";
import { asError, messageOf, StalePlanError, TetherError } from "../model/errors.ts";
import { MultiObjectError, reasonOf } from "../model/multi_object_error.ts";
import { renderState } from "../model/render_state.ts";
import { isJsonObject, type JsonObject } from "../model/json.ts";
import { type Locator, sameContent } from "../model/manifest.ts";
import { operate, withLocks } from "../plan/operation.ts";
import type { Action, Plan } from "../plan/plan.ts";
import { actionsOf, checkPlan } from "../plan/preconditions.ts";
import { settle } from "../plan/settle.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { GcReport } from "../reports/releasing.ts";
import { completeAbandoned } from "./abandon_begun.ts";
import { isHolding } from "./gc_branches.ts";
import type { GcRequest } from "./gc_input.ts";
import { planGc, refuseConflicts } from "./gc_plan.ts";
import { checkSavedGc, type DoneAlready } from "./gc_saved.ts";
import { pickSignal } from "./snapshot.ts";

/** Plans and applies under one hold of the locks. @throws {MultiObjectError} with the `report`, when something failed. */
export function gc(ctx: Context, request: GcRequest & CallOptions): Promise<GcReport> {
  return withLocks(ctx, { command: "gc", repository: true, ...pickSignal(request) }, async () => {
    await completeAbandoned(ctx);
    const plan = await planGc(ctx, request);
    // What appeared meanwhile may need what would go; where nothing goes, reading history once is enough.
    if (!plan.isEmpty) await checkPlan(ctx, plan, "gc");
    return await applyPlannedGc(ctx, plan, request);
  });
}

/** Applies a saved plan. */
export function applyGc(ctx: Context, plan: Plan, options: CallOptions = {}): Promise<GcReport> {
  return withLocks(ctx, { command: "gc", repository: true, ...pickSignal(options) }, async () => {
    await checkPlan(ctx, plan, "gc");
    const done = await checkSavedGc(ctx, plan);
    await completeAbandoned(ctx);
    return await applyPlannedGc(ctx, plan, { ...options, done });
  });
}

/** Refuses to release anything where history is known to be truncated (L03), or a checkout cannot be read. */
export async function requireWholeHistory(ctx: Context, verb: string): Promise<void> {
  await requireEveryCheckout(ctx);
  const completeness = await ctx.vcs.completeness();
  if (completeness.complete) return;
  throw new TetherError(`Cannot ${verb} here: ${completeness.reason}, so what it names is not known`, {
    code: "truncated-history",
    hints: completeness.hints,
  });
}

/**
 * Checks what applying a saved plan would check before it releases anything, beyond the preconditions.
 *
 * @throws {TetherError} if it would be refused.
 */
export async function requireReleasable(ctx: Context, plan: Plan): Promise<void> {
  await checkSavedGc(ctx, plan);
  await requireReady(ctx, plan);
}

async function requireReady(ctx: Context, plan: Plan): Promise<void> {
  await requireWholeHistory(ctx, "release anything");
  await refuseConflicts(ctx);
  await preflight(ctx, plan);
}

/** Applies a checked plan with the locks held; as an operation of its own, or as the step of another. */
export async function applyPlannedGc(
  ctx: Context,
  plan: Plan,
  options: CallOptions & { readonly parent?: string; readonly done?: DoneAlready },
): Promise<GcReport> {
  await requireReady(ctx, plan);
  if (actionsOf(plan, "delete-store").length > 0) await (await wholeStores()).requireDeletable(ctx, plan);
  options.signal?.throwIfAborted();
  const run = new GcRun(ctx, plan);
  const spec = { command: "gc", plan, ...(options.parent === undefined ? {} : { parent: options.parent }) };
  if (plan.isEmpty) {
    if (run.failed.size === 0) await settle(ctx, spec);
  } else {
    await seedPinnedIndex(ctx);
    const pre = { workspace: await ctx.workspaceFile.text() };
    await operate(ctx, { ...spec, pre }, {
      async run(op) {
        await run.apply(op, options);
        return { result: run.result(), value: undefined, failures: run.failed.values() };
      },
    });
  }
  const report = run.report();
  if (run.failed.size === 0) return report;
  throw new MultiObjectError(
    run.applied > 0 ? `Released part: ${run.failed.size} step(s) failed` : "Released nothing",
    run.failed,
    { code: run.applied > 0 ? "partial" : "multi-object", report },
  );
}

/** Whole stores are experimental: their code is read only when a plan is about them. */
function wholeStores(): Promise<typeof import("../experimental/delete_store.ts")> {
  return import("../experimental/delete_store.ts");
}

/** A branch that moved since the plan, or that nothing else holds any more, stales all of it before anything is released. */
async function preflight(ctx: Context, plan: Plan): Promise<void> {
  for (const a of actionsOf(plan, "delete-branch")) {
    const now = await branchNow(ctx, a);
    if (now.is !== "needed") continue;
    throw new StalePlanError(`Cannot apply the plan: branch "${a.target}" of "${a.key}" is ${now.why} now`, {
      hints: ["tether gc --prune-bookmarks"],
    });
  }
}

/** What a branch to delete is by now. */
type BranchNow =
  | { readonly is: "as planned" }
  | { readonly is: "gone" }
  /** It moved, or what made it dispensable is not there any more. */
  | { readonly is: "needed"; readonly why: string };

async function branchNow(ctx: Context, a: Action): Promise<BranchNow> {
  const backend = await ctx.backends.get(a.kind);
  const locator = withoutAt(a.params["locator"] as Locator);
  const refs = await backend.listWorkingRefs?.(locator) ?? [];
  if (!refs.includes(a.target)) return { is: "gone" };
  const head = await backend.fingerprint(locator, a.target);
  if (!sameContent(head, a.params["head"] as State, backend.statics.volatileKeys)) {
    return { is: "needed", why: `at ${renderState(head)}` };
  }
  const { holder } = a.params;
  if (typeof holder !== "string" || await isHolding({ backend, locator }, { holder, head })) {
    return { is: "as planned" };
  }
  return { is: "needed", why: `the only one that holds ${renderState(head)}` };
}

type Lists = Map<string, string[]>;

/** One applied plan: what was done, kept and failed. */
class GcRun {
  readonly failed: Map<string, Error> = new Map();
  readonly #ctx: Context;
  readonly #plan: Plan;
  readonly #unpinned: Lists = new Map();
  readonly #deleted: Lists = new Map();
  readonly #kept: Lists = new Map();
  readonly #forgotten: Lists = new Map();
  readonly #listings: string[] = [];
  readonly #deletedStores: Record<string, string> = {};
  readonly #keptStores: Record<string, string> = {};
  readonly #forgottenStores: string[] = [];
  #stopped = false;

  constructor(ctx: Context, plan: Plan) {
    this.#ctx = ctx;
    this.#plan = plan;
    // What could not be looked into may hold what should have gone: that is no success.
    const { unread } = plan.context;
    for (const [what, why] of Object.entries(isJsonObject(unread) ? unread : {})) {
      this.failed.set(what, new TetherError(String(why), { code: "unread" }));
    }
    for (const a of actionsOf(plan, "keep-branch")) push(this.#kept, a.key, a.target);
    for (const a of actionsOf(plan, "keep-store")) this.#keptStores[storeName(this.#keptStores, a)] = a.detail;
  }

  /** How many steps took effect. */
  get applied(): number {
    return [this.#unpinned, this.#deleted, this.#forgotten].reduce((n, m) => n + [...m.values()].flat().length, 0) +
      this.#listings.length + Object.keys(this.#deletedStores).length + this.#forgottenStores.length;
  }

  /** Applies the actions in order. One that fails is collected; an abort stops before the next. */
  async apply(op: RunningOp, options: CallOptions & { readonly done?: DoneAlready }): Promise<void> {
    const writes = this.#plan.writes.filter((a) => !options.done?.taken.has(a));
    for (const [index, a] of writes.entries()) {
      if (options.signal?.aborted) {
        this.#stopped = true;
        this.failed.set("interrupted", asError(options.signal.reason));
        return;
      }
      options.onProgress?.({ verb: "releasing", done: index, total: writes.length });
      try {
        if (options.done?.gone.has(a)) await this.#ctx.indexes.removePins([String(a.params["pin_id"])]);
        else await this.#step(op, a);
      } catch (error) {
        this.failed.set(`${a.op} ${a.target} (${a.key || "dataset"})`, asError(error));
      }
      await this.#ctx.env.boundary?.(`${a.op} ${a.target}`);
    }
  }

  async #step(op: RunningOp, a: Action): Promise<void> {
    switch (a.op) {
      case "unpin":
        return await this.#unpin(op, a);
      case "delete-branch":
        return await this.#deleteBranch(op, a);
      case "forget-working-ref":
        return await this.#forget(a);
      case "delete-listing":
        if (await removeListing(this.#ctx.paths, a.target)) this.#listings.push(a.target);
        return;
      case "delete-store":
        return await this.#deleteStore(op, a);
      case "forget-store":
        await (await wholeStores()).forget(this.#ctx, a);
        this.#forgottenStores.push(a.key);
        return;
      case "forget-touched":
        await (await wholeStores()).forgetTouched(this.#ctx, a);
        this.#forgottenStores.push(a.key);
        return;
      default:
        throw new TetherError(`Cannot apply "${a.op}": this tether does not know it`);
    }
  }

  async #unpin(op: RunningOp, a: Action): Promise<void> {
    const backend = await this.#ctx.backends.get(a.kind);
    const id = String(a.params["pin_id"]);
    await backend.unpin?.(a.params["locator"] as Locator, { id, ref: a.target });
    await this.#ctx.env.boundary?.(`released ${a.target}`);
    // Off the index first: a step that is journaled is not taken again, and whoever makes the pin anew is its owner.
    await this.#ctx.indexes.removePins([id]);
    await op.progress({ action: "unpin", target: a.target });
    push(this.#unpinned, a.kind, id);
  }

  async #deleteBranch(op: RunningOp, a: Action): Promise<void> {
    // Looked at again right before it goes: a late writer keeps its branch, and the rest goes on (L43).
    const now = await branchNow(this.#ctx, a);
    if (now.is === "gone") return;
    if (now.is === "needed") {
      push(this.#kept, a.key, a.target);
      throw new TetherError(`Cannot delete branch "${a.target}": it is ${now.why} now`, { code: "moved" });
    }
    const backend = await this.#ctx.backends.get(a.kind);
    await backend.deleteWorkingRef?.(withoutAt(a.params["locator"] as Locator), a.target);
    await this.#ctx.env.boundary?.(`deleted ${a.key}`);
    await op.progress({ action: "delete-branch", key: a.key, target: a.target });
    push(this.#deleted, a.key, a.target);
    const { workspace } = this.#ctx;
    if (entryOf(workspace.workingRefs, a.key) === a.target && !this.#ctx.keys().includes(a.key)) await this.#forget(a);
  }

  async #deleteStore(op: RunningOp, a: Action): Promise<void> {
    try {
      await (await wholeStores()).deleteStore(this.#ctx, op, a);
    } catch (error) {
      this.#keptStores[storeName(this.#keptStores, a)] = messageOf(error);
      throw error;
    }
    this.#deletedStores[storeName(this.#deletedStores, a)] = a.target;
  }

  async #forget(a: Action): Promise<void> {
    const { workspace } = this.#ctx;
    if (entryOf(workspace.workingRefs, a.key) === undefined) return;
    const workingRefs = Object.fromEntries(Object.entries(workspace.workingRefs).filter(([key]) => key !== a.key));
    await this.#ctx.saveWorkspace({ ...workspace, workingRefs });
    push(this.#forgotten, a.key, a.target);
  }

  /** Returns what the journal records. */
  result(): JsonObject {
    return { ...this.#json(), ...(this.#stopped ? { stopped: true } : {}) };
  }

  /** Returns the report. */
  report(): GcReport {
    const json = this.#json();
    const data = {
      unpinned: record(this.#unpinned),
      keptPins: record(this.#keptPins()),
      deletedWorkingRefs: record(this.#deleted),
      keptWorkingRefs: record(this.#kept),
      forgottenWorkingRefs: record(this.#forgotten),
      deletedListings: this.#listings,
      deletedStores: this.#deletedStores,
      keptStores: this.#keptStores,
      forgottenStores: this.#forgottenStores,
      failed: Object.fromEntries([...this.failed].map(([k, e]) => [k, reasonOf(e)])),
      notes: this.#plan.notes,
      warnings: [...this.#ctx.warnings],
    };
    return withJson(data, () => ({ ...json, notes: data.notes }));
  }

  #keptPins(): Lists {
    const kept: Lists = new Map();
    for (const a of actionsOf(this.#plan, "keep-pin")) push(kept, a.kind, String(a.params["pin_id"]));
    return kept;
  }

  #json(): JsonObject {
    return {
      dry_run: false,
      unpinned: record(this.#unpinned),
      kept_pins: record(this.#keptPins()),
      deleted_working_refs: record(this.#deleted),
      kept_working_refs: record(this.#kept),
      forgotten_working_refs: record(this.#forgotten),
      deleted_listings: this.#listings,
      deleted_stores: this.#deletedStores,
      kept_stores: this.#keptStores,
      forgotten_stores: this.#forgottenStores,
      failed: Object.fromEntries([...this.failed].map(([k, e]) => [k, messageOf(e)])),
    };
  }
}

function push(lists: Lists, name: string, value: string): void {
  lists.set(name, [...lists.get(name) ?? [], value]);
}

function record(lists: Lists): Record<string, string[]> {
  return Object.fromEntries([...lists].sort(([a], [b]) => a < b ? -1 : 1));
}

/** A key may have stood for several stores over time; then the others go by their place. */
function storeName(taken: Readonly<Record<string, string>>, a: Action): string {
  return Object.hasOwn(taken, a.key) ? a.target : a.key;
}
