/**
 * The dataset as the library offers it. Each method is a line or two into `commands/`.
 *
 * @module
 */

import { checked, checkedList, checkedText } from "./arguments.ts";
import { fromFileUrl } from "./io/file_url.ts";
import { granted } from "./io/not_granted.ts";
import type { Access } from "../backends/backend.ts";
import type { VcsAdapter } from "../vcs/adapter.ts";
import type { AbandonOptions, AbandonReport } from "./commands/abandon.ts";
import { add, type AddOptions } from "./commands/add.ts";
import { commit, type CommitOptions } from "./commands/commit.ts";
import { diff } from "./commands/diff.ts";
import { bookmarkDrift, newVcsDrift } from "./commands/drift.ts";
import { bookmarkHolders, otherCheckouts } from "./checkouts.ts";
import type { ForgetReport } from "./commands/forget.ts";
import { initDataset } from "./commands/init.ts";
import { log, logOf, type LogOptions } from "./commands/log.ts";
import type { GcRequest } from "./commands/gc_input.ts";
import { newBookmark, type NewOptions } from "./commands/new.ts";
import { materializeFork, open, type OpenedHandle, type OpenObjectOptions } from "./commands/open.ts";
import { ops } from "./commands/ops.ts";
import { permissions, type PermissionsReport } from "./commands/permissions.ts";
import type { PullOptions } from "./commands/pull.ts";
import { remove } from "./commands/remove.ts";
import type { DropRequest } from "./commands/drop_plan.ts";
import type { PromoteRequest } from "./commands/promote_plan.ts";
import type { RecoverReport } from "./commands/recover.ts";
import type { RepairRequest } from "./commands/repair.ts";
import type { UndoOptions } from "./commands/undo.ts";
import type { RestoreRequest } from "./commands/restore_plan.ts";
import { setPolicy } from "./commands/set.ts";
import { snapshot, standingOf } from "./commands/snapshot.ts";
import { status, type StatusOptions } from "./commands/status.ts";
import type { UpgradeOptions, UpgradeReport } from "./commands/upgrade.ts";
import { verify, type VerifyOptions } from "./commands/verify.ts";
import { type Context, openContext } from "./context.ts";
import { type AppliedReport, applyPlan, type DatasetPlans, plansOf } from "./dataset_plans.ts";
import type { EngineEnv } from "./env.ts";
import { type CommitObjects, commitObjects } from "./commands/history_objects.ts";
import type { DatasetConfig } from "./files/config.ts";
import type { CreatedStore, TouchedStore } from "./files/indexes.ts";
import { findRoot } from "./files/layout.ts";
import type { WorkspaceState } from "./files/workspace.ts";
import { selectKeys } from "./model/keys.ts";
import type { Locator, ObjectManifest, Policy } from "./model/manifest.ts";
import type { Plan } from "./plan/plan.ts";
import type { AddReport, RemoveReport, SetReport } from "./reports/registering.ts";
import type { CallOptions } from "./reports/report.ts";
import type { CloseReport, DropReport, GcReport, RepairReport } from "./reports/releasing.ts";
import type {
  CommitReport,
  NewReport,
  PromoteReport,
  PullReport,
  RestoreReport,
  UndoReport,
} from "./reports/moving.ts";
import type {
  DiffReport,
  LogReport,
  OpsReport,
  SnapshotReport,
  StatusReport,
  VcsDrift,
  VerifyEntry,
  VerifyReport,
} from "./reports/reading.ts";
import { staleKeys } from "./state.ts";

/**
 * Options of {@link Dataset.open}.
 *
 * @example Wait less for another tether
 * ```ts
 * import { Dataset, type DatasetOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * const options: DatasetOptions = { lockTimeoutMs: 1000 };
 * await using ds = await Dataset.init(cwd, options);
 * assert.equal(ds.objects.size, 0);
 * ```
 */
