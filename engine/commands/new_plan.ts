/**
 * The plan of `new`: one decision per Forkable object (commands §5.10). Reads only.
 *
 * @module
 */

import { entryOf } from "../files/workspace.ts";
import type { Source } from "../../backends/backend.ts";
import { atOf, withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { seconds } from "../env.ts";
import { capabilitiesOf, scopeOf } from "../kinds.ts";
import { BackendError } from "../model/backend_errors.ts";
import { messageOf } from "../model/errors.ts";
import { MultiObjectError, reasonOf } from "../model/multi_object_error.ts";
import { renderState } from "../model/render_state.ts";
import type { JsonObject } from "../model/json.ts";
import { manifestHash, type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import { parseWorkingRef, workingRefName } from "../model/names.ts";
import { type Action, Plan, type Precondition } from "../plan/plan.ts";
import { requireStorePermissions } from "./granted.ts";
import type { CallOptions } from "../reports/report.ts";
import { caseVariant, forkRefusal, pinTrouble, readBranch, refCheck, sourceOf } from "./branches.ts";
import { bind, type Bound, eachObject } from "./fan_out.ts";
import { isHeldElsewhere, lossOf } from "./known_heads.ts";
import { checkNewRequest, type NewRequest, type NewTarget, resolveTarget } from "./new_target.ts";
import { pickSignal } from "./snapshot.ts";

/** A plan of `new`, and where it goes. */
export interface PlannedNew {
  readonly plan: Plan;
  readonly target: NewTarget;
}

/** Plans `new`. Nothing is written. */
export async function planNew(ctx: Context, request: NewRequest & CallOptions): Promise<PlannedNew> {
  checkNewRequest(request);
  const target = await resolveTarget(ctx, request);
  const eager = request.eager ?? (ctx.config.newFork === "eager" && !request.deferRecord);
  const notes: string[] = [];
  if (request.keep) notes.push(...upstreamKept(ctx, target));
  const decisions = request.keep || target.bookmark === null
    ? []
    : await decideAll(ctx, { request, target, eager, notes });
  const preconditions: Precondition[] = [
    {
      kind: "manifest_hash",
      expected: manifestHash(target.objects.values()),
      key: null,
      params: { rev: target.rev },
      detail: "Cannot apply the plan: the manifests at its revision differ from those it saw",
    },
    {
      kind: "workspace_id",
      expected: ctx.workspace.workspaceId,
      key: null,
      params: {},
      detail: "Cannot apply the plan: it was made in another checkout than {observed}",
    },
  ];
  if (target.bookmark !== null && !target.trunk && !request.shared) {
    preconditions.push({
      kind: "no_new_holders",
      expected: null,
      key: null,
      params: { bookmark: target.bookmark },
      detail: `Cannot apply the plan: bookmark "${target.bookmark}" is held by {observed}, another live checkout`,
    });
  }
  const plan = new Plan({
    command: "new",
    createdAt: seconds(ctx.env.now()),
    context: {
      rev: request.rev ?? null,
      bookmark: target.bookmark,
      create: target.move.type === "create",
      shared: request.shared === true,
      keep: request.keep === true,
      eager,
      discard: request.discard === true,
      ...(request.adopt ? { adopt: true } : {}),
      ...(request.deferRecord ? { defer_record: true } : {}),
      manifest_hash: manifestHash(target.objects.values()),
      workspace_id: ctx.workspace.workspaceId,
    },
    notes,
    preconditions: [...preconditions, ...decisions.flatMap((d) => d.preconditions)],
    actions: decisions.map((d) => d.action),
  });
  return { plan, target };
}

/** Says which upstream branches a bookmark keeps as its own: what is written there is written to everybody's branch. */
function upstreamKept(ctx: Context, { bookmark, trunk }: NewTarget): string[] {
  if (trunk || bookmark === null) return [];
  return Object.entries(ctx.workspace.workingRefs)
    .filter(([, ref]) => parseWorkingRef(ref) === undefined)
    .map(([key, ref]) =>
      `${key}: bookmark "${bookmark}" keeps the upstream branch "${ref}": writing here writes to it`
    );
}

interface Decision {
  readonly action: Action;
  readonly preconditions: readonly Precondition[];
}

interface Inputs {
  readonly request: NewRequest & CallOptions;
  readonly target: NewTarget;
  readonly eager: boolean;
  readonly notes: string[];
}

async function decideAll(ctx: Context, inputs: Inputs): Promise<Decision[]> {
  const { target, notes } = inputs;
  const forkable: ObjectManifest[] = [];
  for (const object of target.objects.values()) {
    let statics;
    try {
      statics = await ctx.backends.statics(object.kind);
    } catch (error) {
      notes.push(`${object.key}: left alone: ${messageOf(error)}`);
      continue;
    }
    if (!capabilitiesOf(statics, object).has("fork")) continue;
    if (target.trunk && atOf(object.locator) !== undefined) {
      notes.push(`${object.key}: detached at ${atOf(object.locator)}; a pull moves it onto its branch`);
    } else if (object.state === null && !target.trunk) {
      notes.push(`${object.key}: never committed: "tether new" after its first commit gives it a branch`);
    } else forkable.push(object);
  }
  await requireStorePermissions(ctx, forkable, target.trunk ? "read" : "refs");
  const { values, errors } = await bind(ctx, forkable);
  if (errors.size > 0) throw new MultiObjectError("Cannot prepare the branches", errors);
  const bound = forkable.flatMap((o) => values.get(o.key) ?? []);

  // One branch per scope: the first member decides, the others share.
  const members = new Map<string, Bound[]>();
  for (const b of bound) {
    const scope = target.trunk
      ? `${scopeOf(b.backend, b.object.locator)}|${b.object.key}`
      : scopeOf(b.backend, b.object.locator);
    members.set(scope, [...members.get(scope) ?? [], b]);
  }
  const first = new Map([...members.values()].flatMap((m) => m[0] ? [[m[0].object.key, m]] : []));
  const decided = await eachObject(ctx, [...first.keys()].flatMap((k) => target.objects.get(k) ?? []), {
    ...inputs.request,
    verb: "reading branches",
    fn: async (b) => {
      const own = target.trunk ? await onTrunk(b, notes) : await decide(ctx, b, inputs);
      return own === undefined ? [] : [own, ...(first.get(b.object.key) ?? []).slice(1).map((m) => share(m, b, own))];
    },
  });
  if (decided.errors.size > 0) throw new MultiObjectError("Cannot read the branches", decided.errors);
  return bound.flatMap((b) => [...decided.values.values()].flat().filter((d) => d.action.key === b.object.key));
}

/** Nothing is written in a store, so one that does not answer keeps nobody from the trunk: it is noted. */
async function onTrunk({ object, backend }: Bound, notes: string[]): Promise<Decision | undefined> {
  let branch: string;
  try {
    branch = await backend.baseBranch(object.locator);
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    notes.push(
      `${object.key}: its upstream branch is not known (${reasonOf(error)}); once it is, go to the trunk again`,
    );
    return undefined;
  }
  return { action: action("trunk", object, branch, "the upstream branch", {}), preconditions: [] };
}

async function decide(ctx: Context, bound: Bound, inputs: Inputs): Promise<Decision> {
  const { object, backend } = bound;
  const { request, target } = inputs;
  const name = workingRefName(ctx.config.datasetId, target.bookmark ?? "");
  const branch = await readBranch(ctx, bound, name);
  const source = sourceOf(object);
  const state = object.state ?? {};
  const facts = { ...inputs, name, source, state, volatile: backend.statics.volatileKeys };
  if (branch.type === "unreadable") {
    return refuse(object, name, `cannot read its branch: ${branch.reason}; a fork could reset it blind`);
  }
  if (branch.type === "absent") {
    const shadow = await caseVariant(backend, object, name);
    if (shadow) {
      return refuse(object, name, `the store has "${shadow}", the same name on disks that ignore letter case`);
    }
    return await fork(ctx, bound, facts);
  }
  if (request.adopt) return await adopt(bound, branch, facts, `takes it as it is, at ${renderState(branch.head)}`);
  if (sameContent(branch.head, state, facts.volatile)) return reuse(object, branch, state);
  const mine = await isHeldElsewhere(ctx, bound, { head: branch.head, to: source });
  if (mine || request.discard) {
    return await fork(ctx, bound, facts, {
      ...branch,
      note: mine ? "no writes of its own" : `throws away ${renderState(branch.head)}`,
    });
  }
  if (entryOf(ctx.workspace.workingRefs, object.key) === branch.ref) {
    return refuse(object, branch.ref, lossOf(ctx, bound, branch.head));
  }
  const builds = await backend.ancestorOf?.(
    withoutAt(object.locator),
    state,
    { on: "ref", ref: branch.ref },
    pickSignal(request),
  );
  if (builds === false) {
    return refuse(
      object,
      branch.ref,
      `holds ${renderState(branch.head)}, which does not build on the recorded state: only --discard goes on`,
    );
  }
  if (request.shared) {
    const decision = await adopt(bound, branch, facts, `shares the writes on it, at ${renderState(branch.head)}`);
    return builds === true ? descends(decision, bound, branch.ref, state) : decision;
  }
  return refuse(
    object,
    branch.ref,
    `holds writes that no commit pins and that this checkout does not know, at ${
      renderState(branch.head)
    }: --shared works on them, ` +
      "--discard throws them away, whoever made them",
  );
}

interface Facts extends Inputs {
  readonly name: string;
  readonly source: Source;
  readonly state: State;
  readonly volatile: ReadonlySet<string>;
}

function action(op: string, object: ObjectManifest, target: string, detail: string, params: JsonObject): Action {
  return { op, key: object.key, kind: object.kind, target, detail, params };
}

function refuse(object: ObjectManifest, ref: string, why: string): Decision {
  return { action: action("refuse", object, ref, why, {}), preconditions: [] };
}

/** A branch to create, or to reset from the head that was reviewed; at once, or at the first writable open. */
async function fork(
  ctx: Context,
  bound: Bound,
  facts: Facts,
  existing?: { readonly ref: string; readonly head: State; readonly note: string },
): Promise<Decision> {
  const { object } = bound;
  const recorded = facts.source.on === "state";
  // Only this branch will keep a state alive that has no pin, so it is made at once (seed: pin = "record").
  const now = facts.eager || (recorded && !facts.request.deferRecord);
  const from = facts.source.on === "pin"
    ? facts.source.pin.ref
    : facts.source.on === "state"
    ? renderState(facts.source.state)
    : "";
  const params: JsonObject = {
    ...(facts.source.on === "pin"
      ? { pin: { id: facts.source.pin.id, ref: facts.source.pin.ref } }
      : { state: facts.state }),
    ...(existing ? { existing: existing.ref, head: existing.head } : {}),
  };
  const ref = existing?.ref ?? facts.name;
  const trouble = now ? await pinTrouble(ctx, bound, facts.request) : undefined;
  if (trouble) return refuse(object, ref, forkRefusal(trouble));
  const detail = `from ${from}${existing ? `; resets "${existing.ref}" (${existing.note})` : ""}${
    now ? "" : "; at the first writable open"
  }`;
  const check = existing
    ? refCheck("ref_head", object, existing.ref, existing.head, `"${existing.ref}" is at {observed} now`)
    : refCheck("ref_absent", object, facts.name, null, "{observed}");
  return { action: action(now ? "fork" : "defer-fork", object, ref, detail, params), preconditions: [check] };
}

function reuse(object: ObjectManifest, branch: { readonly ref: string; readonly head: State }, state: State): Decision {
  return {
    action: action("reuse", object, branch.ref, "already at the recorded state", { then_state: state }),
    preconditions: [refCheck("ref_head", object, branch.ref, branch.head, `"${branch.ref}" is at {observed} now`)],
  };
}

function adopt(
  { object }: Bound,
  branch: { readonly ref: string; readonly head: State; readonly generation: number },
  facts: Facts,
  detail: string,
): Promise<Decision> {
  const generation: JsonObject = branch.generation > 1 ? { generation: branch.generation } : {};
  return Promise.resolve({
    action: action("adopt", object, branch.ref, detail, {
      head: branch.head,
      fork_point: facts.state,
      ...(facts.request.adopt ? { adopted: true } : {}),
      ...generation,
    }),
    preconditions: [refCheck("ref_present", object, branch.ref, null, `"${branch.ref}" is {observed}`)],
  });
}

function descends(decision: Decision, { object }: Bound, ref: string, state: State): Decision {
  return {
    action: { ...decision.action, params: { ...decision.action.params, descends_from: state } },
    preconditions: [
      ...decision.preconditions,
      refCheck(
        "ref_descends",
        object,
        ref,
        state,
        `"${ref}" does not build on the recorded state any more: {observed}`,
      ),
    ],
  };
}

/** An object in the same branch space as an earlier one uses that one's branch, if both are at one state. */
function share(member: Bound, first: Bound, decision: Decision): Decision {
  const same = sameContent(member.object.state, first.object.state, member.backend.statics.volatileKeys);
  if (!same) {
    return refuse(
      member.object,
      decision.action.target,
      `shares its branch with "${first.object.key}" and records another state: commit them together first`,
    );
  }
  return {
    action: action("share", member.object, decision.action.target, `with "${first.object.key}"`, {
      with: first.object.key,
      state: member.object.state ?? {},
      ...decision.action.params,
    }),
    preconditions: [],
  };
}
