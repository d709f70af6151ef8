/**
 * The systems the kind `memory` versions: snapshots with parents, branches, tags and an owner, in this process.
 *
 * @module
 */

import type { Json, JsonObject } from "../../engine/model/json.ts";
import {
  type BackendError,
  PermissionDeniedError,
  StateGoneError,
  StoreNotFoundError,
  UnavailableError,
} from "../../engine/model/backend_errors.ts";

const KIND = "memory";

/**
 * One immutable version of a system's content.
 *
 * @example Look at the first one
 * ```ts
 * import type { MemorySnapshot } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const first: MemorySnapshot = {
 *   id: "lab:s0",
 *   number: 0,
 *   parents: [],
 *   payload: {},
 *   message: "created",
 *   when: new Date("2026-01-01T00:00:00Z"),
 * };
 * assert.equal(first.parents.length, 0);
 * ```
 */
export interface MemorySnapshot {
  /** `<system>:s<n>`. */
  readonly id: string;
  /** The place in the order of writes, from 0. */
  readonly number: number;
  /** Ids of the snapshots this one was made of; the first is the line it continues. */
  readonly parents: readonly string[];
  /** All of the content. */
  readonly payload: JsonObject;
  /** What the writer said of it. */
  readonly message: string;
  /** When it was written. */
  readonly when: Date;
}

/** One system: a payload of keys with its whole history. */
export class MemorySystem {
  readonly name: string;
  readonly branches: Map<string, string> = new Map();
  readonly tags: Map<string, string> = new Map();
  readonly snapshots: Map<string, MemorySnapshot> = new Map();
  /** The dataset that made the system; absent when it sprang into being on first use. */
  owner: string | undefined;
  #next = 0;

  /** Creates a system whose base branch stands at an empty first snapshot. */
  constructor(name: string, base: string, now: Date) {
    this.name = name;
    this.branches.set(base, this.append({ parents: [], payload: {}, message: "created", when: now }).id);
  }

  /** Adds a snapshot; no ref names it yet. */
  append(data: Omit<MemorySnapshot, "id" | "number">): MemorySnapshot {
    const number = this.#next++;
    const snapshot = { ...data, id: `${this.name}:s${number}`, number };
    this.snapshots.set(snapshot.id, snapshot);
    return snapshot;
  }

  /**
   * Returns a snapshot.
   *
   * @throws {StateGoneError} if it was expired or never existed.
   */
  snapshot(id: string): MemorySnapshot {
    const found = this.snapshots.get(id);
    if (!found) {
      throw new StateGoneError(`Cannot read snapshot "${id}" of "${this.name}": it does not exist`, { kind: KIND });
    }
    return found;
  }

  /**
   * Returns the snapshot a branch stands at.
   *
   * @throws {StateGoneError} if there is no such branch.
   */
  head(branch: string): MemorySnapshot {
    const id = this.branches.get(branch);
    if (id === undefined) {
      throw new StateGoneError(`Cannot read branch "${branch}" of "${this.name}": it does not exist`, { kind: KIND });
    }
    return this.snapshot(id);
  }

  /** Returns a snapshot and everything it was made of, newest first; expired ancestors are left out. */
  ancestry(id: string): MemorySnapshot[] {
    const seen = new Map<string, MemorySnapshot>();
    const queue = [id];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const snapshot = this.snapshots.get(next);
      if (!snapshot || seen.has(next)) continue;
      seen.set(next, snapshot);
      queue.push(...snapshot.parents);
    }
    return [...seen.values()].sort((a, b) => b.number - a.number);
  }
}

/** How a system can be out of reach. */
export type MemoryOutage = "forbidden" | "offline";

/** A set of systems. A system springs into being on first use, unless it was deleted. */
export class MemoryStore {
  readonly #systems = new Map<string, MemorySystem>();
  readonly #deleted = new Set<string>();
  readonly #outages = new Map<string, MemoryOutage>();

  /**
   * Returns a system, made on first use with a base branch of the given name.
   *
   * @throws {StoreNotFoundError} if it was deleted.
   * @throws {PermissionDeniedError | UnavailableError} during an outage.
   */
  use(name: string, options: { readonly base: string; readonly now: Date }): MemorySystem {
    const known = this.find(name);
    if (known) return known;
    if (this.#deleted.has(name)) {
      throw new StoreNotFoundError(`Cannot open "${name}": the store was deleted`, { kind: KIND });
    }
    const made = new MemorySystem(name, options.base, options.now);
    this.#systems.set(name, made);
    return made;
  }

  /** Returns a system that exists, without making one. Fails during an outage as {@link use} does. */
  find(name: string): MemorySystem | undefined {
    const outage = this.#outages.get(name);
    if (outage) throw outageError(name, outage);
    return this.#systems.get(name);
  }

  /** Makes a system where none is; `undefined` when there is one. */
  create(name: string, options: { readonly base: string; readonly now: Date }): MemorySystem | undefined {
    if (this.find(name)) return undefined;
    this.#deleted.delete(name);
    return this.use(name, options);
  }

  /** Removes a system and leaves a tombstone: reads fail until it is created again. */
  delete(name: string): void {
    this.#systems.delete(name);
    this.#deleted.add(name);
  }

  /** Writes keys on a branch, `null` removing one, as a new snapshot; returns it. */
  write(
    name: string,
    changes: JsonObject,
    options: { readonly branch?: string; readonly message?: string; readonly now?: Date } = {},
  ): MemorySnapshot {
    const now = options.now ?? new Date();
    const branch = options.branch ?? "main";
    const system = this.use(name, { base: branch, now });
    const head = system.head(branch);
    const written = system.append({
      parents: [head.id],
      payload: applyChanges(head.payload, changes),
      message: options.message ?? `wrote ${Object.keys(changes).join(", ")}`,
      when: now,
    });
    system.branches.set(branch, written.id);
    return written;
  }

  /** Forgets a snapshot, as an operator's expiry does. Refs that name it dangle. */
  expire(name: string, snapshotId: string): void {
    this.find(name)?.snapshots.delete(snapshotId);
  }

  /** Puts a system out of reach until the result is disposed. */
  outage(name: string, how: MemoryOutage): Disposable {
    this.#outages.set(name, how);
    return { [Symbol.dispose]: () => void this.#outages.delete(name) };
  }
}

function outageError(name: string, how: MemoryOutage): BackendError {
  return how === "forbidden"
    ? new PermissionDeniedError(`Cannot read "${name}": access denied`, { kind: KIND })
    : new UnavailableError(`Cannot reach "${name}": the store does not answer`, { kind: KIND });
}

function applyChanges(payload: JsonObject, changes: JsonObject): JsonObject {
  const next: Record<string, Json> = { ...payload, ...changes };
  for (const [key, value] of Object.entries(changes)) if (value === null) delete next[key];
  return next;
}

const stores = new Map<string, MemoryStore>();

/** Returns this process's store of a name, made on first use; `""` is the default one (`[backends.memory] store`). */
export function namedStore(name: string = ""): MemoryStore {
  let store = stores.get(name);
  if (!store) stores.set(name, store = new MemoryStore());
  return store;
}
