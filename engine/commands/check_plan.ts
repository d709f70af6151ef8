/**
 * `plan check`: whether a saved plan would still apply (commands §5.29).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { type Plan, refuseIfRefused } from "../plan/plan.ts";
import { checkPlan } from "../plan/preconditions.ts";
import { requireCommittable } from "./commit.ts";
import { requireDroppable, requireSameReleases } from "./drop.ts";
import { requireForgettable } from "./forget.ts";
import { requireReleasable } from "./gc.ts";
import { requireTarget } from "./new.ts";
import { requireSameSteps } from "./upgrade.ts";

/** Commands that do all of a plan or nothing, so one refused object stops them. */
const WHOLE: ReadonlySet<string> = new Set(["new", "restore"]);

/** Checks what applying would check before it writes. Takes no lock, so a writer may change the answer right after. */
export async function checkSavedPlan(ctx: Context, plan: Plan): Promise<void> {
  await ctx.refresh();
  if (WHOLE.has(plan.command)) refuseIfRefused(plan, "Cannot apply the plan");
  await checkPlan(ctx, plan, plan.command);
  await requireApplicable(ctx, plan);
}

/** What a command checks beyond the preconditions of its plan. */
async function requireApplicable(ctx: Context, plan: Plan): Promise<void> {
  switch (plan.command) {
    case "commit":
    case "pull":
      return await requireCommittable(ctx, plan);
    case "new":
      return void await requireTarget(ctx, plan);
    case "gc":
      return await requireReleasable(ctx, plan);
    case "drop":
      await requireDroppable(ctx, plan);
      return await requireSameReleases(ctx, plan);
    case "forget-workspace":
      return void await requireForgettable(ctx, plan);
    case "upgrade":
      return await requireSameSteps(ctx, plan);
    default:
  }
}
