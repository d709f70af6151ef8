/**
 * The kind `memory`: every capability over systems in this process. It is the executable specification of the backend
 * contract (backends §3.11): short, synchronous inside, and exact about what each method promises.
 *
 * @module
 */

import {
  ABSENT,
  atOf,
  type BackendSettings,
  type BackendStatics,
  type Expected,
  type Handle,
  type HistoryEntry,
  type Locator,
  type ObjectBackend,
  type ObjectDiff,
  type Op,
  type Pin,
  type Source,
  type State,
  type Target,
  type Verdict,
} from "../backend.ts";
import {
  BackendError,
  InvalidLocatorError,
  MergeConflict,
  RefConflictError,
  RefMovedError,
  StateGoneError,
} from "../../engine/model/backend_errors.ts";
import { renderState } from "../../engine/model/render_state.ts";
import { parsePinRef, refForPin, WORKING_REF_PREFIX } from "../../engine/model/names.ts";
import { diffPayloads, mergePayloads } from "./_merge.ts";
import { MemoryHandle } from "./handle.ts";
import { memoryStatics } from "./statics.ts";
import { type MemorySnapshot, type MemoryStore, type MemorySystem, namedStore } from "./store.ts";

const KIND = "memory";

/** Backend of the kind `memory`. */
export class MemoryBackend implements ObjectBackend {
  readonly statics: BackendStatics = memoryStatics;
  readonly #store: MemoryStore;
  readonly #now: () => Date;

  /** Creates a backend over a store: one given directly, or this process's store that `config.store` names. */
  constructor(settings: Partial<BackendSettings> & { readonly store?: MemoryStore } = {}) {
    const name = settings.config?.["store"];
    this.#store = settings.store ?? namedStore(typeof name === "string" ? name : "");
    this.#now = settings.now ?? (() => new Date());
  }

  identity(locator: Locator): Locator {
    return { system: systemName(locator) };
  }

  baseBranch(locator: Locator): string {
    const branch = locator["branch"];
    return typeof branch === "string" && branch.trim() !== "" ? branch : "main";
  }

  validateLocator(locator: Locator): Promise<readonly string[]> {
    if (systemName(locator) === "") {
      return Promise.reject(
        new InvalidLocatorError("Cannot use the locator: it names no system", {
          kind: KIND,
          hints: ["Give the system's name as `system`"],
        }),
      );
    }
    return Promise.resolve([]);
  }

