/**
 * Reports of the commands that look: `status snapshot verify diff log ops`.
 *
 * @module
 */

import type { Retention, Tier, Verdict } from "../../backends/backend.ts";
import type { JsonObject } from "../model/json.ts";
import type { State } from "../model/manifest.ts";
import type { Report } from "./report.ts";

/**
 * What `status` says of one object: `new` was never committed, `modified` is what the next commit takes, `behind` moved
 * at its upstream while this bookmark stands elsewhere.
 *
 * @example Decide whether there is something to commit
 * ```ts
 * import { Dataset, type StatusLabel } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: "/data/raw" } });
 * const label: StatusLabel | undefined = (await ds.status()).objects[0]?.state;
 * assert.equal(label, "new");
 * ```
 */
export type StatusLabel = "error" | "new" | "behind" | "modified" | "clean" | "conflicted";

/**
 * One line of `status`.
 *
 * @example List what a commit would record
 * ```ts
 * import { Dataset, type ObjectStatus } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: "/data/raw" } });
 * const due = (o: ObjectStatus): boolean => o.state === "new" || o.state === "modified";
 * assert.deepEqual((await ds.status()).objects.filter(due).map((o) => o.key), ["raw"]);
 * ```
 */
export interface ObjectStatus {
  /** What the object is called in this dataset. */
  readonly key: string;
  /** The backend kind; `unknown` when the manifest does not parse. */
  readonly kind: string;
  /** How far this object goes; `null` when its kind is not known here. */
  readonly tier: Tier | null;
  /** Where it stands, see {@link StatusLabel}. */
  readonly state: StatusLabel;
  /** Whether a native ref holds the recorded state. */
  readonly pinned: boolean;
  /** Whether the recorded state can be read back. */
  readonly recoverable: boolean;
  /** `created` when tether made the store. */
  readonly origin: "adopted" | "created";
  /** What a shallow check found; `null` unless `[verify] on_status` is set. */
  readonly verify: Verdict["status"] | null;
  /** Why it could not be read or may not have changed; `null` when all is well. */
  readonly error: string | null;
  /** What to do about the error or the reason, where more is known than the sentence says. */
  readonly hints?: readonly string[];
  /**
   * When the state compared was read: `now` by this call, `before` by an earlier snapshot; `null` for never, so that the
   * recorded state stands in and nothing is known of the store.
   */
  readonly seen: "now" | "before" | null;
  /**
   * Why an object counts as modified or behind, was not read, has an edited manifest or would be refused by a commit, when more than the label
   * can be said.
   */
  readonly reason: string | null;
}

/**
 * A dataset commit that history no longer has.
 *
 * @example Notice commits that somebody rewrote
 * ```ts
 * import { Dataset, type VcsDrift } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * const { vcsCommit } = await ds.commit({ message: "Baseline" });
 * execSync("git commit -q --amend -m Rewritten", { cwd });
 *
 * await ds.refresh();
 * const drift: readonly VcsDrift[] = await ds.vcsDrift();
 * assert.equal(drift[0]?.commit, vcsCommit);
 * ```
 */
export interface VcsDrift {
  /** The operation that made the commit, as in {@link OpReport.id}. */
  readonly op: string;
  /** The full commit id. */
  readonly commit: string;
  /** Its pins by object: whether the working tree still names them. */
  readonly referenced: Readonly<Record<string, boolean>>;
}

/**
 * Report of `status`.
 *
 * @example Read the stores and see what moved
 * ```ts
 * import { Dataset, type StatusReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * const report: StatusReport = await ds.status({ snapshot: true });
 * assert.deepEqual([report.fresh, report.trunk, report.objects[0]?.state], [true, true, "new"]);
 * ```
 */