export interface DatasetOptions {
  /** Stops the reading that opening takes; later calls take signals of their own. */
  readonly signal?: AbortSignal;
  /**
   * Milliseconds to wait for another tether in this checkout; twice as long for one in the repository.
   * @default {30000}
   */
  readonly lockTimeoutMs?: number;
  /**
   * Opens a dataset of an older format too. Only {@link Dataset.upgrade} changes it then.
   * @default {false}
   */
  readonly allowOlder?: boolean;
  /**
   * Clock, ids and environment.
   * @default {REAL_ENV}
   */
  readonly env?: EngineEnv;
}

/**
 * Options of {@link Dataset.drop}.
 *
 * @example Say where to go from the bookmark that is dropped
 * ```ts
 * import type { DropOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const options: DropOptions = { to: "main", forcePrune: false };
 * assert.equal(options.to, "main");
 * ```
 */
export type DropOptions = Omit<DropRequest, "bookmark"> & CallOptions;

/**
 * A run of `verify`: await it for the report, or iterate it for the entries.
 *
 * @example Await the whole, or look at one after another
 * ```ts
 * import { Dataset, type VerifyRun } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 *
 * const run: VerifyRun = ds.verify({ deep: true });
 * for await (const { label, status } of run) assert.equal(`${label} ${status}`, "m ok");
 * assert((await run).ok);
 * ```
 */
export interface VerifyRun extends AsyncIterable<VerifyEntry>, PromiseLike<VerifyReport> {}

/**
 * A dataset, opened. Dispose of it to end its helper processes.
 *
 * Needs read permission for the checkout and the folder its repository shares, write permission for both to change
 * anything, permission to run git, and what its objects need ({@link Dataset.permissions} says what that is).
 *
 * @example Register a folder, commit it, and open it
 * ```ts
 * import { Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const uri = await Deno.makeTempDir();
 * await ds.add({ key: "raw", kind: "file", locator: { uri } });
 * await ds.commit({ message: "Baseline" });
 *
 * await using handle = await ds.open("raw");
 * assert.equal(handle.address(), uri);
 * assert.equal((await ds.status()).objects[0]?.state, "clean");
 * ```
 */
export class Dataset implements AsyncDisposable {
  readonly #ctx: Context;

  /** @internal Use {@link Dataset.open}. */
  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  /**
   * Makes a folder a dataset and opens it.
   *
   * @throws {ConfigError} if it is one already.
   * @throws {VcsError} if no version control encloses it.
   */
  static async init(path: string | URL = ".", options: { datasetId?: string } & DatasetOptions = {}): Promise<Dataset> {
    await granted(() => initDataset(fromFileUrl(path), checked("make a dataset", options)));
    return await Dataset.open(path, options);
  }

  /**
   * Opens the dataset at or above a folder. Contacts no store.
   *
   * @throws {ConfigError} if there is none, or its `tether.toml` cannot be used.
   * @throws {VcsError} if its version control is missing or too old.
   * @throws {SandboxError} if the process was not granted the folders or programs that takes.
   */
  static async open(path: string | URL = ".", options: DatasetOptions = {}): Promise<Dataset> {
    return new Dataset(await granted(() => openContext(fromFileUrl(path), checked("open the dataset", options))));
  }

  /** Returns the root of the dataset at or above a folder; `undefined` when there is none. */
  static async find(path: string | URL = "."): Promise<string | undefined> {
    return await granted(() => findRoot(fromFileUrl(path)));
  }

  /** The dataset's root folder, symbolic links resolved. */
  get root(): string {
    return this.#ctx.root;
  }

  /** What `tether.toml` says. */
  get config(): DatasetConfig {
    return this.#ctx.config;
  }

  /** The version control that holds the manifests. */
  get vcs(): VcsAdapter {
    return this.#ctx.vcs;
  }

  /** Objects by key, as last read. */
  get objects(): ReadonlyMap<string, ObjectManifest> {
    return this.#ctx.objects;
  }

  /** The working state of this checkout, as last read. */
  get workspace(): WorkspaceState {
    return this.#ctx.workspace;
  }

