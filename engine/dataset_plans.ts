/**
 * Plans of writing commands, and applying them: which module does it for each command. Those that few runs need are
 * reached by `import()`.
 *
 * @module
 */

import { checked, checkedText } from "./arguments.ts";
import { applyCommit } from "./commands/commit.ts";
import { type CommitPlanOptions, planCommit } from "./commands/commit_plan.ts";
import type { ForgetReport } from "./commands/forget.ts";
import type { GcRequest } from "./commands/gc_input.ts";
import { applyNew, type NewOptions } from "./commands/new.ts";
import { planNew } from "./commands/new_plan.ts";
import type { DropRequest } from "./commands/drop_plan.ts";
import type { PromoteRequest } from "./commands/promote_plan.ts";
import type { RepairRequest } from "./commands/repair.ts";
import type { RestoreRequest } from "./commands/restore_plan.ts";
import type { UpgradeOptions, UpgradeReport } from "./commands/upgrade.ts";
import type { Context } from "./context.ts";
import { ConfigError } from "./model/errors.ts";
import { Plan } from "./plan/plan.ts";
import type { CallOptions } from "./reports/report.ts";
import type { DropReport, GcReport, RepairReport } from "./reports/releasing.ts";
import type { CommitReport, NewReport, PromoteReport, RestoreReport } from "./reports/moving.ts";

/**
 * Plans of a dataset's writing commands: what each would do, with nothing written.
 *
 * @example Look before committing
 * ```ts
 * import { Dataset, type DatasetPlans } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * const plans: DatasetPlans = ds.plan;
 * const plan = await plans.commit({ message: "Baseline" });
 * assert.deepEqual(plan.writes.map((a) => a.op), ["record", "vcs-commit"]);
 * ```
 */
export interface DatasetPlans {
  /** Plans a commit. */
  commit(options: CommitPlanOptions): Promise<Plan>;
  /** Plans going to a bookmark. A property, because a method of this name would be a constructor to TypeScript. */
  readonly new: (options?: NewOptions) => Promise<Plan>;
  /** Plans taking branches back. */
  restore(options: RestoreRequest & CallOptions): Promise<Plan>;
  /** Plans releasing what history no longer names. */
  gc(options?: GcRequest & CallOptions): Promise<Plan>;
  /** Plans making missing pins and branches again. */
  repair(options?: RepairRequest & CallOptions): Promise<Plan>;
  /** Plans landing the bookmark. */
  promote(options?: PromoteRequest & CallOptions): Promise<Plan>;
  /** Plans throwing a bookmark away. */
  drop(options: DropRequest & CallOptions): Promise<Plan>;
  /** Plans forgetting a checkout; by default this one. */
  forgetWorkspace(id?: string): Promise<Plan>;
  /** Plans bringing an older dataset to this tether's format. */
  upgrade(options?: UpgradeOptions): Promise<Plan>;
}

/**
 * What applying a plan returns: the report of the command the plan is for.
 *
 * @example Apply a plan from a file
 * ```ts
 * import { type AppliedReport, Dataset, Plan } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * const file = (await ds.plan.commit({ message: "Baseline" })).text();
 *
 * const report: AppliedReport = await ds.apply(Plan.fromJSON(file));
 * assert("vcsCommit" in report && report.vcsCommit !== null);
 * ```
 */
export type AppliedReport =
  | CommitReport
  | NewReport
  | RestoreReport
  | GcReport
  | RepairReport
  | PromoteReport
  | DropReport
  | ForgetReport
  | UpgradeReport;

/** Returns the plans of an opened dataset. Each reads manifests and working state anew. */
export function plansOf(ctx: Context): DatasetPlans {
  return {
    async commit(options) {
      await ctx.refresh();
      return await planCommit(ctx, checked("commit", options, ["message"]));
    },
    async new(options = {}) {
      await ctx.refresh();
      return (await planNew(ctx, checked("go to a bookmark", options))).plan;
    },
    async restore(options) {
      await ctx.refresh();
      return await (await import("./commands/restore_plan.ts")).planRestore(ctx, checked("restore", options, ["keys"]));
    },
    async gc(options = {}) {
      await ctx.refresh();
      return await (await import("./commands/gc_plan.ts")).planGc(ctx, checked("collect garbage", options));
    },
    async repair(options = {}) {
      await ctx.refresh();
      return await (await import("./commands/repair.ts")).planRepair(ctx, checked("repair", options));
    },
    async promote(options = {}) {
      await ctx.refresh();
      return await (await import("./commands/promote_plan.ts")).planPromote(ctx, checked("promote", options));
    },
    async drop(options) {
      await ctx.refresh();
      return await (await import("./commands/drop_plan.ts")).planDrop(ctx, checked("drop", options, ["bookmark"]));
    },
    async forgetWorkspace(id) {
      await ctx.refresh();
      return await (await import("./commands/forget.ts")).planForget(
        ctx,
        id === undefined ? id : checkedText("forget a checkout", "id", id),
      );
    },
    async upgrade(options = {}) {
      await ctx.refresh();
      return await (await import("./commands/upgrade_plan.ts")).planUpgrade(ctx, checked("upgrade", options));
    },
  };
}

/**
 * Applies a plan of any command.
 *
 * @throws {ConfigError} There is no such command.
 */
export async function applyPlan(
  ctx: Context,
  plan: Plan,
  options: { message?: string } & CallOptions = {},
): Promise<AppliedReport> {
  if (!(plan instanceof Plan)) {
    throw new ConfigError("Cannot apply a plan: it must be one that a call or Plan.fromJSON returned", {
      code: "argument",
      details: { name: "plan" },
    });
  }
  switch (plan.command) {
    case "commit":
      return await applyCommit(ctx, plan, options);
    case "new":
      return await applyNew(ctx, plan, options);
    case "restore":
      return await (await import("./commands/restore.ts")).applyRestore(ctx, plan, options);
    case "gc":
      return await (await import("./commands/gc.ts")).applyGc(ctx, plan, options);
    case "repair":
      return await (await import("./commands/repair.ts")).applyRepair(ctx, plan, options);
    case "promote":
      return await (await import("./commands/promote.ts")).applyPromote(ctx, plan, options);
    case "drop":
      return await (await import("./commands/drop.ts")).applyDrop(ctx, plan, options);
    case "forget-workspace":
      return await (await import("./commands/forget.ts")).applyForget(ctx, plan, options);
    case "upgrade":
      return await (await import("./commands/upgrade.ts")).applyUpgrade(ctx, plan, options);
    default:
      throw new ConfigError(`Cannot apply a plan for "${plan.command}": this tether has no such command`, {
        code: "plan",
      });
  }
}
