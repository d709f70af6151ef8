/**
 * `tether gc` (commands §5.23).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import type { GcReport } from "../engine/reports.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { collect, given, TEXT } from "./options.ts";
import { showingParts } from "./partial.ts";
import { onlyShows, runPlanned } from "./plans.ts";
import { lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Shows what no commit, working tree, index or unfinished operation names any more, and releases it with --no-dry-run: pins this clone made, branches recorded for removed objects, and listings.",
    "With --prune-bookmarks it also judges the branches of bookmarks that are gone; one with writes that no commit pinned is kept unless --force-prune is given.",
    "Releasing a ref frees no bytes by itself: run the system's own expiry afterwards.",
  ],
  examples: [
    ["Look", "tether gc"],
    ["Release it", "tether gc --no-dry-run"],
    ["Review first, apply later", "tether gc --plan gc.json && tether gc --from-plan gc.json"],
  ],
  reach: "stores-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .option("--dry-run", "only show the plan; the default")
    .option("--no-dry-run", "release what the plan shows")
    .option("--release-foreign", "release unreferenced pins that another clone made, too")
    .option("--prune-bookmarks", "judge the branches of bookmarks that are gone")
    .option("--keep-bookmark <name>", "count a bookmark of another machine as live (repeatable)", collect)
    .option("--force-prune", "delete branches although data is lost")
    .option("--plan <file>", TEXT.plan)
    .addOption(
      new Option("--from-plan <file>", TEXT.fromPlan)
        .conflicts(["plan", "releaseForeign", "pruneBookmarks", "keepBookmark", "forcePrune"]),
    )
    .action(async (flags) => {
      const dryRun = onlyShows(flags);
      await using dataset = await context.dataset();
      const { releaseForeign, pruneBookmarks, forcePrune } = flags;
      const request = {
        ...given({ releaseForeign, pruneBookmarks, forcePrune, keepBookmarks: flags.keepBookmark }),
        ...context.call,
      };
      await showingParts(context, gcLines, () =>
        runPlanned(context, { ...flags, dryRun }, {
          command: "gc",
          dataset,
          run: () => dataset.gc({ ...request, dryRun: false }),
          plan: () => dataset.plan.gc(request),
          apply: (plan) => dataset.apply(plan, context.call),
          notApplied: "(not applied: --no-dry-run releases these)",
          view: gcLines,
        }));
    });
}

/** Returns the human form of an applied gc. */
export function gcLines(report: GcReport): Line[] {
  const listed = (title: string, table: Readonly<Record<string, readonly string[]>>): string[] => {
    const count = Object.values(table).flat().length;
    if (count === 0) return [];
    return [
      `${title}: ${count}`,
      ...Object.entries(table).flatMap(([name, refs]) => refs.map((ref) => `  ${name}: ${ref}`)),
    ];
  };
  const text = [
    ...listed("unpinned", report.unpinned),
    ...listed("kept pins", report.keptPins),
    ...listed("deleted branches", report.deletedWorkingRefs),
    ...listed("kept branches", report.keptWorkingRefs),
    ...listed("forgotten working refs", report.forgottenWorkingRefs),
    ...(report.deletedListings.length > 0 ? [`deleted listings: ${report.deletedListings.length}`] : []),
  ];
  const failed = Object.entries(report.failed).map(([what, why]): Line => ({
    text: `FAILED ${what}: ${why}`,
    to: "err",
    style: "red",
  }));
  return [...lines(text.length > 0 || failed.length > 0 ? text : ["nothing to release"]), ...failed];
}
