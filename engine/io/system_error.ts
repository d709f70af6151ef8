/**
 * What the operating system says of a failure.
 *
 * @module
 */

import { messageOf } from "../model/errors.ts";

/** Returns why a call of the system failed, as a reason for a sentence: the runtime adds numbers and names of calls. */
export function systemReason(error: unknown): string {
  const text = messageOf(error).replace(/ \(os error \d+\)(: [a-z_]+ '.*'(?: -> '.*')?)?$/s, "");
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
