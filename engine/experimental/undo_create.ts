/**
 * Taking `add --create` back: the registration, then the store, if nothing but its marker and first state is in it and
 * nothing else names it (commands §5.16).
 *
 * @module
 */

import type { ObjectBackend } from "../../backends/backend.ts";
import { requireStorePermissions } from "../commands/granted.ts";
import { revertManifests } from "../commands/undo_files.ts";
import type { Outcome, Target } from "../commands/undo_input.ts";
import type { Context } from "../context.ts";
import { collectReferences } from "../history/reference_set.ts";
import { messageOf, TetherError } from "../model/errors.ts";
import { operands } from "../io/shell.ts";
import { isJsonObject } from "../model/json.ts";
import { type Locator, locatorText } from "../model/manifest.ts";
import { deleteUnwritten } from "./create.ts";
import { Namers } from "./named.ts";

/** Takes the registration back, then the store. A store that stays is still known to gc. */
export async function revertCreated(ctx: Context, target: Target, outcome: Outcome): Promise<void> {
  const { result } = target.entry;
  const created = result["created"];
  const key = String(result["key"]);
  if (target.later.some((e) => isJsonObject(e.pre["objects"]) && Object.hasOwn(e.pre["objects"], key))) {
    throw new TetherError(`Cannot undo "${target.entry.id}": "${key}" was changed or committed since`, {
      code: "not-undoable",
      hints: [`tether remove ${operands([key])}`, "tether gc --delete-stores"],
    });
  }
  await revertManifests(ctx, target, outcome);
  if (!isJsonObject(created) || ctx.keys().includes(key)) return;
  const { kind, locator, identity } = created;
  if (typeof kind !== "string" || !isJsonObject(locator) || !isJsonObject(identity)) return;
  const where = `the store at "${locatorText(locator)}"`;
  try {
    await requireStorePermissions(ctx, [{ key, kind, locator }], "lifecycle");
    const backend = await ctx.backends.get(kind);
    const ref = typeof result["fork"] === "string" ? result["fork"] : undefined;
    const why = await whyKept(ctx, backend, { locator, ref });
    if (why !== undefined) {
      outcome.irreversible.push(`${where} stays: ${why}`);
      return;
    }
    const state = target.after.forkPoints[key];
    if (ref !== undefined && state) await deleteUnwritten(backend, locator, { ref, state });
    await backend.deleteStore?.(locator, { owner: ctx.config.datasetId });
  } catch (error) {
    outcome.irreversible.push(`${where} stays: ${messageOf(error)}`);
    return;
  }
  await ctx.indexes.removeCreated([identity]);
  await ctx.indexes.removeTouched([identity]);
  outcome.restored.push(`${where} is deleted`);
}

async function whyKept(
  ctx: Context,
  backend: ObjectBackend,
  store: { readonly locator: Locator; readonly ref: string | undefined },
): Promise<string | undefined> {
  const { locator, ref } = store;
  const owner = await backend.owner?.(locator);
  if (owner !== ctx.config.datasetId) {
    return owner === undefined ? "it has no owner marker" : `it belongs to dataset "${owner}"`;
  }
  const named = await new Namers(ctx, await collectReferences(ctx)).of(backend, locator);
  if (named !== undefined) return named;
  const ignoring = new Set(ref === undefined ? [] : [ref]);
  const empty = await backend.isRefEmpty?.(locator, { ignoring });
  return empty === true ? undefined : empty === false ? "it is not empty" : "it cannot be told whether it is empty";
}
