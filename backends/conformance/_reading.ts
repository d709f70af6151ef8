/** Reading the past: diff, history, recorded states, what expiry leaves, how long states last. */

import { strict as assert } from "node:assert";
import { writeJson } from "../../engine/model/json.ts";
import { MAX_DIFF_ENTRIES, type ObjectDiff } from "../backend.ts";
import type { Bench, Check } from "./_bench.ts";

/** C08, C09, C10, C11, C28, C31. */
export const READING: readonly Check[] = [
  { id: "C08", name: "diff", when: ["diff"], run: checkDiff },
  { id: "C09", name: "history", when: ["history"], run: checkHistory },
  {
    id: "C10",
    name: "addressable",
    when: ["addressable"],
    async run(bench) {
      const locator = await bench.object();
      const older = await bench.head(locator);
      const newer = await bench.write(locator);
      const addresses = [];
      for (const state of [older, newer]) {
        const handle = await bench.opened(locator, { on: "state", state });
        assert.equal(handle.read_only, true, "a recorded state opens read-only");
        addresses.push(writeJson({ address: handle["address"] ?? null, native: handle["native"] ?? null }));
      }
      assert.notEqual(addresses[0], addresses[1], "two states must open at different addresses");
      const { status } = await bench.bare.verify(locator, older, undefined, { deep: true });
      assert.ok(status === "ok" || status === "unknown", `deep verify of an older state said ${status}`);
    },
  },
  {
    id: "C11",
    name: "state-gone",
    when: ["addressable"],
    hook: { member: "expire", optional: true },
    async run(bench) {
      const locator = await bench.object();
      const state = await bench.head(locator);
      await bench.write(locator);
      await bench.harness.expire?.(locator, state);
      const target = { on: "state", state } as const;
      await bench.fails(() => bench.opened(locator, target), "opening an expired state", ["state-gone"]);
      const verdict = await bench.bare.verify(locator, state, undefined, { deep: true });
      assert.equal(verdict.status, "missing", "deep verify of an expired state must say that it is missing");
      if (bench.has("fork")) {
        await bench.fails(() => bench.fork(locator, target), "forking an expired state", ["state-gone"]);
      }
      if (bench.has("pin")) {
        await bench.fails(() => bench.pin(locator, state), "pinning an expired state", ["state-gone"]);
        assert.ok(!(await bench.backend.listPins(locator)).has(bench.pinId(locator, state)), "no pin may be left");
      }
    },
  },
  {
    id: "C28",
    name: "quiescence",
    when: ["needs_quiescence"],
    hook: { member: "openWriter", optional: false },
    async run(bench) {
      const locator = await bench.object();
      {
        await using _writer = await bench.harness.openWriter?.(locator, undefined, "writing");
        await bench.fails(
          () => bench.backend.checkQuiescence(locator, undefined),
          "the check while a transaction writes",
        );
      }
      await using _idle = await bench.harness.openWriter?.(locator, undefined, "idle");
      await bench.backend.checkQuiescence(locator, undefined);
    },
  },
  {
    id: "C31",
    name: "retention",
    when: ["retention_bound"],
    async run(bench) {
      const { locator, state } = await bench.prepared();
      assert.ok(bench.bare.retention, "a kind that declares retention_bound must have retention()");
      const pinned = await bench.bare.retention(locator, state, { capturedAt: new Date() });
      assert.ok(pinned.rule.trim() !== "", "retention must name a rule");
      if (bench.has("pin")) assert.equal(pinned.enforced, "none", "a pinned state is not subject to retention");
    },
  },
];

async function checkDiff(bench: Bench): Promise<void> {
  const locator = await bench.object();
  const a = await bench.head(locator);
  const listingA = await bench.bare.listing?.(locator, a);
  const b = await bench.write(locator);
  const listingB = await bench.bare.listing?.(locator, b);
  const self = await bench.backend.diff(locator, b, b, { listings: [listingB, listingB] });
  assertDiff(self);
  assert.equal(total(self) + self.entries.length, 0, "a state does not differ from itself");
  const diff = await bench.backend.diff(locator, a, b, { listings: [listingA, listingB] });
  assertDiff(diff);
  assert.ok(diff.unit !== "", "a diff must name its unit");
  assert.ok(total(diff) > 0 && diff.entries.length > 0, "a write must show in the diff");
  const back = await bench.backend.diff(locator, b, a, { listings: [listingB, listingA] });
  assertDiff(back);
  if (listingA !== undefined) {
    assert.ok(listingA === "" || listingA.endsWith("\n"), "a listing ends with a line feed");
    assertDiff(await bench.backend.diff(locator, a, b, { listings: [undefined, undefined] }));
  }
}

function total(diff: ObjectDiff): number {
  return diff.added + diff.removed + diff.modified;
}

function assertDiff(diff: ObjectDiff): void {
  for (const count of [diff.added, diff.removed, diff.modified]) assert.ok(Number.isSafeInteger(count) && count >= 0);
  assert.ok(diff.entries.length <= MAX_DIFF_ENTRIES, `a diff lists at most ${MAX_DIFF_ENTRIES} entries`);
  if (!diff.truncated) assert.equal(total(diff), diff.entries.length, "counts must be exact");
  for (const { change } of diff.entries) {
    assert.ok(["added", "removed", "modified", "renamed"].includes(change), `"${change}" is no change word`);
  }
}

async function checkHistory(bench: Bench): Promise<void> {
  const locator = await bench.object();
  const older = await bench.head(locator);
  const newer = await bench.write(locator);
  const entries = await bench.backend.history(locator, { limit: 10 });
  const [first, second] = entries;
  assert.ok(first && second, "two writes must give two entries at least");
  for (const entry of entries) assert.equal(typeof entry.id, "string", "a history id is a string");
  assert.equal(new Set(entries.map((e) => e.id)).size, entries.length, "a history id names one entry");
  bench.same(await bench.head({ ...locator, at: first.id }), newer, "the newest entry is the current state");
  bench.same(await bench.head({ ...locator, at: second.id }), older, "the second entry is the state before");
  for (const limit of [1, 2]) {
    const some = await bench.backend.history(locator, { limit });
    assert.deepEqual(some.map((e) => e.id), entries.slice(0, limit).map((e) => e.id), `limit ${limit} is a prefix`);
  }
  const detached = { ...locator, at: second.id };
  assert.equal((await bench.backend.history(detached, { limit: 1 }))[0]?.id, second.id, "history honours at");
  const handles = [await bench.opened(locator, { on: "base" }), await bench.opened(detached, { on: "base" })];
  assert.notEqual(writeJson(handles[0] ?? {}), writeJson(handles[1] ?? {}), "a read-only open honours at");
  bench.same(await bench.head({ ...locator, at: " " }), newer, "a blank at is none");
}
