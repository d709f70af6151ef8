/**
 * `--dry-run`, `--plan` and `--from-plan`, which read the same in every command that has them (commands §3).
 *
 * @module
 */

import type { Dataset } from "../engine/dataset.ts";
import { systemReason } from "../engine/io/system_error.ts";
import { ConfigError, TetherError } from "../engine/model/errors.ts";
import { Plan, type PlanCommand } from "../engine/plan/plan.ts";
import type { Report } from "../engine/reports/report.ts";
import type { Context } from "./context.ts";
import { requirePlanTarget } from "./plan_target.ts";
import { unlessInterrupted } from "./interrupt.ts";
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
  readonly dataset: Pick<Dataset, "persistent" | "root" | "vcs">;
  /** Plans and applies under one lock. */
  run(): Promise<R>;
  /** Plans only. */
  plan(): Promise<Plan>;
  /** Applies a saved plan of this command. */
  apply(plan: Plan): Promise<Report>;
  /** What ends a dry run that had something to do, for a command that does no more unless told to. */
  readonly notApplied?: string;
  view(report: R): Iterable<Line>;
}

/** Runs, plans or applies, and shows the report or the plan. */
export async function runPlanned<R extends Report>(
  context: Context,
  flags: PlanFlags,
  planned: PlannedCommand<R>,
): Promise<void> {
  if (flags.fromPlan !== undefined) {
    const plan = await loadPlan(flags.fromPlan, planned.command, context.world.signal);
    // The plan's command is this one, so its report is this command's too.
    context.show(await planned.apply(plan) as R, planned.view);
  } else if (flags.plan !== undefined) {
    requireDurable(planned.dataset, flags.plan);
    await requirePlanTarget(planned.dataset, flags.plan);
    const plan = await planned.plan();
    await savePlan(flags.plan, plan);
    showPlan(context, plan);
    context.ui.print([{ text: `plan written to ${flags.plan}`, to: "err" }]);
  } else if (flags.dryRun) {
    showPlan(context, await planned.plan(), planned.notApplied);
  } else {
    context.show(await planned.run(), planned.view);
  }
}

/** Shows a plan: its file under `--json`, else the lines a person reads. */
export function showPlan(context: Context, plan: Plan, notApplied?: string): void {
  const end = notApplied === undefined || plan.isEmpty ? [] : [notApplied];
  context.showJson(() => plan.toJSON(), () => lines([...plan.render(), ...end]));
}

/**
 * Tells whether a command that only shows its plan by default is to do just that.
 *
 * @throws {ConfigError} if a plan is to be applied and not to be applied.
 */
export function onlyShows(flags: PlanFlags): boolean {
  if (flags.plan !== undefined && flags.dryRun === false) {
    throw new ConfigError("Cannot use --no-dry-run together with --plan: what is saved is not applied", {
      code: "flag",
      hints: ["--from-plan FILE applies a saved plan"],
    });
  }
  if (flags.fromPlan === undefined) return flags.dryRun !== false;
  if (flags.dryRun !== true) return false;
  throw new ConfigError("Cannot use --dry-run together with --from-plan", {
    code: "flag",
    hints: ["tether plan show FILE", "tether plan check FILE"],
  });
}

/** Refuses what is named beside a saved plan unless it is what the plan is about, by any of its names. */
export function requireAbout(
  named: string | undefined,
  planned: readonly [shown: string, ...others: string[]],
  { doing, command }: { readonly doing: string; readonly command: PlanCommand },
): void {
  if (named === undefined || planned.includes(named)) return;
  throw new ConfigError(`Cannot ${doing} "${named}": the plan is about "${planned[0]}"`, {
    code: "selection",
    hints: [`tether ${command} --from-plan FILE`],
  });
}

/** Refuses keys beside a saved plan unless they name what the plan is about. */
export function requireSame(keys: readonly string[], planned: Iterable<string>, command: PlanCommand): void {
  const about = new Set(planned);
  if (keys.length === 0 || about.symmetricDifference(new Set(keys)).size === 0) return;
  const named = about.size === 0 ? "every object: name none" : `${[...about].join(", ")}: name just those, or none`;
  throw new ConfigError(`Cannot ${command} other objects than the plan is about`, {
    code: "selection",
    hints: [`The plan is about ${named}`],
  });
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
 * @throws {ConfigError} if the file cannot be read or holds no plan.
 */
export async function readPlan(path: string, signal: AbortSignal): Promise<Plan> {
  let text: string;
  try {
    text = await unlessInterrupted(() => Deno.readTextFile(path), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new ConfigError(`Cannot read the plan "${path}": ${systemReason(error)}`, {
      code: "plan",
      hints: ["Name a file that --plan wrote"],
      cause: error,
    });
  }
  return Plan.fromJSON(text);
}

/** Reads a saved plan of one command. @throws {ConfigError} if it is one of another. */
async function loadPlan(path: string, command: PlanCommand, signal: AbortSignal): Promise<Plan> {
  const plan = await readPlan(path, signal);
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
    throw new TetherError(`Cannot write the plan to "${path}": ${systemReason(error)}`, {
      code: "plan",
      hints: ["Name a file in a folder that exists and can be written, outside the checkout if that is read-only"],
      cause: error,
    });
  }
}
