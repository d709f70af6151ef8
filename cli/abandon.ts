/**
 * `tether abandon` (commands §5.21).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { AbandonReport } from "../engine/commands/abandon.ts";
import type { Context } from "./context.ts";
import { gcLines } from "./gc.ts";
import type { CommandHelp } from "./help.ts";
import { given } from "./options.ts";
import { showingParts } from "./partial.ts";
import { lines, short } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Takes commits out of a line of work that goes on. Every later commit keeps its manifests exactly as they are; what else the commits changed goes with them.",
    "Nothing is released without --gc: the plan of what that would release is shown. A state that was recorded without a pin and is named nowhere else stops the command, unless --force is given.",
    "Only version control can bring the commits back: jj undo, or git reflog. Once gc has run, their pins are gone.",
  ],
  examples: [
    ["Take out two tries, and look at what that frees", "tether abandon HEAD~3 HEAD~2"],
    ["Release it at once", "tether abandon HEAD~3 --gc"],
  ],
  reach: "stores-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("<rev...>", "commits of the dataset, as git or jj names them")
    .option("--gc", "release what the commits held")
    .option("--force", "go on although a state recorded without a pin is lost")
    .action(async (revs, flags) => {
      await using dataset = await context.dataset();
      const options = { ...given({ gc: flags.gc, force: flags.force }), ...context.call };
      await showingParts(context, abandonLines, async () => {
        context.show(await dataset.abandon(revs, options), abandonLines);
      });
    });
}

/** How many pins that stay are named one by one. */
const SHOWN = 10;

/** Returns the human form of an abandon report. */
export function abandonLines(report: AbandonReport): Line[] {
  const held = Object.entries(report.held);
  const unfreed = held.length === 0 && report.notes.length === 0
    ? "nothing was freed: other commits or a checkout's files name what they held"
    : "nothing was freed";
  const freed = report.gcPlan.isEmpty
    ? [unfreed]
    : [...report.gcPlan.render(), "(not applied: tether gc --no-dry-run releases these, or --gc the next time)"];
  return [
    ...lines([
      `abandoned ${report.abandoned.map(short).join(", ")}`,
      ...Object.entries(report.bookmarksMoved).map(([name, commit]) => `  ${name} -> ${short(commit)}`),
      ...report.notes,
      ...held.slice(0, SHOWN).map(([ref, where]) => `  ${ref} stays: named by ${where}`),
      ...(held.length > SHOWN ? [`  and ${held.length - SHOWN} more: --json names them all`] : []),
    ]),
    ...(report.gc ? gcLines(report.gc) : lines(freed)),
  ];
}
