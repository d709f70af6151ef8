import assert from "node:assert/strict";
import fc from "fast-check";
import { judgeStore, type StoreFacts } from "./store_verdict.ts";

/** All five rules hold. */
const GARBAGE: StoreFacts = {
  owner: { is: "ours" },
  named: undefined,
  unaccounted: [],
  staying: [],
  linked: false,
  empty: true,
  force: false,
};

Deno.test("[seed: stores tether created] a store goes only when all five rules hold; each alone keeps it", async (test) => {
  const breaks: Record<string, { facts: Partial<StoreFacts>; op: string; forced: string }> = {
    "nothing": { facts: {}, op: "delete-store", forced: "delete-store" },
    "1: no marker": { facts: { owner: { is: "none" } }, op: "forget-store", forced: "forget-store" },
    "1: another dataset's": { facts: { owner: { is: "other", dataset: "ffffffff" } }, op: "leave", forced: "leave" },
    "1: a marker nobody can read": {
      facts: { owner: { is: "unknown", why: "no answer" } },
      op: "keep-store off",
      forced: "keep-store off",
    },
    "2": { facts: { named: '"a" names it' }, op: "keep-store off", forced: "keep-store off" },
    "3": { facts: { unaccounted: ["tether.ws.x"] }, op: "keep-store off", forced: "delete-store" },
    "4": { facts: { staying: ["branch x"] }, op: "keep-store on", forced: "keep-store on" },
    "a link in its place": { facts: { linked: true }, op: "keep-store on", forced: "keep-store on" },
    "5: something else": { facts: { empty: false }, op: "keep-store on", forced: "keep-store on" },
    "5: not known": { facts: { empty: undefined }, op: "keep-store on", forced: "keep-store on" },
  };
  for (const [rule, { facts, op, forced }] of Object.entries(breaks)) {
    await test.step(rule, () => {
      for (const [force, expected] of [[false, op], [true, forced]] as const) {
        const verdict = judgeStore({ ...GARBAGE, ...facts, force });
        assert.equal(verdict.op === "keep-store" ? `keep-store ${verdict.hands}` : verdict.op, expected);
      }
    });
  }
  await test.step("whatever comes together", () => {
    const facts = fc.record({
      owner: fc.constantFrom<StoreFacts["owner"]>({ is: "ours" }, { is: "none" }, { is: "other", dataset: "f" }, {
        is: "unknown",
        why: "",
      }),
      named: fc.constantFrom(undefined, "named"),
      unaccounted: fc.constantFrom([], ["ref"]),
      staying: fc.constantFrom([], ["ref"]),
      linked: fc.boolean(),
      empty: fc.constantFrom(true, false, undefined),
      force: fc.boolean(),
    });
    fc.assert(fc.property(facts, (f) => {
      const goes = f.owner.is === "ours" && f.named === undefined && (f.force || f.unaccounted.length === 0) &&
        f.staying.length === 0 && !f.linked && f.empty === true;
      assert.equal(judgeStore(f).op === "delete-store", goes);
    }));
  });
});
