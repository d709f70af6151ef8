/**
 * `tether pull` (commands §5.8).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import { renderState } from "../engine/model/render_state.ts";
import type { PullReport } from "../engine/reports/moving.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { collect, given, selectors, TEXT } from "./options.ts";
import { lines, short } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Brings the bookmark up to what its stores hold now: reads every branch it stands for and, on the trunk, every other object too, pins what moved, and commits that.",
    "An object that was registered at a position of its history leaves it. An immutable object whose content changed refuses the whole pull, and says how to accept the change.",
  ],
  examples: [
    ["Follow upstream", "tether new main && tether pull"],
    ["Only some objects", "tether pull --key zarr/ --key db"],
  ],
  reach: "stores-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[bookmark]", "the bookmark you expect to be on")
    .option("--key <key>", TEXT.keyOption, collect)
    .option("-m, --message <text>", "the message of the commit")
    .action(async (bookmark, { key, message }) => {
      await using dataset = await context.dataset();
      const options = given({ bookmark, keys: selectors(key), message });
      context.show(await dataset.pull({ ...options, ...context.call }), pullLines);
    });
}

/** Returns the human form of a pull report. */
export function pullLines(report: PullReport): Line[] {
  return lines([
    ...Object.entries(report.committed).map(([key, m]) =>
      `  pulled ${key}  ${renderState(m.from)} -> ${renderState(m.to)}`
    ),
    ...report.unchanged.map((key) => `  up to date ${key}`),
    ...Object.entries(report.skipped).map(([key, why]) => `  skipped ${key}: ${why}`),
    report.vcsCommit === null
      ? `${report.bookmark} is up to date`
      : `committed ${short(report.vcsCommit)} on ${report.bookmark}`,
  ]);
}