  async fingerprint(locator: Locator, ref: string | undefined, op: Op = {}): Promise<State> {
    await turn(op);
    const system = this.#use(locator);
    return stateOf(ref === undefined ? this.#base(system, locator) : system.head(ref));
  }

  async verify(
    locator: Locator,
    state: State,
    pin: Pin | undefined,
    options: Op & { readonly deep: boolean },
  ): Promise<Verdict> {
    await turn(options);
    try {
      return this.#verdict(this.#use(locator), state, pin, options.deep);
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      // Only the system itself can say that something is gone.
      return { status: "unknown", message: error.reason, cause: error };
    }
  }

  async verifyPins(
    locator: Locator,
    items: readonly { readonly state: State; readonly pin: Pin }[],
    op: Op = {},
  ): Promise<readonly Verdict[]> {
    return await Promise.all(items.map((i) => this.verify(locator, i.state, i.pin, { ...op, deep: false })));
  }

  async openHandle(locator: Locator, target: Target, options: Op & { readonly readOnly: boolean }): Promise<Handle> {
    await turn(options);
    const system = this.#use(locator);
    const common = { store: this.#store, system: system.name, now: this.#now };
    // A target on "base" that is detached is a state like any other.
    if (target.on === "ref" || (target.on === "base" && atOf(locator) === undefined)) {
      const branch = target.on === "ref" ? target.ref : this.baseBranch(locator);
      system.head(branch);
      return new MemoryHandle({ ...common, ref: branch, readOnly: options.readOnly });
    }
    const snapshot = target.on === "base" ? this.#base(system, locator) : this.#source(system, target);
    const ref = target.on === "pin" ? target.pin.ref : snapshot.id;
    return new MemoryHandle({ ...common, ref, readOnly: true, snapshot: snapshot.id });
  }

  async pin(locator: Locator, state: State, pinId: string, op: Op = {}): Promise<Pin> {
    await turn(op);
    const system = this.#use(locator);
    const snapshot = system.snapshot(snapshotId(state));
    const ref = refForPin(pinId);
    const found = system.tags.get(ref);
    if (found !== undefined && found !== snapshot.id) {
      throw new RefConflictError(
        `Cannot pin "${snapshot.id}": "${ref}" exists at "${found}"`,
        { kind: KIND, details: { ref, found } },
      );
    }
    system.tags.set(ref, snapshot.id);
    return { id: pinId, ref, created: found === undefined };
  }

  async unpin(locator: Locator, pin: Pin, op: Op = {}): Promise<void> {
    await turn(op);
    this.#use(locator).tags.delete(pin.ref);
  }

  async listPins(locator: Locator, op: Op = {}): Promise<ReadonlySet<string>> {
    await turn(op);
    const names = [...this.#use(locator).tags.keys()].map(parsePinRef);
    return new Set(names.flatMap((n) => n ? [n.id] : []));
  }

  async fork(
    locator: Locator,
    from: Source,
    name: string,
    options: Op & { readonly expected?: Expected } = {},
  ): Promise<string> {
    await turn(options);
    // No await from here on: comparing and setting are one step.
    const system = this.#use(locator);
    const source = this.#source(system, from);
    compareHead(system, name, options.expected, "fork");
    system.branches.set(name, source.id);
    return name;
  }

  async deleteWorkingRef(locator: Locator, ref: string, op: Op = {}): Promise<void> {
    await turn(op);
    if (ref !== this.baseBranch(locator)) this.#use(locator).branches.delete(ref);
  }

  async listWorkingRefs(locator: Locator, op: Op = {}): Promise<readonly string[]> {
    await turn(op);
    return [...this.#use(locator).branches.keys()].filter((b) => b.startsWith(WORKING_REF_PREFIX)).sort();
  }

  async promote(
    locator: Locator,
    from: Source,
    options: Op & { readonly expected?: State } = {},
  ): Promise<State> {
    await turn(options);
    const system = this.#use(locator);
    const base = this.baseBranch(locator);
    compareHead(system, base, options.expected, "promote");
    const head = system.head(base);
    const source = this.#source(system, from);
    if (!system.ancestry(source.id).some((s) => s.id === head.id)) {
      throw new RefConflictError(
        `Cannot promote "${source.id}": head "${head.id}" of "${base}" is not in its history`,
        { kind: KIND, hints: [memoryStatics.promoteHint] },
      );
    }
    system.branches.set(base, source.id);
    return stateOf(source);
  }

  async merge(
    locator: Locator,
    from: Source,
    message: string,
    options: Op & { readonly expected?: State } = {},
  ): Promise<State> {
    await turn(options);
    const system = this.#use(locator);
    const base = this.baseBranch(locator);
    compareHead(system, base, options.expected, "merge");
    const head = system.head(base);
    const source = this.#source(system, from);
    const ours = system.ancestry(head.id);
    if (ours.some((s) => s.id === source.id)) return stateOf(head);
    const theirs = new Set(system.ancestry(source.id).map((s) => s.id));
    const common = ours.find((s) => theirs.has(s.id));
    const merged = mergePayloads(common?.payload ?? {}, head.payload, source.payload);
    if (merged.type === "conflict") {
      throw new MergeConflict(`Cannot merge "${source.id}" into "${base}": both sides changed the same keys`, {
        kind: KIND,
        conflicts: merged.keys,
      });
    }
    const result = system.append({
      parents: [head.id, source.id],
      payload: merged.payload,
      message,
      when: this.#now(),
    });
    system.branches.set(base, result.id);
    return stateOf(result);
  }

  async ancestorOf(locator: Locator, ancestor: State, descendant: Source, op: Op = {}): Promise<boolean | undefined> {
    await turn(op);
    const system = this.#use(locator);
    const id = snapshotId(ancestor);
    return system.ancestry(this.#source(system, descendant).id).some((s) => s.id === id);
  }

  async history(
    locator: Locator,
    options: Op & { readonly ref?: string; readonly limit: number },
  ): Promise<readonly HistoryEntry[]> {
    await turn(options);
    const system = this.#use(locator);
    const head = options.ref === undefined ? this.#base(system, locator) : system.head(options.ref);
    const refs = [...system.branches, ...system.tags];
    return system.ancestry(head.id).slice(0, options.limit).map((s) => ({
      id: s.id,
      when: s.when.toISOString(),
      message: s.message,
      refs: refs.filter(([, id]) => id === s.id).map(([name]) => name),
    }));
  }

  async diff(locator: Locator, a: State, b: State, options: Op = {}): Promise<ObjectDiff> {
    await turn(options);
    const system = this.#use(locator);
    return diffPayloads(system.snapshot(snapshotId(a)).payload, system.snapshot(snapshotId(b)).payload);
  }

  async create(locator: Locator, options: Op & { readonly owner: string }): Promise<State> {
    await turn(options);
    const name = systemName(locator);
    const base = this.baseBranch(locator);
    const system = this.#store.create(name, { base, now: this.#now() });
    if (!system) {
      throw new RefConflictError(`Cannot create "${name}": there is a store already`, { kind: KIND });
    }
    system.owner = options.owner;
    return stateOf(system.head(base));
  }

  async owner(locator: Locator, op: Op = {}): Promise<string | undefined> {
    await turn(op);
    return this.#store.find(systemName(locator))?.owner;
  }

  async isRefEmpty(
    locator: Locator,
    options: Op & { readonly ignoring?: ReadonlySet<string> } = {},
  ): Promise<boolean | undefined> {
    await turn(options);
    const system = this.#store.find(systemName(locator));
    return system && isEmpty(system, this.baseBranch(locator), options.ignoring ?? new Set());
  }

  async deleteStore(locator: Locator, options: Op & { readonly owner: string }): Promise<void> {
    await turn(options);
    const name = systemName(locator);
    const system = this.#store.find(name);
    if (!system) return;
    if (system.owner !== options.owner) {
      const owner = system.owner === undefined ? "no dataset" : `dataset "${system.owner}"`;
      throw new RefConflictError(`Cannot delete "${name}": it belongs to ${owner}`, { kind: KIND });
    }
    if (!isEmpty(system, this.baseBranch(locator), new Set())) {
      throw new RefConflictError(`Cannot delete "${name}": it is not empty`, { kind: KIND });
    }
    this.#store.delete(name);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #use(locator: Locator): MemorySystem {
    return this.#store.use(systemName(locator), { base: this.baseBranch(locator), now: this.#now() });
  }

  /** The snapshot of the base: where it is detached, else the branch's head. */
  #base(system: MemorySystem, locator: Locator): MemorySnapshot {
    const at = atOf(locator);
    if (at === undefined) return system.head(this.baseBranch(locator));
    return system.snapshot(system.branches.get(at) ?? system.tags.get(at) ?? at);
  }

  #source(system: MemorySystem, from: Source): MemorySnapshot {
    switch (from.on) {
      case "ref":
        return system.head(from.ref);
      case "state":
        return system.snapshot(snapshotId(from.state));
      case "pin": {
        const id = system.tags.get(from.pin.ref);
        if (id === undefined) {
          throw new StateGoneError(`Cannot read pin "${from.pin.ref}": it does not exist`, { kind: KIND });
        }
        return system.snapshot(id);
      }
    }
  }

  #verdict(system: MemorySystem, state: State, pin: Pin | undefined, deep: boolean): Verdict {
    const wanted = snapshotId(state);
    const named = pin === undefined ? wanted : system.tags.get(pin.ref);
    if (named === undefined) return { status: "missing", message: `pin "${pin?.ref}" does not exist` };
    if (named !== wanted) return { status: "drifted", message: `pin "${pin?.ref}" is at "${named}"` };
    if (!system.snapshots.has(wanted)) return { status: "missing", message: `snapshot "${wanted}" does not exist` };
    return pin || deep ? { status: "ok" } : { status: "unknown", message: "not pinned" };
  }
}

/** Lets other calls in, so that a race between two is one, and rejects when the caller gave up. */
async function turn(op: Op): Promise<void> {
  op.signal?.throwIfAborted();
  await Promise.resolve();
  op.signal?.throwIfAborted();
}

function systemName(locator: Locator): string {
  const name = locator["system"] ?? locator["uri"];
  return typeof name === "string" ? name.trim() : "";
}

function stateOf(snapshot: MemorySnapshot): State {
  return { snapshot_id: snapshot.id };
}

function snapshotId(state: State): string {
  return String(state["snapshot_id"] ?? "");
}

function compareHead(system: MemorySystem, branch: string, expected: Expected | undefined, what: string): void {
  if (expected === undefined) return;
  const found = system.branches.get(branch);
  const wanted = expected === ABSENT ? undefined : snapshotId(expected);
  if (found === wanted) return;
  const states = [found, wanted].map((id) => id === undefined ? null : { snapshot_id: id });
  const [seen, reviewed] = [states[0] ?? null, states[1] ?? null];
  throw new RefMovedError(
    `Cannot ${what} "${branch}": head is ${renderState(seen)}, expected ${renderState(reviewed)}`,
    { kind: KIND, ref: branch, expected: reviewed, found: seen },
  );
}

function isEmpty(system: MemorySystem, base: string, ignoring: ReadonlySet<string>): boolean {
  const refs = [...system.branches.keys(), ...system.tags.keys()].filter((r) => r !== base && !ignoring.has(r));
  const head = system.branches.get(base);
  return refs.length === 0 && head !== undefined && system.ancestry(head).length === 1;
}
