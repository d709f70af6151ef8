/**
 * Ways to break the contract, each with the check that must notice.
 *
 * @module
 */

import {
  type BackendStatics,
  type Capability,
  type Handle,
  makeHandle,
  type ObjectBackend,
  type Op,
  type Verdict,
} from "../../backends/backend.ts";
import type { BackendHarness } from "../../backends/conformance/mod.ts";
import { memoryStatics } from "../../backends/memory/statics.ts";
import { BackendError, MergeConflict, RefMovedError, StateGoneError } from "../../engine/model/errors.ts";
import { Float } from "../../engine/model/json.ts";

type Full = Required<ObjectBackend>;
/** Replacements of methods; each gets the real backend first. */
export type Replacements = {
  readonly [K in keyof Full]?: Full[K] extends (...args: infer A) => infer R ? (real: Full, ...args: A) => R : never;
};

/** One way to break a backend. */
export interface Mutation {
  /** The check that must fail. */
  readonly check: string;
  readonly what: string;
  /** What the check's failure says, so that it fails for the right reason. */
  readonly says: string;
  readonly methods?: Replacements;
  readonly statics?: Partial<BackendStatics>;
  readonly harness?: Partial<BackendHarness>;
}

/** Returns a backend with some methods and statics replaced. */
export function broken(backend: ObjectBackend, mutation: Mutation): ObjectBackend {
  const methods = mutation.methods as Readonly<
    Record<PropertyKey, (real: ObjectBackend, ...args: unknown[]) => unknown>
  >;
  const statics: BackendStatics = {
    ...backend.statics,
    open: async (settings) => broken(await backend.statics.open(settings), mutation),
    ...mutation.statics,
  };
  return new Proxy(backend, {
    get(target, name) {
      if (name === "statics") return statics;
      const replacement = methods?.[name];
      if (replacement) return (...args: unknown[]) => replacement(target, ...args);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

let ticks = 0;
const SECRET = "hunter2-hunter2";
const KIND = { kind: "memory" } as const;

function also(...more: Capability[]): Partial<BackendStatics> {
  return { capabilities: new Set([...memoryStatics.capabilities, ...more]) };
}

function deaf<O extends Op>(options: O | undefined): O {
  const { signal: _, ...rest } = options ?? {};
  return rest as O;
}

function handle(address: string, readOnly: boolean = true): Promise<Handle> {
  return Promise.resolve(
    makeHandle({ type: "MemoryHandle", kind: "memory", key: address, address, readOnly, native: {} }),
  );
}

// What the harness was asked to do between a deletion's check and its step.
let meanwhile: (() => Promise<void>) | undefined;

const nothing = { [Symbol.asyncDispose]: (): Promise<void> => Promise.resolve() };

/** The table. */
export const MUTATIONS: readonly Mutation[] = [
  {
    check: "C01",
    what: "a state holds a clock",
    says: "two reads of an unchanged object",
    methods: { fingerprint: async (r, l, ref) => ({ ...await r.fingerprint(l, ref), tick: ++ticks }) },
  },
  {
    check: "C01",
    what: "a state holds a float",
    says: "floats are none",
    methods: { fingerprint: async (r, l, ref) => ({ ...await r.fingerprint(l, ref), size: new Float(1) }) },
  },
  {
    check: "C01",
    what: "a state holds a number that lost digits",
    says: "a number must be a safe integer",
    methods: { fingerprint: async (r, l, ref) => ({ ...await r.fingerprint(l, ref), id: 2 ** 60 }) },
  },
  {
    check: "C01",
    what: "a state holds a small integer as a bigint",
    says: "is a bigint although",
    methods: { fingerprint: async (r, l, ref) => ({ ...await r.fingerprint(l, ref), id: 1n }) },
  },
  {
    check: "C02",
    what: "a fingerprint is blind to writes",
    says: "a write must change the content",
    methods: { fingerprint: () => Promise.resolve({ snapshot_id: "always" }) },
  },
  {
    check: "C02",
    what: "all keys are volatile",
    says: "content keys beside volatile ones",
    statics: { volatileKeys: new Set(["snapshot_id"]) },
  },
  {
    check: "C03",
    what: "the branch is part of the identity",
    says: "names the same store",
    methods: { identity: (r, l) => ({ ...r.identity(l), branch: l["branch"] ?? "main" }) },
  },
  {
    check: "C03",
    what: "an identity differs each time",
    says: "must be deterministic",
    methods: { identity: () => ({ tick: ++ticks }) },
  },
  {
    check: "C03",
    what: "an identity ignores the system",
    says: "names another store",
    methods: { identity: () => ({ system: "one" }) },
  },
  {
    check: "C03",
    what: "a state holds a null, which no manifest keeps",
    says: "must survive TOML",
    methods: { fingerprint: async (r, l, ref) => ({ ...await r.fingerprint(l, ref), size: null }) },
  },
  {
    check: "C05",
    what: "a failure counts as missing",
    says: "forbidden said missing",
    methods: {
      verify: async (r, l, s, p, o) => {
        const verdict = await r.verify(l, s, p, o);
        return verdict.status === "unknown" ? { status: "missing" } : verdict;
      },
    },
  },
  {
    check: "C05",
    what: "an unreachable store counts as absent",
    says: 'raised code "state-gone"',
    methods: {
      fingerprint: (r, l, ref) =>
        r.fingerprint(l, ref).catch((e) => Promise.reject(new StateGoneError(e.reason, KIND))),
    },
  },
  {
    check: "C05",
    what: "a foreign exception escapes",
    says: "other than a BackendError",
    methods: {
      fingerprint: (r, l, ref) => r.fingerprint(l, ref).catch(() => Promise.reject(new Error("ECONNREFUSED"))),
    },
  },
  {
    check: "C06",
    what: "a signal is ignored",
    says: "fingerprint() with an aborted signal",
    methods: { fingerprint: (r, l, ref, op) => r.fingerprint(l, ref, deaf(op)) },
  },
  {
    check: "C06",
    what: "an aborted fork is made all the same",
    says: "rejected with the abort must have changed nothing",
    methods: {
      async fork(r, l, from, name, o) {
        o?.signal?.throwIfAborted();
        const ref = await r.fork(l, from, name, deaf(o));
        await new Promise((done) => setTimeout(done, 0));
        o?.signal?.throwIfAborted();
        return ref;
      },
    },
  },
  {
    check: "C07",
    what: "disposing twice fails",
    says: "disposed twice",
    statics: {
      async open(settings) {
        const backend = await memoryStatics.open(settings);
        let disposed = false;
        return broken(backend, {
          check: "",
          what: "",
          says: "",
          methods: {
            [Symbol.asyncDispose]: () => {
              if (disposed) throw new TypeError("disposed twice");
              disposed = true;
              return Promise.resolve();
            },
          },
        });
      },
    },
  },
  {
    check: "C08",
    what: "a diff sees nothing",
    says: "a write must show in the diff",
    methods: { diff: (r, l, _a, b) => r.diff(l, b, b) },
  },
  {
    check: "C08",
    what: "a diff finds something in nothing",
    says: "counts must be exact",
    methods: { diff: async (r, l, a, b) => ({ ...await r.diff(l, a, b), modified: 1 }) },
  },
  {
    check: "C08",
    what: "a diff uses a word of its own",
    says: "is no change word",
    methods: {
      async diff(r, l, a, b) {
        const diff = await r.diff(l, a, b);
        return { ...diff, entries: diff.entries.map((e) => ({ ...e, change: "created" as "added" })) };
      },
    },
  },
  {
    check: "C09",
    what: "history begins with the oldest",
    says: "the newest entry is the current state",
    methods: { history: async (r, l, o) => [...await r.history(l, { ...o, limit: 99 })].reverse().slice(0, o.limit) },
  },
  {
    check: "C09",
    what: "history ignores its limit",
    says: "limit 1 is a prefix",
    methods: { history: (r, l, o) => r.history(l, { ...o, limit: 99 }) },
  },
  {
    check: "C09",
    what: "a detached base opens at its head",
    says: "a read-only open honours at",
    methods: { openHandle: (r, l, t, o) => r.openHandle({ system: l["system"] ?? "" }, t, o) },
  },
  {
    check: "C10",
    what: "every state opens at one address",
    says: "at different addresses",
    methods: { openHandle: () => handle("somewhere") },
  },
  {
    check: "C10",
    what: "a recorded state opens writable",
    says: "a recorded state opens read-only",
    methods: { openHandle: (_r, _l, t) => handle(JSON.stringify(t), false) },
  },
  {
    check: "C11",
    what: "an expired state opens",
    says: "opening an expired state: it succeeded",
    methods: { openHandle: (_r, _l, t) => handle(JSON.stringify(t)) },
  },
  {
    check: "C11",
    what: "an expired state counts as there",
    says: "must say that it is missing",
    methods: { verify: () => Promise.resolve<Verdict>({ status: "ok" }) },
  },
  {
    check: "C12",
    what: "every pin says that it was made",
    says: "the second call finds the same ref",
    methods: { pin: async (r, l, s, id) => ({ ...await r.pin(l, s, id), created: true }) },
  },
  {
    check: "C12",
    what: "pins are not listed",
    says: "a pin is listed",
    methods: { listPins: () => Promise.resolve(new Set<string>()) },
  },
  {
    check: "C12",
    what: "a pin names the head instead of the state",
    says: "shallow verify",
    methods: {
      verify: async (r, l, s) =>
        (await r.fingerprint(l, undefined))["snapshot_id"] === s["snapshot_id"]
          ? { status: "ok" }
          : { status: "drifted" },
    },
  },
  {
    check: "C13",
    what: "pinning again moves the pin",
    says: "under a taken id: it succeeded",
    methods: {
      async pin(r, l, s, id) {
        await r.unpin(l, { id, ref: `tether.${id}` });
        return await r.pin(l, s, id);
      },
    },
  },
  {
    check: "C14",
    what: "an absent pin opens the base",
    says: "opening an absent pin: it succeeded",
    methods: {
      openHandle: (r, l, t, o) => r.openHandle(l, t, o).catch(() => r.openHandle(l, { on: "base" }, o)),
    },
  },
  {
    check: "C14",
    what: "releasing an absent pin raises a library's exception",
    says: "releasing an absent pin: raised something other",
    methods: {
      async unpin(r, l, pin) {
        if (!(await r.listPins(l)).has(pin.id)) throw new Error("tag not found");
        await r.unpin(l, pin);
      },
    },
  },
  {
    check: "C15",
    what: "a release that the store refused passes",
    says: "a released pin is not listed",
    methods: { unpin: () => Promise.resolve() },
  },
  {
    check: "C16",
    what: "working refs are listed as pins",
    says: "is no pin",
    methods: {
      async listPins(r, l) {
        const refs = await r.listWorkingRefs(l);
        return new Set([...await r.listPins(l), ...refs.map((ref) => ref.replace(/^tether\./, ""))]);
      },
    },
  },
  {
    check: "C16",
    what: "a release takes every pin of the state",
    says: "another dataset's pin stays",
    methods: {
      async unpin(r, l) {
        for (const id of await r.listPins(l)) await r.unpin(l, { id, ref: `tether.${id}` });
      },
    },
  },
  {
    check: "C17",
    what: "forking onto a name leaves it alone",
    says: "forking onto an existing name resets it",
    methods: {
      fork: async (r, l, from, name, o) =>
        (await r.listWorkingRefs(l)).includes(name) ? name : await r.fork(l, from, name, o),
    },
  },
  {
    check: "C17",
    what: "every fork makes a sibling",
    says: "reset under its own name",
    methods: {
      fork: async (r, l, from, name, o) =>
        await r.fork(l, from, (await r.listWorkingRefs(l)).includes(name) ? `${name}.2` : name, o),
    },
  },
  {
    check: "C17",
    what: "a working ref opens read-only",
    says: "a working ref opens writable",
    methods: { openHandle: (r, l, t) => r.openHandle(l, t, { readOnly: true }) },
  },
  {
    check: "C17",
    what: "a deletion that does nothing passes",
    says: "a deleted working ref is not listed",
    methods: { deleteWorkingRef: () => Promise.resolve() },
  },
  {
    check: "C18",
    what: "resetting a pinned branch takes its pin",
    says: "must survive its reset",
    methods: {
      async fork(r, l, from, name, o) {
        if ((await r.listWorkingRefs(l)).includes(name)) {
          const keep = from.on === "pin" ? from.pin.id : "";
          for (const id of await r.listPins(l)) if (id !== keep) await r.unpin(l, { id, ref: `tether.${id}` });
        }
        return await r.fork(l, from, name, o);
      },
    },
  },
  {
    check: "C18",
    what: "a sibling is made without a reason for the old branch",
    says: "workingRefBlockers must say why",
    methods: {
      fork: async (r, l, from, name, o) =>
        await r.fork(l, from, (await r.listWorkingRefs(l)).includes(name) ? `${name}.2` : name, o),
    },
  },
  {
    check: "C19",
    what: "expected is ignored",
    says: "a stale expectation: it succeeded",
    methods: { fork: (r, l, from, name) => r.fork(l, from, name) },
  },
  {
    check: "C19",
    what: "a lost condition is some other error",
    says: 'raised code "library"',
    methods: {
      fork: (r, l, from, name, o) =>
        r.fork(l, from, name, o).catch((e) => Promise.reject(new BackendError(String(e), KIND))),
    },
  },
  {
    check: "C20",
    what: "expected is compared before the move instead of with it",
    says: "contenders won",
    methods: {
      async fork(r, l, from, name, o) {
        if (o?.expected !== undefined) {
          const exists = (await r.listWorkingRefs(l)).includes(name);
          const head = exists ? await r.fingerprint(l, name) : undefined;
          const wanted = typeof o.expected === "symbol" ? undefined : o.expected;
          if (head?.["snapshot_id"] !== wanted?.["snapshot_id"]) {
            throw new RefMovedError("moved", { ...KIND, ref: name, expected: wanted ?? null, found: head ?? null });
          }
        }
        return await r.fork(l, from, name);
      },
    },
  },
  {
    check: "C21",
    what: "of forks made at once only some are made",
    says: "was lost among forks made at once",
    methods: {
      async fork(r, l, from, name, o) {
        const before = await r.listWorkingRefs(l);
        const ref = await r.fork(l, from, name, o);
        const meanwhile = (await r.listWorkingRefs(l)).filter((n) => n !== ref && !before.includes(n));
        for (const other of meanwhile) await r.deleteWorkingRef(l, other);
        return ref;
      },
    },
  },
  {
    check: "C22",
    what: "ancestry is the wrong way round",
    says: "false and true",
    methods: { ancestorOf: async (r, l, a, d) => !(await r.ancestorOf(l, a, d)) },
  },
  {
    check: "C23",
    what: "promote ignores expected",
    says: "over a base that moved: it succeeded",
    methods: { promote: (r, l, from) => r.promote(l, from) },
  },
  {
    check: "C23",
    what: "promote resets a base that diverged",
    says: "over a base that diverged: it succeeded",
    methods: {
      promote: (r, l, from, o) =>
        r.promote(l, from, o).catch(async (e) => {
          if (e instanceof RefMovedError) throw e;
          await r.fork(l, from, "main");
          return await r.fingerprint(l, undefined);
        }),
    },
  },
  {
    check: "C24",
    what: "merge ignores expected",
    says: "into a base that moved: it succeeded",
    methods: { merge: (r, l, from, message) => r.merge(l, from, message) },
  },
  {
    check: "C24",
    what: "merge takes one side",
    says: "both sides must be in the history",
    methods: {
      async merge(r, l, from, message, o) {
        await r.merge(l, from, message, o);
        await r.fork(l, from, "main");
        return await r.fingerprint(l, undefined);
      },
    },
  },
  {
    check: "C24",
    what: "a conflict names nothing",
    says: "a conflict names what conflicts",
    methods: {
      merge: (r, l, from, message, o) =>
        r.merge(l, from, message, o).catch((e) => {
          throw e instanceof MergeConflict ? new MergeConflict("conflict", { ...KIND, conflicts: [] }) : e;
        }),
    },
  },
  {
    check: "C26",
    what: "create adopts what is there",
    says: "creating where a store is: it succeeded",
    methods: {
      create: (r, l, o) => r.create(l, o).catch(() => r.fingerprint(l, undefined)),
    },
  },
  {
    check: "C26",
    what: "refs that may be ignored count",
    says: "an ignored ref does not count",
    methods: { isRefEmpty: (r, l) => r.isRefEmpty(l) },
  },
  {
    check: "C26",
    what: "deleting does nothing",
    says: "a deleted store has no owner",
    methods: { deleteStore: () => Promise.resolve() },
  },
  {
    check: "C27",
    what: "anybody may delete",
    says: "with another owner: it succeeded",
    methods: {
      deleteStore: async (r, l, o) => await r.deleteStore(l, { owner: await r.owner(l) ?? o.owner }),
    },
  },
  {
    check: "C27",
    what: "a store with a pin is deleted",
    says: "with a pin: it succeeded",
    methods: {
      async deleteStore(r, l, o) {
        if (await r.owner(l) === o.owner) {
          for (const id of await r.listPins(l)) await r.unpin(l, { id, ref: `tether.${id}` });
        }
        await r.deleteStore(l, o);
      },
    },
  },
  {
    check: "C27",
    what: "a foreign file is deleted with the store",
    says: "foreign file: it succeeded",
    harness: { obstructions: () => [{ name: "foreign file", place: () => Promise.resolve(nothing) }] },
  },
  {
    check: "C27",
    what: "a ref that appears during the deletion is lost",
    says: "that got a ref meanwhile: it succeeded",
    harness: {
      duringDelete(_l, act) {
        meanwhile = act;
        return Promise.resolve(nothing);
      },
    },
    methods: {
      async deleteStore(r, l, o) {
        const empty = await r.isRefEmpty(l);
        if (empty) await meanwhile?.();
        if (empty) { for (const ref of await r.listWorkingRefs(l)) await r.deleteWorkingRef(l, ref); }
        await r.deleteStore(l, o);
      },
    },
  },
  {
    check: "C28",
    what: "writers are not noticed",
    says: "while a transaction writes: it succeeded",
    statics: also("needs_quiescence"),
    methods: { checkQuiescence: () => Promise.resolve() },
    harness: { openWriter: () => Promise.resolve(nothing) },
  },
  {
    check: "C28",
    what: "the harness cannot prove a declared capability",
    says: "the harness must have openWriter",
    statics: also("needs_quiescence"),
    methods: { checkQuiescence: () => Promise.resolve() },
  },
  {
    check: "C29",
    what: "a handle shows a password",
    says: "a secret is in",
    harness: { secrets: [SECRET] },
    methods: { openHandle: () => handle(`mem://user:${SECRET}@host`) },
  },
  {
    check: "C29",
    what: "an error shows a password",
    says: "a secret is in",
    harness: { secrets: [SECRET] },
    methods: {
      fingerprint: (r, l, ref) =>
        r.fingerprint(l, ref).catch((e) => Promise.reject(new BackendError(`${e.reason} (${SECRET})`, KIND))),
    },
  },
  {
    check: "C31",
    what: "retention is declared and not told",
    says: "must have retention()",
    statics: also("retention_bound"),
  },
  {
    check: "C31",
    what: "a pinned state is said to expire",
    says: "not subject to retention",
    statics: also("retention_bound"),
    methods: { retention: () => Promise.resolve({ rule: "7 days", enforced: "automatic" as const }) },
  },
];
