/**
 * `tether promote` (commands §5.24).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import { ConfigError } from "../engine/model/errors.ts";
import { renderState } from "../engine/model/render_state.ts";
import type { PromoteReport } from "../engine/reports/moving.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, oneOf, selectors, TEXT } from "./options.ts";
import { showingParts } from "./partial.ts";
import { runPlanned } from "./plans.ts";
import { failures, hint, lines, short } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Lands the bookmark: moves each system's upstream branch to what the bookmark's commit recorded, then the trunk bookmark. Without keys it lands everywhere it must, or nowhere. With keys it lands those objects alone, and the trunk bookmark stays; a later promote without keys moves it, once nothing else is left to land.",
    "An upstream that moved meanwhile is merged where its system can; after a merge, commit and promote again. --rev lands what an older commit recorded and leaves the trunk bookmark alone.",
    "Files and tables without branches land with the trunk bookmark. One that changed since it was recorded keeps the trunk where it is: merge the bookmark in git or jj, and pull on the trunk. --dry-run exits 0 even where it says that objects are refused.",
  ],
  examples: [
    ["Look", "tether promote --dry-run"],
    ["Land it", "tether promote"],
    ["Only some objects", "tether promote zarr/imaging code"],
  ],
  reach: "stores-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[key...]", TEXT.keys)
    .option("-r, --rev <rev>", "land what this commit recorded")
    .option("--strategy <how>", "auto, ff or merge", oneOf("--strategy", ["auto", "ff", "merge"]))
    .option("-m, --message <text>", "for systems that record a merge message")
    .option("--dry-run", TEXT.dryRun)
    .option("--plan <file>", TEXT.plan)
    .addOption(
      new Option("--from-plan <file>", TEXT.fromPlan).conflicts(["dryRun", "plan", "rev", "strategy", "message"]),
    )
    .action(async (keys, flags) => {
      if (flags.fromPlan !== undefined && keys.length > 0) {
        throw new ConfigError("Cannot use keys together with --from-plan: the plan has its own", { code: "flag" });
      }
      await using dataset = await context.dataset();
      const view = (report: PromoteReport): Line[] => promoteLines(report, dataset.config.trunk);
      const { rev, strategy, message } = flags;
      const request = { ...given({ keys: selectors(keys), rev, strategy, message }), ...context.call };
      await showingParts(context, view, () =>
        runPlanned(context, flags, {
          command: "promote",
          dataset,
          run: () => dataset.promote(request),
          plan: () => dataset.plan.promote(request),
          apply: (plan) => dataset.apply(plan, context.call),
          view,
        }));
    });
}

/** Returns the human form of a promote report; `trunk` is the name of the trunk bookmark. */
export function promoteLines(report: PromoteReport, trunk: string): Line[] {
  const table = (verb: string, rows: Readonly<Record<string, string>>): string[] =>
    Object.entries(rows).map(([key, text]) => `  ${verb} ${key}: ${text}`);
  const states = (verb: string, rows: PromoteReport["merged"]): string[] =>
    Object.entries(rows).map(([key, state]) => `  ${verb} ${key}  ${renderState(state)}`);
  const landed = [
    ...states("fast-forwarded", report.fastForwarded),
    ...states("merged", report.merged),
    ...report.notes.map((note) => `  ${note}`),
    ...table("refused", report.refused),
    ...table("held", report.held),
    ...table("kept branch of", report.keptForks),
    ...(report.trunkMoved === null ? [] : [`${trunk} -> ${short(report.trunkMoved)}`]),
    ...(report.trunkHeld === null ? [] : [`${trunk} stayed: ${report.trunkHeld}`]),
  ];
  const failed = failures(report.failed);
  return [
    ...lines(landed.length + failed.length > 0 ? landed : ["nothing to promote"]),
    ...failed,
    ...report.hints.map(hint),
  ];
}
