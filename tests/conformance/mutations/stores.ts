/**
 * Broken ways of landing work, and of making and taking away stores.
 *
 * @module
 */

import { MergeConflict, RefMovedError } from "../../../engine/model/backend_errors.ts";
import type { Mutation } from "./mutation.ts";

const KIND = { kind: "memory" } as const;
const nothing = { [Symbol.asyncDispose]: (): Promise<void> => Promise.resolve() };
// What the harness was asked to do between a deletion's check and its step.
let meanwhile: (() => Promise<void>) | undefined;

/** C23, C24, C26 and C27. */
export const STORES: readonly Mutation[] = [
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
];
