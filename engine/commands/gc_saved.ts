/**
 * What applying a saved gc plan checks besides its preconditions: what it would release may be needed, may be gone, or may be
 * somebody else's by now, and no commit of this clone shows that.
 *
 * @module
 */

import { ownPins } from "../checkouts.ts";
import type { Context } from "../context.ts";
import type { OpEntry } from "../files/journal.ts";
import { collectReferences } from "../history/reference_set.ts";
import { storeOf } from "../kinds.ts";
import { StalePlanError } from "../model/errors.ts";
import { isJsonObject, type Json } from "../model/json.ts";
import type { Locator } from "../model/manifest.ts";
import { parseWorkingRef } from "../model/names.ts";
import type { Action, Plan } from "../plan/plan.ts";
import { actionsOf } from "../plan/preconditions.ts";
import { isStray, whatIsAlive } from "./gc_branches.ts";

/** What of a saved plan is done already. */
export interface DoneAlready {
  /** Steps that an earlier run of it took, before it was killed or failed in part. */
  readonly taken: ReadonlySet<Action>;
  /** Releases of pins that are not there. */
  readonly gone: ReadonlySet<Action>;
}

/**
 * Checks a saved plan, and returns what of it is done already.
 *
 * @throws {StalePlanError} if it was applied, or if something it would release is needed or another clone's by now.
 */
export async function checkSavedGc(ctx: Context, plan: Plan): Promise<DoneAlready> {
  const taken = await takenSteps(ctx, plan);
  await requireUnnamed(ctx, plan);
  await requireStray(ctx, plan);
  const unpins = actionsOf(plan, "unpin").filter((a) => !taken.has(a));
  const gone = await gonePins(ctx, unpins);
  await requireOwn(ctx, unpins.filter((a) => !gone.has(a)));
  return { taken, gone };
}

/** What earlier runs of the very same plan did. Somebody may have made a ref of that name again, which is not the plan's. */
async function takenSteps(ctx: Context, plan: Plan): Promise<Set<Action>> {
  const runs = (await ctx.journal.read()).filter((e) =>
    e.command === "gc" && e.plan?.["digest"] === plan.recordedDigest
  );
  const whole = runs.find((e) => e.status === "done" && !leftSomething(e));
  if (whole !== undefined) {
    throw new StalePlanError(`Cannot apply the plan: operation "${whole.id}" has applied it already`, {
      hints: ["tether gc"],
    });
  }
  const steps = new Set(
    runs.flatMap((e) => e.progress).map((p) => stepName(String(p["action"]), p["key"], p["target"])),
  );
  return new Set(plan.writes.filter((a) => steps.has(stepName(a.op, a.key, a.target))));
}

function leftSomething({ result }: OpEntry): boolean {
  const { failed, stopped } = result;
  return stopped === true || typeof failed === "string" || isJsonObject(failed) && Object.keys(failed).length > 0;
}

/** The ref of a pin is of one store only; that of a branch is in many. */
function stepName(op: string, key: Json | undefined, target: Json | undefined): string {
  return op === "unpin" ? `${op} ${target}` : `${op} ${key} ${target}`;
}

/** Pins that are not there any more. What cannot be listed counts as there. */
async function gonePins(ctx: Context, unpins: readonly Action[]): Promise<Set<Action>> {
  const listed = new Map<string, Promise<ReadonlySet<string> | undefined>>();
  const gone = new Set<Action>();
  for (const a of unpins) {
    const backend = await ctx.backends.get(a.kind);
    const locator = a.params["locator"] as Locator;
    const store = storeOf(backend, locator);
    const living = listed.get(store) ?? Promise.resolve(backend.listPins?.(locator)).catch(() => undefined);
    listed.set(store, living);
    if ((await living)?.has(String(a.params["pin_id"])) === false) gone.add(a);
  }
  return gone;
}

/** A pin that this clone released since may have been made again, by another clone. */
async function requireOwn(ctx: Context, unpins: readonly Action[]): Promise<void> {
  if (unpins.length === 0) return;
  const ours = await ownPins(ctx);
  const theirs = unpins.find((a) => a.params["foreign"] !== true && !ours.has(String(a.params["pin_id"])));
  if (theirs === undefined) return;
  throw new StalePlanError(`Cannot apply the plan: "${theirs.target}" is not a pin of this clone any more`, {
    hints: ["tether gc"],
  });
}

/** A bookmark that was gone may be back, and a checkout may work on its branch. A plan with a scope is about one that goes. */
async function requireStray(ctx: Context, plan: Plan): Promise<void> {
  const branches = actionsOf(plan, "delete-branch");
  const { scope, keep_bookmarks: keep } = plan.context;
  if (branches.length === 0 || isJsonObject(scope)) return;
  const alive = await whatIsAlive(ctx, { keepBookmarks: Array.isArray(keep) ? keep.map(String) : [] });
  const used = branches.find(({ target }) => {
    const name = parseWorkingRef(target);
    return name !== undefined && !isStray(ctx, target, { name, alive });
  });
  if (used === undefined) return;
  throw new StalePlanError(`Cannot apply the plan: branch "${used.target}" of "${used.key}" is in use by now`, {
    hints: ["tether gc --prune-bookmarks"],
  });
}

/** An index, another checkout or an operation may name a pin by now that nothing named. */
async function requireUnnamed(ctx: Context, plan: Plan): Promise<void> {
  const unpins = actionsOf(plan, "unpin");
  const listings = actionsOf(plan, "delete-listing");
  if (unpins.length + listings.length === 0) return;
  const references = await collectReferences(ctx);
  const named = unpins.find((a) => references.pinIds.has(String(a.params["pin_id"]))) ??
    listings.find((a) => references.listings.has(a.target));
  if (named === undefined) return;
  throw new StalePlanError(
    `Cannot apply the plan: a manifest or an unfinished operation names "${named.target}" by now`,
    { hints: ["tether gc"] },
  );
}
