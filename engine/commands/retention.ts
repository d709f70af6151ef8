/**
 * How long states that no pin holds last, as their systems say (backends §2): the price of `pin = "record"`.
 *
 * @module
 */

import type { ObjectBackend, Retention } from "../../backends/backend.ts";
import type { ObjectManifest, State } from "../model/manifest.ts";
import type { CallOptions } from "../reports/report.ts";

/** Asks how long a state lasts; `undefined` where the system does not say, or not now: that is no failure. */
export async function retentionOf(
  backend: ObjectBackend,
  object: ObjectManifest,
  options: CallOptions & { readonly state: State },
): Promise<Retention | undefined> {
  try {
    return await backend.retention?.(object.locator, options.state, {
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(object.capturedAt === null ? {} : { capturedAt: new Date(object.capturedAt) }),
    });
  } catch {
    options.signal?.throwIfAborted();
    return undefined;
  }
}

/** Who removes a state, in words. */
const REMOVED: Readonly<Record<Retention["enforced"], string>> = {
  automatic: "removed by the system itself",
  operator: "removed when somebody runs its clean-up",
  none: "nothing removes it now",
};

/** Returns a retention for people. */
export function renderRetention({ until, rule, enforced }: Retention): string {
  const when = until === undefined ? "" : `, at the earliest ${until.toISOString().replace(/\.\d+Z$/, "Z")}`;
  return `${rule}; ${REMOVED[enforced]}${when}`;
}
