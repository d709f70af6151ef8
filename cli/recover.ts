/**
 * `tether recover` (commands §5.18).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { RecoveredDataset, RecoveredObject, RecoverReport } from "../engine/commands/recover.ts";
import { type Context, EXIT } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, selectors, TEXT } from "./options.ts";
import { counted, hint, lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Lists what each registered object's store holds of tether's: pins and branches, by the dataset in their names. Then it prints the commands that take back what was lost, such as after making a dataset anew: register the objects, and run it.",
    "It changes nothing itself. With keys it looks at those only, and advises nothing that concerns the whole dataset.",
  ],
  examples: [["Every object", "tether recover"], ["Some of them", "tether recover zarr/"]],
  reach: "stores",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[key...]", TEXT.keys)
    .action(async (keys) => {
      await using dataset = await context.dataset();
      const report = await dataset.recover({ ...given({ keys: selectors(keys) }), ...context.call });
      if (!report.complete) context.exitCode = EXIT.failed;
      context.show(report, recoverLines);
    });
}

const REGISTER = "tether add KEY LOCATOR --kind KIND, for each object; then tether recover again";

/** Returns the human form of a recover report. */
export function recoverLines(report: RecoverReport): Line[] {
  const steps = report.steps.flatMap(({ command, note }, i) => {
    const notes = note.split("\n").map((text) => `# ${text}`);
    const [first = "", ...rest] = command === null ? notes : [command, ...notes];
    return [`  ${i + 1}. ${first}`, ...rest.map((text) => `     ${text}`)];
  });
  return [
    ...lines([`dataset ${report.datasetId}`, ...report.objects.flatMap(objectLines)]),
    ...report.objects.flatMap((o): Line[] =>
      o.error === null ? [] : [{ text: `FAILED ${o.key}: ${o.error}`, to: "err", style: "red" }]
    ),
    ...(report.complete && report.objects.length === 0
      ? [{ text: "no object is registered: nothing was looked at" }, hint(REGISTER)]
      : lines(!report.complete ? [] : steps.length === 0 ? ["nothing is lost"] : ["next steps:", ...steps])),
  ];
}

function objectLines(object: RecoveredObject): string[] {
  const { key, kind, datasets, error, holdsRefs, missingPin, unrecognized } = object;
  const nothing = datasets.length === 0 && error === null
    ? [holdsRefs ? "    no refs of tether" : "    holds no refs of tether"]
    : [];
  return [
    `  ${key}  [${kind}]`,
    ...nothing,
    ...datasets.map((d) => `    ${datasetLine(d)}`),
    ...(missingPin === null ? [] : [`    lacks the pin ${missingPin}`]),
    ...unrecognized.map((ref) => `    cannot read ${ref}`),
  ];
}

function datasetLine(dataset: RecoveredDataset): string {
  const { datasetId, current, pins, bookmarks, legacy } = dataset;
  return [
    `${datasetId}${current ? " (this one)" : ""}: ${counted(pins.length, "pin")}`,
    ...(bookmarks.length === 0 ? [] : [`bookmarks ${bookmarks.map((b) => b.slug).join(", ")}`]),
    ...(legacy.length === 0 ? [] : [`older branches of ${legacy.map((l) => l.workspace).join(", ")}`]),
  ].join("; ");
}
