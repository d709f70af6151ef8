/**
 * `tether set` (commands §5.5).
 *
 * @module
 */

import { type Command, Option } from "@commander-js/extra-typings";
import { ConfigError } from "../engine/model/errors.ts";
import type { Policy } from "../engine/model/manifest.ts";
import type { SetReport } from "../engine/reports/registering.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, oneOf } from "./options.ts";
import { hint, lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Edits the policy in the manifests; no store is contacted, and the next commit applies it.",
    "--pin record makes commits store states without a native ref: nothing to collect later, and recoverable only as long as the system itself keeps the state. --pin native makes refs again, at the next commit even for objects that did not change.",
    "--file versioned lets the content of a file object change; --file immutable makes any change of it an error.",
  ],
  examples: [
    ["Stop pinning a scratch table", "tether set scratch/features --pin record"],
    ["Let everything below a prefix change", "tether set raw/ --file versioned"],
  ],
  reach: "checkout-write",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[key...]", "objects: a key, or everything below a prefix/")
    .option("--all", "every object of the dataset")
    .addOption(
      new Option("--file <policy>", "immutable or versioned").argParser(
        oneOf("--file", ["immutable", "versioned"] as const),
      ),
    )
    .addOption(
      new Option("--pin <policy>", "native or record").argParser(oneOf("--pin", ["native", "record"] as const)),
    )
    .action(async (keys, { all, file, pin }) => {
      const targets = whichObjects(keys, all);
      const policy: Partial<Policy> = given({ file, pin });
      if (Object.keys(policy).length === 0) {
        throw new ConfigError("Cannot set a policy: neither --file nor --pin is given", { code: "flag" });
      }
      await using dataset = await context.dataset();
      context.show(await dataset.setPolicy(targets, policy), setLines);
    });
}

function whichObjects(keys: readonly string[], all: boolean | undefined): string[] | "all" {
  if (all && keys.length > 0) throw new ConfigError("Cannot use --all together with keys", { code: "flag" });
  if (all) return "all";
  if (keys.length > 0) return [...keys];
  throw new ConfigError("Cannot set a policy: no object is named", {
    code: "flag",
    hints: ["Name keys, or use --all for every object"],
  });
}

/** Returns the human form of a set report. */
export function setLines(report: SetReport): Line[] {
  const changed = Object.entries(report.changed).flatMap(([key, changes]) =>
    Object.entries(changes).map(([field, { from, to }]) => `set ${key}  ${field} ${from} -> ${to}`)
  );
  return [
    ...lines(changed),
    ...lines(report.unchanged.map((key) => `unchanged ${key}`)),
    ...(changed.length > 0 ? [hint("tether commit -m MESSAGE records the policy")] : []),
  ];
}
