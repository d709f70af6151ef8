/**
 * `tether commit` (commands §5.9).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import type { Dataset } from "../engine/dataset.ts";
import { ConfigError } from "../engine/model/errors.ts";
import type { Plan } from "../engine/plan/plan.ts";
import type { CommitReport } from "../engine/reports/moving.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, selectors, TEXT } from "./options.ts";
import { requireSame, runPlanned } from "./plans.ts";
import { hint, lines, short } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Reads every selected object that this checkout can have moved, makes a native ref for each state that has none yet, writes the manifests, and commits exactly the dataset's own files to git or jj. The bookmark moves along.",
    "An object that this checkout did not move is not contacted: it stays as the last commit recorded it. Objects without any way to get a state back are recorded as not recoverable, or refused with --strict.",
    "With keys, only those objects and their files are committed. Objects that share one branch space go together.",
    "If anything fails before the commit exists, the pins made by this run are released and the manifests are as they were.",
  ],
  examples: [
    ["Record everything that moved", 'tether commit -m "Relabel plate 1"'],
    ["Only what lies below a prefix", 'tether commit zarr/ -m "New imaging"'],
    ["Review first, apply later", "tether commit -m Load --plan load.json && tether commit --from-plan load.json"],
  ],
  reach: "stores-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[key...]", TEXT.keys)
    .option("-m, --message <text>", "the message of the commit; required unless a saved plan has one")
    .option("--no-vcs", "write the manifests without committing them", true)
    .option("--strict", "refuse objects whose state could not be read back")
    .option("--force", "do not ask stores whether somebody is writing")
    .option("--no-snapshot", "use the states of the last snapshot", true)
    .option("--dry-run", TEXT.dryRun)
    .option("--plan <file>", TEXT.plan)
    .addOption(
      new Option("--from-plan <file>", TEXT.fromPlan)
        .conflicts(["dryRun", "plan", "vcs", "strict", "force", "snapshot"]),
    )
    .action(async (keys, flags) => {
      const { message, fromPlan } = flags;
      if (message === undefined && fromPlan === undefined) {
        throw new ConfigError("Cannot commit without a message", { code: "flag", hints: ["tether commit -m MESSAGE"] });
      }
      await using dataset = await context.dataset();
      const options = {
        message: message ?? "",
        ...given({ keys: selectors(keys), strict: flags.strict, force: flags.force }),
        vcs: flags.vcs,
        snapshot: flags.snapshot,
        ...context.call,
      };
      await runPlanned(context, flags, {
        command: "commit",
        dataset,
        run: () => dataset.commit(options),
        plan: () => dataset.plan.commit(options),
        apply: (plan) => {
          requireSelection(dataset, plan, keys);
          return dataset.apply(plan, { ...given({ message }), ...context.call });
        },
        view: commitLines,
      });
    });
}

/** Refuses keys beside a saved plan unless they name what the plan is about. */
function requireSelection(dataset: Dataset, plan: Plan, keys: readonly string[]): void {
  if (keys.length === 0) return;
  const recorded = plan.context["keys"];
  const planned = Array.isArray(recorded) ? recorded.map(String) : [...dataset.objects.keys()];
  const named = dataset.selectKeys(keys, new Set([...dataset.objects.keys(), ...planned]));
  requireSame(named, planned, "commit");
}

/** Returns the human form of a commit report. */
export function commitLines(report: CommitReport): Line[] {
  const lasting = Object.entries(report.pinned).filter(([key]) => !report.unrecoverable.includes(key));
  const pinned = lasting.map(([key, ref]) =>
    ref === null ? `  recorded ${key} (at its own address, no pin)` : `  pinned ${key} -> ${ref}`
  );
  const recorded = report.unrecoverable.map((key) => `  recorded ${key} (not recoverable)`);
  const removed = report.removed.map((key) => `  removed ${key}`);
  const hints = report.hints.map((text) => hint(text));
  if (report.vcsCommit !== null) {
    return [...lines([...pinned, ...recorded, ...removed, `committed ${short(report.vcsCommit)}`]), ...hints];
  }
  if (pinned.length + recorded.length > 0) {
    return [...lines([...pinned, ...recorded, "manifests written, not committed"]), ...hints];
  }
  const unseen = `note: not read, since this checkout does not move them: ${report.notRead.join(", ")}`;
  return [
    { text: "nothing to commit" },
    ...(report.notRead.length > 0 ? [{ text: unseen, style: "yellow", to: "err" } as const] : []),
    ...hints,
  ];
}
