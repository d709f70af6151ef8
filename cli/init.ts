/**
 * `tether init` (commands §5.1).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { InitReport } from "../engine/reports/registering.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given } from "./options.ts";
import { hint } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Writes tether.toml and the folder .tether below the given folder, which must lie in a git or jj repository. Nothing is committed: the first tether commit does that.",
    "The current branch becomes the trunk, the bookmark that stands for each system's own upstream branch. A detached HEAD is put on a new branch main.",
    "Every ref that tether makes in a store carries the dataset id in its name. Give --dataset-id only to take up the refs of a dataset whose repository was lost.",
  ],
  examples: [
    ["In an existing repository", "git init lab && cd lab && tether init"],
    ["In a folder of it", "tether init datasets/plates"],
  ],
  reach: "checkout-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[path]", "where the dataset's root will be; made if missing", ".")
    .option("--dataset-id <hex>", "8 lower-case hex digits (default: random)")
    .action(async (path, { datasetId }) => {
      const { initDataset } = await import("../engine/commands/init.ts");
      context.show(await initDataset(path, { ...given({ datasetId }), ...context.call }), initLines);
    });
}

/** Returns the human form of an init report. */
export function initLines(report: InitReport): Line[] {
  const id = report.datasetId;
  return [
    { text: `dataset id ${id}, at ${report.root}, trunk bookmark ${report.trunk}` },
    { text: `its pins are named tether.${id}.*, its working branches tether.ws.${id}.*` },
    hint("tether add KEY LOCATOR --kind KIND registers an object, tether commit -m MESSAGE records it"),
  ];
}
