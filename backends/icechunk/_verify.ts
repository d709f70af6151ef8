/**
 * Whether a recorded state is still there: by name, or, `deep`, down to its files (L06).
 *
 * @module
 */

import type { Op, Pin, State, Verdict } from "../backend.ts";
import { BackendError, StateGoneError } from "../../engine/model/backend_errors.ts";
import { mapLimit } from "../../engine/io/pool.ts";
import { snapshotOf } from "./_locator.ts";
import { generationsOf, pinPlace, tagNames, tagTarget } from "./_refs.ts";
import type { Store, View } from "./_repository.ts";
import { readSample } from "./_sample.ts";

/** A state and the pin that should hold it. */
export interface Recorded {
  readonly state: State;
  readonly pin: Pin | undefined;
}

const PARALLEL = 8;

/** Compares a pin with its state and, `deep`, opens the state and looks for its files. */
export async function verifyState(
  store: Store,
  recorded: Recorded,
  options: Op & { readonly deep: boolean },
): Promise<Verdict> {
  const op: Op = options.signal ? { signal: options.signal } : {};
  try {
    const named = recorded.pin
      ? judge(recorded.pin, snapshotOf(recorded.state), await pinPlace(store, recorded.pin, op))
      : undefined;
    if (named && named.status !== "ok") return named;
    if (!options.deep) return named ?? await shallow(store, snapshotOf(recorded.state), op);
    const sample = await readSample(store, snapshotOf(recorded.state), op);
    return { status: "ok", message: named?.message === undefined ? sample : `${named.message}; ${sample}` };
  } catch (error) {
    return verdictOf(error);
  }
}

/** Compares many pins with their states, for one listing of the tags. */
export async function verifyPinsOf(
  store: Store,
  items: readonly { readonly state: State; readonly pin: Pin }[],
  op: Op,
): Promise<readonly Verdict[]> {
  let view: View;
  let tags: readonly string[];
  try {
    view = await store.snapshotView({ ...op, what: "list the tags" });
    tags = await tagNames(view, op);
  } catch (error) {
    return items.map(() => verdictOf(error));
  }
  const living = new Set(tags);
  async function one({ state, pin }: { readonly state: State; readonly pin: Pin }): Promise<Verdict> {
    const tag = living.has(pin.ref) ? pin.ref : generationsOf(pin.id, tags)[0];
    if (tag === undefined) return judge(pin, snapshotOf(state), undefined);
    try {
      const snapshot = await tagTarget(view, tag, op);
      return judge(pin, snapshotOf(state), snapshot === undefined ? undefined : { snapshot, tag });
    } catch (error) {
      return verdictOf(error);
    }
  }
  return await mapLimit(items, PARALLEL, one, op.signal);
}

function judge(
  pin: Pin,
  wanted: string,
  found: { readonly snapshot: string; readonly tag?: string } | undefined,
): Verdict {
  if (!found) return { status: "missing", message: `tag "${pin.ref}" does not exist` };
  if (found.snapshot !== wanted) return { status: "drifted", message: `tag "${found.tag}" is at "${found.snapshot}"` };
  return found.tag === pin.ref ? { status: "ok" } : { status: "ok", message: `held by tag "${found.tag}"` };
}

/** Without a pin only a state that is gone is certain. */
async function shallow(store: Store, snapshot: string, op: Op): Promise<Verdict> {
  await store.requireSnapshot(snapshot, { ...op, what: `read "${snapshot}"` });
  return { status: "unknown", message: "not pinned; only a deep check opens it" };
}

/**
 * Only the repository itself can say that something is gone, and only bytes that were read can be wrong. A repository that
 * is not there may be a disk that is not mounted.
 */
function verdictOf(error: unknown): Verdict {
  if (!(error instanceof BackendError)) throw error;
  const gone = error instanceof StateGoneError;
  const status = gone ? "missing" : error.details["damaged"] === true ? "drifted" : "unknown";
  return { status, message: error.reason, cause: error };
}
