/**
 * `forget-workspace`: retires a checkout (commands §5.20). It touches no store: branches belong to bookmarks.
 *
 * @module
 */

import { join } from "node:path";
import type { Checkout } from "../../vcs/adapter.ts";
import { otherCheckouts } from "../checkouts.ts";
import type { Context } from "../context.ts";
import { seconds } from "../env.ts";
import { removeIfThere } from "../files/atomic.ts";
import { Journal, type OpEntry, planActions, planContext } from "../files/journal.ts";
import { datasetPaths, refuseLinks } from "../files/layout.ts";
import { acquireLock } from "../files/lock.ts";
import { parseWorkspace, WorkspaceFile, type WorkspaceState } from "../files/workspace.ts";
import { asError, ConfigError, VcsError } from "../model/errors.ts";
import { MultiObjectError, reasonOf } from "../model/multi_object_error.ts";
import { operate, withLocks } from "../plan/operation.ts";
import { Plan } from "../plan/plan.ts";
import { checkPlan } from "../plan/preconditions.ts";
import { type CallOptions, type Report, withJson } from "../reports/report.ts";
import { action } from "./gc_input.ts";
import { finishing, unfinished } from "./unfinished.ts";
import { pickSignal } from "./snapshot.ts";

/**
 * Report of `forget-workspace`.
 *
 * @example Retire a second checkout
 * ```ts
 * import { Dataset, type ForgetReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * const second = `${await Deno.makeTempDir()}/second`;
 * execSync(`git worktree add -q -b relabel ${second}`, { cwd });
 * await using there = await Dataset.open(second);
 * await there.new();
 *
 * const report: ForgetReport = await ds.forgetWorkspace(there.workspace.workspaceId);
 * assert.match(report.vcs ?? "", /^git removed the worktree at /);
 * assert.deepEqual(report.failed, {});
 * ```
 */
