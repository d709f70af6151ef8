/**
 * `tether status` (commands §5.6).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { ObjectStatus, StatusReport, VcsDrift } from "../engine/reports/reading.ts";
import { type Context, EXIT } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { given, selectors, TEXT } from "./options.ts";
import { age, hint, short } from "./render.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    'Without options no store is contacted: each object is compared as the last snapshot saw it, and the age of that snapshot is shown. With --snapshot (or "auto = true" under [snapshot] in tether.toml) every selected object is read first, side by side.',
    'Labels: "new" was never committed; "modified" differs and the next commit takes it; "behind" differs upstream, and only a pull takes it; "clean" is as recorded, or was not read and says so; "conflicted" has a manifest with conflict markers; "error" could not be read, or is an immutable object whose content changed.',
    "Exit code 1 means that a selected object is an error or conflicted.",
  ],
  examples: [
    ["What is known here, without any network", "tether status"],
    ["Read the stores now, below one prefix", "tether status --snapshot zarr/"],
    ["The objects that need a commit", `tether status --json | jq -r '.objects[] | select(.state=="modified").key'`],
  ],
  reach: "stores",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[key...]", TEXT.keys)
    .option("--snapshot", "read the state of every selected object first")
    .option("--no-snapshot", "contact nothing, whatever tether.toml says")
    .action(async (keys, { snapshot }) => {
      await using dataset = await context.dataset();
      const report = await dataset.status({ ...given({ keys: selectors(keys), snapshot }), ...context.call });
      context.show(report, (r) => statusLines(r, new Date()));
      // A manifest nobody can read is no better than a store nobody can.
      if (report.objects.some((o) => o.state === "error" || o.state === "conflicted")) context.exitCode = EXIT.failed;
    });
}

/** Returns the human form of a status report. */
export function statusLines(report: StatusReport, now: Date): Line[] {
  return [
    { text: `dataset ${short(report.manifestHash)}${staleMark(report)}; ${place(report)}` },
    ...report.bookmarkDrift.map((text): Line => ({ text: `warning: ${text}`, style: "yellow", to: "err" })),
    ...report.vcsDrift.map((drift): Line => ({ text: `warning: ${driftText(drift)}`, style: "yellow", to: "err" })),
    ...freshness(report, now),
    ...report.objects.map((o): Line => ({ text: objectText(o) })),
    ...report.removed.map((key): Line => ({ text: `    removed  ${key}  the next commit leaves it out` })),
    ...report.objects.filter((o) => o.error !== null).map((o): Line => ({
      text: `error: ${o.key}: ${o.error}`,
      style: "red",
      to: "err",
    })),
    ...new Set(report.objects.flatMap((o) => o.hints ?? [])).values().map((text): Line => ({
      text: `hint: ${text}`,
      to: "err",
    })),
  ];
}

function staleMark(report: StatusReport): string {
  return report.stale ? ` (STALE: ${report.staleKeys.join(", ")})` : "";
}

function place(report: StatusReport): string {
  if (report.bookmark === null) {
    return 'on no bookmark: read-only; "tether new NAME" goes to one, "tether new -b NAME" starts one';
  }
  return `on ${report.trunk ? "trunk " : ""}bookmark ${report.bookmark}`;
}

function freshness(report: StatusReport, now: Date): Line[] {
  if (report.fresh || report.objects.length === 0) return [];
  if (report.snapshotAt === null) {
    return [
      { text: "  states as committed; read from the stores: never", style: "grey" },
      hint("tether status --snapshot reads them"),
    ];
  }
  return [{ text: `  states as read ${age(report.snapshotAt, now)}; --snapshot to refresh`, style: "grey" }];
}

function objectText(o: ObjectStatus): string {
  const marks = [
    o.origin === "created" ? " (created)" : "",
    o.state !== "new" && o.tier !== null && !o.recoverable ? " unrecoverable" : "",
    o.verify === null ? "" : ` verify=${o.verify}`,
    o.reason === null ? "" : `  ${o.reason}`,
  ];
  const kind = [o.kind, o.tier].filter((t) => t !== null && t !== "").join("/");
  return `  ${o.state.padStart(9)}  ${o.key}${kind === "" ? "" : `  [${kind}]`}${marks.join("")}`;
}

function driftText(drift: VcsDrift): string {
  const keys = Object.keys(drift.referenced);
  const kept = keys.filter((k) => drift.referenced[k]);
  const freed = keys.filter((k) => !drift.referenced[k]);
  const parts = [
    kept.length > 0 ? `the working tree still names its pins of ${kept.join(", ")}` : "",
    freed.length > 0 ? `gc will release its pins of ${freed.join(", ")}, unless another commit names them` : "",
  ].filter((p) => p !== "");
  return [
    `history no longer has commit ${short(drift.commit)} of operation ${drift.op}`,
    ...parts,
    `"tether ops --ack ${drift.op}" if that was meant`,
  ].join("; ");
}
