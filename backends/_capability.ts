/**
 * What a kind can do, and the tier that follows from it (backends §2). Imported through `backend.ts`.
 *
 * @module
 */

/**
 * What a kind can do, spelled as `tether backends --json` prints it.
 *
 * @example Declare what a kind can do
 * ```ts
 * import { type Capability, tierOf } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const declared: readonly Capability[] = ["fingerprint", "addressable", "history"];
 * assert.equal(tierOf(new Set(declared)), "addressable");
 * ```
 */
export type Capability =
  | "fingerprint"
  | "addressable"
  | "pin"
  | "fork"
  | "cheap_fingerprint"
  | "retention_bound"
  | "needs_quiescence"
  | "atomic_ref"
  | "diff"
  | "history"
  | "branch_is_storage"
  | "promote"
  | "merge"
  | "create"
  | "conditional_ref";

/**
 * All capabilities, in the order in which they are printed.
 *
 * @example Check a word that came from outside
 * ```ts
 * import { CAPABILITIES } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const known: readonly string[] = CAPABILITIES;
 * assert(known.includes("fork"));
 * assert(!known.includes("teleport"));
 * ```
 */
export const CAPABILITIES: readonly Capability[] = [
  "fingerprint",
  "addressable",
  "pin",
  "fork",
  "cheap_fingerprint",
  "retention_bound",
  "needs_quiescence",
  "atomic_ref",
  "diff",
  "history",
  "branch_is_storage",
  "promote",
  "merge",
  "create",
  "conditional_ref",
];

/**
 * A set of capabilities.
 *
 * @example Look for one capability
 * ```ts
 * import type { Capabilities } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const capabilities: Capabilities = new Set(["fingerprint", "pin"]);
 * assert(capabilities.has("pin"));
 * ```
 */
export type Capabilities = ReadonlySet<Capability>;

/**
 * How far a kind goes: each tier includes those before it.
 *
 * @example Compare two kinds
 * ```ts
 * import type { Tier } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const order: readonly Tier[] = ["observed", "addressable", "pinnable", "forkable"];
 * assert(order.indexOf("pinnable") > order.indexOf("addressable"));
 * ```
 */
export type Tier = "observed" | "addressable" | "pinnable" | "forkable";

/**
 * Returns the tier of a set of capabilities.
 *
 * @example Tell how far a kind goes
 * ```ts
 * import { tierOf } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.equal(tierOf(new Set(["fingerprint"])), "observed");
 * assert.equal(tierOf(new Set(["fingerprint", "addressable", "pin", "fork"])), "forkable");
 * ```
 */
export function tierOf(capabilities: Capabilities): Tier {
  if (capabilities.has("fork")) return "forkable";
  if (capabilities.has("pin")) return "pinnable";
  if (capabilities.has("addressable")) return "addressable";
  return "observed";
}
