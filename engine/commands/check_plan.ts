/**
 * `plan check`: whether a saved plan would still apply (commands §5.29).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { type Plan, refuseIfRefused } from "../plan/plan.ts";
import { checkPlan } from "../plan/preconditions.ts";
import { requireDroppable } from "./drop.ts";
import { requireReleasable } from "./gc.ts";

/** Commands that do all of a plan or nothing, so one refused object stops them. */
const WHOLE: ReadonlySet<string> = new Set(["new", "restore"]);

/** Checks what applying would check before it writes. Takes no lock, so a writer may change the answer right after. */
export async function checkSavedPlan(ctx: Context, plan: Plan): Promise<void> {
  await ctx.refresh();
  if (WHOLE.has(plan.command)) refuseIfRefused(plan, "Cannot apply the plan");
  await checkPlan(ctx, plan, plan.command);
  if (plan.command === "gc") await requireReleasable(ctx, plan);
  if (plan.command === "drop") await requireDroppable(ctx, plan);
}
