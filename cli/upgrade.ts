/**
 * `tether upgrade` (commands §5.25).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import type { UpgradeReport } from "../engine/commands/upgrade.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, TEXT } from "./options.ts";
import { showingParts } from "./partial.ts";
import { runPlanned } from "./plans.ts";
import { counted, failures, lines, short } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Brings a dataset of an older format to the one this tether writes, in one commit: each manifest gets the file its key says, local paths become absolute, listings and this clone's indexes follow. Manifests must be committed first.",
    "It is the one command that opens an older dataset. It begins at version 4; the Python tether 0.1.0b7 upgrades what is older.",
  ],
  examples: [["Look", "tether upgrade --dry-run"], ["Do it", "tether upgrade"]],
  reach: "checkout-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .option("--ignore-immutable", "also rewrite commits that jj calls immutable; no step from version 4 rewrites any")
    .option("--dry-run", TEXT.dryRun)
    .option("--plan <file>", TEXT.plan)
    .addOption(new Option("--from-plan <file>", TEXT.fromPlan).conflicts(["dryRun", "plan", "ignoreImmutable"]))
    .action(async (flags) => {
      await using dataset = await context.dataset({ allowOlder: true });
      const options = { ...given({ ignoreImmutable: flags.ignoreImmutable }), ...context.call };
      await showingParts(context, upgradeLines, () =>
        runPlanned(context, flags, {
          command: "upgrade",
          dataset,
          run: () => dataset.upgrade(options),
          plan: () => dataset.plan.upgrade(options),
          apply: (plan) => dataset.apply(plan, context.call),
          view: upgradeLines,
        }));
    });
}

/** Returns the human form of an upgrade report. */
export function upgradeLines(report: UpgradeReport): Line[] {
  const { fromVersion, toVersion, rewrittenManifests, rewrittenIndexes, copiedListings, vcsCommit, failed } = report;
  if (fromVersion === toVersion) return lines([`the dataset is at version ${toVersion} already`]);
  return [
    ...lines([
      `upgraded from version ${fromVersion} to ${toVersion}`,
      ...rewrittenManifests.map((key) => `  rewrote ${key}`),
      ...(copiedListings.length > 0 ? [`  copied ${counted(copiedListings.length, "listing")}`] : []),
      ...(rewrittenIndexes > 0 ? [`  changed ${rewrittenIndexes} in the indexes of this clone`] : []),
      ...(vcsCommit === null ? [] : [`committed ${short(vcsCommit)}`]),
      ...report.notes,
    ]),
    ...failures(failed),
  ];
}
