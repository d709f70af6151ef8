/**
 * Bookmark branches in the stores: which one is a bookmark's, where it stands, and what must still hold of it.
 *
 * @module
 */

import { entryOf } from "../files/workspace.ts";
import { type ObjectBackend, type Source, withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { messageOf } from "../model/errors.ts";
import { isJsonObject, type JsonObject } from "../model/json.ts";
import type { ObjectManifest, State } from "../model/manifest.ts";
import { parseWorkingRef } from "../model/names.ts";
import type { Precondition } from "../plan/plan.ts";
import type { Bound } from "./fan_out.ts";

/** What a store says of a bookmark's branch. */
export type Branch =
  | { readonly type: "absent" }
  /** The branch of the highest generation, its head, and its generation. */
  | { readonly type: "head"; readonly ref: string; readonly head: State; readonly generation: number }
  | { readonly type: "unreadable"; readonly reason: string };

/** Finds a bookmark's branch: that of the highest generation, or the one this checkout already works on. */
export async function readBranch(ctx: Context, { object, backend }: Bound, name: string): Promise<Branch> {
  const locator = withoutAt(object.locator);
  try {
    const refs = await backend.listWorkingRefs?.(locator) ?? [];
    const slug = parseWorkingRef(name);
    const siblings = refs.flatMap((ref) => {
      const parsed = parseWorkingRef(ref);
      return parsed?.type === "bookmark" && slug?.type === "bookmark" && parsed.dataset === slug.dataset &&
          parsed.slug === slug.slug
        ? [{ ref, generation: parsed.generation }]
        : [];
    }).sort((a, b) => b.generation - a.generation);
    const own = siblings.find((s) => s.ref === entryOf(ctx.workspace.workingRefs, object.key));
    const newest = own ?? siblings[0];
    if (!newest) return { type: "absent" };
    return { type: "head", ...newest, head: await backend.fingerprint(locator, newest.ref) };
  } catch (error) {
    return { type: "unreadable", reason: messageOf(error) };
  }
}

/** Returns a branch that some disks cannot tell from this name. */
export async function caseVariant(
  backend: ObjectBackend,
  object: ObjectManifest,
  name: string,
): Promise<string | undefined> {
  const refs = await backend.listWorkingRefs?.(withoutAt(object.locator)) ?? [];
  return refs.find((r) => r !== name && r.toLowerCase() === name.toLowerCase());
}

/** Returns what a branch of an object starts from: its pin, else its recorded state. */
export function sourceOf(object: ObjectManifest): Source {
  return object.pin ? { on: "pin", pin: object.pin } : { on: "state", state: object.state ?? {} };
}

/** Returns the source that an action's parameters name: a pin, a recorded state, or a state resolved by `--at`. */
export function sourceFromParams(params: JsonObject): Source {
  const pin = params["pin"];
  if (isJsonObject(pin)) return { on: "pin", pin: { id: String(pin["id"]), ref: String(pin["ref"]) } };
  return { on: "state", state: (params["at_state"] ?? params["state"] ?? {}) as State };
}

/** Returns a precondition on a branch. */
export function refCheck(
  kind: string,
  object: ObjectManifest,
  ref: string,
  expected: State | null,
  detail: string,
  command: string = "new",
): Precondition {
  return {
    kind,
    expected,
    key: object.key,
    params: { backend: object.kind, locator: object.locator, ref, what: command },
    detail: `Cannot apply the plan: ${object.key}: ${detail}`,
  };
}
