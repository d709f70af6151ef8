/**
 * The kind `memory` with a way to its store: what lives in a worker's memory can only be changed from inside. An order in
 * the locator is carried out by `validateLocator`.
 *
 * @module
 */

import type { BackendStatics, JsonObject, Locator, ObjectBackend } from "../../backends/backend.ts";
import { MemoryBackend } from "../../backends/memory/memory.ts";
import { memoryStatics } from "../../backends/memory/statics.ts";
import { MemoryStore } from "../../backends/memory/store.ts";

/** What a store can be told. */
export type MemoryOrder =
  | { readonly type: "write"; readonly changes: JsonObject; readonly branch: string }
  | { readonly type: "make" }
  | { readonly type: "delete" }
  | { readonly type: "expire"; readonly snapshot: string }
  | { readonly type: "break"; readonly how: "forbidden" | "offline" }
  | { readonly type: "mend" };

/** Returns a locator that carries an order. */
export function orderFor(locator: Locator, order: MemoryOrder): Locator {
  return { ...locator, order: { ...order } };
}

/** Statics whose backends have a store of their own and take orders. */
export const memoryInWorkerStatics: BackendStatics = {
  ...memoryStatics,
  open: () => Promise.resolve(new ObedientBackend(new MemoryStore())),
};

class ObedientBackend extends MemoryBackend implements ObjectBackend {
  readonly #store: MemoryStore;
  readonly #outages = new Map<string, Disposable>();

  constructor(store: MemoryStore) {
    super({ store });
    this.#store = store;
  }

  override validateLocator(locator: Locator): Promise<readonly string[]> {
    const order = locator["order"] as MemoryOrder | undefined;
    if (order) this.#obey(String(locator["system"]), order);
    return super.validateLocator(locator);
  }

  #obey(system: string, order: MemoryOrder): void {
    switch (order.type) {
      case "write":
        return void this.#store.write(system, order.changes, { branch: order.branch });
      case "make":
        return void this.#store.use(system, { base: "main", now: new Date() });
      case "delete":
        return this.#store.delete(system);
      case "expire":
        return this.#store.expire(system, order.snapshot);
      case "break":
        return void this.#outages.set(system, this.#store.outage(system, order.how));
      case "mend":
        return this.#outages.get(system)?.[Symbol.dispose]();
    }
  }
}
