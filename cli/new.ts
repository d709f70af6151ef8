/**
 * `tether new` (commands §5.10).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import { ConfigError } from "../engine/model/errors.ts";
import type { NewReport } from "../engine/reports/moving.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, TEXT } from "./options.ts";
import { runPlanned } from "./plans.ts";
import { hint } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Puts this checkout on a bookmark and decides, for every object that can be forked, which branch of its store the bookmark writes to. Branches are made by the first writable open (--lazy) or now (--eager); tether.toml says which when neither is given.",
    "With -b a new bookmark is made at REV, or here. With the name of a bookmark, work continues on it; on the trunk, objects are written at their own upstream branches. Any other REV gives a read-only checkout. Without REV, it stays where it is.",
    "A branch that holds writes no commit has pinned is never reset unless --discard is given. A bookmark that another checkout works on is refused unless --shared is given.",
    "If any object is refused, nothing is done at all.",
  ],
  examples: [
    ["Start a line of work", "tether new -b relabel"],
    ["Go back to the trunk", "tether new main"],
    ["Which branches would be made", "tether new -b relabel --eager --dry-run"],
    ["Take the branches a lost checkout left", "tether new relabel --adopt"],
  ],
  reach: "stores-write",
};

const PLANNING_FLAGS = ["bookmark", "shared", "keep", "eager", "lazy", "deferRecord", "discard", "adopt"];

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[rev]", "a bookmark to work on, or where -b starts")
    .option("-b, --bookmark <name>", "make this bookmark and work on it")
    .option("--shared", "join a bookmark that another checkout works on")
    .addOption(
      new Option("--keep", "keep the branches in use, even on another bookmark; only refresh what they stand for")
        .conflicts(["adopt", "bookmark", "discard", "eager"]),
    )
    .addOption(new Option("--eager", "make every branch now").conflicts(["lazy", "deferRecord"]))
    .option("--lazy", "make each branch at the first writable open")
    .option("--defer-record", "with lazy forks: defer objects recorded without a pin too")
    .option("--discard", "reset branches even if they hold writes that no commit pinned")
    .addOption(
      new Option("--adopt", "use the branches the stores hold for this bookmark as they are").conflicts("discard"),
    )
    .option("--dry-run", TEXT.dryRun)
    .option("--plan <file>", TEXT.plan)
    .addOption(new Option("--from-plan <file>", TEXT.fromPlan).conflicts(["dryRun", "plan", ...PLANNING_FLAGS]))
    .action(async (rev, flags) => {
      if (flags.fromPlan !== undefined && rev !== undefined) {
        throw new ConfigError("Cannot use a revision together with --from-plan: the plan has its own", {
          code: "flag",
        });
      }
      await using dataset = await context.dataset();
      const eager = flags.eager ? true : flags.lazy ? false : undefined;
      const { bookmark, shared, keep, deferRecord, discard, adopt } = flags;
      const options = {
        ...given({ rev, bookmark, shared, keep, eager, deferRecord, discard, adopt }),
        ...context.call,
      };
      await runPlanned(context, flags, {
        command: "new",
        dataset,
        run: () => dataset.new(options),
        plan: () => dataset.plan.new(options),
        apply: (plan) => dataset.apply(plan, context.call),
        view: newLines,
      });
    });
}

/** Returns the human form of a report of `new`. */
export function newLines(report: NewReport): Line[] {
  if (report.bookmark === null) {
    return [{ text: "on no bookmark; read-only" }, hint("tether new -b NAME starts a bookmark to write on")];
  }
  const refs = { ...report.workingRefs, ...report.pendingForks };
  return [
    {
      text: `on ${report.trunk ? "trunk " : ""}bookmark ${report.bookmark}; ${
        report.kept ? "kept working refs" : "working refs set up"
      }`,
    },
    ...Object.entries(refs).map(([key, ref]): Line => ({ text: `  ${key} -> ${ref}${refSuffix(report, key)}` })),
  ];
}

function refSuffix(report: NewReport, key: string): string {
  if (report.absent.includes(key)) return "  (not at this revision)";
  if (key in report.adopted) return "  (taken as it is)";
  return key in report.pendingForks ? "  (made by the first writable open)" : "";
}
