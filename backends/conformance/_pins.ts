/** Pins: durable, idempotent, told apart by dataset. */

import { strict as assert } from "node:assert";
import { PIN_PREFIX, refForPin } from "../../engine/model/names.ts";
import type { Locator, Pin, State } from "../backend.ts";
import { type Bench, type Check, OTHER_DATASET } from "./_bench.ts";

/** C12 to C16. */
export const PINS: readonly Check[] = [
  {
    id: "C12",
    name: "pin",
    when: ["pin"],
    async run(bench) {
      const locator = await bench.object();
      const state = await bench.head(locator);
      const pin = await bench.pin(locator, state);
      assert.equal(pin.id, bench.pinId(locator, state), "a pin has the id it was asked for");
      assert.ok(pin.ref.startsWith(PIN_PREFIX), `the ref "${pin.ref}" must begin with "${PIN_PREFIX}"`);
      assert.equal(pin.created, true, "the first call makes the ref");
      const again = await bench.pin(locator, state);
      assert.deepEqual([again.ref, again.created], [pin.ref, false], "the second call finds the same ref");
      assert.ok((await bench.backend.listPins(locator)).has(pin.id), "a pin is listed");
      await assertVerdict(bench, locator, { state, pin, wanted: "ok" });
      bench.differs(await bench.write(locator), state, "a write must change the content");
      await assertVerdict(bench, locator, { state, pin, wanted: "ok" });
      const handle = await bench.opened(locator, { on: "pin", pin });
      assert.equal(handle.read_only, true, "a pin opens read-only");
    },
  },
  {
    id: "C13",
    name: "pin-conflict",
    when: ["pin"],
    async run(bench) {
      const locator = await bench.object();
      const state = await bench.head(locator);
      const pin = await bench.pin(locator, state);
      const other = await bench.write(locator);
      await bench.fails(() => bench.backend.pin(locator, other, pin.id), "pinning another state under a taken id");
      await assertVerdict(bench, locator, { state, pin, wanted: "ok" });
      await assertVerdict(bench, locator, { state: other, pin, wanted: "drifted" });
    },
  },
  {
    id: "C14",
    name: "pin-ghost",
    when: ["pin"],
    async run(bench) {
      const locator = await bench.object();
      const state = await bench.head(locator);
      const id = bench.pinId(locator, state);
      const ghost: Pin = { id, ref: refForPin(id) };
      await bench.fails(() => bench.opened(locator, { on: "pin", pin: ghost }), "opening an absent pin");
      await assertVerdict(bench, locator, { state, pin: ghost, wanted: "missing" });
      if (bench.has("fork")) {
        await bench.fails(() => bench.fork(locator, { on: "pin", pin: ghost }), "forking from an absent pin");
      }
      const released = await bench.backend.unpin(locator, ghost).then(() => undefined, (e: unknown) => e);
      if (released !== undefined) await bench.fails(() => Promise.reject(released), "releasing an absent pin");
    },
  },
  { id: "C15", name: "unpin", when: ["pin"], run: checkUnpin },
  {
    id: "C16",
    name: "pin-foreign",
    when: ["pin"],
    async run(bench) {
      const locator = await bench.object();
      const state = await bench.head(locator);
      const ours = await bench.pin(locator, state);
      const theirs = await bench.backend.pin(locator, state, bench.pinId(locator, state, OTHER_DATASET));
      if (bench.has("fork")) await bench.fork(locator, { on: "pin", pin: ours });
      const listed = await bench.backend.listPins(locator);
      assert.ok(listed.has(ours.id) && listed.has(theirs.id), "every dataset's pins are listed");
      for (const id of listed) assert.ok(!id.startsWith("ws."), `the working ref "${id}" is no pin`);
      await bench.backend.unpin(locator, ours);
      assert.ok((await bench.backend.listPins(locator)).has(theirs.id), "another dataset's pin stays");
      await assertVerdict(bench, locator, { state, pin: theirs, wanted: "ok" });
    },
  },
];

async function checkUnpin(bench: Bench): Promise<void> {
  const locator = await bench.object();
  const state = await bench.head(locator);
  const first = await bench.pin(locator, state);
  if (bench.harness.refuseDeletion) {
    await using _refusing = await bench.harness.refuseDeletion(locator, first.ref);
    await bench.fails(() => bench.backend.unpin(locator, first), "a deletion that the store refuses");
    assert.ok((await bench.backend.listPins(locator)).has(first.id), "a refused deletion leaves the pin");
  }
  await bench.backend.unpin(locator, first);
  assert.ok(!(await bench.backend.listPins(locator)).has(first.id), "a released pin is not listed");
  await assertVerdict(bench, locator, { state, pin: first, wanted: "missing" });
  const second = await bench.pin(locator, state);
  assert.equal(second.created, true, "pinning a released id again makes a ref");
  await assertVerdict(bench, locator, { state, pin: second, wanted: "ok" });
  await assertVerdict(bench, locator, { state, pin: first, wanted: "ok" });
}

async function assertVerdict(
  bench: Bench,
  locator: Locator,
  o: { readonly state: State; readonly pin: Pin; readonly wanted: "ok" | "drifted" | "missing" },
): Promise<void> {
  for (const deep of [false, true]) {
    const verdict = await bench.bare.verify(locator, o.state, o.pin, { deep });
    assert.equal(verdict.status, o.wanted, `${deep ? "deep" : "shallow"} verify: ${verdict.message ?? ""}`);
  }
  const many = await bench.bare.verifyPins?.(locator, [{ state: o.state, pin: o.pin }]);
  if (many) assert.deepEqual(many.map((v) => v.status), [o.wanted], "verifyPins must agree with verify");
}
