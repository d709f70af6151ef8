/**
 * The kind `icechunk`: repositories of versioned arrays, through the library's WebAssembly build; every read and write is
 * ours (backends §3.4).
 *
 * @module
 */

import type {
  BackendSettings,
  BackendStatics,
  Expected,
  HistoryEntry,
  Locator,
  ObjectBackend,
  ObjectDiff,
  Op,
  Pin,
  Retention,
  Source,
  State,
  Target,
  Verdict,
} from "../backend.ts";
import { InvalidLocatorError } from "../../engine/model/backend_errors.ts";
import { canonical } from "../../engine/model/hash.ts";
import { canonicalUri } from "../../engine/io/paths.ts";
import { WORKING_REF_PREFIX } from "../../engine/model/names.ts";
import { createRepository, deleteRepository, type Folder, readOwner, whatElse } from "./_create.ts";
import { diffSnapshots } from "./_diff.ts";
import { deleteBranch, forkBranch, promoteBranch } from "./_fork.ts";
import { historyOf, isAncestor } from "./_history.ts";
import { requireLocal } from "../storage/local.ts";
import { folderOf, storageOf } from "./_location.ts";
import { baseOf, checkLocator, KIND, MAIN, snapshotOf, stateOf } from "./_locator.ts";
import { createPin, pinIds, releasePin } from "./_pins.ts";
import { basePlace, branchNames, type Place, requireBranch, sourcePlace } from "./_refs.ts";
import { Store } from "./_repository.ts";
import { Lease } from "./library.ts";
import { verifyPinsOf, verifyState } from "./_verify.ts";
import { IcechunkHandle } from "./handle.ts";
import { icechunkStatics, uriOf } from "./statics.ts";

/** Backend of the kind `icechunk`. The library loads with the first call that needs it. */
export class IcechunkBackend implements ObjectBackend {
  readonly statics: BackendStatics = icechunkStatics;
  readonly #settings: BackendSettings;
  readonly #lease = new Lease();
  readonly #stores = new Map<string, Store>();

  constructor(settings: BackendSettings) {
    this.#settings = settings;
  }

  identity(locator: Locator): Locator {
    return { uri: canonicalUri(uriOf(locator)) };
  }

  baseBranch(locator: Locator): string {
    return baseOf(locator);
  }

  validateLocator(locator: Locator, op: Op = {}): Promise<readonly string[]> {
    return new Promise((resolve) => {
      op.signal?.throwIfAborted();
      checkLocator(locator);
      requireLocal(uriOf(locator), KIND);
      resolve([]);
    });
  }

  async fingerprint(locator: Locator, ref: string | undefined, op: Op = {}): Promise<State> {
    const store = this.#store(locator, op);
    return stateOf(
      ref === undefined ? (await basePlace(store, locator, op)).snapshot : await requireBranch(store, ref, op),
    );
  }

