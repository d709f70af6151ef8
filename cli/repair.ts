/**
 * `tether repair` (commands §5.17).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import { ConfigError } from "../engine/model/errors.ts";
import type { CloseReport, RepairReport } from "../engine/reports/releasing.ts";
import { type Context, EXIT } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, selectors, TEXT } from "./options.ts";
import { requireSame, runPlanned } from "./plans.ts";
import { failures, lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Makes pins and branches again that manifests name and their stores lack, while the stores still have the states. A pin that points elsewhere is never moved: it is listed.",
    "It also says how far interrupted operations got, and which command finishes each. --close gives one up that nothing finishes: what it wrote stays as it is, and pins that nothing names go with the next gc.",
  ],
  examples: [
    ["This checkout", "tether repair"],
    ["The pins of every commit", "tether repair --all-history"],
    ["Give an interrupted operation up", "tether repair --close 1f0c9a3b77de"],
  ],
  reach: "stores-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[key...]", TEXT.keys)
    .option("--all-history", "the pins of every commit")
    .addOption(
      new Option("--close <op>", "close an interrupted operation that nothing finishes; ids are those of tether ops")
        .conflicts(["allHistory", "dryRun", "plan", "fromPlan"]),
    )
    .option("--dry-run", TEXT.dryRun)
    .option("--plan <file>", TEXT.plan)
    .addOption(new Option("--from-plan <file>", TEXT.fromPlan).conflicts(["dryRun", "plan", "allHistory"]))
    .action(async (keys, flags) => {
      await using dataset = await context.dataset();
      if (flags.close !== undefined) {
        if (keys.length > 0) throw usage();
        context.show(await dataset.closeOperation(flags.close, context.call), closeLines);
        return;
      }
      const request = { ...given({ keys: selectors(keys), allHistory: flags.allHistory }), ...context.call };
      const judged = (report: RepairReport): RepairReport => {
        if (!report.complete) context.exitCode = EXIT.partial;
        return report;
      };
      await runPlanned(context, flags, {
        command: "repair",
        dataset,
        run: async () => judged(await dataset.repair(request)),
        plan: () => dataset.plan.repair(request),
        apply: async (plan) => {
          const recorded = plan.context["keys"];
          requireSame(keys, Array.isArray(recorded) ? recorded.map(String) : [], "repair");
          // The plan's command is this one, so its report is this command's too.
          return judged(await dataset.apply(plan, context.call) as RepairReport);
        },
        view: repairLines,
      });
    });
}

function usage(): ConfigError {
  return new ConfigError("Cannot combine keys with --close: an operation is closed as a whole", {
    code: "flags",
    hints: ["tether repair --close OP"],
  });
}

/** Returns the human form of a close report. */
export function closeLines(report: CloseReport): Line[] {
  const what = `${report.closed} (${report.command}: ${report.summary})`;
  return lines([
    report.landed ? `completed ${what}: it had taken effect` : `closed ${what}`,
    ...report.hints.map((hint) => `the store it was about may be there: ${hint}`),
  ]);
}

/** Returns the human form of a repair report. */
export function repairLines(report: RepairReport): Line[] {
  return [
    ...lines([
      ...Object.entries(report.pinRefs).map(([key, ref]) => `  repinned ${key} -> ${ref}`),
      ...Object.entries(report.reforked).map(([key, ref]) => `  reforked ${key} -> ${ref}`),
      ...report.notes,
    ]),
    ...failures(report.failed),
  ];
}
