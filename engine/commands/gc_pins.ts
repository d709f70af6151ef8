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
import { compareCodePoints } from "../model/json.ts";
import { refForPin } from "../model/names.ts";
import { judgePin, type PinVerdict } from "../model/verdicts.ts";
import type { Action } from "../plan/plan.ts";
import { action, type GcInput, noteUnread } from "./gc_input.ts";
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
  // Judged as they come: all pins of all stores together may be very many.
  const judged = await mapSettled(
    sorted,
    32,
    async (store) => {
      const pins = await store.backend.listPins?.(store.locator, pickSignal(input)) ?? new Set<string>();
      return judge(ctx, store, { ...input, pins, ours });
    },
    input.signal,
  );
  input.signal?.throwIfAborted();
  const actions: Action[] = [];
  sorted.forEach((store, i) => {
    const outcome = judged[i];
    if (!outcome?.ok) {
      noteUnread(ctx, input, { store, verb: "list-pins", error: outcome?.error });
      return;
    }
    const { foreign, unnamed } = outcome.value;
    if (foreign > 0) input.notes.push(`${store.key}: ${foreign} pin(s) of other datasets left alone`);
    actions.push(...unnamed);
  });
  return { actions };
}

function judge(
  ctx: Context,
  store: StoreReferences,
  input: GcInput & { readonly pins: ReadonlySet<string>; readonly ours: ReadonlySet<string> },
): { readonly foreign: number; readonly unnamed: readonly Action[] } {
  const prefix = `${ctx.config.datasetId}.`;
  let foreign = 0;
  const unnamed: { readonly id: string; readonly verdict: PinVerdict }[] = [];
  for (const id of input.pins) {
    if (!id.startsWith(prefix)) {
      foreign++;
      continue;
    }
    const verdict = judgePin({
      referenced: input.references.pinIds.has(id),
      ours: input.ours.has(id),
      releaseForeign: input.releaseForeign === true,
    });
    if (verdict !== "reference") unnamed.push({ id, verdict });
  }
  unnamed.sort((x, y) => compareCodePoints(x.id, y.id));
  return { foreign, unnamed: unnamed.map(({ id, verdict }) => release(store, id, verdict)) };
}

/** Returns the action for a pin that no manifest names. */
function release(store: StoreReferences, id: string, verdict: PinVerdict): Action {
  const keep = verdict === "keep-pin";
  const why = keep
    ? "no manifest names it; not created by this clone: another clone's commits may (fetch them, or --release-foreign)"
    : `no manifest names it${verdict === "unpin-foreign" ? "; not created by this clone" : ""}`;
  return action(keep ? "keep-pin" : "unpin", {
    key: store.key,
    kind: store.kind,
    target: refForPin(id),
    detail: why,
    params: { locator: store.locator, pin_id: id, ...(verdict === "unpin-foreign" ? { foreign: true } : {}) },
  });
}