  /** Whether this checkout's id is on disk: without it, a saved plan could never be applied. */
  get persistent(): boolean {
    return this.#ctx.workspaceFile.persistent;
  }

  /** What the user should know though nothing failed. */
  get warnings(): readonly string[] {
    return this.#ctx.warnings;
  }

  /** Reads manifests and working state again. */
  async refresh(): Promise<void> {
    await this.#ctx.refresh();
  }

  /** Tells where every object stands. Contacts no store unless a snapshot is asked for. */
  async status(options: StatusOptions = {}): Promise<StatusReport> {
    return await status(this.#ctx, checked("read the status", options));
  }

  /**
   * Reads the states of objects, and caches them.
   *
   * @throws {MultiObjectError} naming each that could not be read, or that changed though it is immutable.
   */
  async snapshot(options: { keys?: readonly string[] } & CallOptions = {}): Promise<SnapshotReport> {
    return await snapshot(this.#ctx, checked("take a snapshot", options));
  }

  /** Checks that recorded states still hold. */
  verify(options: VerifyOptions = {}): VerifyRun {
    const report = (async () => await verify(this.#ctx, checked("verify", options)))();
    return {
      then: (resolve, reject) => report.then(resolve, reject),
      async *[Symbol.asyncIterator]() {
        yield* (await report).entries;
      },
    };
  }

  /** Compares two positions; by default the last commit and the working tree. */
  async diff(
    a?: string,
    b?: string,
    options: { keys?: readonly string[]; content?: boolean } & CallOptions = {},
  ): Promise<DiffReport> {
    const sides = { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
    return await diff(this.#ctx, checked("compare", { ...checked("compare", options), ...sides }));
  }

  /**
   * Reads an object's own history, newest first.
   *
   * @throws {CapabilityError} if its kind keeps none.
   */
  async log(key: string, options: LogOptions = {}): Promise<LogReport> {
    return await log(this.#ctx, checkedText("read a history", "key", key), checked("read a history", options));
  }

  /**
   * Yields the commits that have the dataset, newest first, with the objects each records. Contacts no store. Manifests that
   * cannot be read are left out, each with a warning in {@link Dataset.warnings}.
   *
   * @throws {VcsError} if one of `revs` does not resolve.
   */
  commits(options: { revs?: readonly string[] } & CallOptions = {}): AsyncGenerator<CommitObjects> {
    return commitObjects(this.#ctx, checked("list the commits", options));
  }

  /** Reads the history of a store that need not be registered. */
  async logOf(kind: string, locator: Locator, options: LogOptions = {}): Promise<LogReport> {
    const store = checked("read a history", { kind, locator }, ["kind", "locator"]);
    return await logOf(this.#ctx, store, checked("read a history", options));
  }

  /** Lists what tether did in this checkout, newest first. */
  async ops(options: { limit?: number } = {}): Promise<OpsReport> {
    return await ops(this.#ctx, checked("list the operations", options));
  }

  /**
   * Notes that commits of operations are known to be gone, after a rebase or an amended commit: `status` warns of them no more.
   *
   * @throws {TetherError} if an id names no operation or several, or the commit of one is still there.
   */
  async acknowledge(ops: readonly string[], options: CallOptions = {}): Promise<void> {
    await (await import("./commands/acknowledge.ts")).acknowledge(
      this.#ctx,
      checkedList("acknowledge operations", "ops", ops),
      checked("acknowledge operations", options),
    );
  }

  /**
   * Registers an object. Contacts no store, unless `create` is set.
   *
   * @throws {InvalidLocatorError} if the address can be none, or holds a secret.
   * @throws {ConfigError} if the key is taken or malformed, or the kind is not known.
   * @throws {CapabilityError} if a store is to be made that tether cannot make.
   */
  async add(options: AddOptions): Promise<AddReport> {
    return await add(this.#ctx, checked("register an object", options, ["kind", "locator"]));
  }

  /** Makes a store, registers it and opens it. Experimental, as {@link AddOptions.create}. */
  async create(options: Omit<AddOptions, "create">): Promise<OpenedHandle> {
    const { key } = await this.add({ ...checked("create a store", options), create: true });
    return await this.open(key, options.signal ? { signal: options.signal } : {});
  }

  /** Takes an object out of the dataset. Touches no store. */
  async remove(key: string): Promise<RemoveReport> {
    return await remove(this.#ctx, checkedText("remove an object", "key", key));
  }

  /** Changes the policy of objects; the next commit applies it. Contacts no store. */
  async setPolicy(keys: readonly string[] | "all", policy: Partial<Policy>): Promise<SetReport> {
    const chosen = keys === "all" ? keys : checkedList("set a policy", "keys", keys);
    return await setPolicy(this.#ctx, chosen, checked("set a policy", policy));
  }

  /**
   * Pins what moved, writes it into the manifests and commits them. Without anything to record nothing happens.
   *
   * @throws {StaleWorkingCopyError} if the working copy is not on the bookmark, or a branch stands for something else.
   * @throws {MultiObjectError} if a store could not be read or pinned; pins made by then are taken back.
   * @throws {UnpinnedStateError} if `strict` is set and a state could not be read back.
   */
  async commit(options: CommitOptions): Promise<CommitReport> {
    return await commit(this.#ctx, checked("commit", options, ["message"]));
  }

  /**
   * Goes to a bookmark and gives each system the branch that stands for it.
   *
   * @throws {StaleWorkingCopyError} if another live checkout holds the bookmark.
   * @throws {MultiObjectError} if an object refuses, such as over writes that no commit recorded; then nothing is done.
   */
  async new(options: NewOptions = {}): Promise<NewReport> {
    return await newBookmark(this.#ctx, checked("go to a bookmark", options));
  }

  /** Brings the bookmark up to what its stores hold now, and commits what moved. */
  async pull(options: PullOptions = {}): Promise<PullReport> {
    return await (await import("./commands/pull.ts")).pull(this.#ctx, checked("pull", options));
  }

  /**
   * Takes branches of the bookmark back to what a revision recorded, or to a state of their own store.
   *
   * @throws {MultiObjectError} if an object refuses, such as over writes that no commit recorded; then nothing is done.
   */
  async restore(
    keys: readonly string[],
    options: Omit<RestoreRequest, "keys"> & CallOptions,
  ): Promise<RestoreReport> {
    return await (await import("./commands/restore.ts")).restore(
      this.#ctx,
      checked("restore", { ...checked("restore", options), keys }, ["keys"]),
    );
  }

  /**
   * Takes an operation back: by default the newest that is neither an undo nor undone.
   *
   * @throws {TetherError} if nothing of it can be, saying why.
   */
  async undo(options: UndoOptions = {}): Promise<UndoReport> {
    return await (await import("./commands/undo.ts")).undo(this.#ctx, checked("undo", options));
  }

  /** Makes pins and branches again that manifests name and stores lack. */
  async repair(options: RepairRequest & CallOptions = {}): Promise<RepairReport> {
    return await (await import("./commands/repair.ts")).repair(this.#ctx, checked("repair", options));
  }

  /**
   * Brings a dataset of an older format, opened with `allowOlder`, to the one this tether writes, in one commit.
   *
   * @throws {ConfigError} if the format is too old, or manifests are not committed.
   * @throws {MultiObjectError} with the `report` and the code `partial`, when all is written and the commit failed.
   */
  async upgrade(options: UpgradeOptions = {}): Promise<UpgradeReport> {
    return await (await import("./commands/upgrade.ts")).upgrade(this.#ctx, checked("upgrade", options));
  }

  /** Lists what stores hold of this and other datasets, and the commands that take back what was lost. Changes nothing. */
  async recover(options: { keys?: readonly string[] } & CallOptions = {}): Promise<RecoverReport> {
    return await (await import("./commands/recover.ts")).recover(this.#ctx, checked("recover", options));
  }

  /**
   * Forgets a checkout: its working state and journal, and the checkout itself where version control has it as one of
   * several. Branches belong to bookmarks and stay.
   *
   * @param id Its workspace id, or the first 8 digits. Default: this checkout, and then this object is of no more use.
   * @throws {ConfigError} if no live checkout has that id.
   */
  async forgetWorkspace(id?: string, options: CallOptions = {}): Promise<ForgetReport> {
    return await (await import("./commands/forget.ts")).forget(
      this.#ctx,
      id === undefined ? id : checkedText("forget a checkout", "id", id),
      checked("forget a checkout", options),
    );
  }

  /**
   * Closes an operation that was interrupted and that nothing is going to finish, so that it holds no pins any more and
   * does not stand in the way of undo.
   *
   * @throws {TetherError} if there is no such operation, or it is complete.
   */
  async closeOperation(id: string, options: CallOptions = {}): Promise<CloseReport> {
    return await (await import("./commands/close.ts")).closeOperation(
      this.#ctx,
      checkedText("close an operation", "id", id),
      checked("close an operation", options),
    );
  }

  /**
   * Lands the bookmark on its upstream branches, then on the trunk bookmark.
   *
   * @throws {MultiObjectError} with the `report`, when something did not land; its code is `partial` when something did.
   */
  async promote(options: PromoteRequest & CallOptions = {}): Promise<PromoteReport> {
    return await (await import("./commands/promote.ts")).promote(this.#ctx, checked("promote", options));
  }

  /**
   * Takes commits out of a line of work that goes on. Later commits keep their manifests as they are.
   *
   * @throws {TetherError} with the code `last-holder`, if a state recorded without a pin would be named nowhere any more.
   * @throws {VcsError} if version control cannot: git takes commits only from the history that is checked out.
   * @throws {MultiObjectError} with the `report` and the code `partial`, when releasing failed after history changed.
   */
  async abandon(revs: readonly string[], options: AbandonOptions = {}): Promise<AbandonReport> {
    return await (await import("./commands/abandon.ts")).abandon(
      this.#ctx,
      checkedList("abandon", "revs", revs),
      checked("abandon", options),
    );
  }

  /** Plans throwing a bookmark away; nothing is done unless `dryRun` is `false`. */
  async drop(bookmark: string, options?: DropOptions & { readonly dryRun?: true }): Promise<Plan>;
  /**
   * Throws a bookmark away: its own commits, itself, then its pins and branches.
   *
   * @throws {MultiObjectError} with the `report` and the code `partial`, when releasing failed after history changed.
   */
  async drop(bookmark: string, options: DropOptions & { readonly dryRun: false }): Promise<DropReport>;
  async drop(bookmark: string, options: DropOptions & { readonly dryRun?: boolean } = {}): Promise<Plan | DropReport> {
    const request = checked("drop", { ...checked("drop", options), bookmark }, ["bookmark"]);
    if (options.dryRun !== false) return await this.plan.drop(request);
    return await (await import("./commands/drop.ts")).drop(this.#ctx, request);
  }

  /** Plans what to release; nothing is released unless `dryRun` is `false`. */
  async gc(options?: GcRequest & { readonly dryRun?: true } & CallOptions): Promise<Plan>;
  /**
   * Releases what history no longer names.
   *
   * @throws {MultiObjectError} with the `report`, when a step failed; its code is `partial` when others took effect.
   */
  async gc(options: GcRequest & { readonly dryRun: false } & CallOptions): Promise<GcReport>;
  async gc(options: GcRequest & { readonly dryRun?: boolean } & CallOptions = {}): Promise<Plan | GcReport> {
    const request = checked("collect garbage", options);
    if (options.dryRun !== false) return await this.plan.gc(request);
    return await (await import("./commands/gc.ts")).gc(this.#ctx, request);
  }

  /**
   * Opens an object; the handle has its native address. Makes the branch that {@link Dataset.new} decided on, where it
   * is to be written.
   *
   * @throws {StaleWorkingCopyError} if it is to be written and there is no bookmark to write on.
   * @throws {CapabilityError} if it is to be written and has no branches.
   * @throws {PinDriftError} if the pin of the revision names another state.
   * @throws {SandboxError} if the process was not granted what the object needs.
   */
  async open(key: string, options: OpenObjectOptions = {}): Promise<OpenedHandle> {
    return await open(this.#ctx, checkedText("open an object", "key", key), checked("open an object", options));
  }

  /** Makes the branch that {@link Dataset.new} left pending; returns its name. */
  async materializeFork(key: string, options: CallOptions = {}): Promise<string> {
    const name = checkedText("make a branch", "key", key);
    return await materializeFork(this.#ctx, name, checked("make a branch", options));
  }

  /** Plans without applying. */
  get plan(): DatasetPlans {
    return plansOf(this.#ctx);
  }

  /**
   * Applies a saved plan.
   *
   * @throws {StalePlanError} if anything it saw changed; then nothing is written.
   */
  async apply(plan: Plan, options: { message?: string } & CallOptions = {}): Promise<AppliedReport> {
    return await applyPlan(this.#ctx, plan, checked("apply a plan", options));
  }

  /**
   * Checks, without applying it, whether a saved plan would still apply. Takes no lock.
   *
   * @throws {StalePlanError} at the first thing that is not as the plan saw it, or if it was edited.
   * @throws {MultiObjectError} if it holds refusals, and its command does all of it or nothing.
   */
  async checkPlan(plan: Plan): Promise<void> {
    await (await import("./commands/check_plan.ts")).checkSavedPlan(this.#ctx, plan);
  }

  /** Returns the Deno flags that some objects, the dataset's own files and its version control need. */
  async permissions(options: { keys?: readonly string[]; access?: Access } = {}): Promise<PermissionsReport> {
    return await permissions(this.#ctx, checked("tell the permissions", options));
  }

  /**
   * Returns the keys selectors name: `raw/` is all below it, none at all is every key.
   *
   * @throws {ConfigError} if one names nothing.
   */
  selectKeys(selectors: readonly string[] | undefined, among: Iterable<string> = this.objects.keys()): string[] {
    return selectKeys(selectors, among);
  }

  /** Returns the stores that this clone made and has not deleted. */
  async createdStores(): Promise<CreatedStore[]> {
    return await this.#ctx.indexes.created();
  }

  /** Returns the stores that this clone wrote pins or branches into: where `gc` looks besides the registered ones. */
  async touchedStores(): Promise<TouchedStore[]> {
    return await this.#ctx.indexes.touched();
  }

  /** Returns the keys whose branches do not stand for what the bookmark records. */
  async staleKeys(): Promise<string[]> {
    return staleKeys(await standingOf(this.#ctx));
  }

  /** Returns a sentence for each way in which the working copy and the bookmark disagree. */
  async bookmarkDrift(): Promise<string[]> {
    return await bookmarkDrift(this.#ctx, await standingOf(this.#ctx));
  }

  /** Returns the dataset commits that history no longer has, but for those that were acknowledged. */
  async vcsDrift(): Promise<VcsDrift[]> {
    return await newVcsDrift(this.#ctx);
  }

  /** Returns the workspace ids of other live checkouts that work on a bookmark. */
  async bookmarkHolders(bookmark: string): Promise<string[]> {
    return await bookmarkHolders(this.#ctx, bookmark);
  }

  /** Returns the bookmarks that version control has or a live checkout works on. */
  async liveBookmarks(): Promise<Set<string>> {
    const live = new Set((await this.#ctx.vcs.bookmarks()).keys());
    for (const { bookmark } of [this.workspace, ...(await otherCheckouts(this.#ctx)).map((c) => c.workspace)]) {
      if (bookmark !== null) live.add(bookmark);
    }
    return live;
  }

  /** Ends helper processes, pools and workers. Takes no lock. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ctx[Symbol.asyncDispose]();
  }
}
