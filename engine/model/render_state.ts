/**
 * How a state reads in a message.
 *
 * @module
 */

import { Float, type JsonObject } from "./json.ts";

/**
 * Renders a value for a message: states as `name=value` pairs with values cut to 16 characters (commands §3.5).
 *
 * @param options `whole` leaves them as they are, so that the state can be found again.
 */
export function renderState(
  state: JsonObject | null | undefined,
  options: { readonly whole?: boolean } = {},
): string {
  if (!state) return "none";
  return Object.entries(state).map(([name, value]) => {
    const text = typeof value === "string"
      ? value
      : value !== null && typeof value === "object" && !(value instanceof Float)
      ? "{…}"
      : String(value);
    // By code points: half a surrogate pair could not be journaled.
    const characters = [...text];
    return `${name}=${characters.length > 16 && !options.whole ? characters.slice(0, 16).join("") + "…" : text}`;
  }).join(" ");
}
