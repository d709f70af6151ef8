/**
 * Stores of the kind `memory` for the conformance suite.
 *
 * @module
 */

import type { BackendHarness } from "../../backends/conformance/mod.ts";
import type { BackendSettings, Locator, ObjectBackend } from "../../backends/backend.ts";
import { memoryStatics } from "../../backends/memory/statics.ts";
import { type MemoryStore, namedStore } from "../../backends/memory/store.ts";

let stores = 0;

/** Options of {@link memoryHarness}. */
export interface MemoryHarnessOptions {
  /** Replaces the backend, for backends that are broken on purpose. */
  readonly wrap?: (backend: ObjectBackend, store: MemoryStore) => ObjectBackend;
}

/** Returns a harness over a store of its own. */
export async function memoryHarness(options: MemoryHarnessOptions = {}): Promise<BackendHarness> {
  const name = `conformance-${++stores}`;
  const store = namedStore(name);
  const settings: BackendSettings = { config: { store: name }, rules: [] };
  const opened = await memoryStatics.open(settings);
  const backend = options.wrap?.(opened, store) ?? opened;
  let systems = 0;
  let writes = 0;
  const system = (locator: Locator): string => String(locator["system"]);
  return {
    backend,
    settings,
    newObject() {
      const fresh = { system: `system-${++systems}` };
      store.use(fresh.system, { base: "main", now: new Date() });
      return Promise.resolve(fresh);
    },
    freshLocator: () => Promise.resolve({ system: `system-${++systems}` }),
    mutate(locator, ref) {
      store.write(system(locator), { [`key-${++writes}`]: writes }, { branch: ref ?? "main" });
      return Promise.resolve();
    },
    conflict(locator, ref) {
      store.write(system(locator), { contended: ++writes }, { branch: ref ?? "main" });
      return Promise.resolve();
    },
    secondClient: () => memoryStatics.open(settings),
    spellings: (locator) => ({
      same: [{ uri: system(locator) }, { system: ` ${system(locator)} ` }, { ...locator, branch: "other", at: "x" }],
      different: [{ system: system(locator).toUpperCase() }, { system: `${system(locator)}/` }],
    }),
    breakStore(locator, how) {
      if (how === "absent") {
        store.delete(system(locator));
        return Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve() });
      }
      const outage = store.outage(system(locator), how);
      return Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve(outage[Symbol.dispose]()) });
    },
    expire(locator, state) {
      store.expire(system(locator), String(state["snapshot_id"]));
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };
}
