/**
 * A backend that runs in workers, each holding nothing but what the kind declared for the store it is asked about.
 *
 * @module
 */

import type {
  Access,
  BackendSettings,
  BackendStatics,
  Handle,
  Locator,
  ObjectBackend,
} from "../../backends/backend.ts";
import { BackendError } from "../model/backend_errors.ts";
import { canonical } from "../model/hash.ts";
import { requirePermissions, unionNeeds } from "../permissions.ts";
import { type BackendModule, codeNeeds, WorkerClient } from "./client.ts";
import { RemoteHandle } from "./_handle.ts";
import type { HandleData } from "./worker_entry.ts";

export type { BackendModule } from "./client.ts";

/** Workers one backend keeps; idle ones beyond it are ended. */
const MAX_WORKERS = 8;

const REFS: ReadonlySet<string> = new Set([
  "pin",
  "unpin",
  "renamePin",
  "fork",
  "deleteWorkingRef",
  "renameWorkingRef",
  "promote",
  "merge",
]);
const LIFECYCLE: ReadonlySet<string> = new Set(["create", "deleteStore"]);
const SYNCHRONOUS: ReadonlySet<string> = new Set(["identity", "branchScope", "refNamespace"]);

/** Returns how much a call of a backend does with a store, and so which permissions it may use. */
export function accessOf(method: string, args: readonly unknown[]): Access {
  if (LIFECYCLE.has(method)) return "lifecycle";
  if (REFS.has(method)) return "refs";
  const options = args[2] as { readonly readOnly?: boolean } | undefined;
  return method === "openHandle" && options?.readOnly === false ? "refs" : "read";
}

/**
 * Opens a backend in workers. Each call runs in a worker that holds exactly what `statics.permissions` says of its
 * locator and access; calls that need the same share one. Handles have no live objects: those stay in the worker.
 *
 * @throws {SandboxError} if this process lacks what the kind needs to load; calls raise it for what their store needs.
 */
export async function openInWorker(
  statics: BackendStatics,
  options: { readonly module: BackendModule; readonly settings: BackendSettings },
): Promise<ObjectBackend> {
  const { now: _, warn: __, ...settings } = options.settings;
  const workers = new Workers(statics, options.module, settings);
  const members = await workers.members();
  const methods = members.map((name) => [
    name,
    SYNCHRONOUS.has(name)
      ? (locator: Locator) => workers.ask(name, locator)
      : (...args: unknown[]) => workers.call(name, args),
  ]);
  // Sound because the names were read off a backend: each of its methods is here, and nothing else.
  return {
    ...Object.fromEntries(methods),
    // Whoever opens another instance of this backend gets it in workers too.
    statics: { ...statics, open: (again) => openInWorker(statics, { module: options.module, settings: again }) },
    [Symbol.asyncDispose]: () => workers.close(),
  } as ObjectBackend;
}

interface Running {
  readonly client: WorkerClient;
  /** Settles when the backend inside is open. */
  readonly opened: Promise<unknown>;
  handles: number;
}

/** The workers of one backend, by what they hold. */
class Workers {
  readonly #statics: BackendStatics;
  readonly #module: BackendModule;
  readonly #settings: BackendSettings;
  /** Least recently used first. */
  readonly #running = new Map<string, Running>();
  readonly #answers = new Map<string, unknown>();
  #closed = false;

  constructor(statics: BackendStatics, module: BackendModule, settings: BackendSettings) {
    this.#statics = statics;
    this.#module = module;
    this.#settings = settings;
  }

  /** Returns the methods the backend has, asked in a worker that may load the kind and reach no store. */
  async members(): Promise<readonly string[]> {
    return await this.#worker({}, "read").opened as readonly string[];
  }

  /** Calls a method. */
  async call(method: string, args: readonly unknown[]): Promise<unknown> {
    const running = this.#worker(args[0] as Locator, accessOf(method, args));
    await running.opened;
    const result = await running.client.call(method, args.map(withoutParts));
    if (method !== "openHandle") return result;
    running.handles++;
    return this.#handle(running, result as HandleData);
  }

  /** Asks for one of the addresses that the contract wants at once. They do not change, so each is asked for once. */
  ask(method: string, locator: Locator): unknown {
    const key = `${method} ${canonical(locator)}`;
    if (!this.#answers.has(key)) {
      this.#answers.set(key, this.#worker(locator, "read").client.callSync("backend", method, [locator]));
    }
    return this.#answers.get(key);
  }

  /** Ends all workers; calls under way fail, and so do later ones. */
  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#running.values()];
    this.#running.clear();
    await Promise.all(all.map(end));
  }

  #worker(locator: Locator, access: Access): Running {
    const { kind } = this.#statics;
    if (this.#closed) throw new BackendError(`Cannot use kind "${kind}": it was closed`, { kind });
    const needs = unionNeeds([this.#statics.permissions(locator, access, this.#settings), codeNeeds(this.#module)]);
    const key = canonical({ ...needs });
    const known = this.#running.get(key);
    if (known) {
      this.#running.delete(key);
      this.#running.set(key, known);
      return known;
    }
    requirePermissions([{ kind, needs }]);
    this.#makeRoom();
    const client = new WorkerClient(kind, { module: this.#module, needs });
    const opened = client.call("open", [this.#settings]);
    // Whoever called waits for it; without a caller it must not count as unhandled.
    opened.catch(() => {});
    const started: Running = { client, opened, handles: 0 };
    this.#running.set(key, started);
    return started;
  }

  #makeRoom(): void {
    if (this.#running.size < MAX_WORKERS) return;
    const idle = [...this.#running].find(([, r]) => r.client.busy === 0 && r.handles === 0);
    if (!idle) return;
    this.#running.delete(idle[0]);
    void end(idle[1]);
  }

  #handle(running: Running, data: HandleData): Handle {
    return new RemoteHandle(data, async () => {
      running.handles--;
      await running.client.call("closeHandle", [data.id]);
    });
  }
}

/** A function cannot be sent; how far a worker is it need not say. */
function withoutParts(arg: unknown): unknown {
  if (arg === null || typeof arg !== "object" || !("onParts" in arg)) return arg;
  const { onParts: _, ...rest } = arg;
  return rest;
}

async function end(running: Running): Promise<void> {
  try {
    await running.client.call("close", []);
  } catch {
    // The worker is ended below; what it failed to close ends with it.
  } finally {
    running.client.terminate();
  }
}
