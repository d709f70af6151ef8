/**
 * What a backend answers: verdicts, histories, differences, retention (backends §2). Imported through `backend.ts`.
 *
 * @module
 */

import type { BackendError } from "../engine/model/backend_errors.ts";

/**
 * Options of every backend call.
 *
 * @example Give up on a slow store
 * ```ts
 * import type { Op } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const op: Op = { signal: AbortSignal.timeout(30_000) };
 * assert.equal(op.signal?.aborted, false);
 * ```
 */
export interface Op {
  /** Aborting before the first write rejects with nothing changed; later, the outcome is read back and reported. */
  readonly signal?: AbortSignal;
  /**
   * Called now and then by a long read of one object with how much of it was looked at; it must not throw. Not passed on to
   * kinds that run in workers.
   */
  readonly onParts?: (parts: Parts) => void;
}

/**
 * How far a long read of one object is.
 *
 * @example Follow the reading of a folder
 * ```ts
 * import type { Op, Parts } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const seen: string[] = [];
 * const op: Op = { onParts: ({ done, total, unit }: Parts) => void seen.push(`${done}/${total ?? "?"} ${unit}`) };
 * op.onParts?.({ done: 1000, unit: "files" });
 * assert.deepEqual(seen, ["1000/? files"]);
 * ```
 */
export interface Parts {
  /** How many were looked at. */
  readonly done: number;
  /** How many there are; absent while that is not known. */
  readonly total?: number;
  /** What is counted, such as `files`. */
  readonly unit: string;
}

/**
 * What `verify` found. `cause` says why the answer is not known.
 *
 * @example Keep an outage apart from a loss
 * ```ts
 * import { UnavailableError, type Verdict } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const cause = new UnavailableError("Cannot list tags: 503", { kind: "icechunk" });
 * const verdict: Verdict = { status: "unknown", message: cause.reason, cause };
 * assert.notEqual(verdict.status, "missing");
 * ```
 */
export interface Verdict {
  /**
   * `missing` only when the store said so with authority: one that cannot be reached is `unknown`, and so is a local one that
   * is not there, since its disk may not be mounted. (A file is its own store: a path that leads to nothing is `missing`.)
   */
  readonly status: "ok" | "drifted" | "missing" | "unknown";
  /** What was seen, for people. */
  readonly message?: string;
  /** Why the answer is not known. */
  readonly cause?: BackendError;
}

/**
 * One entry of a store's own history, newest first. `id` works as the locator's `at`.
 *
 * @example Describe a version
 * ```ts
 * import type { HistoryEntry } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const entry: HistoryEntry = { id: "7", when: "2026-01-01T00:00:00Z", message: "Append plate 2", refs: ["main"] };
 * assert.equal(entry.id, "7");
 * ```
 */
export interface HistoryEntry {
  /** Works as the locator's `at`. */
  readonly id: string;
  /** ISO 8601 UTC; absent when the store keeps no times. */
  readonly when?: string;
  /** What the writer said of it; may be empty. */
  readonly message: string;
  /** Native branches and tags at this entry, tether's pins among them. */
  readonly refs: readonly string[];
}

/**
 * One changed thing.
 *
 * @example Describe a renamed file
 * ```ts
 * import type { Change } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const change: Change = { path: "a.csv -> b.csv", change: "renamed", detail: "+1 -2" };
 * assert.equal(change.change, "renamed");
 * ```
 */
export interface Change {
  /** What changed, one of the diff's unit; a rename is `old -> new`. */
  readonly path: string;
  /** What happened to it. */
  readonly change: "added" | "removed" | "modified" | "renamed";
  /** More than that, such as both sizes. */
  readonly detail?: string;
}

/**
 * How two states of one object differ. Counts are exact; `entries` stop at {@link MAX_DIFF_ENTRIES}.
 *
 * @example Count more than is listed
 * ```ts
 * import { MAX_DIFF_ENTRIES, type Change, type ObjectDiff } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const changes = Array.from({ length: 5000 }, (_, i): Change => ({ path: `${i}.csv`, change: "added" }));
 * const diff: ObjectDiff = {
 *   unit: "files",
 *   added: changes.length,
 *   removed: 0,
 *   modified: 0,
 *   entries: changes.slice(0, MAX_DIFF_ENTRIES),
 *   truncated: changes.length > MAX_DIFF_ENTRIES,
 *   note: "",
 * };
 * assert(diff.truncated && diff.entries.length === 2000);
 * ```
 */
export interface ObjectDiff {
  /** What is counted: `files`, `nodes`, `fragments`, `commits`, … */
  readonly unit: string;
  /** Exact, also when the entries are cut. */
  readonly added: number;
  /** Exact, also when the entries are cut. */
  readonly removed: number;
  /** Exact, also when the entries are cut; renames count here. */
  readonly modified: number;
  /** At most {@link MAX_DIFF_ENTRIES}. */
  readonly entries: readonly Change[];
  /** Whether there are more changes than entries. */
  readonly truncated: boolean;
  /** What the diff leaves out; empty for nothing. */
  readonly note: string;
}

/**
 * The most entries one diff lists.
 *
 * @example Cut a long list
 * ```ts
 * import { MAX_DIFF_ENTRIES } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.equal(new Array(5000).fill("x").slice(0, MAX_DIFF_ENTRIES).length, 2000);
 * ```
 */
export const MAX_DIFF_ENTRIES = 2000;

/**
 * How long a state stays readable without a pin.
 *
 * @example Say that a version stays for 30 days at least
 * ```ts
 * import type { Retention } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const captured = Date.parse("2026-01-01T00:00:00Z");
 * const retention: Retention = {
 *   until: new Date(captured + 30 * 24 * 3600 * 1000),
 *   rule: "delta.logRetentionDuration = interval 30 days",
 *   enforced: "operator",
 * };
 * assert.equal(retention.until?.toISOString(), "2026-01-31T00:00:00.000Z");
 * ```
 */
export interface Retention {
  /** The earliest time at which the state may go; absent when no time is set. */
  readonly until?: Date;
  /** The system's own setting, such as `delta.logRetentionDuration`. */
  readonly rule: string;
  /** Who removes it: the system by itself, somebody running its clean-up, or nobody. */
  readonly enforced: "automatic" | "operator" | "none";
}
