/**
 * What a plan saw, checked again before it applies (formats §13.2). The first mismatch stops the whole apply.
 *
 * @module
 */

import type { ObjectBackend } from "../../backends/backend.ts";
import { withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { readConfig } from "../files/config.ts";
import { messageOf, StalePlanError } from "../model/errors.ts";
import { renderState } from "../model/render_state.ts";
import { type Json, jsonEqual, type JsonObject } from "../model/json.ts";
import { type Locator, manifestHash, type Pin, sameContent } from "../model/manifest.ts";
import { parseWorkingRef } from "../model/names.ts";
import { planAgain } from "./again.ts";
import type { Action, Plan, Precondition } from "./plan.ts";
import { readHistory } from "../history/references.ts";
import { manifestsAt } from "../revision.ts";
import { bookmarkHolders } from "../checkouts.ts";

/** What a command's plan must carry. */
interface Required {
  readonly always: readonly string[];
  /** Per action verb: for each inner list, one of its kinds with the action's key. */
  readonly perAction: Readonly<Record<string, readonly (readonly string[])[]>>;
}

const REQUIRED: Readonly<Record<string, Required>> = {
  commit: { always: ["workspace_id", "workspace_bookmark", "manifest_hash"], perAction: {} },
  new: {
    always: ["workspace_id", "manifest_hash"],
    perAction: { fork: [["ref_head", "ref_absent"]], reuse: [["ref_head"]], adopt: [["ref_present"]] },
  },
  drop: {
    always: ["workspace_id", "workspace_bookmark", "bookmark_head", "no_new_holders", "vcs_head", "history_digest"],
    perAction: {},
  },
  // It binds to nothing: applying finds the checkout and its files by the id alone (Δ20).
  "forget-workspace": { always: [], perAction: {} },
  gc: { always: ["workspace_id", "history_digest"], perAction: { "delete-store": [["store_empty"]] } },
  promote: {
    always: ["workspace_id", "workspace_bookmark", "bookmark_head", "manifest_hash"],
    perAction: {
      "fast-forward": [["base_state"], ["ref_head", "pin_state"]],
      merge: [["base_state"], ["ref_head", "pin_state"]],
    },
  },
  repair: { always: ["workspace_id", "history_digest"], perAction: {} },
  upgrade: { always: ["config_version"], perAction: {} },
  restore: {
    always: ["workspace_id", "workspace_bookmark", "manifest_hash"],
    perAction: { fork: [["ref_head", "ref_absent"]] },
  },
};

/** What a precondition found. */
interface Finding {
  readonly holds: boolean;
  /** What is there instead, for the message. */
  readonly observed: string;
}

/**
 * Checks a plan before anything is written: right command, required preconditions, digest, then each precondition in
 * order.
 *
 * @throws {StalePlanError} at the first thing that is not as the plan says.
 */
export async function checkPlan(ctx: Context, plan: Plan, command: string): Promise<void> {
  if (plan.command !== command) {
    throw new StalePlanError(`Cannot apply the plan: it is a plan for "${plan.command}", not for "${command}"`, {
      hints: [`tether ${plan.command} --from-plan FILE`],
    });
  }
  requirePreconditions(plan);
  if (plan.digest() !== plan.recordedDigest) {
    throw new StalePlanError("Cannot apply the plan: it was edited after it was made", {
      hints: ["Make the plan again"],
    });
  }
  for (const precondition of plan.preconditions) {
    const { holds, observed } = await check(ctx, precondition);
    if (holds) continue;
    throw new StalePlanError(precondition.detail.replaceAll("{observed}", () => observed), {
      hints: [planAgain(plan)],
      details: { precondition: precondition.kind, key: precondition.key, observed },
    });
  }
}

function requirePreconditions(plan: Plan): void {
  const required = REQUIRED[plan.command];
  if (!required) throw new StalePlanError(`Cannot apply the plan: this tether applies no plan for "${plan.command}"`);
  const missing = required.always.filter((kind) => !plan.preconditions.some((p) => p.kind === kind));
  for (const action of plan.actions) {
    for (const choice of required.perAction[action.op] ?? []) {
      if (!plan.preconditions.some((p) => p.key === action.key && choice.includes(p.kind))) {
        missing.push(`${choice.join(" or ")} for "${action.key}"`);
      }
    }
  }
  for (const { op, key, params } of plan.actions) {
    // Where the store could say what a branch builds on, that must still hold.
    const bound = plan.preconditions.some((p) => p.key === key && p.kind === "ref_descends");
    if (op === "adopt" && "descends_from" in params && !bound) missing.push(`ref_descends for "${key}"`);
  }
  if (missing.length === 0) return;
  throw new StalePlanError(
    `Cannot apply the plan: it lacks the precondition(s) ${missing.join(", ")}`,
    { hints: [planAgain(plan)] },
  );
}

async function check(ctx: Context, p: Precondition): Promise<Finding> {
  switch (p.kind) {
    case "workspace_id":
      return {
        holds: p.expected === null || p.expected === ctx.workspace.workspaceId,
        observed: ctx.workspace.workspaceId,
      };
    case "workspace_bookmark":
      return await checkBookmark(ctx, p.expected);
    case "manifest_hash": {
      const rev = p.params["rev"];
      const hash = typeof rev === "string" ? manifestHash((await manifestsAt(ctx, rev)).values()) : ctx.manifestHash();
      return { holds: hash === p.expected, observed: hash };
    }
    case "vcs_head": {
      const { commit } = await ctx.position();
      return { holds: commit === p.expected, observed: commit ?? "no commit" };
    }
    case "bookmark_head": {
      const name = p.params["bookmark"];
      if (name === null) return { holds: ctx.workspace.bookmark === null, observed: ctx.workspace.bookmark ?? "none" };
      const at = typeof name === "string" ? (await ctx.vcs.bookmarks()).get(name) : undefined;
      return { holds: at !== undefined && at === p.expected, observed: at ?? "no commit" };
    }
    case "base_state":
    case "pin_state":
      return await checkState(ctx, p);
    case "config_version": {
      const { version } = await readConfig(ctx.root, { allowOlder: true });
      return { holds: version === p.expected, observed: String(version) };
    }
    case "history_digest": {
      const { digest } = await readHistory(ctx.vcs, { datasetId: ctx.config.datasetId });
      return { holds: digest === p.expected, observed: digest };
    }
    case "no_new_holders": {
      const holders = await bookmarkHolders(ctx, String(p.params["bookmark"]));
      return { holds: holders.length === 0, observed: holders.map((h) => h.slice(0, 8)).join(", ") };
    }
    case "store_empty":
      return await checkEmpty(ctx, p);
    case "ref_absent":
    case "ref_head":
    case "ref_present":
    case "ref_descends":
      return await checkRef(ctx, p);
    default:
      return { holds: false, observed: `a precondition "${p.kind}" that this tether does not know` };
  }
}

/** The upstream head, or what a pin names. What cannot be read satisfies nothing. */
async function checkState(ctx: Context, p: Precondition): Promise<Finding> {
  const backend = await ctx.backends.get(String(p.params["backend"]));
  const locator = (p.params["locator"] ?? {}) as Locator;
  const expected = p.expected as JsonObject;
  try {
    if (p.kind === "base_state") {
      const base = await backend.fingerprint(withoutAt(locator), undefined);
      return { holds: sameContent(base, expected, backend.statics.volatileKeys), observed: renderState(base) };
    }
    const pin = p.params["pin"] as unknown as Pin | undefined;
    const verdict = await backend.verify(locator, expected, pin, { deep: pin === undefined });
    return { holds: verdict.status === "ok", observed: verdict.status };
  } catch (error) {
    return { holds: false, observed: `not readable: ${messageOf(error)}` };
  }
}

/** Nothing but the named refs is in the store. What cannot be told is not empty. */
async function checkEmpty(ctx: Context, p: Precondition): Promise<Finding> {
  const backend = await ctx.backends.get(String(p.params["backend"]));
  const named = p.params["ignoring"];
  const ignoring = new Set(Array.isArray(named) ? named.map(String) : []);
  try {
    const empty = await backend.isRefEmpty?.(withoutAt((p.params["locator"] ?? {}) as Locator), { ignoring });
    const observed = empty === undefined ? "perhaps not empty any more" : "not empty any more";
    return { holds: empty === true && p.expected === true, observed };
  } catch (error) {
    return { holds: false, observed: `not readable: ${messageOf(error)}` };
  }
}

async function checkBookmark(ctx: Context, expected: Json): Promise<Finding> {
  const { bookmark } = ctx.workspace;
  if (bookmark !== expected) return { holds: false, observed: bookmark === null ? "no bookmark" : `"${bookmark}"` };
  if (expected === null) return { holds: true, observed: "no bookmark" };
  const { bookmarks } = await ctx.position();
  const observed = bookmarks.length > 0 ? bookmarks.map((b) => `"${b}"`).join(", ") : "no bookmark";
  return { holds: bookmarks.includes(String(expected)), observed };
}

async function checkRef(ctx: Context, p: Precondition): Promise<Finding> {
  const backend = await ctx.backends.get(String(p.params["backend"]));
  const locator = (p.params["locator"] ?? {}) as Locator;
  const ref = String(p.params["ref"]);
  try {
    const refs = await backend.listWorkingRefs?.(locator) ?? [];
    if (p.kind === "ref_absent") return { holds: !refs.includes(ref), observed: `"${ref}" exists` };
    if (!refs.includes(ref)) return { holds: false, observed: "absent" };
    if (p.kind === "ref_present") return newestGeneration(refs, ref);
    return p.kind === "ref_head" ? await checkHead(backend, p) : await checkDescends(backend, p);
  } catch (error) {
    // A head that cannot be read satisfies nothing (L10).
    return { holds: false, observed: `not readable: ${messageOf(error)}` };
  }
}

async function checkHead(backend: ObjectBackend, p: Precondition): Promise<Finding> {
  const head = await backend.fingerprint(withoutAt((p.params["locator"] ?? {}) as Locator), String(p.params["ref"]));
  const holds = p.expected !== null && sameContent(head, p.expected as JsonObject, backend.statics.volatileKeys);
  return { holds, observed: renderState(head) };
}

async function checkDescends(backend: ObjectBackend, p: Precondition): Promise<Finding> {
  const locator = (p.params["locator"] ?? {}) as Locator;
  const descends = await backend.ancestorOf?.(locator, p.expected as JsonObject, {
    on: "ref",
    ref: String(p.params["ref"]),
  });
  return { holds: descends === true, observed: descends === undefined ? "not known" : "on another line" };
}

/** A ref is the one to adopt while no sibling of a higher generation has appeared. */
function newestGeneration(refs: readonly string[], ref: string): Finding {
  const own = parseWorkingRef(ref);
  if (own?.type !== "bookmark") return { holds: true, observed: ref };
  const newer = refs.find((r) => {
    const other = parseWorkingRef(r);
    return other?.type === "bookmark" && other.dataset === own.dataset && other.slug === own.slug &&
      other.generation > own.generation;
  });
  return { holds: newer === undefined || jsonEqual(newer, ref), observed: newer ?? ref };
}

/** Returns the actions of a plan with one verb. */
export function actionsOf(plan: Plan, ...ops: readonly string[]): Action[] {
  return plan.actions.filter((a) => ops.includes(a.op));
}
