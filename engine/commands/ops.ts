/**
 * `ops`: what tether did in this checkout (commands §5.15).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { isAcknowledged, type OpEntry } from "../files/journal.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { OpReport, OpsReport } from "../reports/reading.ts";
import { withJson } from "../reports/report.ts";
import { vcsDrift } from "./drift.ts";

/** Lists journaled operations, newest first. Reads the checkout only. */
export async function ops(ctx: Context, options: { readonly limit?: number } = {}): Promise<OpsReport> {
  const entries = await ctx.journal.read();
  const gone = new Set((await vcsDrift(ctx, entries)).map((d) => d.op));
  const listed: OpReport[] = entries.slice(-Math.max(1, options.limit ?? 20)).reverse().map((e) => ({
    ...e,
    vcsCommitGone: gone.has(e.id),
    acknowledged: isAcknowledged(e),
    summary: summary(e),
  }));
  return withJson({ ops: listed }, () =>
    listed.map((o) => ({
      id: o.id,
      at: o.at,
      command: o.command,
      plan: o.plan,
      result: o.result,
      pre: o.pre,
      undoes: o.undoes,
      undone_by: o.undoneBy,
      status: o.status,
      parent: o.parent,
      progress: o.progress,
      vcs_commit_gone: o.vcsCommitGone,
      acknowledged: o.acknowledged,
    })));
}

/** Returns what an operation did, in a few words. */
export function summary(entry: OpEntry): string {
  const { result, command } = entry;
  if (entry.status === "started") {
    const steps = entry.progress.map((p) => String(p["action"]));
    return steps.length === 0 ? "nothing done yet" : `done so far: ${counted(steps)}`;
  }
  if (Object.hasOwn(result, "finished_by")) {
    const by = result["finished_by"];
    return typeof by === "string" ? `interrupted, then finished by ${by}` : "interrupted with nothing left to do";
  }
  if (result["closed"] === true) return "interrupted, then closed by hand";
  if (typeof result["failed"] === "string") {
    return `failed${result["rolled_back"] === true ? ", taken back" : ""}: ${result["failed"]}`;
  }
  switch (command) {
    case "add":
      return `${String(result["key"] ?? "")}${"created" in result ? " (store created)" : ""}`;
    case "remove":
      return String(result["key"] ?? "");
    case "set":
      return `set ${keysOf(result["changed"]).join(", ")}`;
    case "commit":
    case "pull":
      return commitSummary(result);
    case "new":
      return newSummary(result);
    case "fork":
      return `forked ${String(result["key"])} -> ${String(result["ref"])}`;
    case "restore":
      return [listed("reset", strings(result["reset"])), listed("created", strings(result["created"]))]
        .filter((p) => p !== "").join("; ");
    case "undo":
      return undoSummary(entry);
    case "promote":
      return promoteSummary(result);
    case "gc":
      return gcSummary(result);
    case "drop":
      return dropSummary(result);
    case "repair":
      return [
        listed("repinned", keysOf(result["repinned"])),
        listed("reforked", keysOf(result["reforked"])),
        listed("failed", keysOf(result["failed"])),
      ].filter((p) => p !== "").join("; ");
    case "abandon":
      return abandonSummary(result);
    case "forget-workspace":
      return `forgot workspace ${String(result["workspace"] ?? "").slice(0, 8)}`;
    case "upgrade":
      return `version ${String(result["from_version"])} -> ${String(result["to_version"])}`;
    default:
      return "";
  }
}

function undoSummary({ undoes, result }: OpEntry): string {
  const what = typeof result["summary"] === "string" && result["summary"] !== "" ? ` (${result["summary"]})` : "";
  const lost = strings(result["irreversible"]).length;
  return `took back ${undoes ?? "an operation"}${what}${lost > 0 ? `; ${lost} irreversible` : ""}`;
}

function promoteSummary(result: JsonObject): string {
  const trunk = result["trunk_moved"];
  return [
    listed("fast-forwarded", keysOf(result["fast_forwarded"])),
    listed("merged", keysOf(result["merged"])),
    listed("refused", keysOf(result["refused"])),
    listed("failed", keysOf(result["failed"])),
    typeof trunk === "string" ? `trunk at ${trunk.slice(0, 12)}` : "",
  ].filter((p) => p !== "").join("; ");
}

function gcSummary(result: JsonObject): string {
  const counts: [string, number][] = [
    ["pin(s) released", lengths(result["unpinned"])],
    ["branch(es) deleted", lengths(result["deleted_working_refs"])],
    ["branch(es) forgotten", lengths(result["forgotten_working_refs"])],
    ["listing(s) deleted", strings(result["deleted_listings"]).length],
    ["store(s) deleted", keysOf(result["deleted_stores"]).length],
    ["step(s) failed", keysOf(result["failed"]).length],
  ];
  return counts.filter(([, n]) => n > 0).map(([what, n]) => `${n} ${what}`).join("; ");
}

function dropSummary(result: JsonObject): string {
  const commits = strings(result["abandoned"]).length;
  const left = result["left_for"];
  return `dropped ${String(result["bookmark"] ?? "")}${commits > 0 ? ` with ${commits} commit(s)` : ""}` +
    (typeof left === "string" ? `; on ${left} now` : "");
}

function abandonSummary(result: JsonObject): string {
  const commits = strings(result["abandoned"]).map((id) => id.slice(0, 12));
  const rewritten = keysOf(result["rewritten_commits"]).length;
  return listed("abandoned", commits) + (rewritten > 0 ? `; ${rewritten} commit(s) above made again` : "");
}

function lengths(value: Json | undefined): number {
  return Object.values(objectOf(value)).reduce<number>((n, list) => n + strings(list).length, 0);
}

function commitSummary(result: JsonObject): string {
  const pinned = Object.entries(objectOf(result["pinned"]));
  const parts = [
    listed("pinned", pinned.filter(([, id]) => id !== null).map(([k]) => k)),
    listed("recorded", pinned.filter(([, id]) => id === null).map(([k]) => k)),
  ].filter((p) => p !== "");
  const commit = result["vcs_commit"];
  if (typeof commit === "string") parts.push(`commit ${commit.slice(0, 12)}`);
  if (typeof result["failed_after_commit"] === "string") parts.push(`then failed: ${result["failed_after_commit"]}`);
  return parts.join("; ");
}

function newSummary(result: JsonObject): string {
  const parts = [
    typeof result["bookmark"] === "string" ? `on ${result["bookmark"]}` : "",
    listed("created", strings(result["created"])),
    listed("reset", strings(result["reset"])),
    listed("reused", strings(result["reused"])),
    listed("adopted", keysOf(result["adopted"])),
    listed("pending", keysOf(result["pending_forks"])),
    listed("failed", strings(result["failed"])),
  ];
  return parts.filter((p) => p !== "").join("; ");
}

function listed(verb: string, keys: readonly string[]): string {
  if (keys.length === 0) return "";
  return keys.length > 5 ? `${verb} ${keys.length} objects` : `${verb} ${keys.join(", ")}`;
}

function counted(steps: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const step of steps) counts.set(step, (counts.get(step) ?? 0) + 1);
  return [...counts].map(([step, n]) => n === 1 ? step : `${step} x${n}`).join(", ");
}

function keysOf(value: Json | undefined): string[] {
  return Object.keys(objectOf(value));
}

function strings(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function objectOf(value: Json | undefined): JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value as JsonObject : {};
}
