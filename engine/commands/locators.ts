/**
 * Locators as users type them, made what manifests hold (formats §6.3).
 *
 * @module
 */

import type { BackendStatics } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { absoluteLocal } from "../io/paths.ts";
import type { Locator } from "../model/manifest.ts";

/** Makes the local paths of a locator absolute, against the folder of the caller. */
export function absoluteLocator(
  ctx: Context,
  statics: BackendStatics,
  locator: Locator,
  base: string = Deno.cwd(),
): Locator {
  const home = ctx.env.variable("HOME");
  return Object.fromEntries(
    Object.entries(locator).map(([field, value]) => {
      if (!statics.localPathKeys.includes(field) || typeof value !== "string") return [field, value];
      const options = { base, prefixes: statics.localPathPrefixes, ...(home === undefined ? {} : { home }) };
      return [field, absoluteLocal(value, options)];
    }),
  );
}
