/**
 * What commands return: plain read-only data, whose `toJSON` is exactly what `--json` prints (commands §5).
 *
 * @module
 */

import type { Retention, Tier, Verdict } from "../backends/backend.ts";
import type { Json, JsonObject } from "./model/json.ts";
import type { Locator, Policy, State } from "./model/manifest.ts";

/**
 * A report: data, and its JSON.
 *
 * @example Print exactly what the command line prints
 * ```ts
 * import { Dataset, type Report, writeJson } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const report: Report = await ds.status();
 * assert.equal(JSON.parse(writeJson(report.toJSON(), { indent: 2 })).snapshot_at, null);
 * ```
 */
export interface Report {
  /** Returns what `--json` prints: `snake_case` names, `null` for what is absent, ids of any size in full. */
  toJSON(): Json;
}

/** Adds a hidden `toJSON` to plain data. */
export function withJson<T extends object>(data: T, json: () => Json): T & Report {
  Object.defineProperty(data, "toJSON", { value: json, enumerable: false });
  return data as T & Report;
}

/**
 * Says how far a fan-out is.
 *
 * @example Draw a line
 * ```ts
 * import type { Progress } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const draw = ({ verb, done, total }: Progress): string => `${verb} ${done}/${total ?? "?"}`;
 * assert.equal(draw({ verb: "reading states", done: 3, total: 8 }), "reading states 3/8");
 * ```
 */
export interface Progress {
  /** What is being done, such as `reading states`. */
  readonly verb: string;
  /** How much of it is over, failures included. */
  readonly done: number;
  /** How much there is; absent when not known. */
  readonly total?: number;
}

/**
 * Options every long call takes.
 *
 * @example Follow a long call, and give up after a minute
 * ```ts
 * import { type CallOptions, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const seen: number[] = [];
 * const options: CallOptions = { signal: AbortSignal.timeout(60_000), onProgress: ({ done }) => void seen.push(done) };
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * await ds.snapshot(options);
 * assert.equal(seen.at(-1), 1);
 * ```
 */
export interface CallOptions {
  /** Aborting before the first write rejects with nothing done; later, what was started is finished and reported. */
  readonly signal?: AbortSignal;
  /** Called as each object is done; it must not throw. */
  readonly onProgress?: (progress: Progress) => void;
}

/** Report of `init`. */
export interface InitReport extends Report {
  /** The dataset's root folder, symbolic links resolved. */
  readonly root: string;
  /** 8 hex digits, part of every native ref. */
  readonly datasetId: string;
  /** The bookmark that stands for upstream. */
  readonly trunk: string;
}

/**
 * Report of `add`.
 *
 * @example See the key and the address an object got
 * ```ts
 * import { type AddReport, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const uri = await Deno.makeTempDir({ prefix: "plate1-" });
 * const report: AddReport = await ds.add({ kind: "file", locator: { uri } });
 * assert(report.derivedKey && uri.endsWith(report.key));
 * ```
 */
export interface AddReport extends Report {
  /** What the object is called in this dataset. */
  readonly key: string;
  /** The backend kind. */
  readonly kind: string;
  /** The address as it was registered: local paths absolute. */
  readonly locator: Locator;
  /** The dataset's defaults with the given fields over them. */
  readonly policy: Policy;
  /** The position of its history it was registered at; `null` for the newest. */
  readonly at: string | null;
  /** Whether tether made the store. */
  readonly created: boolean;
  /** Whether the key came from the locator. */
  readonly derivedKey: boolean;
  /** What the author should look at, such as a path that does not exist. */
  readonly warnings: readonly string[];
  /** What is worth knowing, such as that the kind is experimental. */
  readonly notes: readonly string[];
}

/**
 * Report of `remove`.
 *
 * @example Take an object out of the dataset
 * ```ts
 * import { Dataset, type RemoveReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: "/data/raw" } });
 * const report: RemoveReport = await ds.remove("raw");
 * assert.deepEqual([report.removed, ds.objects.size], ["raw", 0]);
 * ```
 */
