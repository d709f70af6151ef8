/**
 * `tether gc` (commands §5.23).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import type { StoreName } from "../engine/commands/gc_input.ts";
import { ConfigError } from "../engine/model/errors.ts";
import type { GcReport } from "../engine/reports/releasing.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { collect, given, TEXT } from "./options.ts";
import { showingParts } from "./partial.ts";
import { onlyShows, runPlanned } from "./plans.ts";
import { failures, lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Shows what no commit, working tree, index or unfinished operation names any more, and releases it with --no-dry-run: pins this clone made, branches recorded for removed objects, and listings.",
    "With --prune-bookmarks it also judges the branches of bookmarks that are gone; one with writes that no commit pinned is kept unless --force-prune is given.",
    "With --delete-stores it considers the stores that add --create made: one that this dataset owns, that nothing names, and in which nothing but refs that go by the same plan is left, is deleted. Fetch every bookmark first: what another clone committed counts only once it is in this clone's history. Nothing brings a deleted store back. Experimental.",
    "Releasing a ref frees no bytes by itself: run the system's own expiry afterwards.",
  ],
  examples: [
    ["Look", "tether gc"],
    ["Release it", "tether gc --no-dry-run"],
    [
      "Take away a store whose creator is gone",
      "tether gc --prune-bookmarks --store icechunk=/data/probe.icechunk --no-dry-run",
    ],
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
    .option("--delete-stores", "delete stores that tether made and nothing needs (experimental)")
    .option(
      "--store <kind=locator>",
      "judge a store that another clone made, too; implies --delete-stores (repeatable)",
      collect,
    )
    .option("--plan <file>", TEXT.plan)
    .addOption(
      new Option("--from-plan <file>", TEXT.fromPlan)
        .conflicts(["plan", "releaseForeign", "pruneBookmarks", "keepBookmark", "forcePrune", "deleteStores", "store"]),
    )
    .action(async (flags) => {
      const dryRun = onlyShows(flags);
      await using dataset = await context.dataset();
      const { releaseForeign, pruneBookmarks, forcePrune, deleteStores } = flags;
      const stores = flags.store?.map(storeNamed);
      const request = {
        ...given({
          releaseForeign,
          pruneBookmarks,
          forcePrune,
          deleteStores,
          stores,
          keepBookmarks: flags.keepBookmark,
        }),
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

/** Reads a `KIND=LOCATOR`. */
function storeNamed(text: string): StoreName {
  const [kind = "", ...rest] = text.split("=");
  const uri = rest.join("=");
  if (kind.trim() !== "" && uri.trim() !== "") return { kind, locator: { uri } };
  throw new ConfigError(`Cannot read the store "${text}": it is no KIND=LOCATOR`, {
    code: "flag",
    hints: ["tether gc --store icechunk=/data/probe.icechunk"],
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
  const places = (title: string, table: Readonly<Record<string, string>>): string[] =>
    Object.keys(table).length === 0
      ? []
      : [`${title}: ${Object.keys(table).length}`, ...Object.entries(table).map(([key, what]) => `  ${key}: ${what}`)];
  const text = [
    ...listed("unpinned", report.unpinned),
    ...listed("kept pins", report.keptPins),
    ...listed("deleted branches", report.deletedWorkingRefs),
    ...listed("kept branches", report.keptWorkingRefs),
    ...listed("forgotten working refs", report.forgottenWorkingRefs),
    ...places("deleted stores", report.deletedStores),
    ...places("kept stores", report.keptStores),
    ...(report.forgottenStores.length > 0 ? [`forgotten stores: ${report.forgottenStores.join(", ")}`] : []),
    ...(report.deletedListings.length > 0 ? [`deleted listings: ${report.deletedListings.length}`] : []),
  ];
  const failed = failures(report.failed);
  return [
    ...lines([...(text.length > 0 || failed.length > 0 ? text : ["nothing to release"]), ...report.notes]),
    ...failed,
  ];
}
