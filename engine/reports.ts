/**
 * What commands return: plain read-only data, whose `toJSON` is exactly what `--json` prints (commands §5).
 *
 * @module
 */

import type { Tier, Verdict } from "../backends/backend.ts";
import type { Json, JsonObject } from "./model/json.ts";
import type { Locator, Policy, State } from "./model/manifest.ts";

/** A report: data, and its JSON. */
export interface Report {
  toJSON(): Json;
}

/** Adds a hidden `toJSON` to plain data. */
export function withJson<T extends object>(data: T, json: () => Json): T & Report {
  Object.defineProperty(data, "toJSON", { value: json, enumerable: false });
  return data as T & Report;
}

/** Says how far a fan-out is. */
export interface Progress {
  /** What is being done, such as `reading states`. */
  readonly verb: string;
  readonly done: number;
  /** How much there is; absent when not known. */
  readonly total?: number;
}

/** Options every long call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/** Report of `init`. */
export interface InitReport extends Report {
  readonly root: string;
  readonly datasetId: string;
  readonly trunk: string;
}

/** Report of `add`. */
export interface AddReport extends Report {
  readonly key: string;
  readonly kind: string;
  readonly locator: Locator;
  readonly policy: Policy;
  readonly at: string | null;
  readonly created: boolean;
  /** Whether the key came from the locator. */
  readonly derivedKey: boolean;
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
}

/** Report of `remove`. */
export interface RemoveReport extends Report {
  readonly removed: string;
}

/** One changed policy field. */
export interface FieldChange {
  readonly from: string;
  readonly to: string;
}

/** Report of `set`. */
export interface SetReport extends Report {
  readonly changed: Readonly<Record<string, Readonly<Record<string, FieldChange>>>>;
  readonly unchanged: readonly string[];
}

/** One kind, as `backends` lists it. */
export interface BackendReport {
  readonly kind: string;
  readonly installed: boolean;
  readonly maturity: string | null;
  readonly tier: Tier | null;
  readonly capabilities: readonly string[];
  /** Why a kind is not whole here, and how to mend that. */
  readonly note: string | null;
}

/** Report of `backends`. */
export interface BackendsReport extends Report {
  readonly kinds: readonly BackendReport[];
}

/** What `status` says of one object. */
export type StatusLabel = "error" | "new" | "behind" | "modified" | "clean" | "conflicted";

/** One line of `status`. */
export interface ObjectStatus {
  readonly key: string;
  readonly kind: string;
  readonly tier: Tier | null;
  readonly state: StatusLabel;
  readonly pinned: boolean;
  readonly recoverable: boolean;
  readonly origin: "adopted" | "created";
  readonly verify: Verdict["status"] | null;
  readonly error: string | null;
  /** Why an object counts as modified or behind, when more than "it differs" can be said. */
  readonly reason: string | null;
}

/** A dataset commit that history no longer has. */
export interface VcsDrift {
  readonly op: string;
  readonly commit: string;
  /** Its pins by object: whether the working tree still names them. */
  readonly referenced: Readonly<Record<string, boolean>>;
}

/** Report of `status`. */
export interface StatusReport extends Report {
  readonly manifestHash: string;
  readonly stale: boolean;
  readonly staleKeys: readonly string[];
  /** Whether this call read the states. */
  readonly fresh: boolean;
  /** ISO 8601 UTC; `null` when no snapshot was taken. */
  readonly snapshotAt: string | null;
  readonly bookmark: string | null;
  readonly trunk: boolean;
  readonly bookmarkDrift: readonly string[];
  readonly vcsDrift: readonly VcsDrift[];
  readonly objects: readonly ObjectStatus[];
  readonly warnings: readonly string[];
}

/** Report of `snapshot`: states by key; committed ones stand in for objects not contacted. */
export interface SnapshotReport extends Report {
  readonly states: Readonly<Record<string, State>>;
}

/** Report of `commit`. */
export interface CommitReport extends Report {
  /** `null` when nothing was committed. */
  readonly vcsCommit: string | null;
  /** The native ref by key; `null` when recorded without one. */
  readonly pinned: Readonly<Record<string, string | null>>;
  readonly unrecoverable: readonly string[];
  readonly unchanged: readonly string[];
  readonly warnings: readonly string[];
}

/** Report of `pull`. */
export interface PullReport extends Report {
  readonly bookmark: string;
  /** What moved, by key. */
  readonly committed: Readonly<Record<string, { readonly from: State; readonly to: State }>>;
  readonly unchanged: readonly string[];
  /** Why an object was not read, by key. */
  readonly skipped: Readonly<Record<string, string>>;
  readonly vcsCommit: string | null;
  /** Pin ids, without the `tether.` of their refs; `null` when recorded without one. */
  readonly pinned: Readonly<Record<string, string | null>>;
  readonly warnings: readonly string[];
}

/** Report of `new`. */
export interface NewReport extends Report {
  readonly bookmark: string | null;
  readonly trunk: boolean;
  readonly kept: boolean;
  readonly workingRefs: Readonly<Record<string, string>>;
  readonly pendingForks: Readonly<Record<string, string>>;
  readonly forkPoints: Readonly<Record<string, State>>;
  readonly adopted: Readonly<Record<string, string>>;
  /** Keys with refs that this revision does not have. */
  readonly absent: readonly string[];
  readonly warnings: readonly string[];
}

