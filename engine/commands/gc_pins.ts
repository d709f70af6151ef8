/**
 * Which pins `gc` releases: those of this dataset that nothing names.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { ownPins } from "../checkouts.ts";
import type { StoreReferences } from "../history/reference_set.ts";
import { mapSettled } from "../io/pool.ts";
import { namespaceOf } from "../kinds.ts";
import { reasonOf } from "../model/errors.ts";
import { compareCodePoints } from "../model/json.ts";
import { refForPin } from "../model/names.ts";
import { judgePin } from "../model/verdicts.ts";
import type { Action } from "../plan/plan.ts";
import { action, type GcInput } from "./gc_input.ts";
import { pickSignal } from "./snapshot.ts";

/** Lists the pins of every namespace once, and judges those of this dataset. */
export async function planPins(ctx: Context, input: GcInput): Promise<{ readonly actions: readonly Action[] }> {
  const namespaces = new Map<string, StoreReferences>();
  for (const store of input.references.stores.values()) {
    if (!store.backend.listPins) continue;
    const name = namespaceOf(store.backend, store.locator);
    if (!namespaces.has(name)) namespaces.set(name, store);
  }
  const ours = await ownPins(ctx);
  const sorted = [...namespaces].sort(([a], [b]) => compareCodePoints(a, b)).map(([, store]) => store);
  const listed = await mapSettled(
    sorted,
    32,
    async (store) => await store.backend.listPins?.(store.locator, pickSignal(input)) ?? new Set<string>(),
    input.signal,
  );
  input.signal?.throwIfAborted();
  const actions: Action[] = [];
  sorted.forEach((store, i) => {
    const outcome = listed[i];
    if (!outcome?.ok) {
      input.notes.push(`${store.key}: its pins are not known, none is released: ${reasonOf(outcome?.error)}`);
      return;
    }
    actions.push(...judge(ctx, store, { ...input, pins: outcome.value, ours }));
  });
  return { actions };
}

function judge(
  ctx: Context,
  store: StoreReferences,
  input: GcInput & { readonly pins: ReadonlySet<string>; readonly ours: ReadonlySet<string> },
): Action[] {
  const prefix = `${ctx.config.datasetId}.`;
  const foreign = [...input.pins].filter((id) => !id.startsWith(prefix)).length;
  if (foreign > 0) input.notes.push(`${store.key}: ${foreign} pin(s) of other datasets left alone`);
  const actions: Action[] = [];
  for (const id of [...input.pins].filter((p) => p.startsWith(prefix)).sort(compareCodePoints)) {
    const verdict = judgePin({
      referenced: input.references.pinIds.has(id),
      ours: input.ours.has(id),
      releaseForeign: input.releaseForeign === true,
    });
    if (verdict === "reference") continue;
    const keep = verdict === "keep-pin";
    const why = keep
      ? "no manifest names it; not created by this clone: another clone's commits may (fetch them, or --release-foreign)"
      : `no manifest names it${verdict === "unpin-foreign" ? "; not created by this clone" : ""}`;
    actions.push(action(keep ? "keep-pin" : "unpin", {
      key: store.key,
      kind: store.kind,
      target: refForPin(id),
      detail: why,
      params: { locator: store.locator, pin_id: id },
    }));
  }
  return actions;
}
