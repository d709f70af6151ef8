/**
 * The plan of `promote`: how each system's upstream takes the bookmark in (commands §5.24). Reads only.
 *
 * @module
 */

import { type Source, withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { seconds } from "../env.ts";
import { entryOf } from "../files/workspace.ts";
import { operands } from "../io/shell.ts";
import { capabilitiesOf, scopeOf } from "../kinds.ts";
import { ConfigError, StaleWorkingCopyError } from "../model/errors.ts";
import { MultiObjectError, reasonOf } from "../model/multi_object_error.ts";
import { renderState } from "../model/render_state.ts";
import type { JsonObject } from "../model/json.ts";
import { selectKeys } from "../model/keys.ts";
import { type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import { type Action, Plan, type Precondition } from "../plan/plan.ts";
import { manifestsOf } from "../revision.ts";
import type { CallOptions } from "../reports/report.ts";
import { refCheck } from "./branches.ts";
import { placePreconditions, requireOnBookmark } from "./commit_plan.ts";
import { bind, type Bound, eachObject } from "./fan_out.ts";
import { action } from "./gc_input.ts";
import { requireStorePermissions } from "./granted.ts";
import { onTopOf, trunkNote } from "./promote_trunk.ts";
import { pickSignal } from "./snapshot.ts";

/**
 * What to land, and how.
 *
 * @example Plan landing without any merge
 * ```ts
 * import { Dataset, type PromoteRequest } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * await ds.new({ bookmark: "relabel" });
 *
 * const request: PromoteRequest = { strategy: "ff" };
 * assert((await ds.plan.promote(request)).isEmpty);
 * ```
 */
export interface PromoteRequest {
  /**
   * Keys, and prefixes that end in `/`.
   * @default {every object, and the trunk bookmark with them}
   */
  readonly keys?: readonly string[];
  /**
   * Lands what this dataset commit pinned; never moves the trunk bookmark.
   * @default {what the bookmark's newest commit pinned}
   */
  readonly rev?: string;
  /**
   * `ff` only moves forward, `merge` always merges, `auto` moves forward where it can.
   * @default {"auto"}
   */
  readonly strategy?: "auto" | "ff" | "merge";
  /**
   * For systems that record a merge message.
   * @default {`tether promote` and the revision, or the id of this checkout}
   */
  readonly message?: string;
}

/** Plans a promote. Nothing is written. */
export async function planPromote(ctx: Context, request: PromoteRequest & CallOptions = {}): Promise<Plan> {
  checkRequest(request);
  await requireOnBookmark(ctx, "promote");
  ctx.requireWholeManifests();
  const { bookmark } = ctx.workspace;
  const commit = request.rev === undefined ? (await ctx.position()).commit : await ctx.vcs.resolve(request.rev);
  if (commit === null && !ctx.onTrunk) {
    throw new StaleWorkingCopyError(`Cannot promote: bookmark "${bookmark}" has no commit yet`, {
      hints: ["tether commit -m MESSAGE"],
    });
  }
  const recorded = commit === null ? new Map<string, ObjectManifest>() : await manifestsOf(ctx, commit);
  const universe = request.rev === undefined ? ctx.objects.keys() : recorded.keys();
  const keys = selectKeys(request.keys, universe);
  const subset = request.keys !== undefined && request.keys.length > 0;
  const notes: string[] = [];
  const decisions = ctx.onTrunk && request.rev === undefined
    ? onTrunk(notes)
    : await decideAll(ctx, { request, keys, recorded, notes });
  const settled = settle(decisions, subset ? await scopesOf(ctx) : undefined);
  if (!subset && request.rev === undefined && !ctx.onTrunk) {
    await refuseBehindTrunk(ctx, settled, commit);
  }
  if (request.rev === undefined && !ctx.onTrunk) notes.push(...await trunkNotes(ctx, settled, { to: commit, subset }));
  return new Plan({
    command: "promote",
    createdAt: seconds(ctx.env.now()),
    context: {
      rev: request.rev ?? null,
      strategy: request.strategy ?? "auto",
      message: request.message ?? `tether promote ${request.rev ?? ctx.workspace.workspaceId.slice(0, 8)}`,
      subset,
      manifest_hash: ctx.manifestHash(),
      workspace_id: ctx.workspace.workspaceId,
      bookmark,
      bookmark_commit: commit,
      current: settled.filter((d) => d.current).map((d) => d.key),
    },
    notes: [...notes, ...settled.flatMap((d) => d.note ? [d.note] : [])],
    preconditions: [
      ...placePreconditions(ctx),
      {
        kind: "bookmark_head",
        expected: (await ctx.position()).commit,
        key: null,
        params: { bookmark },
        detail: `Cannot apply the plan: bookmark "${bookmark}" is at {observed} now`,
      },
      ...settled.flatMap((d) => d.preconditions),
    ],
    actions: settled.flatMap((d) => d.action ? [d.action] : []),
  });
}

function checkRequest(request: PromoteRequest): void {
  for (const [name, value] of [["revision", request.rev], ["message", request.message]] as const) {
    if (value !== undefined && value.trim() === "") {
      throw new ConfigError(`Cannot promote with an empty ${name}`, { code: "empty" });
    }
  }
}

/** How a plan's note begins that says why there is nothing to do at all. */
export const ON_TRUNK = "on the trunk: ";

function onTrunk(notes: string[]): Decision[] {
  notes.push(`${ON_TRUNK}nothing to promote`);
  return [];
}

/** What happens to one object. */
interface Decision {
  readonly key: string;
  readonly action?: Action;
  /** `<key>: why`, for an object that needs nothing. */
  readonly note?: string;
  readonly preconditions: readonly Precondition[];
  /** Whether its upstream is there already: counts as landed. */
  readonly current?: boolean;
  /** The branch space whose base moves. */
  readonly scope?: string;
}

interface Inputs {
  readonly request: PromoteRequest & CallOptions;
  readonly keys: readonly string[];
  /** Objects as the commit to land records them. */
  readonly recorded: ReadonlyMap<string, ObjectManifest>;
  readonly notes: string[];
}

async function decideAll(ctx: Context, inputs: Inputs): Promise<Decision[]> {
  const { request, recorded, keys } = inputs;
  const objects = keys.flatMap((k) => (request.rev === undefined ? ctx.objects.get(k) : recorded.get(k)) ?? []);
  const decisions: Decision[] = [];
  const forkable: ObjectManifest[] = [];
  for (const object of objects) {
    const statics = await ctx.backends.statics(object.kind);
    const branch = entryOf(ctx.workspace.workingRefs, object.key);
    if (!capabilitiesOf(statics, object).has("fork")) {
      decisions.push(skip(object.key, "has no branches: nothing to promote"));
    } else if (request.rev === undefined && branch === undefined) {
      decisions.push(skip(object.key, "no branch here yet: nothing to promote"));
    } else forkable.push(object);
  }
  await requireStorePermissions(ctx, forkable, "refs");
  const bound = await bind(ctx, forkable);
  if (bound.errors.size > 0) throw new MultiObjectError("Cannot promote", bound.errors);
  const { values, errors } = await eachObject(ctx, forkable, {
    ...request,
    verb: "comparing with upstream",
    fn: (b) => decide(ctx, b, inputs),
  });
  for (const [key, error] of errors) {
    const object = bound.values.get(key)?.object;
    if (object) decisions.push(refuse(object, `cannot be read: ${reasonOf(error)}`));
  }
  return [...decisions, ...values.values()].sort((a, b) => a.key < b.key ? -1 : 1);
}

async function decide(ctx: Context, bound: Bound, inputs: Inputs): Promise<Decision> {
  const { object, backend } = bound;
  const { request } = inputs;
  const locator = withoutAt(object.locator);
  const volatile = backend.statics.volatileKeys;
  const op = pickSignal(request);
  const target = await targetOf(ctx, bound, inputs);
  if ("key" in target) return target;
  const base = await backend.fingerprint(locator, undefined, op);
  const scope = scopeOf(backend, object.locator);
  if (sameContent(base, target.state, volatile)) {
    return { ...skip(object.key, "upstream is there already"), current: true, scope };
  }
  // A branch that upstream is ahead of still takes it in; what a commit pinned has landed, whatever came after it.
  if (
    request.rev !== undefined && await backend.ancestorOf?.(locator, target.state, { on: "state", state: base }, op)
  ) return { ...skip(object.key, "upstream has it already"), current: true, scope };
  const caps = capabilitiesOf(backend.statics, object);
  const forkPoint = request.rev === undefined ? entryOf(ctx.workspace.forkPoints, object.key) : undefined;
  const ancestor = await backend.ancestorOf?.(locator, base, target.source, op) ??
    (forkPoint !== undefined && sameContent(base, forkPoint, volatile));
  const strategy = request.strategy ?? "auto";
  const params: JsonObject = {
    locator,
    source: sourceJson(target.source),
    base_state: base,
    target_state: target.state,
    fork_point: forkPoint ?? null,
  };
  const preconditions = [baseCheck(object, base), sourceCheck(object, target)];
  const branch = await backend.baseBranch(locator, op);
  const move = (verb: string): Decision => ({
    key: object.key,
    scope,
    preconditions,
    action: action(verb, {
      key: object.key,
      kind: object.kind,
      target: branch,
      detail: `${renderState(base)} -> ${renderState(target.state)}`,
      params,
    }),
  });
  if (ancestor && caps.has("promote") && strategy !== "merge") return move("fast-forward");
  if (caps.has("merge") && strategy !== "ff" && (!ancestor || strategy === "merge" || !caps.has("promote"))) {
    return move("merge");
  }
  const why = !caps.has("promote")
    ? "its system cannot move its upstream branch"
    : ancestor
    ? "its system cannot merge"
    : "upstream moved since the branch was made";
  return { ...refuse(object, `${why}: ${backend.statics.promoteHint}`), scope };
}

interface Landing {
  readonly source: Source;
  readonly state: State;
  readonly ref?: string;
}

/** What lands: the branch as the bookmark's commit records it, or a commit's pin. */
async function targetOf(ctx: Context, { object, backend }: Bound, inputs: Inputs): Promise<Landing | Decision> {
  const { request, recorded } = inputs;
  const locator = withoutAt(object.locator);
  const op = pickSignal(request);
  const state = recorded.get(object.key)?.state;
  if (request.rev !== undefined) return await pinnedTarget({ object, backend }, request);
  const ref = entryOf(ctx.workspace.workingRefs, object.key) ?? "";
  const head = await backend.fingerprint(locator, ref, op);
  if (!state || !sameContent(head, state, backend.statics.volatileKeys)) {
    const tree = ctx.objects.get(object.key)?.state;
    const volatile = backend.statics.volatileKeys;
    const edit = tree && sameContent(head, tree, volatile);
    // After a rebase or a merge the branch stands for what was recorded before it: no commit takes that.
    const stale = tree && !sameContent(entryOf(ctx.workspace.baseStates, object.key), tree, volatile);
    return refuse(
      object,
      stale && !edit
        ? 'its branch does not stand for what the bookmark records now: "tether new" first'
        : edit
        ? "only the working tree records its branch: commit first"
        : "its branch has writes no commit records: commit first",
    );
  }
  return { source: { on: "ref", ref }, state: head, ref };
}

async function pinnedTarget(
  { object, backend }: Bound,
  request: PromoteRequest & CallOptions,
): Promise<Landing | Decision> {
  if (!object.state) return skip(object.key, "nothing was recorded of it there");
  if (!object.pin) return { source: { on: "state", state: object.state }, state: object.state };
  const verdict = await backend.verify(object.locator, object.state, object.pin, {
    deep: false,
    ...pickSignal(request),
  });
  if (verdict.status === "drifted") return refuse(object, `its pin points elsewhere: ${verdict.message ?? ""}`);
  if (verdict.status !== "ok") return skip(object.key, `its pin is ${verdict.status}`);
  return { source: { on: "pin", pin: object.pin }, state: object.state };
}

function skip(key: string, why: string): Decision {
  return { key, note: `${key}: ${why}`, preconditions: [] };
}

function refuse(object: ObjectManifest, why: string): Decision {
  return {
    key: object.key,
    preconditions: [],
    action: action("refuse", { key: object.key, kind: object.kind, target: object.key, detail: why }),
  };
}

function sourceJson(source: Source): JsonObject {
  switch (source.on) {
    case "ref":
      return { ref: source.ref };
    case "pin":
      return { pin: { id: source.pin.id, ref: source.pin.ref } };
    case "state":
      return { state: source.state };
  }
}

function baseCheck(object: ObjectManifest, base: State): Precondition {
  return {
    kind: "base_state",
    expected: base,
    key: object.key,
    params: { backend: object.kind, locator: withoutAt(object.locator) },
    detail: `Cannot apply the plan: ${object.key}: upstream is at {observed} now`,
  };
}

function sourceCheck(object: ObjectManifest, landing: Landing): Precondition {
  if (landing.ref !== undefined) {
    return refCheck("ref_head", object, landing.ref, landing.state, `"${landing.ref}" is at {observed} now`, "promote");
  }
  const pin = landing.source.on === "pin" ? { id: landing.source.pin.id, ref: landing.source.pin.ref } : null;
  return {
    kind: "pin_state",
    expected: landing.state,
    key: object.key,
    params: { backend: object.kind, locator: object.locator, ...(pin ? { pin } : {}) },
    detail: `Cannot apply the plan: ${object.key}: its recorded state is {observed}`,
  };
}

/** One write per upstream branch; with a refusal in a full promotion everything else is held, so it lands whole or not at all. */
function settle(decisions: readonly Decision[], selected: ReadonlyMap<string, string> | undefined): Decision[] {
  const refused = decisions.some((d) => d.action?.op === "refuse");
  const leaders = new Map<string, Decision>();
  return decisions.map((d) => {
    const { action: a, scope } = d;
    if (!a || a.op === "refuse" || scope === undefined) return d;
    const missing = [...selected ?? []]
      .filter(([key, other]) => other === scope && !decisions.some((x) => x.key === key)).map(([key]) => key);
    if (missing.length > 0) {
      const all = [...decisions.map((x) => x.key), ...missing].sort();
      return {
        key: d.key,
        preconditions: [],
        action: {
          ...a,
          op: "refuse",
          target: d.key,
          detail: `shares its upstream with ${missing.join(", ")}: name them too, ${operands(all)}`,
          params: {},
        },
      };
    }
    const leader = leaders.get(scope);
    if (leader?.action) {
      return {
        key: d.key,
        preconditions: [],
        action: {
          ...a,
          op: "share",
          detail: `with "${leader.key}"`,
          params: { ...a.params, with: leader.key, would: a.op },
        },
      };
    }
    leaders.set(scope, d);
    if (!refused || selected) return d;
    return {
      key: d.key,
      preconditions: [],
      action: { ...a, op: "hold", detail: `would ${a.op}, held: others are refused; ${a.detail}` },
    };
  });
}

/** Returns the branch space of every object that can be opened. */
async function scopesOf(ctx: Context): Promise<ReadonlyMap<string, string>> {
  const { values } = await bind(ctx, [...ctx.objects.values()]);
  return new Map([...values].map(([key, b]) => [key, scopeOf(b.backend, b.object.locator)]));
}

/** The trunk must be behind: one with commits of its own, or several targets, takes nothing in. */
async function refuseBehindTrunk(ctx: Context, decisions: Decision[], commit: string | null): Promise<void> {
  const trunk = (await ctx.vcs.bookmarks()).get(ctx.config.trunk);
  if (trunk === undefined || commit === null) return;
  const why = trunk === null
    ? `trunk "${ctx.config.trunk}" has conflicting targets`
    : await ctx.vcs.isAncestor(trunk, commit)
    ? undefined
    : `trunk "${ctx.config.trunk}" has commits this bookmark lacks: merge it or go on top of it first, with "${
      onTopOf(ctx, ctx.config.trunk)
    }"`;
  if (why === undefined) return;
  const whole: Decision = {
    key: "",
    preconditions: [],
    action: action("refuse", { target: ctx.config.trunk, detail: why }),
  };
  const held = decisions.map((d) =>
    d.action && d.action.op !== "refuse" ? { ...d, preconditions: [], action: { ...d.action, op: "hold" } } : d
  );
  decisions.splice(0, decisions.length, whole, ...held);
}

/** Says beforehand why the trunk will not follow although everything lands. */
async function trunkNotes(
  ctx: Context,
  decisions: readonly Decision[],
  { to, subset }: { readonly to: string | null; readonly subset: boolean },
): Promise<string[]> {
  const landing = decisions.filter((d) => d.current || d.action);
  if (landing.some((d) => d.action && !["fast-forward", "share"].includes(d.action.op))) return [];
  return await trunkNote(ctx, { to, subset, landing: new Set(landing.map((d) => d.key)) });
}