  async verify(
    locator: Locator,
    state: State,
    pin: Pin | undefined,
    options: Op & { readonly deep: boolean },
  ): Promise<Verdict> {
    return await verifyState(this.#store(locator, options), { state, pin }, options);
  }

  async verifyPins(
    locator: Locator,
    items: readonly { readonly state: State; readonly pin: Pin }[],
    op: Op = {},
  ): Promise<readonly Verdict[]> {
    return await verifyPinsOf(this.#store(locator, op), items, op);
  }

  async openHandle(
    locator: Locator,
    target: Target,
    options: Op & { readonly readOnly: boolean },
  ): Promise<IcechunkHandle> {
    const store = this.#store(locator, options);
    const place = await this.#place(store, { locator, target }, options);
    return new IcechunkHandle({
      uri: uriOf(locator),
      storage: store.storage,
      place,
      // Only a branch takes writes.
      readOnly: options.readOnly || place.branch === undefined,
    });
  }

  retention(): Promise<Retention> {
    return Promise.resolve({
      rule: "kept until somebody expires snapshots and collects garbage; tags are spared unless asked for",
      enforced: "operator",
    });
  }

  async pin(locator: Locator, state: State, pinId: string, op: Op = {}): Promise<Pin> {
    return await createPin(this.#store(locator, op), { state, id: pinId }, op);
  }

  async unpin(locator: Locator, pin: Pin, op: Op = {}): Promise<void> {
    await releasePin(this.#store(locator, op), pin, op);
  }

  async listPins(locator: Locator, op: Op = {}): Promise<ReadonlySet<string>> {
    return await pinIds(this.#store(locator, op), op);
  }

  async fork(
    locator: Locator,
    from: Source,
    name: string,
    options: Op & { readonly expected?: Expected } = {},
  ): Promise<string> {
    await forkBranch(this.#store(locator, options), { from, name }, options);
    return name;
  }

  async deleteWorkingRef(locator: Locator, ref: string, op: Op = {}): Promise<void> {
    const store = this.#store(locator, op);
    if (ref !== baseOf(locator)) await deleteBranch(store, ref, op);
  }

  async listWorkingRefs(locator: Locator, op: Op = {}): Promise<readonly string[]> {
    const names = await branchNames(this.#store(locator, op), op);
    return names.filter((name) => name.startsWith(WORKING_REF_PREFIX));
  }

  async promote(
    locator: Locator,
    from: Source,
    options: Op & { readonly expected?: State } = {},
  ): Promise<State> {
    const move = { from, base: baseOf(locator), hint: icechunkStatics.promoteHint };
    return await promoteBranch(this.#store(locator, options), move, options);
  }

  async ancestorOf(locator: Locator, ancestor: State, descendant: Source, op: Op = {}): Promise<boolean | undefined> {
    const store = this.#store(locator, op);
    const { snapshot } = await sourcePlace(store, descendant, op);
    return await isAncestor(store, { ancestor: snapshotOf(ancestor), descendant: snapshot }, op);
  }

  async history(
    locator: Locator,
    options: Op & { readonly ref?: string; readonly limit: number },
  ): Promise<readonly HistoryEntry[]> {
    const store = this.#store(locator, options);
    const head = options.ref === undefined
      ? (await basePlace(store, locator, options)).snapshot
      : await requireBranch(store, options.ref, options);
    return await historyOf(store, head, options);
  }

  async diff(locator: Locator, a: State, b: State, options: Op = {}): Promise<ObjectDiff> {
    return await diffSnapshots(this.#store(locator, options), [snapshotOf(a), snapshotOf(b)], options);
  }

  async create(locator: Locator, options: Op & { readonly owner: string }): Promise<State> {
    options.signal?.throwIfAborted();
    if (baseOf(locator) !== MAIN) {
      throw new InvalidLocatorError(`Cannot create a repository with branch "${baseOf(locator)}": it has "${MAIN}"`, {
        kind: KIND,
        hints: [`Leave out the branch, or name "${MAIN}"`],
      });
    }
    await createRepository(this.#folder(locator), options);
    return await this.fingerprint(locator, undefined);
  }

  async owner(locator: Locator, op: Op = {}): Promise<string | undefined> {
    return await readOwner(this.#store(locator, op), op);
  }

  async isRefEmpty(
    locator: Locator,
    options: Op & { readonly ignoring?: ReadonlySet<string> } = {},
  ): Promise<boolean | undefined> {
    return await whatElse(this.#store(locator, options), options) === undefined;
  }

  async deleteStore(locator: Locator, options: Op & { readonly owner: string }): Promise<void> {
    options.signal?.throwIfAborted();
    await deleteRepository(this.#folder(locator), options);
    this.#stores.delete(canonical(this.identity(locator)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stores.clear();
    await this.#lease[Symbol.asyncDispose]();
  }

  #store(locator: Locator, op: Op): Store {
    op.signal?.throwIfAborted();
    const key = canonical(this.identity(locator));
    const known = this.#stores.get(key);
    if (known) return known;
    const storage = storageOf(locator, this.#settings);
    const store = new Store({ uri: uriOf(locator), storage, lease: this.#lease });
    this.#stores.set(key, store);
    return store;
  }

  #folder(locator: Locator): Folder {
    return { ...folderOf(locator, this.#settings), lease: this.#lease };
  }

  async #place(store: Store, o: { readonly locator: Locator; readonly target: Target }, op: Op): Promise<Place> {
    const { target } = o;
    if (target.on === "base") return await basePlace(store, o.locator, op);
    const place = await sourcePlace(store, target, op);
    if (target.on !== "ref") {
      const call = { ...op, what: `open snapshot "${place.snapshot}"` };
      await store.requireSnapshot(place.snapshot, call);
      await store.use(call, (r) => r.lookupSnapshot(place.snapshot));
    }
    return place;
  }
}
