/**
 * This side of one backend's worker: starts it, calls it, stands still for an answer where the contract is synchronous.
 *
 * @module
 */

import { receiveMessageOnPort } from "node:worker_threads";
import { BackendError, UnavailableError } from "../model/errors.ts";
import type { PermissionNeeds } from "../../backends/backend.ts";
import { pack, type SignalPort, unpack } from "./_wire.ts";
import type { HostAnswer, HostMessage } from "./worker_entry.ts";

/** Milliseconds after which a worker that owes a synchronous answer counts as hung. */
const SYNC_TIMEOUT_MS = 30_000;

/** A module that exports the statics of a kind. */
export interface BackendModule {
  readonly url: URL;
  /** The name of the export. @default {"default"} */
  readonly name?: string;
}

/** Options of {@link WorkerClient}. */
export interface WorkerClientOptions {
  readonly module: BackendModule;
  /** Exactly what the worker may do. */
  readonly needs: PermissionNeeds;
  /** A module whose `serve(statics, scope)` answers. @default worker_entry.ts */
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
      deno: { permissions: workerPermissions(options.needs) },
    });
    this.#worker.onmessage = ({ data }) => this.#settle(data as HostAnswer);
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
      send: (signal) => {
        const abort = (): void => this.#post({ type: "abort", signal: id, reason: pack(signal.reason) });
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
        watched.push([signal, abort]);
        return id;
      },
      receive: () => {
        throw new TypeError("A signal cannot be part of an answer");
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

  #settle(answer: HostAnswer): void {
    const pending = this.#pending.get(answer.id);
    if (answer.ok) pending?.resolve(unpack(answer.value));
    else pending?.reject(unpack(answer.value));
  }

  #fail(reason: string): void {
    this.#failure ??= new BackendError(reason, { kind: this.#kind });
    for (const pending of this.#pending.values()) pending.reject(this.#failure);
  }
}

/**
 * A module made for one worker: its imports are static, so that this process's right to read code serves, and the worker
 * itself needs none.
 */
function entryUrl({ module, entry }: WorkerClientOptions): string {
  const serve = JSON.stringify((entry ?? new URL("./worker_entry.ts", import.meta.url)).href);
  const source = `import { ${module.name ?? "default"} as statics } from ${JSON.stringify(module.url.href)};\n` +
    `import { serve } from ${serve};\nserve(statics, self);\n`;
  return `data:application/javascript,${encodeURIComponent(source)}`;
}

function workerPermissions(needs: PermissionNeeds): Deno.PermissionOptionsObject {
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
    import: false,
  };
}
