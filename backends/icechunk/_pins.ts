/**
 * Pins as tags. The name of a deleted tag can never be used again, so a pin that comes back is a further generation of its
 * name: `tether.<id>.2` (backends §3.4).
 *
 * @module
 */

import type { Op, Pin, State } from "../backend.ts";
import { RefConflictError } from "../../engine/model/backend_errors.ts";
import { parsePinRef, refForPin } from "../../engine/model/names.ts";
import { refusalOf } from "./_errors.ts";
import { KIND, snapshotOf } from "./_locator.ts";
import { generationsOf, tagNames, tagTarget } from "./_refs.ts";
import type { Store, View } from "./_repository.ts";

/** The last generation that is tried. */
const GENERATIONS = 1000;

/**
 * Creates the tag of a pin id at exactly a state, or finds it there.
 *
 * @throws {RefConflictError} if it exists at another state, or every generation was used up.
 * @throws {StateGoneError} if the state does not exist.
 */
export async function createPin(store: Store, o: { readonly state: State; readonly id: string }, op: Op): Promise<Pin> {
  const { id } = o;
  const snapshot = snapshotOf(o.state);
  await store.requireSnapshot(snapshot, { ...op, what: `pin "${snapshot}"` });
  for (let generation = 1; generation <= GENERATIONS; generation++) {
    const ref = generation === 1 ? refForPin(id) : `${refForPin(id)}.${generation}`;
    if (await createTag(store, { tag: ref, snapshot }, op)) return { id, ref, created: true };
    const found = await tagTarget(store, ref, op);
    if (found === snapshot) return { id, ref, created: false };
    if (found !== undefined) {
      throw new RefConflictError(`Cannot pin "${snapshot}": tag "${ref}" exists at "${found}"`, {
        kind: KIND,
        details: { ref, found },
      });
    }
    // Deleted: the next generation may be alive, or free.
  }
  throw new RefConflictError(`Cannot pin "${snapshot}": all ${GENERATIONS} names of pin "${id}" were used before`, {
    kind: KIND,
  });
}

/**
 * Deletes every living generation of a pin and looks again; already gone is success.
 *
 * @throws {RefConflictError} if one is still there.
 */
export async function releasePin(store: Store, pin: Pin, op: Op): Promise<void> {
  const living = generationsOf(pin.id, await tagNames(store, op));
  if (living.length === 0) return;
  // From the first deletion on there is no giving up halfway.
  for (const tag of living) {
    try {
      await store.use({ what: `delete tag "${tag}"` }, (r) => r.deleteTag(tag));
    } catch (error) {
      if (refusalOf(error) !== "no-ref") throw error;
    }
  }
  const [left] = generationsOf(pin.id, await tagNames(store, {}));
  if (left === undefined) return;
  throw new RefConflictError(`Cannot delete tag "${left}" of "${store.uri}": it is still there`, { kind: KIND });
}

/** Returns the ids of all pins, of every dataset, generations folded. */
export async function pinIds(view: View, op: Op): Promise<ReadonlySet<string>> {
  return new Set((await tagNames(view, op)).flatMap((tag) => parsePinRef(tag)?.id ?? []));
}

/** Returns whether the tag was made; `false` when its name is or was in use. */
async function createTag(store: Store, o: { tag: string; snapshot: string }, op: Op): Promise<boolean> {
  try {
    await store.use({ ...op, what: `create tag "${o.tag}"` }, (r) => r.createTag(o.tag, o.snapshot));
    return true;
  } catch (error) {
    if (refusalOf(error) === "ref-exists") return false;
    throw error;
  }
}
