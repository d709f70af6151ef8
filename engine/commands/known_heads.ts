/**
 * Whether a branch can be reset without losing anything: its head is a state this checkout knows, and something else holds
 * that state.
 *
 * @module
 */

import { type Source, withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { entryOf } from "../files/workspace.ts";
import { operands } from "../io/shell.ts";
import { renderState } from "../model/render_state.ts";
import { computePinId } from "../model/hash.ts";
import { contentState, sameContent, type State } from "../model/manifest.ts";
import { refForPin } from "../model/names.ts";
import type { Bound } from "./fan_out.ts";

/** A branch about to be reset. */
export interface Reset {
  readonly head: State;
  /** What it is reset onto. */
  readonly to: Source;
}

/**
 * Tells whether a branch holds nothing but what is held elsewhere too. A state that was only forked from and never written
 * counts, except where no pin holds it: then the branch may be all that does (L05).
 */
export async function isHeldElsewhere(ctx: Context, bound: Bound, { head, to }: Reset): Promise<boolean> {
  const { key, policy } = bound.object;
  const volatile = bound.backend.statics.volatileKeys;
  const same = (state: State | null | undefined): boolean => !!state && sameContent(head, state, volatile);
  const untouched = same(entryOf(ctx.workspace.forkPoints, key));
  const known = untouched || same(entryOf(ctx.workspace.baseStates, key)) || same(ctx.objects.get(key)?.state);
  if (!known) return false;
  if (untouched && policy.pin !== "record") return true;
  return await isPinned(ctx, bound, head) || await isReached(bound, { head, to });
}

/** Says what resetting a branch would lose, which {@link isHeldElsewhere} found nowhere else, and how to keep it. */
export function lossOf(ctx: Context, { object, backend }: Bound, head: State): string {
  const { key, policy } = object;
  const same = (state: State | null | undefined): boolean =>
    !!state && sameContent(head, state, backend.statics.volatileKeys);
  const at = renderState(head);
  if (!same(entryOf(ctx.workspace.baseStates, key)) && !same(ctx.objects.get(key)?.state)) {
    return `has writes no commit records, at ${at}: commit them, or pass --discard`;
  }
  const pinning = !same(ctx.objects.get(key)?.state)
    // The commit that recorded it was taken out: no manifest here names its pin, so a new commit has to.
    ? 'record it again, with "tether new --keep" and a commit'
    : policy.pin === "record"
    ? `commit it with a pin, after "tether set --pin native ${operands([key])}"`
    : `make its pin again, with "tether repair ${operands([key])}"`;
  return `alone holds what was committed without a pin that lasts, at ${at}: ${pinning}, or pass --discard`;
}

/** Whether the pin of this dataset for the state is there. A manifest that names it would be no proof. */
async function isPinned(ctx: Context, { object, backend }: Bound, head: State): Promise<boolean> {
  if (!backend.pin) return false;
  const { kind, locator } = object;
  const content = contentState(head, backend.statics.volatileKeys);
  const id = computePinId(ctx.config.datasetId, { kind, identity: backend.identity(locator), content });
  const verdict = await backend.verify(withoutAt(locator), head, { id, ref: refForPin(id) }, { deep: false });
  return verdict.status === "ok";
}

/** Whether upstream, or what the branch is reset onto, is at the state or builds on it. */
async function isReached({ object, backend }: Bound, { head, to }: Reset): Promise<boolean> {
  const locator = withoutAt(object.locator);
  const base = await backend.fingerprint(locator, undefined);
  if (sameContent(base, head, backend.statics.volatileKeys)) return true;
  if (await backend.ancestorOf?.(locator, head, { on: "state", state: base })) return true;
  return await backend.ancestorOf?.(locator, head, to) === true;
}
