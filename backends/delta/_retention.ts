/**
 * How long a version of a Delta table stays readable once it is not the head.
 *
 * @module
 */

import type { Op, Retention } from "../backend.ts";
import { filesAt } from "./_files.ts";
import type { DeltaLog } from "./_log.ts";

const DAY = 86_400_000;
const UNITS: Readonly<Record<string, number>> = {
  week: 7 * DAY,
  day: DAY,
  hour: 3_600_000,
  minute: 60_000,
  second: 1000,
  millisecond: 1,
  microsecond: 0.001,
};

const FILES = { name: "delta.deletedFileRetentionDuration", fallback: 7 * DAY };
const LOGS = { name: "delta.logRetentionDuration", fallback: 30 * DAY };

/**
 * Returns until when a version can be read at least: VACUUM may delete a file of it once it was removed for longer than
 * the table says, and the log may be cleaned up behind a checkpoint. The head has no end.
 */
export async function retentionOf(log: DeltaLog, version: number, op: Op = {}): Promise<Retention> {
  const { configuration } = await log.metadataAt(log.head, op);
  const keepFiles = durationOf(configuration[FILES.name]) ?? FILES.fallback;
  const keepLog = durationOf(configuration[LOGS.name]) ?? LOGS.fallback;
  const rule = `kept while newest, then files ${days(keepFiles)} from their removal and the log ${days(keepLog)}`;
  log.baseOf(version);
  if (version === log.head) return { rule, enforced: "none" };
  const bounds: number[] = [];
  const { live } = await filesAt(log, version, op);
  const head = await filesAt(log, log.head, op);
  for (const id of live.keys()) {
    // A removal that the log forgot, or without a time, counts as long past.
    if (!head.live.has(id)) bounds.push((head.removed.get(id) ?? 0) + keepFiles);
  }
  const written = log.stampOf(version)?.modified.getTime();
  if (written !== undefined && configuration["delta.enableExpiredLogCleanup"] !== "false") {
    bounds.push(written + keepLog);
  }
  if (bounds.length === 0) return { rule, enforced: "operator" };
  return { until: new Date(bounds.reduce((a, b) => Math.min(a, b))), rule, enforced: "operator" };
}

/** Reads a duration such as `interval 7 days` or `interval 1 week 2 hours` in milliseconds; `undefined` when it is none. */
export function durationOf(text: string | undefined): number | undefined {
  const body = text?.trim().toLowerCase().replace(/^interval\s+/, "");
  if (body === undefined || !/^\d+\s+[a-z]+(\s+\d+\s+[a-z]+)*$/.test(body)) return undefined;
  let total = 0;
  for (const [, count, unit] of body.matchAll(/(\d+)\s+([a-z]+?)s?(?=\s|$)/g)) {
    const length = UNITS[unit ?? ""];
    if (length === undefined) return undefined;
    total += Number(count) * length;
  }
  return total;
}

function days(milliseconds: number): string {
  const count = milliseconds / DAY;
  if (!Number.isInteger(count)) return `${milliseconds / 3_600_000} hours`;
  return count === 1 ? "1 day" : `${count} days`;
}
