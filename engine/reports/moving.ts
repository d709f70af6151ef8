/**
 * Reports of the commands that move along history: `commit pull new restore undo promote`.
 *
 * @module
 */

import type { State } from "../model/manifest.ts";
import type { Report } from "./report.ts";

/**
 * Report of `commit`.
 *
 * @example Commit, and see which states can be read back
 * ```ts
 * import { type CommitReport, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * const report: CommitReport = await ds.commit({ message: "Baseline" });
 * assert.match(report.pinned["m"] ?? "", /^tether\.[0-9a-f]{8}\.[0-9a-f]{16}$/);
 * assert.deepEqual(report.unrecoverable, ["raw"]);
 * ```
 */
export interface CommitReport extends Report {
  /** `null` when nothing was committed. */
  readonly vcsCommit: string | null;
  /** The native ref by key; `null` when recorded without one. */
  readonly pinned: Readonly<Record<string, string | null>>;
  /** Keys whose recorded state cannot be read back. */
  readonly unrecoverable: readonly string[];
  /** Keys that the commit had nothing new to record of. */
  readonly unchanged: readonly string[];
  /** Keys that the commit before had and this one has no more. */
  readonly removed: readonly string[];
  /** Keys that were not read, since this checkout cannot have moved them: they stay as the last commit recorded them. */
  readonly notRead: readonly string[];
  /** Commands that take in what was not committed. */
  readonly hints: readonly string[];
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/**
 * Report of `pull`.
 *
 * @example Take in what changed upstream
 * ```ts
 * import { Dataset, type PullReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const uri = await Deno.makeTempFile();
 * await ds.add({ key: "raw", kind: "file", locator: { uri }, policy: { file: "versioned" } });
 * await ds.commit({ message: "Baseline" });
 *
 * await Deno.writeTextFile(uri, "more");
 * const report: PullReport = await ds.pull();
 * assert.deepEqual([report.bookmark, report.committed["raw"]?.to["size"]], [ds.config.trunk, 4]);
 * ```
 */
export interface PullReport extends Report {
  /** The bookmark that was brought up to date. */
  readonly bookmark: string;
  /** What moved, by key. */
  readonly committed: Readonly<Record<string, { readonly from: State; readonly to: State }>>;
  /** Keys whose upstream holds what was recorded. */
  readonly unchanged: readonly string[];
  /** Why an object was not read, by key. */
  readonly skipped: Readonly<Record<string, string>>;
  /** The commit made; `null` when nothing moved. */
  readonly vcsCommit: string | null;
  /** Pin ids, without the `tether.` of their refs; `null` when recorded without one. */
  readonly pinned: Readonly<Record<string, string | null>>;
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/**
 * Report of `new`.
 *
 * @example Start a bookmark
 * ```ts
 * import { Dataset, type NewReport, workingRefName } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 *
 * const report: NewReport = await ds.new({ bookmark: "relabel" });
 * assert.deepEqual(report.pendingForks, { m: workingRefName(ds.config.datasetId, "relabel") });
 * ```
 */
export interface NewReport extends Report {
  /** Where the checkout is now; `null` for a commit no bookmark names, which is read-only. */
  readonly bookmark: string | null;
  /** Whether that is the trunk, where objects are written at their own upstream branches. */
  readonly trunk: boolean;
  /** Whether the branches of before were kept, as `keep` asks. */
  readonly kept: boolean;
  /** Branches that exist, by key. */
  readonly workingRefs: Readonly<Record<string, string>>;
  /** Branches the first writable open makes, by key. */
  readonly pendingForks: Readonly<Record<string, string>>;
  /** The state each branch starts at, by key. */
  readonly forkPoints: Readonly<Record<string, State>>;
  /** Branches that were there and are taken as they are, by key. */
  readonly adopted: Readonly<Record<string, string>>;
  /** Keys with refs that this revision does not have. */
  readonly absent: readonly string[];
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/**
 * Report of `restore`.
 *
 * @example Take a branch back to what a commit recorded
 * ```ts
 * import { Dataset, type RestoreReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * await ds.new({ bookmark: "relabel", eager: true });
 *
 * const report: RestoreReport = await ds.restore(["m"], { from: "HEAD" });
 * assert.deepEqual([report.from, Object.keys(report.workingRefs)], ["HEAD", ["m"]]);
 * ```
 */
export interface RestoreReport extends Report {
  /** The revision gone back to; `null` when it was `at`. */
  readonly from: string | null;
  /** The ref or state of the store gone back to; `null` when it was `from`. */
  readonly at: string | null;
  /** The branch by key, perhaps under a new name where a store cannot reset one. */
  readonly workingRefs: Readonly<Record<string, string>>;
}

/**
 * Report of `undo`.
 *
 * @example Take the last operation back
 * ```ts
 * import { Dataset, type UndoReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: "/data/raw" } });
 * const report: UndoReport = await ds.undo();
 * assert.deepEqual([report.command, report.complete, ds.objects.size], ["add", true, 0]);
 * ```
 */
export interface UndoReport extends Report {
  /** The operation taken back. */
  readonly undone: string;
  /** The command that was taken back. */
  readonly command: string;
  /** The operation that this undo is itself. */
  readonly undoId: string;
  /** What the operation had done, in a few words. */
  readonly summary: string;
  /** What is as it was before, a sentence each. */
  readonly restored: readonly string[];
  /** What stays as it is, a sentence each. */
  readonly irreversible: readonly string[];
  /** What was left alone because it changed since, a sentence each. */
  readonly skipped: readonly string[];
  /** Commands that take back by another way what stays as it is. */
  readonly hints: readonly string[];
  /** Whether nothing is irreversible. */
  readonly complete: boolean;
}

/**
 * Report of `promote`.
 *
 * @example Land a bookmark on its upstreams, then on the trunk
 * ```ts
 * import { Dataset, type PromoteReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * await ds.new({ bookmark: "relabel" });
 * await ds.add({ key: "n", kind: "memory", locator: { system: "n" } });
 * const { vcsCommit } = await ds.commit({ message: "One more" });
 *
 * const report: PromoteReport = await ds.promote();
 * assert.deepEqual([report.trunkMoved, report.refused], [vcsCommit, {}]);
 * ```
 */
export interface PromoteReport extends Report {
  /** The upstream branch's new state, by key. */
  readonly fastForwarded: Readonly<Record<string, State>>;
  /** The merged state, by key; commit and promote again to land it. */
  readonly merged: Readonly<Record<string, State>>;
  /** Keys with nothing to land. */
  readonly skipped: readonly string[];
  /** Why an object cannot land, by key. */
  readonly refused: Readonly<Record<string, string>>;
  /** Why an object that could land was left, by key. */
  readonly held: Readonly<Record<string, string>>;
  /** What conflicts, such as paths or tables, by key; those upstream branches are untouched. */
  readonly conflicts: Readonly<Record<string, readonly string[]>>;
  /** Working branches that did not follow their merge, and why. */
  readonly keptForks: Readonly<Record<string, string>>;
  /** The commit the trunk bookmark moved to. */
  readonly trunkMoved: string | null;
  /** Why the trunk bookmark stayed. */
  readonly trunkHeld: string | null;
  /** What to do next: commands, or what they are for. */
  readonly hints: readonly string[];
  /** What the store said, by key. */
  readonly failed: Readonly<Record<string, string>>;
  /** What is worth knowing about the objects. */
  readonly notes: readonly string[];
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}
