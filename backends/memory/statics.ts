/**
 * What is known of the kind `memory` before it loads (backends §3.11).
 *
 * @module
 */

import { type BackendStatics, NO_NEEDS } from "../backend.ts";

/**
 * The kind `memory`: systems that live in this process, for tests. The executable specification of the contract.
 *
 * @example Open a backend that needs no store
 * ```ts
 * import { memoryStatics } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * await using backend = await memoryStatics.open({ config: {}, rules: [] });
 * assert.deepEqual(await backend.fingerprint({ system: "lab" }, undefined), { snapshot_id: "lab:s0" });
 * ```
 */
export const memoryStatics: BackendStatics = {
  kind: "memory",
  capabilities: new Set([
    "fingerprint",
    "addressable",
    "pin",
    "fork",
    "cheap_fingerprint",
    "atomic_ref",
    "diff",
    "history",
    "promote",
    "merge",
    "create",
    "conditional_ref",
  ]),
  maturity: "stable",
  volatileKeys: new Set(),
  stateForms: [{ snapshot_id: "text" }],
  localPathKeys: [],
  localPathPrefixes: [],
  uriKeys: ["uri", "system"],
  keySuffixes: null,
  safeConfigKeys: new Set(["store"]),
  safeOptionKeys: {},
  promoteHint: "Merge the working ref into the base in the program that holds the store",
  honoursExpected: new Set(["fork", "promote", "merge"]),
  concurrency: 64,
  testOnly: true,
  permissions: () => NO_NEEDS,
  async open(settings) {
    const { MemoryBackend } = await import("./memory.ts");
    return new MemoryBackend(settings);
  },
};
