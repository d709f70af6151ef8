/**
 * The statics of a kind whose code must not run in this process.
 *
 * @module
 */

import * as v from "valibot";
import { type BackendStatics, CAPABILITIES } from "../../backends/backend.ts";
import { ConfigError, messageOf } from "../model/errors.ts";
import { type BackendModule, codeNeeds, WorkerClient } from "./client.ts";
import { openInWorker } from "./worker_backend.ts";

/**
 * Reads a kind's statics from a module. Its functions run in a worker that can do nothing but load the code, and `open`
 * gives a backend of `openInWorker`.
 *
 * @throws {ConfigError} if the module does not load, or does not export statics.
 */
export async function staticsFromModule(module: BackendModule): Promise<BackendStatics> {
  const prober = new Prober(module);
  const { hasEffectiveCapabilities, hasPinRefusal, ...data } = await prober.describe();
  const statics: BackendStatics = {
    ...data,
    ...(hasEffectiveCapabilities
      ? { effectiveCapabilities: (...args) => prober.ask("effectiveCapabilities", args, CAPABILITY_SET) }
      : {}),
    ...(hasPinRefusal ? { pinRefusal: (...args) => prober.ask("pinRefusal", args, REFUSAL) } : {}),
    permissions(locator, access, settings) {
      if (!settings) return prober.ask("permissions", [locator, access], NEEDS);
      const { now: _, warn: __, ...plain } = settings;
      return prober.ask("permissions", [locator, access, plain], NEEDS);
    },
    open: (settings) => openInWorker(statics, { module, settings }),
  };
  return statics;
}

// What a stranger's code says of itself is checked like any other input.
const TEXTS = v.array(v.string());
const NAMES = v.set(v.string());
const CAPABILITY_SET = v.set(v.picklist(CAPABILITIES));
const NEEDS = v.object({
  net: TEXTS,
  read: TEXTS,
  write: TEXTS,
  env: TEXTS,
  run: TEXTS,
  ffi: TEXTS,
  sys: TEXTS,
  ambient: v.boolean(),
});
const REFUSAL = v.optional(v.object({ reason: v.string(), hints: TEXTS }));
const FIELD = v.union([
  v.picklist(["text", "whole", "flag", "text?", "whole?", "flag?"]),
  v.object({ is: v.string() }),
]);
const DESCRIPTION = v.object({
  kind: v.string(),
  capabilities: CAPABILITY_SET,
  maturity: v.picklist(["stable", "experimental"]),
  volatileKeys: NAMES,
  stateForms: v.exactOptional(v.array(v.record(v.string(), FIELD))),
  localPathKeys: TEXTS,
  localPathPrefixes: TEXTS,
  uriKeys: TEXTS,
  keySuffixes: v.nullable(TEXTS),
  safeConfigKeys: NAMES,
  safeOptionKeys: v.record(v.string(), NAMES),
  promoteHint: v.string(),
  honoursExpected: v.set(v.picklist(["fork", "promote", "merge"])),
  concurrency: v.pipe(v.number(), v.integer(), v.minValue(1)),
  testOnly: v.exactOptional(v.boolean()),
  hasEffectiveCapabilities: v.boolean(),
  hasPinRefusal: v.boolean(),
});

/** Asks the pure functions of statics. */
class Prober {
  readonly #module: BackendModule;
  #client: WorkerClient | undefined;

  constructor(module: BackendModule) {
    this.#module = module;
  }

  async describe(): Promise<v.InferOutput<typeof DESCRIPTION>> {
    const client = this.#start();
    try {
      return this.#check(DESCRIPTION, await client.call("describe", []));
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      throw new ConfigError(`Cannot use "${this.#module.url.href}" as a kind: ${messageOf(error)}`, {
        code: "kind",
        cause: error,
      });
    } finally {
      client.terminate();
    }
  }

  ask<T>(method: string, args: readonly unknown[], schema: v.GenericSchema<unknown, T>): T {
    if (!this.#client) {
      const started = this.#client = this.#start();
      // Nobody disposes statics, so the worker ends with this turn of the event loop, and a later call starts another.
      setTimeout(() => {
        started.terminate();
        this.#client = undefined;
      }, 0);
    }
    return this.#check(schema, this.#client.callSync("statics", method, args));
  }

  #check<T>(schema: v.GenericSchema<unknown, T>, value: unknown): T {
    const result = v.safeParse(schema, value);
    if (result.success) return result.output;
    const [issue] = result.issues;
    throw new ConfigError(
      `Cannot use "${this.#module.url.href}" as a kind: ${v.getDotPath(issue) ?? "its statics"}: ${issue.message}`,
      { code: "kind" },
    );
  }

  #start(): WorkerClient {
    return new WorkerClient(this.#module.url.href, { module: this.#module, needs: codeNeeds(this.#module) });
  }
}
