/**
 * Stores of the kind `memory` for the conformance suite.
 *
 * @module
 */

import type { BackendHarness } from "../../backends/conformance/mod.ts";
import type { Locator, ObjectBackend } from "../../backends/backend.ts";
import { memoryInWorkerStatics, type MemoryOrder, orderFor } from "./memory_in_worker.ts";

const MODULE = { url: new URL("./memory_in_worker.ts", import.meta.url), name: "memoryInWorkerStatics" };

let count = 0;

/** Returns a harness over a store of its own; `wrap` replaces the backend, for one that is broken on purpose. */
export async function memoryHarness(wrap?: (backend: ObjectBackend) => ObjectBackend): Promise<BackendHarness> {
  const backend = await memoryInWorkerStatics.open({ config: {}, rules: [] });
  return {
    ...harnessAround(backend, wrap?.(backend) ?? backend),
    module: MODULE,
    around: (confined) => harnessAround(confined, confined),
  };
}

/** A harness that gives its orders to one backend and has another tested. */
function harnessAround(obedient: ObjectBackend, backend: ObjectBackend): BackendHarness {
  async function order(locator: Locator, what: MemoryOrder): Promise<void> {
    await obedient.validateLocator?.(orderFor(locator, what));
  }
  return {
    backend,
    async newObject() {
      const locator = { system: `system-${++count}` };
      await order(locator, { type: "make" });
      return locator;
    },
    freshLocator: () => Promise.resolve({ system: `system-${++count}` }),
    mutate: (locator, ref) => order(locator, write(ref, `key-${++count}`)),
    conflict: (locator, ref) => order(locator, write(ref, "contended")),
    spellings: (locator) => ({
      same: [{ uri: locator["system"] ?? "" }, { system: ` ${locator["system"]} ` }, {
        ...locator,
        branch: "b",
        at: "x",
      }],
      different: [{ system: String(locator["system"]).toUpperCase() }, { system: `${locator["system"]}/` }],
    }),
    async breakStore(locator, how) {
      await order(locator, how === "absent" ? { type: "delete" } : { type: "break", how });
      return { [Symbol.asyncDispose]: () => order(locator, { type: "mend" }) };
    },
    expire: (locator, state) => order(locator, { type: "expire", snapshot: String(state["snapshot_id"]) }),
    [Symbol.asyncDispose]: () => obedient[Symbol.asyncDispose](),
  };
}

function write(ref: string | undefined, key: string): MemoryOrder {
  return { type: "write", branch: ref ?? "main", changes: { [key]: ++count } };
}
