/**
 * States that no pin can be made of, such as that of a repository with uncommitted work: found from the state itself, before
 * a commit writes anything (commands §5.9).
 *
 * @module
 */

import type { BackendStatics } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { capabilitiesOf } from "../kinds.ts";
import { BackendError } from "../model/backend_errors.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import { type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import type { Plan } from "../plan/plan.ts";
import { actionsOf } from "../plan/preconditions.ts";
import { withoutFailed } from "./snapshot.ts";

/** Returns why a state would not be recorded, if that takes a pin at all; `undefined` when nothing is known against it. */
export function pinRefusal(
  statics: BackendStatics,
  object: ObjectManifest,
  state: State,
): ReturnType<NonNullable<BackendStatics["pinRefusal"]>> {
  if (!capabilitiesOf(statics, object).has("pin")) return undefined;
  if (object.pin !== null && sameContent(state, object.state, statics.volatileKeys)) return undefined;
  return statics.pinRefusal?.(object.locator, state);
}

/**
 * Refuses a plan that pins what cannot be pinned.
 *
 * @throws {MultiObjectError} naming every such object, with the command that goes on without them.
 */
export async function refuseUnpinnable(ctx: Context, plan: Plan, planned: readonly ObjectManifest[]): Promise<void> {
  const errors = new Map<string, Error>();
  for (const action of actionsOf(plan, "pin")) {
    const statics = await ctx.backends.statics(action.kind);
    const { key, kind, locator } = ctx.object(action.key);
    const refusal = statics.pinRefusal?.(locator, action.params["state"] as State);
    if (!refusal) continue;
    errors.set(key, new BackendError(`Cannot pin "${key}": ${refusal.reason}`, { kind, key, hints: refusal.hints }));
  }
  if (errors.size === 0) return;
  const command = plan.context["pull"] === true ? "pull" : "commit";
  throw new MultiObjectError(`Cannot pin ${errors.size} object(s)`, errors, {
    hints: withoutFailed(planned, errors, command),
  });
}
