/**
 * `commit`: pins what moved, writes it into the manifests, and commits those (commands §5.9).
 *
 * The order is what makes a kill harmless: journal, pins, manifests, listings, VCS commit, completion mark. A pin made by an
 * operation that never finished stays referenced by its journal entry, and the next commit finds it by content address.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { ConfigError, StalePlanError } from "../model/errors.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import { renderState } from "../model/render_state.ts";
import { redact } from "../model/redact.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import { entryOf } from "../files/workspace.ts";
import { operands } from "../io/shell.ts";
import { operate, withLocks } from "../plan/operation.ts";
import type { Action, Plan } from "../plan/plan.ts";
import { actionsOf, checkPlan } from "../plan/preconditions.ts";
import { settle } from "../plan/settle.ts";
import { requireStorePermissions } from "./granted.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { CommitReport } from "../reports/moving.ts";
import { isForkable, isMoving, workingRefOf } from "../state.ts";
import { manifestsOf } from "../revision.ts";
import { CommitSteps } from "./commit_steps.ts";
import { type CommitPlanOptions, planCommit, requireOnBookmark } from "./commit_plan.ts";
import { commitPaths, type CommitScope } from "./commit_paths.ts";
import { refuseUnpinnable } from "./pin_refusals.ts";
import { removedKeys } from "./removed.ts";
import { refuseSecretsInCommit, refuseTokenMessage } from "./secret_check.ts";
import { immutableDrift, pickSignal, readStates, standingOf } from "./snapshot.ts";
import { completeLanded, keepBaseStates, writtenByUnfinished } from "./unfinished.ts";

/**
 * Options of {@link commit}.
 *
 * @example Write manifests, and leave the git commit to somebody else
 * ```ts
 * import { type CommitOptions, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * const options: CommitOptions = { message: "Baseline", vcs: false };
 * const { vcsCommit, pinned } = await ds.commit(options);
 * assert.deepEqual([vcsCommit, Object.keys(pinned)], [null, ["m"]]);
 * ```
 */
export interface CommitOptions extends CommitPlanOptions {
  /**
   * `false` writes manifests and makes no VCS commit.
   * @default {true}
   */
  readonly vcs?: boolean;
}

/** Options of {@link applyCommit}. */
export interface ApplyCommitOptions extends CallOptions {
  /** Takes the place of the plan's message; it travels beside the plan and its digest (Δ36). */
  readonly message?: string;
  /** @default {true} */
  readonly vcs?: boolean;
}

/** Plans and applies a commit under one hold of the locks. */
export function commit(ctx: Context, options: CommitOptions): Promise<CommitReport> {
  return withLocks(ctx, { command: "commit", repository: true, ...pickSignal(options) }, async () => {
    await completeLanded(ctx);
    const plan = await planCommit(ctx, options);
    await checkPlan(ctx, plan, "commit");
    return await applyPlanned(ctx, plan, options);
  });
}

/** Applies a saved plan: checks it, reads every object it records again, and refuses if one moved. */
export function applyCommit(ctx: Context, plan: Plan, options: ApplyCommitOptions = {}): Promise<CommitReport> {
  return withLocks(ctx, { command: "commit", repository: true, ...pickSignal(options) }, async () => {
    await completeLanded(ctx);
    await checkPlan(ctx, plan, "commit");
    await requireUnmoved(ctx, plan, options);
    return await applyPlanned(ctx, plan, options);
  });
}

/**
 * Checks what applying a saved plan checks beyond its preconditions: what it would record is read again.
 *
 * @throws {TetherError} if it would be refused.
 */
export async function requireCommittable(ctx: Context, plan: Plan): Promise<void> {
  await requireUnmoved(ctx, plan, {});
  await requireOnBookmark(ctx, plan.context["pull"] === true ? "pull" : "commit");
  await refuseSecretsInCommit(ctx, plannedObjects(ctx, plan));
  await refuseUnpinnable(ctx, plan, plannedObjects(ctx, plan));
}

/** Refuses a plan whose objects hold other states than it recorded. */
async function requireUnmoved(ctx: Context, plan: Plan, options: CallOptions): Promise<void> {
  const standing = await standingOf(ctx);
  const planned = plannedObjects(ctx, plan).filter((o) => isMoving(o, standing));
  const { values, errors } = await readStates(ctx, planned, { ...options, standing });
  if (errors.size > 0) throw new MultiObjectError(`Cannot read ${errors.size} object(s) of the plan`, errors);
  const states = plan.context["states"] as Readonly<Record<string, State>>;
  const moved = planned.filter((o) => {
    const volatile = standing.statics.get(o.kind)?.volatileKeys ?? new Set<string>();
    return !sameContent(values.get(o.key), states[o.key], volatile);
  });
  if (moved.length === 0) return;
  const list = moved.map((o) =>
    `"${o.key}" (planned ${renderState(states[o.key])}, now ${renderState(values.get(o.key))})`
  );
  throw new StalePlanError(`Cannot apply the plan: ${list.join(", ")} moved since it was made`, {
    hints: ["tether commit --dry-run"],
    details: { moved: moved.map((o) => o.key) },
  });
}

