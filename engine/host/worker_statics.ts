/**
 * The statics of a kind whose code must not run in this process.
 *
 * @module
 */

import type { BackendStatics, Capabilities, PermissionNeeds } from "../../backends/backend.ts";
import { type BackendModule, codeNeeds, WorkerClient } from "./client.ts";
import { openInWorker } from "./worker_backend.ts";

/**
 * Reads a kind's statics from a module. Its functions run in a worker that can do nothing but load the code, and `open` gives a backend
 * of `openInWorker`.
 */
export async function staticsFromModule(module: BackendModule): Promise<BackendStatics> {
  const prober = new Prober(module);
  const { hasEffectiveCapabilities, ...data } = await prober.describe();
  const statics: BackendStatics = {
    ...data,
    ...(hasEffectiveCapabilities
      ? { effectiveCapabilities: (...args) => prober.ask("effectiveCapabilities", args) as Capabilities }
      : {}),
    permissions(locator, access, settings) {
      if (!settings) return prober.ask("permissions", [locator, access]) as PermissionNeeds;
      const { now: _, ...plain } = settings;
      return prober.ask("permissions", [locator, access, plain]) as PermissionNeeds;
    },
    open: (settings) => openInWorker(statics, { module, settings }),
  };
  return statics;
}

type Description = BackendStatics & { readonly hasEffectiveCapabilities: boolean };

/** Asks the pure functions of statics. */
class Prober {
  readonly #module: BackendModule;
  #client: WorkerClient | undefined;

  constructor(module: BackendModule) {
    this.#module = module;
  }

  async describe(): Promise<Description> {
    const client = this.#start();
    try {
      return await client.call("describe", []) as Description;
    } finally {
      client.terminate();
    }
  }

  ask(method: string, args: readonly unknown[]): unknown {
    if (!this.#client) {
      const started = this.#client = this.#start();
      // Nobody disposes statics, so the worker ends with this turn of the event loop, and a later call starts another.
      setTimeout(() => {
        started.terminate();
        this.#client = undefined;
      }, 0);
    }
    return this.#client.callSync("statics", method, args);
  }

  #start(): WorkerClient {
    return new WorkerClient(this.#module.url.href, { module: this.#module, needs: codeNeeds(this.#module) });
  }
}
