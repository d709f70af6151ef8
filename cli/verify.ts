/**
 * `tether verify` (commands §5.12).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import { renderRetention } from "../engine/commands/retention.ts";
import type { VerifyReport } from "../engine/reports/reading.ts";
import { type Context, EXIT } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, selectors, TEXT } from "./options.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Checks that the state recorded for each object is still what its pin names: ok, drifted (the pin names another state), missing (the store says it is gone) or unknown. Without --deep a state that has no pin is unknown unless its store already proves it gone; --deep opens the states and their metadata. Delta tables and objects under --pin record have no pin: with such objects, use --deep every day.",
    "Objects that can only be observed are read again and compared. A store that does not answer is unknown, never missing; so is an object whose kind this tether does not have, and with --all-history what a clone without all of history does not show.",
    "Exit code 1 means that something is not ok; with --allow-unknown, unknown is no reason.",
  ],
  examples: [
    ["A gate for CI", "tether verify --all-history --deep"],
    ["What one release needs", "tether verify -r v1.0 zarr/"],
  ],
  reach: "stores",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[key...]", TEXT.keys)
    .option("-r, --rev <rev>", `${TEXT.rev} (default: the working tree)`)
    .addOption(new Option("--all-history", "every commit there is").conflicts("rev"))
    .option("--deep", "open the recorded states, not only their pins")
    .option("--allow-unknown", "let what could not be told pass")
    .action(async (keys, { rev, allHistory, deep, allowUnknown }) => {
      await using dataset = await context.dataset();
      const options = given({ keys: selectors(keys), rev, allHistory, deep, allowUnknown });
      const report = await dataset.verify({ ...options, ...context.call });
      context.show(report, verifyLines);
      if (!report.ok) context.exitCode = EXIT.failed;
    });
}

/** Returns the human form of a verify report. */
export function verifyLines(report: VerifyReport): Line[] {
  return [
    ...report.entries.flatMap((e): Line[] => [
      {
        text: `  ${e.status.padStart(8)}  ${e.label}  ${e.message}`.trimEnd(),
        style: e.status === "ok" ? "green" : "red",
      },
      ...(e.retention === undefined ? [] : [{ text: `            no pin: ${renderRetention(e.retention)}` }]),
    ]),
    { text: summary(report) },
  ];
}

function summary(report: VerifyReport): string {
  const total = report.entries.length;
  if (total === 0) return "nothing to verify";
  const counts = (["ok", "drifted", "missing", "unknown"] as const)
    .map((status) => [status, report.entries.filter((e) => e.status === status).length] as const)
    .filter(([, n]) => n > 0)
    .map(([status, n]) => `${n} ${status}`);
  const how = report.deep ? "states were opened" : "pins only; --deep opens the states";
  const ofHistory = report.entries.some((e) => e.status === "missing" && /^[0-9a-f]{12}:/.test(e.label));
  const again = !counts.some((c) => c.endsWith("missing"))
    ? ""
    : `, tether repair${ofHistory ? " --all-history" : ""} makes missing pins again`;
  const waive = counts.some((c) => c.endsWith("unknown")) && !report.ok ? ", --allow-unknown lets unknown pass" : "";
  return `${counts.join(", ")} (${how}${again}${waive})`;
}