/** Returns the objects a commit's plan covers. */
function plannedObjects(ctx: Context, plan: Plan): ObjectManifest[] {
  const keys = plan.context["keys"];
  return Array.isArray(keys) ? keys.flatMap((k) => ctx.objects.get(String(k)) ?? []) : [...ctx.objects.values()];
}

/** Applies a commit's plan, with the locks held and its preconditions checked. */
export async function applyPlanned(
  ctx: Context,
  plan: Plan,
  options: ApplyCommitOptions,
): Promise<CommitReport> {
  const pulling = plan.context["pull"] === true;
  await requireOnBookmark(ctx, pulling ? "pull" : "commit");
  const message = options.message ?? String(plan.context["message"]);
  if (message.trim() === "") {
    throw new ConfigError("Cannot commit without a message", { code: "message", hints: ["tether commit -m MESSAGE"] });
  }
  refuseTokenMessage(message);
  const chosen = plannedObjects(ctx, plan);
  await refuseSecretsInCommit(ctx, chosen);
  await refuseUnpinnable(ctx, plan, chosen);
  const recording = actionsOf(plan, "pin", "record");
  const withVcs = options.vcs !== false;
  const keys = plan.context["keys"];
  const selection = { objects: chosen, ...(Array.isArray(keys) ? { keys: keys.map(String) } : {}) };
  const dirty = withVcs && recording.length === 0 ? await ctx.vcs.dirty(await commitPaths(ctx, selection)) : [];
  const idle = recording.length === 0 && dirty.length === 0;
  const left = pulling ? { notRead: [], hints: [] } : await leftAlone(ctx, chosen, { idle });
  if (idle) {
    await keepBaseStates(ctx);
    await settle(ctx, { command: "commit", plan });
    return report(ctx, plan, left);
  }

  const removed = withVcs ? await removedIn(ctx, selection) : [];
  const recorded = recording.map((a) => ctx.object(a.key));
  await requireStorePermissions(ctx, recorded.filter((_, i) => recording[i]?.op === "pin"), "refs");
  options.signal?.throwIfAborted();
  const written = await writtenByUnfinished(ctx);
  const resumed = chosen.map((o) => o.key).filter((k) => written.before.has(k) && !recorded.some((o) => o.key === k));
  if (resumed.length > 0) {
    ctx.warn(`Takes in what the interrupted operation ${written.by.join(", ")} had recorded already`);
  }
  const steps = new CommitSteps(ctx, { message, selection, withVcs, attach: pulling, ...pickSignal(options) });
  const pre: JsonObject = {
    vcs: withVcs ? (await ctx.position()).record : null,
    objects: {
      ...await textsOf(ctx, recorded),
      ...Object.fromEntries(resumed.map((key) => [key, written.before.get(key) ?? null])),
    },
    workspace: await ctx.workspaceFile.text(),
  };
  await operate(ctx, { command: pulling ? "pull" : "commit", plan, pre }, {
    async run(op) {
      await steps.pin(op, actionsOf(plan, "pin"));
      await steps.writeManifests(op, recording);
      if (withVcs) await steps.commitToVcs(op);
      await steps.rememberStates(chosen.map((o) => o.key));
      const result: JsonObject = {
        vcs_commit: steps.vcsCommit ?? null,
        ...nowRecorded(ctx, { recording, resumed }, (object) => object.pin?.id ?? null),
      };
      if (!steps.trouble) return { result, value: undefined };
      return {
        result: { ...result, failed_after_commit: redact(steps.trouble.message) },
        value: undefined,
        error: steps.trouble,
      };
    },
    compensate: (error) => steps.rollBack(error),
  });
  return report(ctx, plan, { ...left, committed: { recording, resumed, steps, removed } });
}

interface Left {
  readonly notRead: readonly string[];
  readonly hints: readonly string[];
}

