/**
 * `tether snapshot` (commands §5.7).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import { renderState } from "../engine/model/render_state.ts";
import type { SnapshotReport } from "../engine/reports/reading.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, selectors, TEXT } from "./options.ts";
import { lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Reads the state of every selected object that can have moved, and remembers it for tether status. An object that cannot be read, or an immutable one whose content changed, fails the command after the others were remembered.",
  ],
  examples: [
    ["All states as data", "tether snapshot --json"],
    ["Only what lies below a prefix", "tether snapshot zarr/"],
  ],
  reach: "stores",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command.argument("[key...]", TEXT.keys).action(async (keys) => {
    await using dataset = await context.dataset();
    context.show(await dataset.snapshot({ ...given({ keys: selectors(keys) }), ...context.call }), snapshotLines);
  });
}

/** Returns the human form of a snapshot report. */
export function snapshotLines(report: SnapshotReport): Line[] {
  return lines(Object.entries(report.states).map(([key, state]) => `  ${key}: ${renderState(state)}`));
}
