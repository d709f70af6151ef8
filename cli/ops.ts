/**
 * `tether ops` (commands §5.15).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { OpReport, OpsReport } from "../engine/reports/reading.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { atLeastOne, TEXT } from "./options.ts";
import { firstLine, lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Lists the operations of this checkout that wrote something, newest first. The list is not committed; it is what undo and repair read. INCOMPLETE marks an operation that was interrupted or is still running.",
    "A commit that a rebase or an amended commit replaced stays in the list as gone, and status warns of it, because its pins may go with it. --ack says that this was meant.",
  ],
  examples: [
    ["The last five", "tether ops -n 5"],
    ["After a git rebase that rewrote a dataset commit", "tether ops --ack 7b5b7353d43f"],
    ["The plan that the last commit applied", "tether ops --json | jq 'map(select(.command==\"commit\"))[0].plan'"],
  ],
  reach: "checkout",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .option("-n, --limit <count>", TEXT.limit, atLeastOne, 20)
    .option("--ack <op...>", "stop warning that the commits of these operations are gone")
    .action(async ({ limit, ack }) => {
      await using dataset = await context.dataset();
      if (ack) await dataset.acknowledge(ack, context.call);
      context.show(await dataset.ops({ limit }), opsLines);
    });
}

/** Returns the human form of an ops report. */
export function opsLines(report: OpsReport): Line[] {
  if (report.ops.length === 0) return lines(["no operations recorded"]);
  return lines(report.ops.map((op) => {
    const text = `${op.id}  ${op.at}  ${op.command.padEnd(8)}  ${firstLine(op.summary)}`;
    return [text.trimEnd(), ...flags(op)].join("  ");
  }));
}

function flags(op: OpReport): string[] {
  return [
    op.status === "started" ? "(INCOMPLETE: interrupted, or still running)" : "",
    // What another run finished says so itself.
    op.undoneBy === null || op.undoneBy === op.id || Object.hasOwn(op.result, "finished_by")
      ? ""
      : `(undone by ${op.undoneBy})`,
    op.vcsCommitGone ? `(vcs commit gone${op.acknowledged ? ", acknowledged" : ""})` : "",
    op.parent === null ? "" : `(step of ${op.parent})`,
  ].filter((f) => f !== "");
}
