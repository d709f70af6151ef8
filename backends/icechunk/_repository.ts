/**
 * One repository of this process: opened once, and checked before each use to still be what was opened.
 *
 * @module
 */

import type { Repository } from "@earthmover/icechunk-wasm32-wasi";
import type { Op } from "../backend.ts";
import { StateGoneError, StoreNotFoundError } from "../../engine/model/backend_errors.ts";
import { TetherError } from "../../engine/model/errors.ts";
import type { ObjectStorage, StoredObject } from "../storage/storage.ts";
import { libraryError, refusalOf } from "./_errors.ts";
import { KIND, MAIN } from "./_locator.ts";
import type { Lease, Runtime } from "./library.ts";
import { type LibraryStorage, libraryStorage, ThrownErrors } from "./library_storage.ts";

/** The object that holds every ref of a repository of format 2; format 1 has an object for each. */
const REPO = "repo";
/** Of format 1; the library never deletes it. */
const MAIN_REF = `refs/branch.${MAIN}/ref.json`;
/** Of format 1; format 2 keeps it in the object above. */
const CONFIG = "config.yaml";
const SNAPSHOT_ID = /^[0-9A-HJKMNP-TV-Z]{20}$/;

interface Opened {
  readonly runtime: Runtime;
  readonly repository: Repository;
}

/** What completes "Cannot" when a call fails, and its signal. */
export interface CallOptions extends Op {
  /** Such as `read branch "main"`. */
  readonly what: string;
}

/** A view of a repository to read it by. */
export interface View {
  /** Calls the library. Its errors are mapped; those of the storage come back as they were thrown. */
  use<T>(options: CallOptions, fn: (repository: Repository) => Promise<T>): Promise<T>;
  /**
   * Checks that there is a repository: some calls answer "nothing" where there is none any more.
   *
   * @throws {StoreNotFoundError} if there is none.
   */
  requireStore(options: CallOptions): Promise<void>;
}

/** A repository at one place. Refs are read anew by every call; snapshots never change under their id. */
export class Store implements View {
  /** As the locator spells it. */
  readonly uri: string;
  readonly storage: ObjectStorage;
  readonly #io: LibraryStorage;
  readonly #lease: Lease;
  readonly #errors = new ThrownErrors();
  #opened: Promise<Opened> | undefined;

  constructor(o: {
    readonly uri: string;
    readonly storage: ObjectStorage;
    readonly lease: Lease;
    /** Whether to honour the repository's configuration, which says how new data is laid out. @default {false} */
    readonly configured?: boolean;
  }) {
    this.uri = o.uri;
    this.storage = o.storage;
    // It says nothing about refs, and this build of the library refuses one that names stores it was built without.
    this.#io = o.configured ? o.storage : withGet(
      o.storage,
      (key, op) => key === CONFIG ? Promise.resolve(undefined) : o.storage.get(key, op),
    );
    this.#lease = o.lease;
  }

  async use<T>(options: CallOptions, fn: (repository: Repository) => Promise<T>): Promise<T> {
    return await this.#attempt(options, async () => {
      const { runtime, repository } = await this.#current(options);
      options.signal?.throwIfAborted();
      return await runtime.call(() => fn(repository));
    });
  }

  /**
   * Opens the repository again for calls that belong together: nothing is taken from what was read before, and each object
   * with refs is read once and stays as it was then.
   */
  async snapshotView(options: CallOptions): Promise<View> {
    const opened = await this.#attempt(options, () => this.#open(readOnce(this.#io)));
    return {
      use: (call, fn) =>
        this.#attempt(call, () => {
          call.signal?.throwIfAborted();
          return opened.runtime.call(() => fn(opened.repository));
        }),
      requireStore: (call) => this.requireStore(call),
    };
  }

  /**
   * Checks that a snapshot's own object exists: an id that a ref or the repository's table names may be all that is left.
   *
   * @throws {StateGoneError} if it does not.
   * @throws {StoreNotFoundError} if the repository does not.
   */
  async requireSnapshot(id: string, options: CallOptions): Promise<void> {
    const known = SNAPSHOT_ID.test(id) && await this.storage.head(`snapshots/${id}`, options) !== undefined;
    if (known) return;
    await this.requireStore(options);
    throw new StateGoneError(`Cannot ${options.what}: snapshot "${id}" does not exist`, { kind: KIND });
  }

  async requireStore(options: CallOptions): Promise<void> {
    for (const key of [REPO, MAIN_REF]) {
      if (await this.storage.head(key, options)) return;
    }
    throw new StoreNotFoundError(`Cannot ${options.what} of "${this.uri}": there is no Icechunk repository`, {
      kind: KIND,
    });
  }

  /** The repository, as long as its format is the one it was opened with and the library lives. */
  async #current(op: Op): Promise<Opened> {
    const isFormat2 = await this.storage.head(REPO, op) !== undefined;
    const before = this.#opened;
    if (before) {
      const opened = await before.catch(() => undefined);
      if (opened && !opened.runtime.dead && (opened.repository.specVersion > 1) === isFormat2) return opened;
      if (this.#opened === before) this.#opened = undefined;
    }
    return await (this.#opened ??= this.#open(this.#io));
  }

  async #open(storage: LibraryStorage): Promise<Opened> {
    const runtime = await this.#lease.runtime();
    const repository = await runtime.call((library) =>
      library.Repository.open(libraryStorage(library, storage, this.#errors))
    );
    return { runtime, repository };
  }

  async #attempt<T>(options: CallOptions, fn: () => Promise<T>): Promise<T> {
    options.signal?.throwIfAborted();
    const what = `${options.what} of "${this.uri}"`;
    try {
      return await fn();
    } catch (error) {
      if (!(error instanceof Error) || error instanceof TetherError || error === options.signal?.reason) throw error;
      const thrown = this.#errors.find(error.message);
      if (thrown) throw thrown;
      if (["no-ref", "no-object"].includes(refusalOf(error) ?? "")) await this.requireStore(options);
      throw libraryError(error, what);
    }
  }
}

/** Returns a storage whose changing objects, refs and configuration, are read at most once each. */
function readOnce(storage: LibraryStorage): LibraryStorage {
  const kept = new Map<string, Promise<StoredObject | undefined>>();
  return withGet(storage, (key, op) => {
    // Everything in a folder but refs is written once, and may be large.
    if (key.includes("/") && !key.startsWith("refs/")) return storage.get(key, op);
    const object = kept.get(key) ?? storage.get(key, op);
    kept.set(key, object);
    return object;
  });
}

function withGet(storage: LibraryStorage, get: LibraryStorage["get"]): LibraryStorage {
  return {
    get,
    getRange: (key, range, op) => storage.getRange(key, range, op),
    head: (key, op) => storage.head(key, op),
    list: (folder, op) => storage.list(folder, op),
    put: (key, bytes, op) => storage.put(key, bytes, op),
    putIfAbsent: (key, bytes, op) => storage.putIfAbsent(key, bytes, op),
    putIfMatch: (key, bytes, options) => storage.putIfMatch(key, bytes, options),
    delete: (key, options) => storage.delete(key, options),
  };
}
