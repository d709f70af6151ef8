/**
 * This side of one backend's worker: starts it, calls it, stands still for an answer where the contract is synchronous.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { receiveMessageOnPort } from "node:worker_threads";
import { BackendError, UnavailableError } from "../model/backend_errors.ts";
import { NO_NEEDS, type PermissionNeeds } from "../../backends/backend.ts";
import { NO_SIGNALS, pack, type SignalPort, unpack } from "./_wire.ts";
import type { HostAnswer, HostMessage } from "./worker_entry.ts";

/** Milliseconds after which a worker that owes a synchronous answer counts as hung. */
const SYNC_TIMEOUT_MS = 30_000;

/**
 * A module that exports the statics of a kind.
 *
 * @example Point at the statics of a kind
 * ```ts
 * import type { BackendModule } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const module: BackendModule = { url: new URL("file:///srv/kinds/note/mod.ts"), name: "noteStatics" };
 * assert.equal(module.name, "noteStatics");
 * ```
 */
export interface BackendModule {
  /** The code. */
  readonly url: URL;
  /**
   * The name of the export.
   * @default {"default"}
   */
  readonly name?: string;
  /** What the export is to be called with, when it is a function that makes the statics. */
  readonly argument?: string;
  /**
   * The folder of code that is not part of tether: the worker loads it by its own right, with read access to this folder.
   * @default the code is loaded by the right of this process
   */
  readonly folder?: URL;
}

/** Returns what a worker needs to load a module's code, apart from anything the kind declares. */
export function codeNeeds(module: BackendModule): PermissionNeeds {
  return module.folder ? { ...NO_NEEDS, read: [fileURLToPath(module.folder)] } : NO_NEEDS;
}

/** Options of {@link WorkerClient}. */
export interface WorkerClientOptions {
  readonly module: BackendModule;
  /** Exactly what the worker may do. */
  readonly needs: PermissionNeeds;
  /**
   * A trusted module whose `serve(statics, scope)` answers.
   * @default worker_entry.ts
   */
  readonly entry?: URL;
}

/** One worker and the calls it owes answers to. */
export class WorkerClient {
  readonly #kind: string;
  readonly #worker: Worker;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #ids = 0;
  #failure: Error | undefined;
  #closed = false;

  /** Starts a worker with exactly some permissions. */
  constructor(kind: string, options: WorkerClientOptions) {
    this.#kind = kind;
    this.#worker = new Worker(entryUrl(options), {
      type: "module",
      name: `tether ${kind}`,
      deno: { permissions: workerPermissions(options) },
    });
    this.#worker.onmessage = ({ data }) => this.#settle(data as Partial<HostAnswer> | null);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#fail(`Cannot go on with kind "${kind}": its worker died: ${event.message}`);
    };
  }

  /** How many calls are under way. */
  get busy(): number {
    return this.#pending.size;
  }

  /** Calls a method and returns its answer, aborting it there when a signal among the arguments is aborted here. */
  async call(method: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#failure) throw this.#failure;
    const id = ++this.#ids;
    const watched: [AbortSignal, () => void][] = [];
    const signals: SignalPort = {
      ...NO_SIGNALS,
      send: (signal) => {
        const abort = (): void => this.#post({ type: "abort", signal: id, reason: pack(signal.reason) });
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
        watched.push([signal, abort]);
        return id;
      },
    };
    const answer = Promise.withResolvers<unknown>();
    this.#pending.set(id, answer);
    try {
      this.#post({ type: "call", id, method, args: pack(args, signals) });
      return await answer.promise;
    } catch (error) {
      // The caller may compare with its own reason, which lost its identity on the way.
      const own = watched.find(([signal]) => signal.aborted && signal.reason?.name === (error as Error).name);
      throw own ? own[0].reason : error;
    } finally {
      this.#pending.delete(id);
      for (const [signal, abort] of watched) signal.removeEventListener("abort", abort);
    }
  }

  /**
   * Calls a method of the statics or of the opened backend and blocks this thread until it answers.
   *
   * @throws {UnavailableError} if the worker does not answer in time.
   */
  callSync(on: "statics" | "backend", method: string, args: readonly unknown[]): unknown {
    if (this.#failure) throw this.#failure;
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const { port1, port2 } = new MessageChannel();
    try {
      this.#post({ type: "sync", on, method, args: pack(args), flag, port: port2 }, [port2]);
      if (Atomics.wait(flag, 0, 0, SYNC_TIMEOUT_MS) === "timed-out") {
        throw new UnavailableError(`Cannot ask ${method}(): the worker does not answer`, { kind: this.#kind });
      }
      // The types of node's ports and of the web's differ; the runtime has one class for both.
      const received = receiveMessageOnPort(port1 as unknown as Parameters<typeof receiveMessageOnPort>[0]);
      const { ok, value } = received?.message as { ok: boolean; value: unknown };
      if (!ok) throw unpack(value);
      return unpack(value);
    } finally {
      port1.close();
    }
  }

  /** Ends the worker. Calls under way fail. Calling it again does nothing. */
  terminate(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#fail(`Cannot use kind "${this.#kind}": its worker was closed`);
    this.#worker.terminate();
  }

  #post(message: HostMessage, transfer: Transferable[] = []): void {
    if (!this.#closed) this.#worker.postMessage(message, transfer);
  }

  /** Hands an answer to its call. The worker may run a stranger's code, so anything may come. */
  #settle(answer: Partial<HostAnswer> | null): void {
    const pending = this.#pending.get(answer?.id ?? 0);
    if (!pending) return;
    try {
      const value = unpack(answer?.value);
      if (answer?.ok) pending.resolve(value);
      else pending.reject(value);
    } catch (error) {
      pending.reject(error);
    }
  }

  #fail(reason: string): void {
    this.#failure ??= new BackendError(reason, { kind: this.#kind });
    for (const pending of this.#pending.values()) pending.reject(this.#failure);
  }
}

/**
 * A module made for one worker. What it imports statically is loaded by the right of this process, so that a worker needs
 * no access to tether's own code. A stranger's code must not profit from that: a static import of it could read any JSON
 * file that this process can. It is imported by an expression, which the runtime checks against the worker's permissions.
 */
function entryUrl({ module, entry }: WorkerClientOptions): string {
  const name = JSON.stringify(module.name ?? "default");
  const url = JSON.stringify(module.url.href);
  const call = module.argument === undefined ? "" : `(${JSON.stringify(module.argument)})`;
  const serve = JSON.stringify((entry ?? new URL("./worker_entry.ts", import.meta.url)).href);
  const source = module.folder
    ? `const url = ${url};\nserve(import(url).then((code) => code[${name}]${call}), self);`
    : `import * as code from ${url};\nserve(code[${name}]${call}, self);`;
  return `data:application/javascript,${encodeURIComponent(`import { serve } from ${serve};\n${source}\n`)}`;
}

function workerPermissions({ module, needs }: WorkerClientOptions): Deno.PermissionOptionsObject {
  function some(values: readonly string[]): string[] | false {
    return values.length > 0 ? [...values] : false;
  }
  return {
    read: some(needs.read),
    write: some(needs.write),
    net: some(needs.net),
    env: some(needs.env),
    run: some(needs.run),
    ffi: some(needs.ffi),
    sys: some(needs.sys) as NonNullable<Deno.PermissionOptionsObject["sys"]>,
    // Code from a package or a host may load its other parts from where this process may load code.
    import: module.url.protocol === "file:" ? false : "inherit",
  };
}
