/**
 * The inside of a backend's worker: opens one backend and answers calls until it is told to close. It runs with nothing
 * but the permissions the backend declared.
 *
 * @module
 */

import type { BackendSettings, BackendStatics, Handle, ObjectBackend } from "../../backends/backend.ts";
import { asError } from "../model/errors.ts";
import { NO_SIGNALS, pack, type SignalPort, unpack } from "./_wire.ts";

/** What the outside sends. */
export type HostMessage =
  /** Calls a method of the backend, or one of the host's own: `describe`, `open`, `close`, `closeHandle`. */
  | { readonly type: "call"; readonly id: number; readonly method: string; readonly args: unknown }
  /** As `call`, but the outside stands still until the flag is raised; the answer goes through the port. */
  | {
    readonly type: "sync";
    readonly on: "statics" | "backend";
    readonly method: string;
    readonly args: unknown;
    readonly flag: Int32Array;
    readonly port: MessagePort;
  }
  | { readonly type: "abort"; readonly signal: number; readonly reason: unknown };

/** What the inside answers. */
export interface HostAnswer {
  readonly id: number;
  readonly ok: boolean;
  /** The packed result or error. */
  readonly value: unknown;
}

/** What a handle says of itself; the outside makes a handle of it. */
export interface HandleData {
  readonly id: number;
  readonly type: string;
  readonly key: string;
  readonly readOnly: boolean;
  readonly address: string;
  readonly fullAddress: string;
  readonly json: ReturnType<Handle["toJSON"]>;
}

/** The part of a worker's global scope that is used here. */
export interface WorkerScope {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown): void;
}

type Methods = Record<string, ((...args: unknown[]) => unknown) | undefined>;

/** Answers calls to one kind's backend, and to some functions besides. */
export function serve(
  statics: BackendStatics | Promise<BackendStatics | undefined>,
  scope: WorkerScope,
  besides: Readonly<Record<string, (...args: never[]) => unknown>> = {},
): void {
  const server = new Server(statics, scope, besides as Methods);
  scope.onmessage = ({ data }) => void server.receive(data as HostMessage);
}

class Server {
  readonly #statics: BackendStatics | Promise<BackendStatics | undefined>;
  readonly #scope: WorkerScope;
  readonly #signals = new Map<number, AbortController>();
  readonly #handles = new Map<number, Handle>();
  #backend: Promise<ObjectBackend> | undefined;
  readonly #besides: Methods;
  #handleIds = 0;

  constructor(
    statics: BackendStatics | Promise<BackendStatics | undefined>,
    scope: WorkerScope,
    besides: Methods,
  ) {
    this.#besides = besides;
    this.#statics = statics;
    // Code that does not load is reported to whoever calls, not to the runtime, which would end the worker.
    Promise.resolve(statics).catch(() => {});
    this.#scope = scope;
  }

  async receive(message: HostMessage): Promise<void> {
    switch (message.type) {
      case "abort":
        return this.#controller(message.signal).abort(unpack(message.reason));
      case "sync":
        return await this.#answerSync(message);
      case "call": {
        const { ok, value } = await this.#run(message.method, message.args);
        this.#scope.postMessage({ id: message.id, ok, value } satisfies HostAnswer);
      }
    }
  }

  async #answerSync(message: HostMessage & { type: "sync" }): Promise<void> {
    const { flag, port } = message;
    try {
      const target = message.on === "statics" ? await this.#described() : await this.#opened();
      const method = (target as unknown as Methods)[message.method];
      port.postMessage({ ok: true, value: pack(method?.apply(target, unpack(message.args) as unknown[])) });
    } catch (error) {
      port.postMessage({ ok: false, value: pack(asError(error)) });
    } finally {
      Atomics.store(flag, 0, 1);
      Atomics.notify(flag, 0);
    }
  }

  async #run(method: string, packed: unknown): Promise<{ ok: boolean; value: unknown }> {
    const used: number[] = [];
    const signals: SignalPort = {
      ...NO_SIGNALS,
      receive: (id) => {
        used.push(id);
        return this.#controller(id).signal;
      },
    };
    try {
      return { ok: true, value: pack(await this.#call(method, unpack(packed, signals) as unknown[])) };
    } catch (error) {
      return { ok: false, value: pack(asError(error)) };
    } finally {
      for (const id of used) this.#signals.delete(id);
    }
  }

  async #call(method: string, args: readonly unknown[]): Promise<unknown> {
    switch (method) {
      case "describe":
        return describe(await this.#described());
      case "open":
        this.#backend = this.#described().then((statics) => statics.open(args[0] as BackendSettings));
        return memberNames(await this.#backend);
      case "close":
        for (const id of [...this.#handles.keys()]) await this.#closeHandle(id);
        return await (await this.#opened())[Symbol.asyncDispose]();
      case "closeHandle":
        return await this.#closeHandle(args[0] as number);
    }
    const beside = this.#besides[method];
    if (beside) return await beside(...args);
    const backend = await this.#opened();
    const result = await (backend as unknown as Methods)[method]?.apply(backend, [...args]);
    return method === "openHandle" ? this.#keep(result as Handle) : result;
  }

  async #described(): Promise<BackendStatics> {
    const statics = await this.#statics;
    if (!statics) throw new TypeError("The module has no statics");
    return statics;
  }

  #opened(): Promise<ObjectBackend> {
    return this.#backend ?? Promise.reject(new TypeError("The backend was not opened"));
  }

  #keep(handle: Handle): HandleData {
    const id = ++this.#handleIds;
    this.#handles.set(id, handle);
    return {
      id,
      type: handle.type,
      key: handle.key,
      readOnly: handle.readOnly,
      address: handle.address(),
      fullAddress: handle.address({ withPassword: true }),
      json: handle.toJSON(),
    };
  }

  async #closeHandle(id: number): Promise<void> {
    const handle = this.#handles.get(id);
    this.#handles.delete(id);
    await handle?.[Symbol.asyncDispose]();
  }

  #controller(id: number): AbortController {
    let controller = this.#signals.get(id);
    if (!controller) this.#signals.set(id, controller = new AbortController());
    return controller;
  }
}

/** The plain data of a kind's statics, and which of the optional functions it has. */
function describe(statics: BackendStatics): Record<string, unknown> {
  const data = Object.entries(statics).filter(([, value]) => typeof value !== "function");
  return {
    ...Object.fromEntries(data),
    hasEffectiveCapabilities: statics.effectiveCapabilities !== undefined,
    hasPinRefusal: statics.pinRefusal !== undefined,
  };
}

/** The methods an object has, its own and those of its classes. */
function memberNames(object: object): readonly string[] {
  const names = new Set<string>();
  for (let at: object | null = object; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      const descriptor = Object.getOwnPropertyDescriptor(at, name);
      if (name !== "constructor" && typeof descriptor?.value === "function") names.add(name);
    }
  }
  return [...names];
}
