/**
 * Branches and tags, and what a source names.
 *
 * @module
 */

import { type Locator, type Op, type Pin, type Source, withoutAt } from "../backend.ts";
import { atOf } from "../backend.ts";
import { StateGoneError } from "../../engine/model/backend_errors.ts";
import { compareCodePoints } from "../../engine/model/json.ts";
import { parsePinRef } from "../../engine/model/names.ts";
import { refusalOf } from "./_errors.ts";
import { baseOf, KIND, snapshotOf } from "./_locator.ts";
import type { CallOptions, Store, View } from "./_repository.ts";

/** A snapshot, and the ref by which it was found when there is one. */
export interface Place {
  readonly snapshot: string;
  readonly branch?: string;
  readonly tag?: string;
}

/** Returns the head of a branch; `undefined` when there is no such branch. */
export async function branchHead(view: View, branch: string, op: Op): Promise<string | undefined> {
  return await orAbsent(() => requireBranch(view, branch, op));
}

/**
 * Returns the head of a branch.
 *
 * @throws {StateGoneError} if there is no such branch.
 */
export async function requireBranch(view: View, branch: string, op: Op): Promise<string> {
  return await view.use({ ...op, what: `read branch "${branch}"` }, (r) => r.lookupBranch(branch));
}

/** Returns the snapshot of a tag; `undefined` when there is no such tag, or it was deleted. */
export async function tagTarget(view: View, tag: string, op: Op): Promise<string | undefined> {
  return await orAbsent(() => view.use({ ...op, what: `read tag "${tag}"` }, (r) => r.lookupTag(tag)));
}

/** Returns the names of all branches, sorted. */
export async function branchNames(view: View, op: Op): Promise<readonly string[]> {
  const call = { ...op, what: "list the branches" };
  return await sorted(view, call, await view.use(call, (r) => r.listBranches()));
}

/** Returns the names of all living tags, sorted. */
export async function tagNames(view: View, op: Op): Promise<readonly string[]> {
  const call = { ...op, what: "list the tags" };
  return await sorted(view, call, await view.use(call, (r) => r.listTags()));
}

async function sorted(view: View, call: CallOptions, names: readonly string[]): Promise<readonly string[]> {
  // A folder of refs that is gone lists as empty.
  if (names.length === 0) await view.requireStore(call);
  return names.toSorted(compareCodePoints);
}

/** Returns the living generations of a pin id, the newest first. */
export function generationsOf(id: string, tags: readonly string[]): readonly string[] {
  return tags
    .flatMap((tag) => {
      const name = parsePinRef(tag);
      return name?.id === id ? [{ tag, generation: name.generation }] : [];
    })
    .sort((a, b) => b.generation - a.generation)
    .map(({ tag }) => tag);
}

/** Returns where a pin is: at its recorded ref while that lives, else at the newest living generation. */
export async function pinPlace(view: View, pin: Pin, op: Op): Promise<Place | undefined> {
  const recorded = await tagTarget(view, pin.ref, op);
  if (recorded !== undefined) return { snapshot: recorded, tag: pin.ref };
  const [tag] = generationsOf(pin.id, await tagNames(view, op));
  const snapshot = tag === undefined ? undefined : await tagTarget(view, tag, op);
  return tag === undefined || snapshot === undefined ? undefined : { snapshot, tag };
}

/**
 * Returns what a source names. A state is taken at its word; nothing is opened.
 *
 * @throws {StateGoneError} if it is a ref that does not exist.
 */
export async function sourcePlace(view: View, from: Source, op: Op): Promise<Place> {
  switch (from.on) {
    case "ref":
      return { snapshot: await requireBranch(view, from.ref, op), branch: from.ref };
    case "state":
      return { snapshot: snapshotOf(from.state) };
    case "pin": {
      const place = await pinPlace(view, from.pin, op);
      if (place) return place;
      throw new StateGoneError(`Cannot read pin "${from.pin.ref}": there is no such tag`, { kind: KIND });
    }
  }
}

/**
 * Returns where the base is: at the branch's head, or where the locator is detached, which may name a branch, a tag or a
 * snapshot, looked for in this order.
 *
 * @throws {StateGoneError} if there is none of them.
 */
export async function basePlace(store: Store, locator: Locator, op: Op): Promise<Place> {
  const at = atOf(locator);
  if (at === undefined) {
    const branch = baseOf(withoutAt(locator));
    return { snapshot: await requireBranch(store, branch, op), branch };
  }
  const head = await branchHead(store, at, op);
  if (head !== undefined) return { snapshot: head };
  const target = await tagTarget(store, at, op);
  if (target !== undefined) return { snapshot: target, tag: at };
  const what = `find "${at}"`;
  await store.requireSnapshot(at, { ...op, what });
  const { id } = await store.use({ ...op, what }, (r) => r.lookupSnapshot(at));
  return { snapshot: id };
}

async function orAbsent<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    // A name the library refuses is one that nothing can have. A store that is gone is another error.
    if (["no-ref", "bad-name"].includes(refusalOf(error) ?? "")) return undefined;
    throw error;
  }
}
