/**
 * Bookmark branches in the stores: which one is a bookmark's, where it stands, and what must still hold of it.
 *
 * @module
 */

import { entryOf } from "../files/workspace.ts";
import { type Expected, type ObjectBackend, type Source, withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { operands } from "../io/shell.ts";
import { BackendError, CapabilityError, StateGoneError } from "../model/backend_errors.ts";
import { messageOf, PinDriftError, type TetherError } from "../model/errors.ts";
import { isJsonObject, type JsonObject } from "../model/json.ts";
import type { ObjectManifest, State } from "../model/manifest.ts";
import { parseWorkingRef } from "../model/names.ts";
import type { Precondition } from "../plan/plan.ts";
import type { Bound } from "./fan_out.ts";
import { pickSignal } from "./snapshot.ts";
import type { CallOptions } from "../reports/report.ts";

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

/** Why no branch may be made from a pin, and the command that looks into it. */
export interface PinTrouble {
  readonly status: "drifted" | "missing" | "unknown";
  readonly why: string;
  readonly way: string;
  readonly cause?: unknown;
}

/**
 * Returns why no branch may be made from an object's pin: somebody moved or deleted it, or the store cannot tell. What a
 * moved pin names was never recorded, so a branch of it would pass for what the manifest says.
 */
export async function pinTrouble(
  ctx: Context,
  { object, backend }: Bound,
  options: CallOptions = {},
): Promise<PinTrouble | undefined> {
  const { key, pin, state } = object;
  if (!pin || !state) return undefined;
  const verdict = await backend.verify(withoutAt(object.locator), state, pin, { deep: false, ...pickSignal(options) });
  const { status, message, cause } = verdict;
  if (status === "ok") return undefined;
  const verify = `tether verify ${operands([key])}`;
  if (status === "drifted") return { status, why: message ?? `"${pin.ref}" points elsewhere`, way: verify };
  if (status === "unknown") return { status, why: message ?? "the store does not say", way: verify, cause };
  const everywhere = ctx.objects.get(key)?.pin?.id === pin.id ? "" : "--all-history ";
  return { status, why: `"${pin.ref}" is gone`, way: `tether repair ${everywhere}${operands([key])}` };
}

/** Returns how a plan refuses a branch for the sake of a pin. */
export function forkRefusal({ why, way }: PinTrouble): string {
  return `cannot come from its pin: ${why}: "${way}"`;
}

function pinError(object: ObjectManifest, { status, why, way, cause }: PinTrouble): TetherError {
  const { key, kind } = object;
  const message = `Cannot make a branch of "${key}" from its pin: ${why}`;
  if (status === "drifted") return new PinDriftError(message, { hints: [way], details: { key } });
  const options = { kind, key, hints: [way], cause };
  return status === "missing" ? new StateGoneError(message, options) : new BackendError(message, options);
}

/** Makes a branch of an object, once its pin is seen to name what was recorded. */
export async function forkBranch(
  ctx: Context,
  { object, backend }: Bound,
  options: CallOptions & {
    readonly from: Source;
    readonly name: string;
    readonly expected: Expected;
    /** Whether the pin was looked at just now. @default {false} */
    readonly looked?: boolean;
  },
): Promise<string> {
  const { from, name, expected } = options;
  if (!backend.fork) {
    throw new CapabilityError(`Cannot fork "${object.key}": it has no branches`, {
      kind: object.kind,
      key: object.key,
    });
  }
  const trouble = from.on === "pin" && !options.looked
    ? await pinTrouble(ctx, { backend, object: { ...object, pin: from.pin } }, options)
    : undefined;
  if (trouble) throw pinError(object, trouble);
  return await backend.fork(object.locator, from, name, { expected });
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
