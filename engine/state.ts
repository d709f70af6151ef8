/**
 * What a checkout may move, what is stale, and which branches belong together: pure functions of what was read.
 *
 * @module
 */

import type { BackendStatics } from "../backends/backend.ts";
import type { BackendPool } from "./kinds.ts";
import { capabilitiesOf } from "./kinds.ts";
import { entryOf, type WorkspaceState } from "./files/workspace.ts";
import { atOf } from "../backends/backend.ts";
import { type ObjectManifest, sameContent } from "./model/manifest.ts";

/** What is needed to judge objects. */
export interface Standing {
  readonly objects: ReadonlyMap<string, ObjectManifest>;
  readonly workspace: WorkspaceState;
  readonly onTrunk: boolean;
  /** Descriptions by kind; an object whose kind is missing here cannot be judged. */
  readonly statics: ReadonlyMap<string, BackendStatics>;
}

/** Returns the descriptions of every kind some objects have; unknown kinds are left out. */
export async function staticsFor(
  objects: Iterable<ObjectManifest>,
  backends: BackendPool,
): Promise<ReadonlyMap<string, BackendStatics>> {
  const found = new Map<string, BackendStatics>();
  for (const kind of new Set([...objects].map((o) => o.kind))) {
    try {
      found.set(kind, await backends.statics(kind));
    } catch {
      // An unknown kind must not stop the others; whoever needs this object asks again and gets the error.
    }
  }
  return found;
}

/** Tells whether an object can have branches. */
export function isForkable(object: ObjectManifest, statics: BackendStatics | undefined): boolean {
  return statics !== undefined && capabilitiesOf(statics, object).has("fork");
}

/**
 * Returns the branch that stands for an object in this checkout: `ref` when it has one of its own, `base` for an upstream
 * branch the trunk follows, `pending` for one decided but not created, `none` when this checkout cannot move the object.
 */
export function workingRefOf(
  object: ObjectManifest,
  standing: Standing,
):
  | { readonly at: "ref"; readonly ref: string }
  | { readonly at: "base" }
  | { readonly at: "pending"; readonly ref: string }
  | { readonly at: "none" } {
  const { workspace } = standing;
  const ref = entryOf(workspace.workingRefs, object.key);
  // On the trunk the recorded ref is the upstream branch itself, which is what reading the base reads.
  if (ref !== undefined) return standing.onTrunk ? { at: "base" } : { at: "ref", ref };
  const pending = entryOf(workspace.pendingForks, object.key);
  if (pending !== undefined) return { at: "pending", ref: pending };
  const detached = atOf(object.locator) !== undefined;
  if (standing.onTrunk && !detached && isForkable(object, standing.statics.get(object.kind))) return { at: "base" };
  return { at: "none" };
}

/** Tells whether `commit` reads an object: only if this checkout can have moved it, or it was never committed. */
export function isMoving(object: ObjectManifest, standing: Standing): boolean {
  if (object.state === null) return true;
  const ref = workingRefOf(object, standing);
  return ref.at === "ref" || ref.at === "base";
}

/**
 * Returns the keys whose branches no longer match the manifests: off the trunk, with a working or pending ref and a
 * committed state that is not the recorded base state (formats §8).
 */
export function staleKeys(standing: Standing): string[] {
  if (standing.onTrunk) return [];
  const { workspace, objects } = standing;
  const keys = new Set([...Object.keys(workspace.workingRefs), ...Object.keys(workspace.pendingForks)]);
  return [...keys].filter((key) => {
    const object = objects.get(key);
    if (!object?.state) return false;
    const volatile = standing.statics.get(object.kind)?.volatileKeys ?? new Set<string>();
    return !sameContent(entryOf(workspace.baseStates, key), object.state, volatile);
  }).sort();
}
