/**
 * What this tether is.
 *
 * @module
 */

/**
 * The version, as `deno.json` has it.
 *
 * @example Say what runs
 * ```ts
 * import { VERSION } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.match(VERSION, /^\d+\.\d+\.\d+/);
 * ```
 */
export const VERSION = "0.1.0";

/** What plans carry as their maker: never a version of the Python implementation, so neither applies the other's plans. */
export const PLAN_VERSION: string = `deno-${VERSION}`;
