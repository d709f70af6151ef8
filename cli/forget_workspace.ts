/**
 * `tether forget-workspace` (commands §5.20).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import type { ForgetReport } from "../engine/commands/forget.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { TEXT } from "./options.ts";
import { showingParts } from "./partial.ts";
import { requireAbout, runPlanned } from "./plans.ts";
import { failures, lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Deletes what tether keeps for one checkout, its workspace.toml and its journal, and has version control forget it: git removes a linked worktree with its folder and refuses one with changes, jj keeps the folder. Of git's main checkout only tether's own files go.",
    "Store branches belong to bookmarks, and stay.",
  ],
  examples: [
    ["A checkout by its id, as refusals name it", "tether forget-workspace 5f00c0de"],
    ["Look first", "tether forget-workspace 5f00c0de --dry-run"],
  ],
  reach: "checkout-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[id]", "the workspace id, or its first 8 digits (default: this checkout)")
    .option("--dry-run", TEXT.dryRun)
    .option("--plan <file>", TEXT.plan)
    .addOption(new Option("--from-plan <file>", TEXT.fromPlan).conflicts(["dryRun", "plan"]))
    .action(async (id, flags) => {
      await using dataset = await context.dataset();
      await showingParts(context, forgetLines, () =>
        runPlanned(context, flags, {
          command: "forget-workspace",
          dataset,
          run: () => dataset.forgetWorkspace(id, context.call),
          plan: () => dataset.plan.forgetWorkspace(id),
          apply: (plan) => {
            const planned = String(plan.context["workspace"]);
            requireAbout(id, [planned.slice(0, 8), planned], { doing: "forget", command: "forget-workspace" });
            return dataset.apply(plan, context.call);
          },
          view: forgetLines,
        }));
    });
}

/** Returns the human form of a forget report. */
export function forgetLines(report: ForgetReport): Line[] {
  return [
    ...lines([
      `forgot workspace ${report.workspace}`,
      ...report.removedFiles.map((file) => `  deleted ${file}`),
      ...(report.vcs === null ? [] : [`  ${report.vcs}`]),
    ]),
    ...failures(report.failed),
  ];
}
