/**
 * Applying what a gc plan decided about whole stores. Everything the plan saw is looked at once more right before a store
 * goes: who made it, who names it, and whether it is empty. The backend does so too.
 *
 * @module
 */

import { type ObjectBackend, withoutAt } from "../../backends/backend.ts";
import { ownBranches } from "../commands/gc_branches.ts";
import { requireStorePermissions } from "../commands/granted.ts";
import type { Context } from "../context.ts";
import type { RunningOp } from "../files/journal.ts";
import { collectReferences } from "../history/reference_set.ts";
import { StalePlanError, TetherError } from "../model/errors.ts";
import { StoreNotFoundError } from "../model/backend_errors.ts";
import type { JsonObject } from "../model/json.ts";
import type { Locator } from "../model/manifest.ts";
import type { Action, Plan } from "../plan/plan.ts";
import { closeUnfinished } from "./create.ts";
import { ownerOf } from "./lifecycle.ts";
import { Namers } from "./named.ts";

/** Checks that every store of a plan may be deleted as far as the runtime is concerned, before anything is released. */
export async function requireDeletable(ctx: Context, plan: Plan): Promise<void> {
  const stores = plan.actions.filter((a) => a.op === "delete-store");
  const objects = stores.map(({ key, kind, params }) => ({
    key,
    kind,
    locator: params["locator"] as Locator,
  }));
  await requireStorePermissions(ctx, objects, "lifecycle");
}

/**
 * Deletes a store.
 *
 * @throws {StalePlanError} if it is not as the plan saw it.
 */
export async function deleteStore(ctx: Context, op: RunningOp, a: Action): Promise<void> {
  const backend = await ctx.backends.get(a.kind);
  const locator = withoutAt(a.params["locator"] as Locator);
  // Read anew for each: while others were deleted, a commit or another checkout may have begun to name this one.
  ctx.vcs.refresh();
  const named = await new Namers(ctx, await collectReferences(ctx)).of(backend, locator);
  if (named !== undefined) throw stale(a, named);
  const owner = await ownerOf(ctx, backend, locator);
  if (owner.is !== "ours") throw stale(a, `its owner marker is ${owner.is === "other" ? "another's" : "not there"}`);
  if (await backend.isRefEmpty?.(locator) !== true) throw stale(a, "it is not empty");
  await ctx.env.boundary?.(`judged ${a.target}`);
  await backend.deleteStore?.(locator, { owner: ctx.config.datasetId });
  await ctx.env.boundary?.(`removed ${a.target}`);
  await op.progress({ action: "delete-store", key: a.key, target: a.target });
  await forget(ctx, a);
}

function stale(a: Action, why: string): StalePlanError {
  return new StalePlanError(`Cannot delete the store at "${a.target}": ${why}`, {
    hints: ["tether gc --delete-stores"],
  });
}

/** Takes a store off both indexes. */
export async function forget(ctx: Context, a: Action): Promise<void> {
  const identity = a.params["identity"] as JsonObject;
  await ctx.indexes.removeCreated([identity]);
  await ctx.indexes.removeTouched([identity]);
  await closeUnfinished(ctx, identity, "interrupted; gc took its store away");
}

/** Takes a store off the index of those written to, if the releases before left nothing in it. */
export async function forgetTouched(ctx: Context, a: Action): Promise<void> {
  const backend = await ctx.backends.get(a.kind);
  const left = await whatIsLeft(ctx, backend, a.params["locator"] as Locator);
  if (left > 0) throw new TetherError(`Cannot forget the store at "${a.target}": ${left} ref(s) are left in it`);
  await ctx.indexes.removeTouched([a.params["identity"] as JsonObject]);
}

async function whatIsLeft(ctx: Context, backend: ObjectBackend, locator: Locator): Promise<number> {
  try {
    const pins = await backend.listPins?.(locator) ?? new Set<string>();
    const { own } = await ownBranches(ctx, { backend, locator }, {});
    return own.length + [...pins].filter((id) => id.startsWith(`${ctx.config.datasetId}.`)).length;
  } catch (error) {
    if (error instanceof StoreNotFoundError) return 0;
    throw error;
  }
}
