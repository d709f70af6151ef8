/**
 * `tether undo` (commands §5.16).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { UndoReport } from "../engine/reports/moving.ts";
import { type Context, EXIT } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given } from "./options.ts";
import { hint, lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Takes back the newest operation that is neither an undo nor undone, or the one named: what it made, and every field of this checkout that still holds what it left. What others built on stays, and is said.",
    "Pins stay. A branch that was written to since is never deleted unless --discard is given.",
  ],
  examples: [["The last operation", "tether undo"], ["One of the list", "tether ops && tether undo 1a2b3c"]],
  reach: "stores-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[op]", "id of the operation, or the beginning of it")
    .option("--discard", "delete branches it made although they were written to")
    .action(async (op, { discard }) => {
      await using dataset = await context.dataset();
      const report = await dataset.undo({ ...given({ op, discard }), ...context.call });
      context.show(report, undoLines);
      if (!report.complete) context.exitCode = EXIT.partial;
    });
}

/** Returns the human form of an undo report. */
export function undoLines(report: UndoReport): Line[] {
  return [
    ...lines([
      `undid ${report.undone} (${report.command}: ${report.summary})`,
      ...report.restored.map((what) => `  ${what}`),
      ...report.skipped.map((what) => `  skipped ${what}`),
    ]),
    ...report.irreversible.map((what): Line => ({ text: `IRREVERSIBLE ${what}`, to: "err", style: "red" })),
    ...report.hints.map((text) => hint(text)),
  ];
}
