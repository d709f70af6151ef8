/**
 * The plan of `restore`: one reset per branch of the bookmark (commands §5.19). Reads only.
 *
 * @module
 */

import { type Source, withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { seconds } from "../env.ts";
import { entryOf } from "../files/workspace.ts";
import { operands } from "../io/shell.ts";
import { capabilitiesOf, scopeOf } from "../kinds.ts";
import { ConfigError, messageOf, StaleWorkingCopyError } from "../model/errors.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import { renderState } from "../model/render_state.ts";
import type { JsonObject } from "../model/json.ts";
import { selectKeys } from "../model/keys.ts";
import { type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import { workingRefName } from "../model/names.ts";
import { type Action, Plan, type Precondition } from "../plan/plan.ts";
import type { CallOptions } from "../reports/report.ts";
import { manifestsOf } from "../revision.ts";
import { forkRefusal, pinTrouble, readBranch, refCheck, sourceOf } from "./branches.ts";
import { placePreconditions, requireOnBookmark } from "./commit_plan.ts";
import { bind, type Bound, eachObject } from "./fan_out.ts";
import { requireStorePermissions } from "./granted.ts";
import { isHeldElsewhere, lossOf } from "./known_heads.ts";
import { pickSignal } from "./snapshot.ts";

/**
 * What to restore, and from where. Exactly one of `from` and `at`.
 *
 * @example Plan going back to an older commit
 * ```ts
 * import { Dataset, type RestoreRequest } from "@tether/tether";
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
 * const request: RestoreRequest = { keys: ["m"], from: ds.config.trunk };
 * assert.equal((await ds.plan.restore(request)).command, "restore");
 * ```
 */
export interface RestoreRequest {
  /** Keys, and prefixes that end in `/`; at least one. */
  readonly keys: readonly string[];
  /** The revision whose recorded states the branches go back to; either this or `at`. */
  readonly from?: string;
  /** A native ref or state in the object's own store, which is never moved itself; either this or `from`. */
  readonly at?: string;
  /**
   * Throws away writes that no commit recorded.
   * @default {false}
   */
  readonly discard?: boolean;
}

/** Refuses requests that contradict themselves, before anything is read (L42). */
export function checkRestoreRequest(r: RestoreRequest): void {
  if (r.at !== undefined && typeof r.at !== "string") {
    throw new ConfigError("Cannot restore: at must be text", { code: "argument", details: { name: "at" } });
  }
  if (r.keys.length === 0) throw new ConfigError("Cannot restore no object: name at least one", { code: "flags" });
  if ((r.from === undefined) === (r.at === undefined)) {
    throw new ConfigError("Cannot restore from nowhere, or from two places: give either --from or --at", {
      code: "flags",
    });
  }
  for (const [flag, value] of [["--from", r.from], ["--at", r.at]] as const) {
    if (value !== undefined && value.trim() === "") {
      throw new ConfigError(`Cannot restore from an empty ${flag}`, { code: "empty" });
    }
  }
}

/** Where one object goes: the state its branch gets, and what carries it there. */
interface Destination {
  readonly source: Source;
  readonly state: State;
  /** How the plan says it. */
  readonly from: string;
  readonly params: JsonObject;
}

/** Plans a restore. Nothing is written. */
export async function planRestore(ctx: Context, request: RestoreRequest & CallOptions): Promise<Plan> {
  checkRestoreRequest(request);
  await requireOnBookmark(ctx, "restore");
  if (ctx.onTrunk) {
    throw new StaleWorkingCopyError(
      `Cannot restore on the trunk "${ctx.config.trunk}": its branches are upstream's own`,
      {
        hints: ["tether new -b NAME", "tether pull"],
      },
    );
  }
  ctx.requireWholeManifests();
  const keys = selectKeys(request.keys, ctx.objects.keys());
  const commit = request.from === undefined ? null : await ctx.vcs.resolve(request.from);
  const then = commit === null ? undefined : await manifestsOf(ctx, commit);
  const objects = keys.map((k) => ctx.object(k));
  await requireStorePermissions(ctx, objects, "refs");
  const { values, errors } = await bind(ctx, objects);
  if (errors.size > 0) throw new MultiObjectError("Cannot restore", errors);
  const decided = await eachObject(ctx, objects, {
    ...request,
    verb: "reading branches",
    fn: (bound) => decide(ctx, bound, { request, then: then?.get(bound.object.key), wanted: then !== undefined }),
  });
  if (decided.errors.size > 0) throw new MultiObjectError("Cannot read the branches", decided.errors);
  const decisions = shareBranches(ctx, keys, { bound: values, decided: decided.values });
  return new Plan({
    command: "restore",
    createdAt: seconds(ctx.env.now()),
    context: {
      from_rev: request.from ?? null,
      from_commit: commit,
      ...(request.at === undefined ? {} : { at: request.at }),
      discard: request.discard === true,
      manifest_hash: ctx.manifestHash(),
      workspace_id: ctx.workspace.workspaceId,
    },
    preconditions: [...placePreconditions(ctx), ...decisions.flatMap((d) => d.preconditions)],
    actions: decisions.map((d) => d.action),
  });
}

interface Decision {
  readonly action: Action;
  readonly preconditions: readonly Precondition[];
}

interface Wanted {
  readonly request: RestoreRequest & CallOptions;
  /** The object as the revision records it. */
  readonly then: ObjectManifest | undefined;
  /** Whether a revision was given. */
  readonly wanted: boolean;
}

async function decide(ctx: Context, bound: Bound, w: Wanted): Promise<Decision> {
  const { object, backend } = bound;
  const name = entryOf(ctx.workspace.workingRefs, object.key) ?? entryOf(ctx.workspace.pendingForks, object.key) ??
    workingRefName(ctx.config.datasetId, ctx.workspace.bookmark ?? "");
  if (!capabilitiesOf(backend.statics, object).has("fork")) {
    return refuse(object, object.key, "cannot be reset: its kind has no branches");
  }
  const destination = await destinationOf(ctx, bound, w);
  if (typeof destination === "string") return refuse(object, object.key, destination);
  const branch = await readBranch(ctx, bound, name);
  if (branch.type === "unreadable") return refuse(object, name, `cannot read its branch: ${branch.reason}`);
  const params: JsonObject = { ...destination.params, then_state: destination.state };
  if (branch.type === "absent") {
    return {
      action: act("fork", object, name, `from ${destination.from}`, params),
      preconditions: [refCheck("ref_absent", object, name, null, "{observed}", "restore")],
    };
  }
  const known = await isHeldElsewhere(ctx, bound, { head: branch.head, to: destination.source });
  if (!known && !w.request.discard) {
    const here = entryOf(ctx.workspace.workingRefs, object.key) === branch.ref;
    return refuse(object, branch.ref, `${here ? "" : "made elsewhere, "}${lossOf(ctx, bound, branch.head)}`);
  }
  const lost = known ? "" : `; throws away ${renderState(branch.head)}`;
  return {
    action: act("fork", object, branch.ref, `from ${destination.from}; resets "${branch.ref}"${lost}`, {
      ...params,
      existing: branch.ref,
      head: branch.head,
    }),
    preconditions: [
      refCheck("ref_head", object, branch.ref, branch.head, `"${branch.ref}" is at {observed} now`, "restore"),
    ],
  };
}

/** Returns where an object goes; a text says why it cannot. */
async function destinationOf(ctx: Context, bound: Bound, w: Wanted): Promise<Destination | string> {
  const { object, backend } = bound;
  const { at, from } = w.request;
  if (at !== undefined) {
    try {
      const state = await backend.fingerprint({ ...withoutAt(object.locator), at }, undefined, pickSignal(w.request));
      return {
        source: { on: "state", state },
        state,
        from: `"${at}", ${renderState(state)}`,
        params: { at, at_state: state },
      };
    } catch (error) {
      return `cannot be taken to "${at}": ${messageOf(error)}`;
    }
  }
  const { then } = w;
  if (!then) return `is not registered at revision "${from}"`;
  if (!then.state) return `has no state at revision "${from}"`;
  const readable = then.recoverable && capabilitiesOf(backend.statics, then).has("addressable");
  if (!then.pin && !readable) return `has neither a pin nor a readable state at revision "${from}"`;
  const trouble = await pinTrouble(ctx, { object: then, backend }, w.request);
  if (trouble) return forkRefusal(trouble);
  const source = sourceOf(then);
  const what = then.pin ? then.pin.ref : renderState(then.state);
  return {
    source,
    state: then.state,
    from: `${from}: ${what}`,
    params: then.pin ? { pin: { id: then.pin.id, ref: then.pin.ref } } : { state: then.state },
  };
}

/** Objects of one branch are restored together, to one state. */
function shareBranches(
  ctx: Context,
  keys: readonly string[],
  read: { readonly bound: ReadonlyMap<string, Bound>; readonly decided: ReadonlyMap<string, Decision> },
): Decision[] {
  const leaders = new Map<string, Decision>();
  const decisions: Decision[] = [];
  for (const key of keys) {
    const bound = read.bound.get(key);
    const decision = read.decided.get(key);
    if (!bound || !decision) continue;
    const scope = scopeOf(bound.backend, bound.object.locator);
    const missing = missingSiblings(ctx, bound, keys);
    const leader = leaders.get(scope);
    if (decision.action.op === "refuse") decisions.push(decision);
    else if (missing.length > 0) {
      const all = [...keys, ...missing].sort();
      decisions.push(
        refuse(
          bound.object,
          decision.action.target,
          `shares its branch with ${missing.join(", ")}: name them too, ${operands(all)}`,
        ),
      );
    } else if (!leader) {
      leaders.set(scope, decision);
      decisions.push(decision);
    } else if (sameContent(stateOf(leader), stateOf(decision), bound.backend.statics.volatileKeys)) {
      decisions.push({
        action: act("share", bound.object, leader.action.target, `with "${leader.action.key}"`, {
          ...decision.action.params,
          with: leader.action.key,
        }),
        preconditions: [],
      });
    } else {
      decisions.push(
        refuse(
          bound.object,
          leader.action.target,
          `would go to another state than "${leader.action.key}", whose branch it shares`,
        ),
      );
    }
  }
  return decisions;
}

function stateOf(decision: Decision): State {
  return (decision.action.params["then_state"] ?? {}) as State;
}

function missingSiblings(ctx: Context, { object, backend }: Bound, keys: readonly string[]): string[] {
  const scope = scopeOf(backend, object.locator);
  return [...ctx.objects.values()]
    .filter((o) => o.kind === object.kind && !keys.includes(o.key) && scopeOf(backend, o.locator) === scope)
    .map((o) => o.key);
}

function act(op: string, object: ObjectManifest, target: string, detail: string, params: JsonObject): Action {
  return { op, key: object.key, kind: object.kind, target, detail, params };
}

function refuse(object: ObjectManifest, ref: string, why: string): Decision {
  return { action: act("refuse", object, ref, why, {}), preconditions: [] };
}