export interface ForgetReport extends Report {
  /** The first 8 digits of the checkout's workspace id. */
  readonly workspace: string;
  /** Files of tether's that were deleted. */
  readonly removedFiles: readonly string[];
  /** What version control did; `null` where the checkout is its main one. */
  readonly vcs: string | null;
  /** What could not be deleted, and why. */
  readonly failed: Readonly<Record<string, string>>;
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/** A live checkout. */
interface Retiree {
  readonly root: string;
  readonly checkout: Checkout;
  readonly workspace: WorkspaceState;
}

/** Plans and applies under one hold of the lock. */
export function forget(ctx: Context, id: string | undefined, options: CallOptions = {}): Promise<ForgetReport> {
  return locked(ctx, options, async () => {
    const begun = id === undefined ? undefined : await forgottenByHalf(ctx, id);
    if (begun) return await finishForgetting(ctx, begun);
    const plan = await planForget(ctx, id);
    await checkPlan(ctx, plan, "forget-workspace");
    return await apply(ctx, plan);
  });
}

/** Applies a saved plan. */
export function applyForget(ctx: Context, plan: Plan, options: CallOptions = {}): Promise<ForgetReport> {
  return locked(ctx, options, async () => {
    await checkPlan(ctx, plan, "forget-workspace");
    return await apply(ctx, plan);
  });
}

function locked<T>(ctx: Context, options: CallOptions, fn: () => Promise<T>): Promise<T> {
  return withLocks(ctx, { command: "forget-workspace", repository: false, ...pickSignal(options) }, fn);
}

/** Plans forgetting a checkout. Reads only. */
export async function planForget(ctx: Context, id: string | undefined): Promise<Plan> {
  const retiree = await find(ctx, id);
  const { checkout, workspace, root } = retiree;
  const entries = await new Journal(datasetPaths(root).journal).read();
  const vcs = await vcsAction(ctx, checkout);
  return new Plan({
    command: "forget-workspace",
    createdAt: seconds(ctx.env.now()),
    context: { workspace: workspace.workspaceId, current: checkout.current, root: checkout.root },
    notes: [
      "store branches belong to bookmarks and stay; drop a bookmark to release its own",
      ...entries.filter((e) => e.status === "started" && e.parent === null).map((e) =>
        `"${e.id}" (${e.command}) never finished there: "${finishing(e)}" in that checkout finishes it first`
      ),
    ],
    preconditions: [],
    actions: [
      ...(await filesOf(root)).map((file) => action("delete-file", { target: file, detail: "of that checkout alone" })),
      ...(vcs === null ? [] : [action("forget-vcs-workspace", { target: checkout.root, detail: vcs.detail })]),
    ],
  });
}

/** Finds a live checkout by its id. @throws {ConfigError} listing the ids there are (Δ13). */
async function find(ctx: Context, id: string | undefined): Promise<Retiree> {
  const checkouts = await ctx.vcs.checkouts();
  const here = checkouts.find((c) => c.current);
  const live: Retiree[] = [
    ...(here ? [{ root: ctx.root, checkout: here, workspace: ctx.workspace }] : []),
    ...await otherCheckouts(ctx),
  ];
  const wanted = id ?? ctx.workspace.workspaceId;
  const found = live.find(({ workspace: { workspaceId } }) =>
    workspaceId === wanted || workspaceId.slice(0, 8) === wanted
  );
  if (found) return found;
  const absent = await ctx.vcs.absentCheckouts();
  const ids = live.map((l) => `${l.workspace.workspaceId.slice(0, 8)} at "${l.checkout.root}"`);
  throw new ConfigError(`Cannot forget workspace "${wanted}": live checkouts are ${ids.join(", ")}`, {
    code: "no-workspace",
    hints: [
      // Not this one: nobody means it who names another.
      ...live.filter((l) => !l.checkout.current).map((l) =>
        `tether forget-workspace ${l.workspace.workspaceId.slice(0, 8)}`
      ),
      // The id of one that is away is there, too.
      ...absent.flatMap(({ hints }) => hints),
    ],
  });
}

/** The files there are of one checkout alone, by where it is: a plan's own paths are never followed (Δ20). */
async function filesOf(root: string): Promise<string[]> {
  const paths = datasetPaths(root);
  const there: string[] = [];
  for (const file of [paths.journal, paths.workspace]) {
    try {
      await Deno.lstat(file);
      there.push(file);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return there;
}

/** What version control can do, before and after. */
async function vcsAction(
  ctx: Context,
  checkout: Checkout,
): Promise<{ readonly detail: string; readonly done: string } | null> {
  if (ctx.vcs.kind === "git") {
    if (checkout.main) return null;
    return {
      detail: "git removes the worktree with its folder, unless that holds changes",
      done: `git removed the worktree at ${checkout.root}`,
    };
  }
  const only = (await ctx.vcs.checkouts()).length === 1;
  if (only) return null;
  return {
    detail: `jj forgets workspace ${checkout.name ?? ""}; its folder stays`,
    done: `jj forgot workspace ${checkout.name ?? ""}; its folder stays`,
  };
}

/**
 * Checks what applying a plan checks before it writes: it has no preconditions.
 *
 * @throws {TetherError} if it would be refused.
 */
export async function requireForgettable(ctx: Context, plan: Plan): Promise<Retiree> {
  const retiree = await find(ctx, String(plan.context["workspace"]));
  const { checkout, root } = retiree;
  await refuseLinks(datasetPaths(root));
  if (await vcsAction(ctx, checkout) === null) return retiree;
  const problem = await ctx.vcs.forgetProblem(checkout.root);
  if (problem === undefined) return retiree;
  throw new VcsError(`Cannot remove the worktree at "${checkout.root}": ${problem.reason}`, {
    code: "dirty",
    hints: problem.hints,
  });
}

/** A checkout that version control forgot before the process died. */
interface HalfForgotten {
  readonly entry: OpEntry;
  readonly root: string;
  readonly workspaceId: string;
}

/** Finds the interrupted operation that forgot a checkout, if that is not live any more (L37). */
async function forgottenByHalf(ctx: Context, id: string): Promise<HalfForgotten | undefined> {
  const live = [ctx.workspace, ...(await otherCheckouts(ctx)).map((c) => c.workspace)].map((w) => w.workspaceId);
  for (const entry of (await unfinished(ctx)).filter((e) => e.command === "forget-workspace")) {
    const { workspace, root } = planContext(entry.plan);
    if (typeof workspace !== "string" || typeof root !== "string" || live.includes(workspace)) continue;
    if (workspace !== id && workspace.slice(0, 8) !== id) continue;
    return { entry, root: join(root, ctx.vcs.location.rel), workspaceId: workspace };
  }
  return undefined;
}

/** Deletes the files that were left. The folder may be another's by now: it is this one while it says so. */
async function finishForgetting(ctx: Context, { entry, root, workspaceId }: HalfForgotten): Promise<ForgetReport> {
  const paths = datasetPaths(root);
  await refuseLinks(paths);
  const gone = new Removal();
  const claim = await new WorkspaceFile(root).text();
  if (claim !== null && parseWorkspace(claim, paths.workspace).workspaceId === workspaceId) {
    await gone.remove([paths.journal, paths.workspace]);
  }
  await ctx.journal.close(entry.id, { workspace: workspaceId });
  const there = planActions(entry.plan).some((a) => a["op"] === "forget-vcs-workspace");
  return finish(ctx, workspaceId, gone, there ? `${ctx.vcs.kind} forgot the checkout at ${root}` : null);
}

async function apply(ctx: Context, plan: Plan): Promise<ForgetReport> {
  const { checkout, root, workspace } = await requireForgettable(ctx, plan);
  const paths = datasetPaths(root);
  // Not while a tether works there; that of this checkout is held already.
  await using _there = checkout.current ? undefined : await acquireLock(paths.lock, {
    command: "forget-workspace",
    hintPath: join(paths.cache, "lock.json"),
    timeoutMs: ctx.lockTimeoutMs,
  });
  const pre = { workspace: await ctx.workspaceFile.text() };
  const result = { workspace: workspace.workspaceId };
  const gone = new Removal();
  const vcs = await vcsAction(ctx, checkout);
  // The journal of this checkout is about to be there. The file that says whose checkout it is goes last.
  const files = checkout.current ? [paths.journal, paths.workspace] : await filesOf(root);
  const effects = async (): Promise<void> => {
    // First what may refuse: then nothing is half forgotten.
    if (vcs !== null) await ctx.vcs.forgetCheckout(checkout.root);
    await ctx.env.boundary?.("forgotten");
    await gone.remove(files);
    await ctx.env.boundary?.("files");
  };
  await operate(ctx, { command: "forget-workspace", plan, pre }, {
    async run() {
      // This checkout's journal goes with it, so its entry has to be whole before.
      if (!checkout.current) await effects();
      return { result, value: undefined };
    },
  });
  if (checkout.current) await effects();
  return finish(ctx, workspace.workspaceId, gone, vcs?.done ?? null);
}

/** Files that are deleted, and those that cannot be. */
class Removal {
  readonly removed: string[] = [];
  readonly failed: Map<string, Error> = new Map();

  async remove(files: readonly string[]): Promise<void> {
    for (const file of files) {
      try {
        await removeIfThere(file);
        this.removed.push(file);
      } catch (error) {
        this.failed.set(file, asError(error));
      }
    }
  }
}

function finish(ctx: Context, workspaceId: string, { removed, failed }: Removal, vcs: string | null): ForgetReport {
  const data = {
    workspace: workspaceId.slice(0, 8),
    removedFiles: removed,
    vcs,
    failed: Object.fromEntries([...failed].map(([file, error]) => [file, reasonOf(error)])),
    warnings: [...ctx.warnings],
  };
  const report = withJson(data, () => ({
    workspace: data.workspace,
    removed_files: [...removed],
    vcs: data.vcs,
    failed: data.failed,
  }));
  if (failed.size === 0) return report;
  throw new MultiObjectError(`Cannot delete all files of workspace "${data.workspace}"`, failed, {
    code: "partial",
    report,
  });
}
