/**
 * Reports of the commands that release, and of those that mend: `drop gc repair`.
 *
 * @module
 */

import type { Report } from "./report.ts";

/**
 * Report of an applied `drop`.
 *
 * @example Throw a bookmark away
 * ```ts
 * import { Dataset, type DropReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * await ds.new({ bookmark: "attempt", eager: true });
 *
 * const report: DropReport = await ds.drop("attempt", { dryRun: false });
 * assert.deepEqual([report.leftFor, Object.keys(report.gc?.deletedWorkingRefs ?? {})], [ds.config.trunk, ["m"]]);
 * ```
 */
export interface DropReport extends Report {
  /** The bookmark that is gone. */
  readonly bookmark: string;
  /** The bookmark this checkout went to; `null` when it was elsewhere already. */
  readonly leftFor: string | null;
  /** Commits that only it reached. */
  readonly abandoned: readonly string[];
  /** What was released; `null` when that did not come about. */
  readonly gc: GcReport | null;
  /** What still reaches its commits, and recorded states that lost their last holder. */
  readonly notes: readonly string[];
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/**
 * Report of `repair`.
 *
 * @example Make what is missing again
 * ```ts
 * import { Dataset, type RepairReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * const report: RepairReport = await ds.repair();
 * assert.deepEqual([report.complete, report.repinned], [true, {}]);
 * ```
 */
export interface RepairReport extends Report {
  /** Pin ids by key, or by `key@commit12`. */
  readonly repinned: Readonly<Record<string, string>>;
  /** The native refs of those pins, by the same keys. */
  readonly pinRefs: Readonly<Record<string, string>>;
  /** Branches made again, by key. */
  readonly reforked: Readonly<Record<string, string>>;
  /** What failed, by ref. */
  readonly failed: Readonly<Record<string, string>>;
  /** What was seen and left alone, such as pins that point elsewhere. */
  readonly notes: readonly string[];
  /** Whether nothing failed. */
  readonly complete: boolean;
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/**
 * Report of {@link Dataset.closeOperation}.
 *
 * @example Find what an interrupted process left
 * ```ts
 * import { type CloseReport, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const closed: CloseReport[] = [];
 * for (const op of (await ds.ops()).ops) {
 *   if (op.status === "started") closed.push(await ds.closeOperation(op.id));
 * }
 * assert.deepEqual(closed, []);
 * ```
 */
export interface CloseReport extends Report {
  /** The operation's id. */
  readonly closed: string;
  /** What was run. */
  readonly command: string;
  /** How far it had got. */
  readonly summary: string;
  /** Whether it turned out to have taken effect: then it is complete like any other. */
  readonly landed: boolean;
  /** Commands that deal with what it may have left, such as a store nothing names. */
  readonly hints: readonly string[];
}

/**
 * Report of an applied `gc`.
 *
 * @example Release the pins of a commit that was taken back
 * ```ts
 * import { Dataset, type GcReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const code = await Deno.makeTempDir();
 * const identity = "-c user.name=Ada -c user.email=ada@example.org";
 * execSync(`git init -q && git ${identity} commit -q --allow-empty -m One`, { cwd: code });
 * await ds.add({ key: "code", kind: "git", locator: { path: code } });
 * await ds.commit({ message: "Baseline" });
 * execSync(`git ${identity} commit -q --allow-empty -m Two`, { cwd: code });
 * await ds.commit({ message: "A mistake" });
 * execSync("git reset -q --hard HEAD~1", { cwd });
 *
 * const report: GcReport = await ds.gc({ dryRun: false });
 * assert.equal(report.unpinned["git"]?.length, 1);
 * ```
 */
export interface GcReport extends Report {
  /** Released pin ids by kind. */
  readonly unpinned: Readonly<Record<string, readonly string[]>>;
  /** Unreferenced pins that this clone did not make, by kind. */
  readonly keptPins: Readonly<Record<string, readonly string[]>>;
  /** Branches deleted, by key. */
  readonly deletedWorkingRefs: Readonly<Record<string, readonly string[]>>;
  /** Stray branches with something that nothing else holds, or that moved meanwhile, by key. */
  readonly keptWorkingRefs: Readonly<Record<string, readonly string[]>>;
  /** Branches of removed objects that this checkout no longer counts as its own, by key. */
  readonly forgottenWorkingRefs: Readonly<Record<string, readonly string[]>>;
  /** File names below `.tether/listings`. */
  readonly deletedListings: readonly string[];
  /** Stores that tether had made and deleted, by key: where they were. */
  readonly deletedStores: Readonly<Record<string, string>>;
  /** Stores that tether had made and kept, by key: why. */
  readonly keptStores: Readonly<Record<string, string>>;
  /** Keys of stores that hold nothing of this dataset any more. */
  readonly forgottenStores: readonly string[];
  /** What failed, by `verb target (key)`; stores that did not answer are among it. */
  readonly failed: Readonly<Record<string, string>>;
  /** What the plan left alone, and why. */
  readonly notes: readonly string[];
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}