/** Report of `restore`. */
export interface RestoreReport extends Report {
  readonly from: string | null;
  readonly at: string | null;
  readonly workingRefs: Readonly<Record<string, string>>;
}

/** Report of `undo`. */
export interface UndoReport extends Report {
  /** The operation taken back. */
  readonly undone: string;
  readonly command: string;
  readonly undoId: string;
  /** What the operation had done, in a few words. */
  readonly summary: string;
  readonly restored: readonly string[];
  readonly irreversible: readonly string[];
  readonly skipped: readonly string[];
  /** Whether nothing is irreversible. */
  readonly complete: boolean;
}

/** Report of `promote`. */
export interface PromoteReport extends Report {
  readonly fastForwarded: Readonly<Record<string, State>>;
  readonly merged: Readonly<Record<string, State>>;
  readonly skipped: readonly string[];
  readonly refused: Readonly<Record<string, string>>;
  readonly held: Readonly<Record<string, string>>;
  readonly conflicts: Readonly<Record<string, readonly string[]>>;
  /** Working branches that did not follow their merge, and why. */
  readonly keptForks: Readonly<Record<string, string>>;
  /** The commit the trunk bookmark moved to. */
  readonly trunkMoved: string | null;
  /** Why the trunk bookmark stayed. */
  readonly trunkHeld: string | null;
  readonly failed: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
}

/** Report of an applied `drop`. */
export interface DropReport extends Report {
  readonly bookmark: string;
  /** The bookmark this checkout went to; `null` when it was elsewhere already. */
  readonly leftFor: string | null;
  readonly abandoned: readonly string[];
  /** What was released; `null` when that did not come about. */
  readonly gc: GcReport | null;
  readonly warnings: readonly string[];
}

/** Report of `repair`. */
export interface RepairReport extends Report {
  /** Pin ids by key, or by `key@commit12`. */
  readonly repinned: Readonly<Record<string, string>>;
  readonly reforked: Readonly<Record<string, string>>;
  /** What failed, by ref. */
  readonly failed: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
  /** Whether nothing failed. */
  readonly complete: boolean;
  readonly warnings: readonly string[];
}

/** Report of an applied `gc`. */
export interface GcReport extends Report {
  /** Released pin ids by kind. */
  readonly unpinned: Readonly<Record<string, readonly string[]>>;
  /** Unreferenced pins that this clone did not make, by kind. */
  readonly keptPins: Readonly<Record<string, readonly string[]>>;
  readonly deletedWorkingRefs: Readonly<Record<string, readonly string[]>>;
  readonly keptWorkingRefs: Readonly<Record<string, readonly string[]>>;
  readonly forgottenWorkingRefs: Readonly<Record<string, readonly string[]>>;
  readonly deletedListings: readonly string[];
  readonly deletedStores: Readonly<Record<string, string>>;
  readonly keptStores: Readonly<Record<string, string>>;
  readonly forgottenStores: readonly string[];
  /** What failed, by `verb target (key)`. */
  readonly failed: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
}

/** One checked pin or state. */
export interface VerifyEntry {
  /** The key, or `<commit12>:<key>` of `--all-history`. */
  readonly label: string;
  readonly status: Verdict["status"];
  readonly message: string;
}

/** Report of `verify`. */
export interface VerifyReport extends Report {
  readonly entries: readonly VerifyEntry[];
  /** Whether states were opened (`--deep`). */
  readonly deep: boolean;
  readonly ok: boolean;
  /** What the answer leaves out: truncated history, objects of unknown kinds, manifests that do not parse. */
  readonly warnings: readonly string[];
}

/** One object of `diff`. */
export interface DiffEntry {
  readonly key: string;
  readonly change: "added" | "removed" | "changed" | "unchanged";
  readonly a: string | null;
  readonly b: string | null;
  readonly detail: JsonObject | null;
  readonly detailError: string | null;
  readonly why: readonly ("state" | "pin" | "locator" | "policy")[];
}

/** Report of `diff`. */
export interface DiffReport extends Report {
  readonly entries: readonly DiffEntry[];
  readonly warnings: readonly string[];
}

/** One entry of a store's own history. */
export interface LogEntry {
  readonly id: string;
  readonly when: string | null;
  readonly message: string;
  readonly refs: readonly string[];
}

/** Report of `log`. */
export interface LogReport extends Report {
  readonly entries: readonly LogEntry[];
}

/** One journaled operation. */
export interface OpReport {
  readonly id: string;
  readonly at: string;
  readonly command: string;
  readonly plan: JsonObject | null;
  readonly result: JsonObject;
  readonly pre: JsonObject;
  readonly undoes: string | null;
  readonly undoneBy: string | null;
  readonly status: "started" | "done";
  readonly parent: string | null;
  readonly progress: readonly JsonObject[];
  readonly vcsCommitGone: boolean;
  /** What it did, in a few words. */
  readonly summary: string;
}

/** Report of `ops`. */
export interface OpsReport extends Report {
  readonly ops: readonly OpReport[];
}