/** What a commit does not look at, and how to take it in: only `pull` reads what this checkout does not move (Δ33). */
async function leftAlone(
  ctx: Context,
  chosen: readonly ObjectManifest[],
  { idle }: { readonly idle: boolean },
): Promise<Left> {
  const standing = await standingOf(ctx);
  const others = chosen.filter((o) => o.state !== null && !isMoving(o, standing) && standing.statics.has(o.kind));
  const seen = (o: ObjectManifest): State | undefined => entryOf(ctx.workspace.lastSnapshot, o.key);
  const changed = others.filter((o) => {
    const volatile = standing.statics.get(o.kind)?.volatileKeys ?? new Set<string>();
    return seen(o) !== undefined && !sameContent(seen(o), o.state, volatile);
  });
  const fixed = changed.filter((o) => immutableDrift(o, seen(o), standing));
  const lacksBranch = (o: ObjectManifest): boolean =>
    !standing.onTrunk && isForkable(o, standing.statics.get(o.kind)) && workingRefOf(o, standing).at === "none";
  // Nothing is silent: where nothing was recorded, what was not looked at may be what the user meant.
  const meant = idle ? others : changed;
  const elsewhere = meant.filter((o) => !lacksBranch(o));
  const onTrunk = standing.onTrunk || elsewhere.length === 0 ? ctx.objects : await objectsOnTrunk(ctx);
  const back = standing.onTrunk ? "" : `tether new ${operands([ctx.config.trunk])} && `;
  return {
    notRead: others.map((o) => o.key),
    hints: [
      // What this commit records for the first time has no branch yet either.
      ...(chosen.some((o) => lacksBranch(o) && (o.state === null || meant.includes(o))) ? ["tether new"] : []),
      ...(fixed.length > 0 ? [`tether set --file versioned ${operands(fixed.map((o) => o.key))}`] : []),
      ...(elsewhere.some((o) => !onTrunk.has(o.key)) ? ["tether promote"] : []),
      ...(elsewhere.some((o) => onTrunk.has(o.key)) ? [`${back}tether pull`] : []),
    ],
  };
}

/** Returns what the trunk records: what it lacks has to land there first. */
async function objectsOnTrunk(ctx: Context): Promise<ReadonlyMap<string, ObjectManifest>> {
  const commit = (await ctx.vcs.bookmarks()).get(ctx.config.trunk);
  return commit ? await manifestsOf(ctx, commit) : new Map<string, ObjectManifest>();
}

/** Returns the keys a commit leaves out that the commit before has. */
async function removedIn(ctx: Context, { keys }: CommitScope): Promise<readonly string[]> {
  const removed = await removedKeys(ctx);
  return keys === undefined ? removed : removed.filter((k) => keys.includes(k));
}

async function textsOf(ctx: Context, objects: readonly ObjectManifest[]): Promise<JsonObject> {
  const texts: Record<string, string | null> = {};
  for (const { key } of objects) texts[key] = await ctx.manifests.text(key) ?? null;
  return texts;
}

/** What a commit records. */
interface Recorded {
  readonly recording: readonly Action[];
  /** Keys whose manifests an interrupted commit had written. */
  readonly resumed: readonly string[];
}

/**
 * Returns what a commit recorded, as the manifests have it: where a name was used up, the store gave the ref another one.
 * Pinned are those whose states can be read back, with a pin or without one at their own address.
 */
function nowRecorded<T extends Json>(
  ctx: Context,
  { recording, resumed }: Recorded,
  name: (object: ObjectManifest) => T,
): { pinned: Record<string, T>; unrecoverable: string[] } {
  const objects = [...recording.map((a) => a.key), ...resumed].map((key) => ctx.object(key));
  return {
    pinned: Object.fromEntries(objects.filter((o) => o.recoverable).map((o) => [o.key, name(o)])),
    unrecoverable: objects.filter((o) => !o.recoverable).map((o) => o.key),
  };
}

interface Committed extends Recorded {
  readonly steps: CommitSteps;
  /** Keys it leaves out that the commit before has. */
  readonly removed: readonly string[];
}

function report(
  ctx: Context,
  plan: Plan,
  { committed: done, notRead, hints }: Left & { committed?: Committed },
): CommitReport {
  const data = {
    vcsCommit: done?.steps.vcsCommit ?? null,
    ...nowRecorded(ctx, done ?? { recording: [], resumed: [] }, (object) => object.pin?.ref ?? null),
    unchanged: plan.notes.filter((n) => n.endsWith(": unchanged")).map((n) => n.slice(0, -": unchanged".length))
      .filter((key) => !done?.resumed.includes(key)),
    removed: done?.removed ?? [],
    notRead,
    hints,
    warnings: [...ctx.warnings],
  };
  return withJson(data, () => ({
    vcs_commit: data.vcsCommit,
    pinned: data.pinned,
    unrecoverable: data.unrecoverable,
    unchanged: data.unchanged,
    removed: data.removed,
    not_read: data.notRead,
  }));
}
