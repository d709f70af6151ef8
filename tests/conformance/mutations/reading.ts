/**
 * Broken fingerprints, identities, failures, histories and declarations.
 *
 * @module
 */

import {
  type BackendStatics,
  type Capability,
  type Handle,
  makeHandle,
  type Op,
  type Verdict,
} from "../../../backends/backend.ts";
import { memoryStatics } from "../../../backends/memory/statics.ts";
import { BackendError, StateGoneError } from "../../../engine/model/backend_errors.ts";
import { Float } from "../../../engine/model/json.ts";
import { broken, type Mutation } from "./mutation.ts";

let ticks = 0;
const SECRET = "hunter2-hunter2";
const KIND = { kind: "memory" } as const;
const FOLDER = import.meta.dirname ?? "";
let held: Deno.FsFile | undefined;
const nothing = { [Symbol.asyncDispose]: (): Promise<void> => Promise.resolve() };

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

const HELD_FILE: Mutation = {
  check: "C07",
  what: "a file of the store stays open",
  says: "may stay open",
  statics: {
    localPathKeys: ["path"],
    async open(settings) {
      held = await Deno.open(`${FOLDER}/reading.ts`);
      return await memoryStatics.open(settings);
    },
  },
  harness: { newObject: () => Promise.resolve({ system: "held", path: FOLDER }) },
  cleanUp: () => held?.close(),
};

/** C01 to C11, C28, C29 and C31. */
export const READING: readonly Mutation[] = [
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
    check: "C01",
    what: "a state has none of the forms that the kind declares",
    says: "a declared form: version: it is missing",
    statics: { stateForms: [{ version: "whole" }] },
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
    check: "C07",
    what: "a worker outlives its backend",
    says: "no worker may outlive",
    statics: {
      async open(settings) {
        new Worker("data:application/javascript,self.onmessage = () => {}", { type: "module" });
        return await memoryStatics.open(settings);
      },
    },
  },
  // Only there can the suite see what this process holds open.
  ...(Deno.build.os === "linux" ? [HELD_FILE] : []),
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
