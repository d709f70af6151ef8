/**
 * `tether drop` (commands §5.22).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import type { DropReport } from "../engine/reports/releasing.ts";
import type { Context } from "./context.ts";
import { gcLines } from "./gc.ts";
import type { CommandHelp } from "./help.ts";
import { given, TEXT } from "./options.ts";
import { showingParts } from "./partial.ts";
import { onlyShows, requireAbout, runPlanned } from "./plans.ts";
import { lines, short } from "./render.ts";
import { missing } from "./usage.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Shows what throwing a bookmark away comes to, and does it with --no-dry-run: the commits only it reaches, the bookmark itself, then the pins and branches they held.",
    "Branches with writes that no commit pinned are kept unless --force-prune is given. Only version control can bring the commits back.",
    "With --delete-stores the stores that add --create made on the bookmark go too, unless anything else is in them; nothing brings those back.",
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
    .option("--delete-stores", "delete the stores that tether made on it, when nothing else is in them (experimental)")
    .option("--dry-run", "only show the plan; the default")
    .option("--no-dry-run", "do what the plan shows")
    .option("--plan <file>", TEXT.plan)
    .addOption(new Option("--from-plan <file>", TEXT.fromPlan).conflicts(["plan", "to", "forcePrune", "deleteStores"]))
    .action(async (name, flags) => {
      if (name === undefined && flags.fromPlan === undefined) missing(command, "bookmark");
      const dryRun = onlyShows(flags);
      const bookmark = name ?? "";
      await using dataset = await context.dataset();
      const { to, forcePrune, deleteStores } = flags;
      const options = { ...given({ to, forcePrune, deleteStores }), ...context.call };
      await showingParts(context, dropLines, () =>
        runPlanned(context, { ...flags, dryRun }, {
          command: "drop",
          dataset,
          run: () => dataset.drop(bookmark, { ...options, dryRun: false }),
          plan: () => dataset.plan.drop({ ...options, bookmark }),
          apply: (plan) => {
            requireAbout(name, [String(plan.context["bookmark"])], { doing: "drop", command: "drop" });
            return dataset.apply(plan, context.call);
          },
          notApplied: "(not applied: --no-dry-run does it)",
          view: dropLines,
        }));
    });
}

/** Returns the human form of an applied drop. */
export function dropLines(report: DropReport): Line[] {
  return [
    ...lines([
      ...(report.leftFor === null ? [] : [`now on ${report.leftFor}`]),
      ...report.abandoned.map((commit) => `  abandoned ${short(commit)}`),
      `dropped ${report.bookmark}`,
      ...report.notes,
    ]),
    ...(report.gc ? gcLines(report.gc) : []),
  ];
}
