/** Stores that tether makes and may take away again. */

import { strict as assert } from "node:assert";
import type { Locator } from "../backend.ts";
import { type Bench, type Check, DATASET, OTHER_DATASET } from "./_bench.ts";
import { localObstructions } from "./_local.ts";

const OWNER = { owner: DATASET } as const;

/** C26, C27. */
export const CREATE: readonly Check[] = [
  { id: "C26", name: "create", when: ["create"], hook: { member: "freshLocator", optional: false }, run: checkCreate },
  {
    id: "C27",
    name: "delete-guards",
    when: ["create"],
    hook: { member: "freshLocator", optional: false },
    async run(bench) {
      await checkOwnerGuard(bench);
      await checkWrittenBase(bench);
      await checkObstructions(bench);
      await checkLateRef(bench);
    },
  },
];

async function created(bench: Bench): Promise<Locator> {
  assert.ok(bench.harness.freshLocator, "a harness of a kind that creates needs freshLocator()");
  const locator = await bench.harness.freshLocator();
  await bench.backend.create(locator, OWNER);
  return locator;
}

async function checkCreate(bench: Bench): Promise<void> {
  const { backend } = bench;
  assert.ok(bench.harness.freshLocator, "a harness of a kind that creates needs freshLocator()");
  const locator = await bench.harness.freshLocator();
  assert.equal(await backend.owner(locator), undefined, "nothing has no owner");
  const state = await backend.create(locator, OWNER);
  bench.same(await bench.head(locator), state, "create returns the initial state");
  assert.equal(await backend.owner(locator), DATASET, "the store names its owner");
  assert.equal(await backend.isRefEmpty(locator), true, "a new store is empty");
  await bench.fails(() => backend.create(locator, { owner: OTHER_DATASET }), "creating where a store is");
  assert.equal(await backend.owner(locator), DATASET, "a refused create leaves the owner");
  bench.same(await bench.head(locator), state, "a refused create leaves the content");

  if (bench.has("fork")) {
    const ref = await bench.fork(locator, { on: "state", state });
    await bench.write(locator, ref);
    assert.equal(await backend.isRefEmpty(locator), false, "a store with a written fork is not empty");
    assert.equal(
      await backend.isRefEmpty(locator, { ignoring: new Set([ref]) }),
      true,
      "an ignored ref does not count",
    );
    await backend.deleteWorkingRef(locator, ref);
  }
  if (bench.has("pin")) {
    const pin = await bench.pin(locator, state);
    assert.ok(!(await backend.listPins(locator)).has(DATASET), "the owner marker is no pin");
    assert.equal(await backend.isRefEmpty(locator), false, "a store with a pin is not empty");
    const ignoring = new Set([pin.ref]);
    assert.equal(await backend.isRefEmpty(locator, { ignoring }), true, "an ignored pin does not count");
    await backend.unpin(locator, pin);
  }
  await backend.deleteStore(locator, OWNER);
  assert.equal(await backend.owner(locator), undefined, "a deleted store has no owner");
  await bench.fails(() => bench.head(locator), "reading a deleted store", ["store-not-found"]);
  bench.same(await backend.create(locator, OWNER), state, "a deleted store can be created again");
}

/** Asserts that a deletion refuses and removes nothing. */
async function refusesDelete(bench: Bench, locator: Locator, o: { owner?: string; what: string }): Promise<void> {
  const { backend } = bench;
  const before = await bench.head(locator);
  await bench.fails(
    () => backend.deleteStore(locator, { owner: o.owner ?? DATASET }),
    `deleting a store with ${o.what}`,
  );
  bench.same(await bench.head(locator), before, `a store with ${o.what} keeps its content`);
  assert.equal(await backend.owner(locator), DATASET, `a store with ${o.what} keeps its owner`);
}

async function checkOwnerGuard(bench: Bench): Promise<void> {
  const locator = await created(bench);
  await refusesDelete(bench, locator, { owner: OTHER_DATASET, what: "another owner" });
  if (bench.has("pin")) {
    const pin = await bench.pin(locator, await bench.head(locator));
    await refusesDelete(bench, locator, { what: "a pin" });
    assert.ok((await bench.backend.listPins(locator)).has(pin.id), "a refused deletion leaves the pin");
  }
  if (bench.has("fork")) {
    const other = await created(bench);
    const ref = await bench.fork(other, { on: "state", state: await bench.head(other) });
    await refusesDelete(bench, other, { what: "a working ref" });
    assert.ok((await bench.backend.listWorkingRefs(other)).includes(ref), "a refused deletion leaves the working ref");
  }
  const adopted = await bench.object();
  assert.equal(await bench.backend.owner(adopted), undefined, "a store tether did not make has no owner");
  await bench.fails(() => bench.backend.deleteStore(adopted, OWNER), "deleting a store tether did not make");
  await bench.head(adopted);
}

async function checkWrittenBase(bench: Bench): Promise<void> {
  const locator = await created(bench);
  await bench.write(locator);
  assert.notEqual(await bench.backend.isRefEmpty(locator), true, "a written store is not empty");
  await refusesDelete(bench, locator, { what: "content" });
}

async function checkObstructions(bench: Bench): Promise<void> {
  const locator = await created(bench);
  const known = localObstructions(bench.bare, locator);
  for (const obstruction of [...known, ...bench.harness.obstructions?.(locator) ?? []]) {
    await using _placed = await obstruction.place();
    await bench.fails(() => bench.backend.deleteStore(locator, OWNER), `deleting a store with: ${obstruction.name}`);
    assert.equal(await bench.backend.owner(locator), DATASET, `a store with a ${obstruction.name} keeps its owner`);
  }
  await bench.backend.deleteStore(locator, OWNER);
}

/** A ref that appears after the store was judged empty must abort the deletion. */
async function checkLateRef(bench: Bench): Promise<void> {
  if (!bench.harness.duringDelete || !bench.has("fork")) return;
  const locator = await created(bench);
  const state = await bench.head(locator);
  let ref = "";
  await using _hook = await bench.harness.duringDelete(locator, async () => {
    ref = await bench.fork(locator, { on: "state", state });
  });
  await bench.fails(() => bench.backend.deleteStore(locator, OWNER), "deleting a store that got a ref meanwhile");
  assert.notEqual(ref, "", "the hook must run during the deletion");
  assert.ok((await bench.backend.listWorkingRefs(locator)).includes(ref), "the ref made meanwhile is there");
}