export interface RemoveReport extends Report {
  /** The key; the store itself is untouched. */
  readonly removed: string;
}

/**
 * One changed policy field.
 *
 * @example Read one change of a policy
 * ```ts
 * import type { FieldChange } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const change: FieldChange = { from: "native", to: "record" };
 * assert.equal(`${change.from} -> ${change.to}`, "native -> record");
 * ```
 */
export interface FieldChange {
  /** The value before. */
  readonly from: string;
  /** The value now. */
  readonly to: string;
}

/**
 * Report of `set`.
 *
 * @example Stop pinning an object
 * ```ts
 * import { Dataset, type SetReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "scratch", kind: "memory", locator: { system: "scratch" } });
 * const report: SetReport = await ds.setPolicy(["scratch"], { pin: "record" });
 * assert.deepEqual(report.changed, { scratch: { pin: { from: "native", to: "record" } } });
 * ```
 */
export interface SetReport extends Report {
  /** The fields that changed, by key and by field: `file` or `pin`. */
  readonly changed: Readonly<Record<string, Readonly<Record<string, FieldChange>>>>;
  /** Keys that had the policy already. */
  readonly unchanged: readonly string[];
}

/**
 * One kind, as `backends` lists it.
 *
 * @example Look for kinds that need something installed
 * ```ts
 * import { type BackendReport, listBackends } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const broken: readonly BackendReport[] = (await listBackends()).kinds.filter((k) => !k.installed);
 * assert(broken.every((k) => k.note !== null));
 * ```
 */
export interface BackendReport {
  /** What to type after `--kind`. */
  readonly kind: string;
  /** Whether its driver loads here. */
  readonly installed: boolean;
  /** `stable`, or `experimental` for a kind that only ever met a stand-in of its service. */
  readonly maturity: string | null;
  /** How far the kind goes; one object may go less far. */
  readonly tier: Tier | null;
  /** In the order of {@link CAPABILITIES}. */
  readonly capabilities: readonly string[];
  /** Why a kind is not whole here, and how to mend that. */
  readonly note: string | null;
}

/**
 * Report of `backends`.
 *
 * @example List the kinds that have branches
 * ```ts
 * import { type BackendsReport, listBackends } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const report: BackendsReport = await listBackends();
 * const forkable = report.kinds.filter((k) => k.tier === "forkable").map((k) => k.kind);
 * assert(forkable.includes("git"));
 * ```
 */
export interface BackendsReport extends Report {
  /** Every known kind, sorted by name. */
  readonly kinds: readonly BackendReport[];
}

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
  /** What to do about the error, where more is known than its sentence says. */
  readonly hints?: readonly string[];
  /**
   * When the state compared was read: `now` by this call, `before` by an earlier snapshot; `null` for never, so that the
   * recorded state stands in and nothing is known of the store.
   */
  readonly seen: "now" | "before" | null;
  /** Why an object counts as modified or behind, or was not read, when more than the label can be said. */
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
  /** What the store said, by key. */
  readonly failed: Readonly<Record<string, string>>;
  /** What is worth knowing about the objects. */
  readonly notes: readonly string[];
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

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
  /** Whether its commit turned out to exist: then it is complete like any other, and can be undone. */
  readonly landed: boolean;
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
  /** What failed, by `verb target (key)`. */
  readonly failed: Readonly<Record<string, string>>;
  /** What the plan left alone, and why. */
  readonly notes: readonly string[];
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
  /** One entry for each object, and with `allHistory` for each of its recorded states. */
  readonly entries: readonly VerifyEntry[];
  /** Whether states were opened (`--deep`). */
  readonly deep: boolean;
  /** Whether every entry is `ok`, or `unknown` where that was allowed. */
  readonly ok: boolean;
  /** What the answer leaves out: truncated history, objects of unknown kinds, states of history that were only observed. */
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
