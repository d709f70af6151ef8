/**
 * `tether backends` (commands §5.3).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { BackendsReport } from "../engine/reports/registering.ts";
import type { Context } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { columns, lines } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "One line per kind: maturity, tier and capabilities. It works outside a dataset too. A kind whose driver cannot be loaded says so, with the reason; the other kinds are not affected.",
    "The tier is the most a kind offers: observed (a change is noticed), addressable (an old state can be read back), pinnable (tether can keep a state alive), forkable (a branch can be made of it). What one object offers is in tether status.",
  ],
  examples: [["What can be forked here", `tether backends --json | jq -r '.[] | select(.tier=="forkable").kind'`]],
  reach: "nothing",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command.action(async () => {
    const { listBackends } = await import("../engine/commands/backends.ts");
    context.show(await listBackends(), backendLines);
  });
}

/** Returns the human form of a backends report. */
export function backendLines(report: BackendsReport): Line[] {
  const rows = report.kinds.map((k) => {
    const note = k.note === null ? "" : `(${k.note})`;
    if (!k.installed) return [k.kind, k.maturity ?? "", "not installed", note];
    return [
      k.kind,
      k.maturity ?? "",
      k.tier ?? "",
      [k.capabilities.join(", "), note].filter((t) => t !== "").join("  "),
    ];
  });
  return lines(columns(rows).map((row) => row.trimEnd()));
}