export interface StatusReport extends Report {
  /** 64 hex digits over what all manifests mean, as {@link manifestHash} makes them. */
  readonly manifestHash: string;
  /** Whether any branch stands for something else than the bookmark records. */
  readonly stale: boolean;
  /** The objects concerned, sorted. */
  readonly staleKeys: readonly string[];
  /** Whether this call read the states. */
  readonly fresh: boolean;
  /** ISO 8601 UTC; `null` when no snapshot was taken. */
  readonly snapshotAt: string | null;
  /** The bookmark worked on; `null` for a read-only checkout. */
  readonly bookmark: string | null;
  /** Whether that is the trunk, where objects are written at their own upstream branches. */
  readonly trunk: boolean;
  /** A sentence for each way in which working copy and bookmark disagree. */
  readonly bookmarkDrift: readonly string[];
  /** Dataset commits that history no longer has. */
  readonly vcsDrift: readonly VcsDrift[];
  /** One entry for each selected object, sorted by key. */
  readonly objects: readonly ObjectStatus[];
  /** Selected keys that the last commit has and the working tree has no more, sorted: the next commit leaves them out. */
  readonly removed: readonly string[];
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/**
 * Report of `snapshot`: states by key; committed ones stand in for objects not contacted.
 *
 * @example Read the state of a file
 * ```ts
 * import { Dataset, type SnapshotReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempFile() } });
 * const report: SnapshotReport = await ds.snapshot();
 * assert.deepEqual([report.states["raw"]?.["type"], report.states["raw"]?.["size"]], ["file", 0]);
 * ```
 */
export interface SnapshotReport extends Report {
  /** The state by key. */
  readonly states: Readonly<Record<string, State>>;
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/**
 * One checked pin or state.
 *
 * @example Look at what is not well
 * ```ts
 * import { Dataset, type VerifyEntry } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const uri = await Deno.makeTempFile();
 * await ds.add({ key: "raw", kind: "file", locator: { uri } });
 * await ds.commit({ message: "Baseline" });
 *
 * await Deno.writeTextFile(uri, "overwritten");
 * const bad: VerifyEntry[] = [];
 * for await (const entry of ds.verify()) if (entry.status !== "ok") bad.push(entry);
 * assert.deepEqual(bad.map((e) => e.label), ["raw"]);
 * ```
 */
export interface VerifyEntry {
  /** The key, or `<commit12>:<key>` of `--all-history`. */
  readonly label: string;
  /** What was found; only `ok` is good. */
  readonly status: Verdict["status"];
  /** What was seen, for people; empty when there is nothing to say. */
  readonly message: string;
  /** How long a state that no pin holds lasts, where the system says; not asked for all of history. */
  readonly retention?: Retention;
}

/**
 * Report of `verify`.
 *
 * @example Gate a pipeline
 * ```ts
 * import { Dataset, type VerifyReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * const report: VerifyReport = await ds.verify({ allHistory: true, deep: true });
 * assert(report.ok);
 * ```
 */
export interface VerifyReport extends Report {
  /**
   * One entry for each object, and with `allHistory` for each of its recorded states. Where history is truncated, one named
   * `history` says that the others are only part of the answer.
   */
  readonly entries: readonly VerifyEntry[];
  /** Whether states were opened (`--deep`). */
  readonly deep: boolean;
  /** Whether every entry is `ok`, or `unknown` where that was allowed. */
  readonly ok: boolean;
  /** What the answer leaves out: objects of unknown kinds, states of history that were only observed. */
  readonly warnings: readonly string[];
}

/**
 * One object of `diff`.
 *
 * @example See why an object counts as changed
 * ```ts
 * import { Dataset, type DiffEntry } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * await ds.setPolicy(["m"], { pin: "record" });
 *
 * const entry: DiffEntry | undefined = (await ds.diff()).entries[0];
 * assert.deepEqual([entry?.change, entry?.why], ["changed", ["policy"]]);
 * ```
 */
export interface DiffEntry {
  /** What the object is called in this dataset. */
  readonly key: string;
  /** What became of it from `a` to `b`; `unknown` when its manifest cannot be read, and `detailError` says why. */
  readonly change: "added" | "removed" | "changed" | "unchanged" | "unknown";
  /** Pin id on the first side; `null` without a pin. */
  readonly a: string | null;
  /** Pin id on the second side; `null` without a pin. */
  readonly b: string | null;
  /** The content's differences, as {@link ObjectDiff} with a summary; `null` unless asked for. */
  readonly detail: JsonObject | null;
  /** Why the content could not be compared; `null` otherwise. */
  readonly detailError: string | null;
  /** Which parts of the manifest differ. */
  readonly why: readonly ("state" | "pin" | "locator" | "policy")[];
}

/**
 * Report of `diff`.
 *
 * @example Compare two commits
 * ```ts
 * import { Dataset, type DiffReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * await ds.add({ key: "n", kind: "memory", locator: { system: "n" } });
 * await ds.commit({ message: "One more" });
 *
 * const report: DiffReport = await ds.diff("HEAD~1", "HEAD");
 * assert.deepEqual(report.entries.map((e) => `${e.key}: ${e.change}`), ["m: unchanged", "n: added"]);
 * ```
 */
export interface DiffReport extends Report {
  /** Every object of either side, sorted by key. */
  readonly entries: readonly DiffEntry[];
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/**
 * One entry of a store's own history.
 *
 * @example Register an object at an older version
 * ```ts
 * import { Dataset, type LogEntry } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const [newest]: readonly LogEntry[] = (await ds.logOf("memory", { system: "m" })).entries;
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" }, ...(newest ? { at: newest.id } : {}) });
 * assert.equal(ds.objects.get("m")?.locator["at"], newest?.id);
 * ```
 */
export interface LogEntry {
  /** Works as the `at` of `add` and `restore`. */
  readonly id: string;
  /** ISO 8601 UTC; `null` when the store keeps no times. */
  readonly when: string | null;
  /** What the writer said of it; may be empty. */
  readonly message: string;
  /** Native branches and tags at this entry, tether's pins among them. */
  readonly refs: readonly string[];
}

/**
 * Report of `log`.
 *
 * @example Read the history a store keeps
 * ```ts
 * import { Dataset, type LogReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * const report: LogReport = await ds.log("m", { limit: 5 });
 * assert.deepEqual(report.entries.map((e) => e.refs), [["main"]]);
 * ```
 */
export interface LogReport extends Report {
  /** Newest first. */
  readonly entries: readonly LogEntry[];
}

/**
 * One journaled operation.
 *
 * @example Find an operation that was interrupted
 * ```ts
 * import { Dataset, type OpReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: "/data/raw" } });
 * const interrupted = (o: OpReport): boolean => o.status === "started";
 * assert(!(await ds.ops()).ops.some(interrupted));
 * ```
 */
export interface OpReport {
  /** 12 hex digits, or what another implementation wrote. */
  readonly id: string;
  /** When it began: ISO 8601 UTC. */
  readonly at: string;
  /** The command that ran. */
  readonly command: string;
  /** The applied plan; `null` for commands without one. */
  readonly plan: JsonObject | null;
  /** What it did, as the journal has it; empty while it is not finished. */
  readonly result: JsonObject;
  /** What was there before, for `undo`. */
  readonly pre: JsonObject;
  /** The operation it took back; `null` for anything but an undo. */
  readonly undoes: string | null;
  /** The operation that took it back; `null` when none did. */
  readonly undoneBy: string | null;
  /** `started` when it was interrupted or still runs. */
  readonly status: "started" | "done";
  /** The operation it is a step of; `null` for one of its own. */
  readonly parent: string | null;
  /** Effects so far, in order, each with its `action`. */
  readonly progress: readonly JsonObject[];
  /** Whether history no longer has its commit. */
  readonly vcsCommitGone: boolean;
  /** Whether the user said to know of that. */
  readonly acknowledged: boolean;
  /** What it did, in a few words. */
  readonly summary: string;
}

/**
 * Report of `ops`.
 *
 * @example List what tether did here
 * ```ts
 * import { Dataset, type OpsReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: "/data/raw" } });
 * const report: OpsReport = await ds.ops({ limit: 10 });
 * assert.deepEqual(report.ops.map((o) => `${o.command} ${o.summary}`), ["add raw"]);
 * ```
 */
export interface OpsReport extends Report {
  /** Newest first. */
  readonly ops: readonly OpReport[];
}
