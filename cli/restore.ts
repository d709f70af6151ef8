/**
 * `tether restore` (commands §5.19).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import type { RestoreReport } from "../engine/reports/moving.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, TEXT } from "./options.ts";
import { requireSame, runPlanned } from "./plans.ts";
import { lines } from "./render.ts";
import { missing } from "./usage.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Resets the bookmark's branch of each named object to what a revision recorded, or to a ref or state of the object's own store. The manifests stay as they are, so the objects show as modified until a commit.",
    "Writes since the last commit are refused unless --discard is given.",
  ],
  examples: [
    ["Go back to what main recorded", "tether restore zarr/imaging --from main"],
    ["Copy a branch somebody else made", "tether restore zarr/imaging --at their-branch"],
  ],
  reach: "stores-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[key...]", "objects: a key, or everything below a prefix/; a saved plan has its own")
    .addOption(new Option("-f, --from <rev>", "the revision whose recorded states they go back to").conflicts("at"))
    .option("--at <ref>", "a native ref or state of the object's own store")
    .option("--discard", "throw away writes that no commit pinned")
    .option("--dry-run", TEXT.dryRun)
    .option("--plan <file>", TEXT.plan)
    .addOption(new Option("--from-plan <file>", TEXT.fromPlan).conflicts(["dryRun", "plan", "from", "at", "discard"]))
    .action(async (keys, flags) => {
      if (keys.length === 0 && flags.fromPlan === undefined) missing(command, "key");
      await using dataset = await context.dataset();
      const { from, at, discard } = flags;
      const options = { ...given({ from, at, discard }), ...context.call };
      await runPlanned(context, flags, {
        command: "restore",
        dataset,
        run: () => dataset.restore(keys, options),
        plan: () => dataset.plan.restore({ ...options, keys }),
        apply: (plan) => {
          const named = keys.length === 0 ? [] : dataset.selectKeys(keys);
          requireSame(named, plan.actions.map((a) => a.key), "restore");
          return dataset.apply(plan, context.call);
        },
        view: restoreLines,
      });
    });
}

/** Returns the human form of a restore report. */
export function restoreLines(report: RestoreReport): Line[] {
  const where = report.from ?? report.at ?? "";
  return lines(Object.entries(report.workingRefs).map(([key, ref]) => `  restored ${key} -> ${ref}  from ${where}`));
}
