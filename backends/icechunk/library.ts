/**
 * The Icechunk library in this process: one instance for every store of every backend, loaded when first called and ended
 * when its last user is disposed.
 *
 * @module
 */

import type * as icechunk from "@earthmover/icechunk-wasm32-wasi";
import { type Context, createContext } from "@emnapi/runtime";
import { instantiateNapiModule } from "@emnapi/core";
import { WASI } from "@napi-rs/wasm-runtime";
import process from "node:process";
import { BackendError, SandboxError } from "../../engine/model/backend_errors.ts";
import { ConfigError, messageOf } from "../../engine/model/errors.ts";
import { wasmModule } from "./_assets.ts";
import { KIND } from "./_locator.ts";
import { Thread } from "./_thread.ts";

/** What the library exports. */
export type Library = Pick<typeof icechunk, "Repository" | "Storage">;

/** Memory as the library was linked, in pages of 64 KiB. What is never touched costs nothing. */
const MEMORY = { initial: 4000, maximum: 65536, shared: true };
/**
 * One thread schedules, the other decodes. The library would start one more for everything there is to decode at a time;
 * it copes with being refused, and a thread costs more to start than it saves.
 */
const THREADS = 2;

/** The library, loaded. */
export class Runtime {
  #library: Library | undefined;
  #context: Context | undefined;
  #failure: Error | undefined;
  readonly #threads = new Set<Thread>();
  /** How to reject what is going on, should the library crash. */
  readonly #pending = new Set<(error: Error) => void>();

  private constructor() {}

  /**
   * Loads the library. Needs read permission for the worker's file.
   *
   * @throws {ConfigError} if it cannot be loaded.
   * @throws {SandboxError} if the worker's file may not be read.
   */
  static async load(): Promise<Runtime> {
    const runtime = new Runtime();
    try {
      await runtime.#unlessCrashed(() => runtime.#load());
    } catch (error) {
      runtime.end();
      if (error instanceof SandboxError) throw error;
      throw new ConfigError(`Cannot load the Icechunk library: ${messageOf(error)}`, {
        cause: error,
        hints: ["Install tether again: the npm package @earthmover/icechunk-wasm32-wasi belongs to it"],
      });
    }
    return runtime;
  }

  /** Calls the library. Settles with an error when it crashes meanwhile; nothing that was made of it works then. */
  async call<T>(fn: (library: Library) => Promise<T>): Promise<T> {
    const library = this.#library;
    if (!library) throw this.#failure ?? closed();
    return await this.#unlessCrashed(() => fn(library));
  }

  /** Whether the library crashed or was ended. */
  get dead(): boolean {
    return this.#library === undefined;
  }

  /** Ends the library's threads and fails what is still going on. */
  end(): void {
    if (this.#library) this.#context?.destroy();
    this.#library = undefined;
    for (const thread of this.#threads) thread.terminate();
    this.#threads.clear();
    const failure = this.#failure ?? closed();
    for (const reject of this.#pending) reject(failure);
  }

  async #unlessCrashed<T>(fn: () => Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#pending.add(reject);
    try {
      return await Promise.race([fn(), promise]);
    } finally {
      this.#pending.delete(reject);
    }
  }

  async #load(): Promise<void> {
    // They start while the module loads.
    const spare = Array.from({ length: THREADS }, () => this.#thread());
    const memory = new WebAssembly.Memory(MEMORY);
    this.#context = quietContext();
    const { napiModule } = await instantiateNapiModule(await wasmModule(), {
      context: this.#context,
      asyncWorkPoolSize: 0,
      reuseWorker: true,
      wasi: new WASI({ version: "preview1", print: ignore, printErr: ignore }),
      onCreateWorker() {
        const thread = spare.pop();
        if (!thread) throw new RangeError("no more threads");
        return thread;
      },
      printErr: ignore,
      overwriteImports: (imports) => ({
        ...imports,
        env: { ...imports["env"], ...imports["napi"], ...imports["emnapi"], memory },
      }),
      beforeInit({ instance }) {
        for (const [name, entry] of Object.entries(instance.exports)) {
          if (name.startsWith("__napi_register__") && typeof entry === "function") entry();
        }
      },
    });
    this.#library = napiModule.exports;
  }

  #thread(): Thread {
    const thread = new Thread((reason) => this.#crashed(reason));
    this.#threads.add(thread);
    return thread;
  }

  #crashed(reason: string): void {
    this.#failure ??= crashError(reason);
    // Its memory is in no state to run finalizers.
    this.#library = undefined;
    this.end();
  }
}

function crashError(reason: string): Error {
  const file = /^Requires read access to "(.+?)"/.exec(reason)?.[1];
  if (file === undefined) {
    return new BackendError(`Cannot go on: the Icechunk library crashed: ${reason}`, { kind: KIND });
  }
  const flag = `--allow-read=${file}`;
  return new SandboxError(`Cannot start the Icechunk library: tether was not granted read access to "${file}"`, {
    kind: KIND,
    flags: [flag],
    hints: [`Run with ${flag}`],
  });
}

function closed(): Error {
  return new BackendError("Cannot call the Icechunk library: it was closed", { kind: KIND });
}

let current: Promise<Runtime> | undefined;
const users = new Set<Lease>();

/** A user's share in the library. */
export class Lease implements AsyncDisposable {
  /** Returns the library; loads it when nobody has, or when it crashed. */
  async runtime(): Promise<Runtime> {
    users.add(this);
    const loading = current ??= Runtime.load();
    try {
      const runtime = await loading;
      if (!runtime.dead) return runtime;
    } catch (error) {
      if (current === loading) current = undefined;
      throw error;
    }
    if (current === loading) current = undefined;
    return await this.runtime();
  }

  /** Gives the share back. The last one ends the library. Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    users.delete(this);
    const loading = current;
    if (users.size > 0 || !loading) return;
    current = undefined;
    // A library that did not load has ended itself.
    await loading.then((runtime) => runtime.end(), () => {});
  }
}

/** Returns a context that neither keeps the process alive nor waits for its end: the threads do the one, we the other. */
function quietContext(): Context {
  const before = new Set(process.listeners("beforeExit"));
  const context = createContext();
  for (const listener of process.listeners("beforeExit")) {
    if (!before.has(listener)) process.removeListener("beforeExit", listener);
  }
  context.suppressDestroy();
  context.increaseWaitingRequestCounter = ignore;
  context.decreaseWaitingRequestCounter = ignore;
  return context;
}

// The library prints only when it panics, and that ends a thread with an error anyway.
function ignore(): void {}
