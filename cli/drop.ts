/**
 * `tether drop` (commands §5.22).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import { ConfigError } from "../engine/model/errors.ts";
import type { DropReport } from "../engine/reports.ts";
import type { Context } from "./context.ts";
import { gcLines } from "./gc.ts";
import type { CommandHelp } from "./help.ts";
import { given, TEXT } from "./options.ts";
import { showingParts } from "./partial.ts";
import { runPlanned } from "./plans.ts";
import { lines, short } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Shows what throwing a bookmark away comes to, and does it with --no-dry-run: the commits only it reaches, the bookmark itself, then the pins and branches they held.",
    "Branches with writes that no commit pinned are kept unless --force-prune is given. Only version control can bring the commits back.",
  ],
  examples: [
    ["Look", "tether drop attempt"],
    ["Throw it away", "tether drop attempt --no-dry-run"],
  ],
  reach: "stores-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[bookmark]", "the bookmark to throw away; a saved plan has its own")
    .option("--to <bookmark>", "where to go when this checkout is on it (default: the trunk)")
    .option("--force-prune", "delete branches although data is lost")
    .option("--no-dry-run", "do what the plan shows")
    .option("--dry-run", "only show the plan; the default")
    .option("--plan <file>", TEXT.plan)
    .addOption(new Option("--from-plan <file>", TEXT.fromPlan).conflicts(["plan", "to", "forcePrune"]))
    .action(async (name, flags) => {
      if ((name === undefined) === (flags.fromPlan === undefined)) {
        throw new ConfigError("Cannot drop without exactly one bookmark: name it, or give a saved plan", {
          code: "flag",
          hints: ["tether drop BOOKMARK"],
        });
      }
      const bookmark = name ?? "";
      // Refused before anything is read: applying what was only to be shown loses data (L42, commands §3.1).
      if (flags.fromPlan !== undefined && flags.dryRun === true) {
        throw new ConfigError("Cannot apply a saved plan and only show it: give either --from-plan or --dry-run", {
          code: "flag",
        });
      }
      await using dataset = await context.dataset();
      const { to, forcePrune } = flags;
      const options = { ...given({ to, forcePrune }), ...context.call };
      const dryRun = flags.fromPlan === undefined && flags.dryRun !== false;
      await showingParts(context, dropLines, () =>
        runPlanned(context, { ...flags, dryRun }, {
          command: "drop",
          dataset,
          run: () => dataset.drop(bookmark, { ...options, dryRun: false }),
          plan: () => dataset.plan.drop({ ...options, bookmark }),
          apply: (plan) => dataset.apply(plan, context.call),
          view: dropLines,
        }));
      if (dryRun && flags.plan === undefined && !context.json) {
        context.ui.print([{ text: "(not applied: --no-dry-run does it)" }]);
      }
    });
}

/** Returns the human form of an applied drop. */
export function dropLines(report: DropReport): Line[] {
  return [
    ...lines([
      ...(report.leftFor === null ? [] : [`now on ${report.leftFor}`]),
      ...report.abandoned.map((commit) => `  abandoned ${short(commit)}`),
      `dropped ${report.bookmark}`,
    ]),
    ...(report.gc ? gcLines(report.gc) : []),
  ];
}
