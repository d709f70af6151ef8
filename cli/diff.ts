/**
 * `tether diff` (commands §5.13).
 *
 * @module
 */

import type { Command } from "@commander-js/extra-typings";
import type { Json, JsonObject } from "../engine/model/json.ts";
import type { DiffEntry, DiffReport } from "../engine/reports/reading.ts";
import { type Context, EXIT } from "./context.ts";
import type { CommandHelp } from "./help.ts";
import { collect, count, given, selectors, TEXT } from "./options.ts";
import type { Line } from "./ui.ts";

/** The long help. */
export const help: CommandHelp = {
  text: [
    "Compares what two revisions record of each object: without arguments the last commit with the working tree, with one that revision with the working tree, with two the first with the second. No store is contacted without --content, so writes that no commit recorded yet do not show: tether status --snapshot looks for those.",
    "An object whose manifest cannot be read is listed as unknown, and the exit code is 1.",
    "With --content each changed object is compared by its own system too: files, arrays, tables, commits, from metadata alone. Where that fails, the object says so and the others are not affected.",
  ],
  examples: [
    ["Manifests that changed since the last commit, as by add or set", "tether diff"],
    ["Two lines of work, with what changed inside", "tether diff main relabel --content"],
  ],
  reach: "stores",
};

/** Adds arguments, options and the action. */
export function define(command: Command, context: Context): void {
  command
    .argument("[rev_a]", `${TEXT.rev} (default: the last commit)`)
    .argument("[rev_b]", "another one (default: the working tree)")
    .option("--key <key>", TEXT.keyOption, collect)
    .option("-c, --content", "compare inside the objects too")
    .option("--limit <count>", "changes listed per object", count, 20)
    .action(async (a, b, { key, content, limit }) => {
      await using dataset = await context.dataset();
      const options = { ...given({ keys: selectors(key), content }), ...context.call };
      const report = await dataset.diff(a, b, options);
      context.show(report, (r) => diffLines(r, limit));
      if (report.entries.some((e) => e.change === "unknown")) context.exitCode = EXIT.failed;
    });
}

const MARKS: Readonly<Record<string, string>> = { added: "+", removed: "-", modified: "~", renamed: ">" };

/** Returns the human form of a diff report: unchanged objects are left out. */
export function diffLines(report: DiffReport, limit: number): Line[] {
  const shown = report.entries.filter((e) => e.change !== "unchanged");
  if (shown.length === 0) return [{ text: "no differences" }];
  return shown.flatMap((entry) => [
    { text: `  ${entry.change.padStart(9)}  ${entry.key}${what(entry)}` },
    ...inside(entry, limit).map((text): Line => ({ text })),
  ]);
}

function what(entry: DiffEntry): string {
  if (entry.change === "unknown") return `  [not compared: ${entry.detailError ?? "not known why"}]`;
  if (entry.detailError !== null) return `  [diff failed: ${entry.detailError}]`;
  const summary = entry.detail?.["summary"];
  if (typeof summary === "string") return `  [${summary}]`;
  if (entry.change !== "changed" || entry.why.includes("state")) return "";
  return `  [${entry.why.join(" and ")} changed; same state]`;
}

function inside(entry: DiffEntry, limit: number): string[] {
  const changes = objects(entry.detail?.["entries"]);
  const listed = changes.slice(0, limit).map((c) => {
    const detail = typeof c["detail"] === "string" && c["detail"] !== "" ? `  ${c["detail"]}` : "";
    return `             ${MARKS[String(c["change"])] ?? "?"} ${String(c["path"])}${detail}`;
  });
  const rest = total(entry.detail, changes.length) - listed.length;
  return rest > 0 ? [...listed, `             … ${rest} more (use --limit)`] : listed;
}

/** How many changes there are: the counts are exact, the entries may stop early. */
function total(detail: JsonObject | null, listed: number): number {
  const counts = ["added", "removed", "modified"].map((name) => Number(detail?.[name] ?? 0));
  return Math.max(listed, counts.reduce((a, b) => a + b, 0));
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter((v) => v !== null && typeof v === "object") : [];
}
