/**
 * `--dry-run`, `--plan` and `--from-plan`, which read the same in every command that has them (commands §3).
 *
 * @module
 */

import type { Dataset } from "../engine/dataset.ts";
import { ConfigError, messageOf, TetherError } from "../engine/model/errors.ts";
import { Plan, type PlanCommand } from "../engine/plan/plan.ts";
import type { Report } from "../engine/reports.ts";
import type { Context } from "./context.ts";
import { lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The flags, as they were given. */
export interface PlanFlags {
  readonly dryRun?: boolean | undefined;
  readonly plan?: string | undefined;
  readonly fromPlan?: string | undefined;
}

/** The three ways to run a command that has plans. */
export interface PlannedCommand<R extends Report> {
  readonly command: PlanCommand;
  readonly dataset: Pick<Dataset, "persistent">;
  /** Plans and applies under one lock. */
  run(): Promise<R>;
  /** Plans only. */
  plan(): Promise<Plan>;
  /** Applies a saved plan of this command. */
  apply(plan: Plan): Promise<Report>;
  view(report: R): Iterable<Line>;
}

/** Runs, plans or applies, and shows the report or the plan. */
export async function runPlanned<R extends Report>(
  context: Context,
  flags: PlanFlags,
  planned: PlannedCommand<R>,
): Promise<void> {
  if (flags.fromPlan !== undefined) {
    const plan = await loadPlan(flags.fromPlan, planned.command);
    // The plan's command is this one, so its report is this command's too.
    context.show(await planned.apply(plan) as R, planned.view);
  } else if (flags.plan !== undefined) {
    requireDurable(planned.dataset, flags.plan);
    const plan = await planned.plan();
    await savePlan(flags.plan, plan);
    showPlan(context, plan);
    context.ui.print([{ text: `plan written to ${flags.plan}`, to: "err" }]);
  } else if (flags.dryRun) {
    showPlan(context, await planned.plan());
  } else {
    context.show(await planned.run(), planned.view);
  }
}

function showPlan(context: Context, plan: Plan): void {
  context.showJson(() => plan.toJSON(), () => lines(plan.render()));
}

/** A plan is bound to the id of its checkout; one that nobody keeps would make it unusable. */
function requireDurable(dataset: Pick<Dataset, "persistent">, path: string): void {
  if (dataset.persistent) return;
  throw new TetherError(`Cannot save a plan to "${path}": this checkout cannot be written, so it has no lasting id`, {
    code: "read-only",
    hints: ["--dry-run shows the plan"],
  });
}

/**
 * Reads a saved plan.
 *
 * @throws {ConfigError} if the file cannot be read, holds no plan, or one of another command.
 */
export async function loadPlan(path: string, command: PlanCommand): Promise<Plan> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    throw new ConfigError(`Cannot read the plan "${path}": ${messageOf(error)}`, { code: "plan", cause: error });
  }
  const plan = Plan.fromJSON(text);
  if (plan.command === command) return plan;
  throw new ConfigError(`Cannot use the plan "${path}" for ${command}: it is a plan for ${plan.command}`, {
    code: "plan",
    hints: [`tether ${plan.command} --from-plan FILE`],
  });
}

async function savePlan(path: string, plan: Plan): Promise<void> {
  try {
    await Deno.writeTextFile(path, plan.text());
  } catch (error) {
    throw new TetherError(`Cannot write the plan to "${path}": ${messageOf(error)}`, { code: "plan", cause: error });
  }
}
