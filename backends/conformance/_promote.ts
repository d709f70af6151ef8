/** Landing work on the base branch. */

import { strict as assert } from "node:assert";
import { MergeConflict } from "../../engine/model/backend_errors.ts";
import type { Locator, Source, State } from "../backend.ts";
import type { Bench, Check } from "./_bench.ts";

/** C22, C23, C24. */
export const PROMOTE: readonly Check[] = [
  {
    id: "C22",
    name: "ancestry",
    when: ["promote", "merge"],
    async run(bench) {
      const { locator, state, source } = await bench.prepared();
      const ref = await bench.fork(locator, source);
      const head = await bench.write(locator, ref);
      const up = await bench.bare.ancestorOf?.(locator, state, { on: "ref", ref });
      const down = await bench.bare.ancestorOf?.(locator, head, { on: "state", state });
      const answer = `${up} and ${down}`;
      assert.ok(
        answer === "true and false" || answer === "undefined and undefined",
        `the fork point in the fork and the fork in its point: ${answer}`,
      );
    },
  },
  { id: "C23", name: "promote", when: ["promote"], run: checkPromote },
  { id: "C24", name: "merge", when: ["merge"], hook: { member: "conflict", optional: false }, run: checkMerge },
];

async function checkPromote(bench: Bench): Promise<void> {
  const locator = await bench.object();
  const stale = await bench.head(locator);
  const base = await bench.write(locator);
  const ref = await bench.fork(locator, await bench.source(locator, base));
  const head = await bench.write(locator, ref);
  const { backend } = bench;
  if (backend.statics.honoursExpected.has("promote")) {
    await bench.fails(
      () => backend.promote(locator, { on: "ref", ref }, { expected: stale }),
      "promoting over a base that moved",
      ["ref-moved"],
    );
    bench.same(await bench.head(locator), base, "a refused promote leaves the base alone");
  }
  const landed = await backend.promote(locator, { on: "state", state: head }, { expected: base });
  bench.same(landed, head, "promote returns the base's new state");
  bench.same(await bench.head(locator), head, "the base stands at what was promoted");
  const again = await backend.promote(locator, { on: "ref", ref }, { expected: head });
  bench.same(again, head, "a second promote does nothing");

  const other = await bench.fork(locator, await bench.source(locator, head));
  await bench.write(locator, other);
  const diverged = await bench.write(locator);
  await bench.fails(
    () => backend.promote(locator, { on: "ref", ref: other }, { expected: diverged }),
    "promoting over a base that diverged",
  );
  bench.same(await bench.head(locator), diverged, "a base that diverged is left alone");
}

async function checkMerge(bench: Bench): Promise<void> {
  const { backend } = bench;
  const { locator, state, source } = await bench.prepared();
  const ref = await bench.fork(locator, source);
  const theirs = await bench.write(locator, ref);
  const ours = await bench.write(locator);
  const from = { on: "state", state: theirs } as const;
  if (backend.statics.honoursExpected.has("merge")) {
    await bench.fails(
      () => backend.merge(locator, from, "conformance", { expected: state }),
      "merging into a base that moved",
      ["ref-moved"],
    );
    bench.same(await bench.head(locator), ours, "a refused merge leaves the base alone");
  }
  const merged = await backend.merge(locator, from, "conformance", { expected: ours });
  bench.same(await bench.head(locator), merged, "merge returns the base's new state");
  for (const side of [ours, theirs]) {
    bench.differs(merged, side, "two diverged sides merge to a third state");
    await assertAncestor(bench, locator, { ancestor: side, descendant: { on: "state", state: merged } });
  }
  await checkConflict(bench);
}

async function checkConflict(bench: Bench): Promise<void> {
  const { locator, source } = await bench.prepared();
  const ref = await bench.fork(locator, source);
  await bench.harness.conflict?.(locator, ref);
  await bench.harness.conflict?.(locator, undefined);
  const ours = await bench.head(locator);
  const error = await bench.fails(
    () => bench.backend.merge(locator, { on: "ref", ref }, "conformance", { expected: ours }),
    "merging two sides that conflict",
    ["merge-conflict"],
  );
  assert.ok(error instanceof MergeConflict && error.conflicts.length > 0, "a conflict names what conflicts");
  bench.same(await bench.head(locator), ours, "a merge that conflicts leaves the base alone");
  bench.differs(await bench.write(locator), ours, "the base takes writes after a conflict");
}

async function assertAncestor(
  bench: Bench,
  locator: Locator,
  o: { readonly ancestor: State; readonly descendant: Source },
): Promise<void> {
  const known = await bench.bare.ancestorOf?.(locator, o.ancestor, o.descendant);
  assert.ok(known !== false, "both sides must be in the history of what they merged to");
}
