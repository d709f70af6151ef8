/**
 * Broken pins, forks and ancestry.
 *
 * @module
 */

import { BackendError, RefMovedError } from "../../../engine/model/backend_errors.ts";
import type { Mutation } from "./mutation.ts";

const KIND = { kind: "memory" } as const;

/** C12 to C22. */
export const REFS: readonly Mutation[] = [
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
];
