/**
 * `tether log` (commands §5.14).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import { ConfigError } from "../engine/model/errors.ts";
import type { LogReport } from "../engine/reports/reading.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { atLeastOne, collect, fields, given, TEXT } from "./options.ts";
import { firstLine, lines, minute } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Lists the history that the object's own system keeps: snapshots, versions or commits, newest first, with the native branches, tags and pins that point at each. Every id can be given to tether add --at.",
    "With --kind the argument is the locator of an object that need not be registered.",
  ],
  examples: [
    ["A registered object", "tether log zarr/imaging -n 5"],
    ["Before registering one", "tether log s3://lab/imaging.icechunk --kind icechunk"],
  ],
  reach: "stores",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("<key|locator>", "the object's key; with --kind, a path or URI")
    .option("--ref <ref>", "start here: a native branch, tag or id (default: the branch in use)")
    .option("-n, --limit <count>", TEXT.limit, atLeastOne, 20)
    .option("--kind <kind>", "the kind of an object that is not registered")
    .option("--branch <name>", "with --kind: its upstream branch")
    .option("--set <name=value>", `with --kind: ${TEXT.set}`, collect)
    .action(async (target, { ref, limit, kind, branch, set }) => {
      if (kind === undefined && (branch !== undefined || set !== undefined)) {
        throw new ConfigError("Cannot use --branch or --set without --kind: the object has its own locator", {
          code: "flag",
        });
      }
      const locator = { uri: target, ...given({ branch }), ...fields(set, "--set") };
      await using dataset = await context.dataset();
      const options = { ...given({ ref }), limit, ...context.call };
      const report = kind === undefined
        ? await dataset.log(target, options)
        : await dataset.logOf(kind, locator, options);
      context.show(report, logLines);
    });
}

/** Returns the human form of a log report. */
export function logLines(report: LogReport): Line[] {
  if (report.entries.length === 0) return lines(["no history"]);
  return lines(report.entries.map((e) => {
    const refs = e.refs.length === 0 ? "" : `  [${e.refs.join(", ")}]`;
    return `  ${e.id}  ${minute(e.when).padEnd(16)}  ${firstLine(e.message)}${refs}`.trimEnd();
  }));
}
