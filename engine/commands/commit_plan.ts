/**
 * The plan of `commit`: which objects moved, and what recording each takes (commands §5.9). Reads only.
 *
 * @module
 */

import { entryOf } from "../files/workspace.ts";
import { tierOf } from "../../backends/backend.ts";
import type { Position } from "../../vcs/adapter.ts";
import type { Context } from "../context.ts";
import { seconds } from "../env.ts";
import { capabilitiesOf, scopeOf } from "../kinds.ts";
import { ConfigError, StaleWorkingCopyError, UnpinnedStateError } from "../model/errors.ts";
import { MultiObjectError, reasonOf } from "../model/multi_object_error.ts";
import { renderState } from "../model/render_state.ts";
import { computePinId } from "../model/hash.ts";
import { compareCodePoints } from "../model/json.ts";
import { selectKeys } from "../model/keys.ts";
import { contentState, type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import { refForPin } from "../model/names.ts";
import { operands, shellQuote } from "../io/shell.ts";
import { type Action, Plan, type Precondition } from "../plan/plan.ts";
import type { CallOptions } from "../reports/report.ts";
import { isMoving, staleKeys } from "../state.ts";
import { type Bound, eachObject, wantsPin } from "./fan_out.ts";
import { refuseSecretsInCommit, refuseTokenMessage } from "./secret_check.ts";
import { leftBehind, refuseMoved } from "./moved.ts";
import { refuseUnpinnable } from "./pin_refusals.ts";
import { removedKeys } from "./removed.ts";
import { renderRetention, retentionOf } from "./retention.ts";
import { pickSignal, readStates, standingOf, withoutFailed } from "./snapshot.ts";

/**
 * Options of a commit's plan.
 *
 * @example Commit a part
 * ```ts
 * import { type CommitPlanOptions, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw/plate1", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * const options: CommitPlanOptions = { message: "Raw data", keys: ["raw/"] };
 * const plan = await ds.plan.commit(options);
 * assert.deepEqual(plan.actions.map((a) => a.key), ["raw/plate1", ""]);
 * ```
 */
export interface CommitPlanOptions extends CallOptions {
  /** The message of the commit in version control. */
  readonly message: string;
  /**
   * Keys, and prefixes that end in `/`.
   * @default {every object}
   */
  readonly keys?: readonly string[];
  /**
   * Refuses objects whose state could not be read back.
   * @default {false}
   */
  readonly strict?: boolean;
  /**
   * Commits although writers are active, where a kind can tell.
   * @default {false}
   */
  readonly force?: boolean;
  /**
   * Reads the stores; `false` takes what was read last.
   * @default {true}
   */
  readonly snapshot?: boolean;
}

/** Refuses while a rebase, a merge or a bisect is in progress, or the working copy is stale (L17, L18). Contacts no store. */
export async function requireSettled(ctx: Context, doing: string): Promise<void> {
  const { blocked } = await ctx.position();
  if (!blocked || blocked.detachedOnly) return;
  throw new StaleWorkingCopyError(`Cannot ${doing}: ${blocked.reason}`, { hints: blocked.hints });
}

/**
 * Refuses while the working copy is not where the workspace's bookmark is (Δ2, Δ3, L18). Contacts no store.
 *
 * @param doing What cannot be done, such as `commit`.
 * @param options `hints`: ways out besides those of this refusal.
 */
export async function requireOnBookmark(
  ctx: Context,
  doing: string,
  options: { readonly hints?: readonly string[] } = {},
): Promise<void> {
  const refuse = (why: string, hints: readonly string[]): never => {
    throw new StaleWorkingCopyError(`Cannot ${doing}: ${why}`, { hints: [...hints, ...options.hints ?? []] });
  };
  const { bookmark } = ctx.workspace;
  const here = await ctx.position();
  if (here.blocked && !here.blocked.detachedOnly) return refuse(here.blocked.reason, here.blocked.hints);
  if (bookmark === null) {
    const [first = ctx.config.trunk] = here.bookmarks;
    return refuse("this checkout is on no bookmark, so it is read-only", [
      `tether new ${operands([first])}`,
      "tether new -b NAME",
    ]);
  }
  if (here.bookmarks.includes(bookmark)) return;
  const target = (await ctx.vcs.bookmarks()).get(bookmark);
  if (target === null) {
    return refuse(`bookmark "${bookmark}" is conflicted, it has several targets`, [
      `jj bookmark set ${shellQuote(bookmark)} -r REV`,
    ]);
  }
  const on = here.bookmarks.length > 0 ? here.bookmarks.map((b) => `"${b}"`).join(", ") : "no bookmark";
  if (target === undefined && here.commit !== null) {
    return refuse(`bookmark "${bookmark}" is gone, the working copy is on ${on}`, [
      `tether new -b ${shellQuote(bookmark)}`,
      ...workHere(here),
    ]);
  }
  if (ctx.vcs.kind === "jj" && target && here.commit && await ctx.vcs.isAncestor(target, here.commit)) {
    return refuse(`bookmark "${bookmark}" is further back than the commit under the working copy`, [
      `tether new --keep ${operands([bookmark])}`,
    ]);
  }
  refuse(`the working copy left bookmark "${bookmark}" for ${on}`, [
    `tether new ${operands([bookmark])}`,
    ...workHere(here),
  ]);
}

/** Returns the commands that go on where the working copy is; on no bookmark one must be made. */
export function workHere(here: Position): string[] {
  return here.bookmarks.length > 0 ? ["tether new"] : ["tether new -b NAME"];
}

/** What a selection names: objects that are there, and keys whose removal the commit records (Δ35). */
export interface Selection {
  readonly objects: readonly ObjectManifest[];
  readonly removed: readonly string[];
}

/**
 * Resolves the selectors of a commit.
 *
 * @throws {ConfigError} if one matches nothing.
 */
export async function selectForCommit(ctx: Context, selectors: readonly string[] | undefined): Promise<Selection> {
  if (!selectors || selectors.length === 0) {
    ctx.requireWholeManifests();
    return { objects: [...ctx.objects.values()], removed: [] };
  }
  const gone = new Set(await removedKeys(ctx));
  const keys = selectKeys(selectors, [...ctx.keys(), ...gone]);
  return {
    objects: keys.filter((k) => !gone.has(k)).map((k) => ctx.object(k)),
    removed: keys.filter((k) => gone.has(k)),
  };
}

/** Plans a commit. Nothing is written. */
export async function planCommit(ctx: Context, options: CommitPlanOptions): Promise<Plan> {
  await requireOnBookmark(ctx, "commit");
  const { objects, removed } = await selectForCommit(ctx, options.keys);
  // Before any store is read: a commit that could not be whole must not pin either.
  await (options.keys && options.keys.length > 0 ? refuseMoved(ctx) : leftBehind(ctx));
  const standing = await standingOf(ctx);
  refuseStale(staleKeys(standing).filter((k) => objects.some((o) => o.key === k)));
  const moving = objects.filter((o) => isMoving(o, standing));
  const cached = (o: ObjectManifest): State | null | undefined =>
    options.snapshot === false ? entryOf(ctx.workspace.lastSnapshot, o.key) ?? o.state : undefined;
  const { values, errors } = await readStates(ctx, moving.filter((o) => !cached(o)), { ...options, standing });
  if (errors.size > 0) {
    throw new MultiObjectError(`Cannot read ${errors.size} object(s) to commit`, errors, {
      hints: withoutFailed(objects, errors, "commit"),
    });
  }
  // An object this checkout cannot have moved sits where its manifest says.
  const states = new Map(objects.map((o) => {
    const read = values.get(o.key) ?? (isMoving(o, standing) ? cached(o) : undefined);
    return [o.key, read ?? o.state] as const;
  }));
  return await planRecording(ctx, { ...options, objects, removed, states, moving, pull: false });
}

/** What a commit or a pull records. */
export interface Recording extends CommitPlanOptions {
  readonly objects: readonly ObjectManifest[];
  /** Keys of a selection whose removal is recorded. */
  readonly removed?: readonly string[];
  /** What each object is at now. */
  readonly states: ReadonlyMap<string, State | null>;
  /** Those that were read, whose writers must be quiet. */
  readonly moving: readonly ObjectManifest[];
  /** Whether upstream is taken in: objects leave the position they were registered at. */
  readonly pull: boolean;
}

/** Plans the recording of states that were read. */
export async function planRecording(ctx: Context, input: Recording): Promise<Plan> {
  const { objects, states, message, keys } = input;
  if (message.trim() === "") {
    throw new ConfigError("Cannot commit without a message", { code: "message", hints: ["tether commit -m MESSAGE"] });
  }
  refuseTokenMessage(message);
  await refuseSecretsInCommit(ctx, objects);
  const moving = new Set(input.moving.map((o) => o.key));
  const { values: decided, errors } = await eachObject(ctx, objects, {
    verb: "planning",
    ...pickSignal(input),
    fn: async (bound) => {
      const { key, locator } = bound.object;
      const state = states.get(key);
      if (!state) throw new ConfigError(`Cannot record "${key}": it has no state`, { code: "no-state" });
      if (moving.has(key) && !input.force) {
        await bound.backend.checkQuiescence?.(locator, entryOf(ctx.workspace.workingRefs, key), pickSignal(input));
      }
      const action = await decide(ctx, bound, state);
      return { bound, action, lasts: await lasting(bound, action, { ...pickSignal(input), state }) };
    },
  });
  const failed = new Map([...errors].filter(([key]) => moving.has(key)));
  if (failed.size > 0) throw new MultiObjectError("Cannot plan the commit", failed);
  // One that was not read stays as it is, and a driver that is missing stops nobody else (L33).
  for (const [key, error] of errors) ctx.warnings.push(`Left "${key}" as committed: ${reasonOf(error)}`);
  const selective = keys !== undefined && keys.length > 0;
  if (selective) await refusePartialScopes(ctx, [...decided.values()].map((d) => d.bound), input);
  const actions = objects.flatMap((o) => decided.get(o.key)?.action ?? []);
  if (input.strict) refuseObserved(actions);
  const plan = new Plan({
    command: "commit",
    createdAt: seconds(ctx.env.now()),
    context: {
      message,
      manifest_hash: ctx.manifestHash(),
      states: Object.fromEntries([...states].flatMap(([k, s]) => s ? [[k, s]] : [])),
      workspace_id: ctx.workspace.workspaceId,
      pull: input.pull,
      ...(selective ? { keys: [...objects.map((o) => o.key), ...input.removed ?? []].sort(compareCodePoints) } : {}),
    },
    notes: objects.flatMap((o) => {
      const { action, lasts } = decided.get(o.key) ?? {};
      return action === undefined ? [`${o.key}: unchanged`] : lasts === undefined ? [] : [`${o.key}: ${lasts}`];
    }),
    preconditions: placePreconditions(ctx),
    actions: actions.length > 0 ? [...actions, vcsCommitAction(ctx, message)] : [],
  });
  await refuseUnpinnable(ctx, plan, objects);
  return plan;
}

/** What binds a plan to this checkout, its bookmark and its manifests. */
export function placePreconditions(ctx: Context): Precondition[] {
  const { workspaceId, bookmark } = ctx.workspace;
  const base = { key: null, params: {} };
  return [
    {
      ...base,
      kind: "workspace_id",
      expected: workspaceId,
      detail: "Cannot apply the plan: it was made in another checkout than {observed}",
    },
    {
      ...base,
      kind: "workspace_bookmark",
      expected: bookmark,
      detail: `Cannot apply the plan: it was made on bookmark "${bookmark}", the checkout is on {observed}`,
    },
    {
      ...base,
      kind: "manifest_hash",
      expected: ctx.manifestHash(),
      detail: "Cannot apply the plan: the manifests changed since it was made",
    },
  ];
}

function vcsCommitAction(ctx: Context, message: string): Action {
  const [subject = ""] = message.split("\n");
  return { op: "vcs-commit", key: "", kind: "", target: "", detail: `${ctx.vcs.kind} commit "${subject}"`, params: {} };
}

/** Returns what recording an object takes; `undefined` when its manifest says it already (formats §6.2). */
async function decide(ctx: Context, bound: Bound, state: State): Promise<Action | undefined> {
  const { object, backend } = bound;
  const { statics } = backend;
  const pinning = wantsPin(bound);
  const same = sameContent(state, object.state, statics.volatileKeys);
  if (same && pinning === (object.pin !== null)) return undefined;
  const base = { key: object.key, kind: object.kind };
  if (pinning) {
    const pinId = computePinId(ctx.config.datasetId, {
      kind: object.kind,
      identity: backend.identity(object.locator),
      content: contentState(state, statics.volatileKeys),
    });
    return {
      ...base,
      op: "pin",
      target: refForPin(pinId),
      detail: `native ref at ${renderState(state)}`,
      params: { state, pin_id: pinId },
    };
  }
  const tier = tierOf(capabilitiesOf(statics, object));
  const recoverable = tier === "forkable" || tier === "pinnable" ||
    (tier === "addressable" && (await backend.stateAddressable?.(object.locator, state) ?? true));
  const why = object.policy.pin === "record" && tier !== "observed" && tier !== "addressable"
    ? "pin=record: "
    : recoverable
    ? "addressable: "
    : "";
  const note = recoverable ? ", no native ref" : ": recorded, not recoverable";
  return {
    ...base,
    op: "record",
    target: "",
    detail: `${why}state ${renderState(state)}${note}`,
    params: { state, recoverable },
  };
}

/** Says how long a state lasts that the policy leaves without a pin, though the system could make one. */
async function lasting(
  { object, backend }: Bound,
  action: Action | undefined,
  options: CallOptions & { readonly state: State },
): Promise<string | undefined> {
  if (action?.op !== "record" || !backend.statics.capabilities.has("pin")) return undefined;
  const retention = await retentionOf(backend, object, options);
  return retention === undefined ? undefined : `without a pin it is ${renderRetention(retention)}`;
}

function refuseStale(keys: readonly string[]): void {
  if (keys.length === 0) return;
  const list = keys.map((k) => `"${k}"`).join(", ");
  throw new StaleWorkingCopyError(
    `Cannot commit ${list}: the branches here do not stand for what the bookmark records now`,
    {
      hints: ["tether new", "tether new --shared"],
      details: { stale: keys },
    },
  );
}

/** Refuses a selection that names some objects of a branch and leaves out others that would move with it (commands §1.5). */
export async function refusePartialScopes(
  ctx: Context,
  chosen: readonly Bound[],
  options: { keys?: readonly string[] },
): Promise<void> {
  const forkable = (b: Bound): boolean => capabilitiesOf(b.backend.statics, b.object).has("fork");
  const scopes = new Set(chosen.filter(forkable).map((b) => scopeOf(b.backend, b.object.locator)));
  if (scopes.size === 0) return;
  const selected = new Set(selectKeys(options.keys, ctx.objects.keys()));
  const missing: string[] = [];
  for (const object of ctx.objects.values()) {
    if (selected.has(object.key)) continue;
    const kinds = chosen.some((b) => b.object.kind === object.kind);
    if (!kinds) continue;
    const backend = await ctx.backends.get(object.kind);
    if (scopes.has(scopeOf(backend, object.locator))) missing.push(object.key);
  }
  if (missing.length === 0) return;
  const all = [...selected, ...missing].sort();
  throw new ConfigError(
    `Cannot commit only some objects of one branch: ${missing.map((k) => `"${k}"`).join(", ")} would move with it`,
    { code: "partial-scope", hints: [`tether commit -m MESSAGE ${operands(all)}`], details: { missing } },
  );
}

function refuseObserved(actions: readonly Action[]): void {
  const observed = actions.filter((a) => a.op === "record" && a.params["recoverable"] === false).map((a) =>
    `"${a.key}"`
  );
  if (observed.length === 0) return;
  throw new UnpinnedStateError(
    `Cannot commit strictly: ${observed.join(", ")} would be recorded and not be recoverable`,
    {
      hints: ["tether commit -m MESSAGE"],
    },
  );
}
