/** Conditional moves under contention. */

import { strict as assert } from "node:assert";
import { RefMovedError } from "../../engine/model/backend_errors.ts";
import { ABSENT, type Expected, type ObjectBackend } from "../backend.ts";
import type { Bench, Check, Prepared } from "./_bench.ts";

const ROUNDS = 5;

/** C20. */
export const RACES: readonly Check[] = [
  {
    id: "C20",
    name: "race",
    when: ["conditional_ref"],
    async run(bench) {
      const { harness } = bench;
      const second = await harness.secondClient?.();
      try {
        const clients = second ? [bench.bare, second] : [bench.bare];
        for (let round = 0; round < ROUNDS; round++) {
          const object = await bench.prepared();
          await raceCreate(bench, object, clients);
          await raceReset(bench, object, clients);
          await raceWrite(bench, object);
        }
      } finally {
        await second?.[Symbol.asyncDispose]();
      }
    },
  },
];

async function raceCreate(bench: Bench, object: Prepared, clients: readonly ObjectBackend[]): Promise<void> {
  const name = bench.ref();
  await oneWins(bench, object, { name, expected: ABSENT, clients, what: "creating one name" });
}

async function raceReset(bench: Bench, object: Prepared, clients: readonly ObjectBackend[]): Promise<void> {
  const name = await bench.fork(object.locator, object.source);
  const expected = await bench.write(object.locator, name);
  await oneWins(bench, object, { name, expected, clients, what: "resetting one branch" });
}

async function oneWins(
  bench: Bench,
  object: Prepared,
  o: { name: string; expected: Expected; clients: readonly ObjectBackend[]; what: string },
): Promise<void> {
  // All calls start before any can answer: that is the barrier.
  const calls = Array.from({ length: bench.racers }, (_, i) => {
    const client = o.clients[i % o.clients.length] as Required<ObjectBackend>;
    return client.fork(object.locator, object.source, o.name, { expected: o.expected });
  });
  const outcomes = await Promise.allSettled(calls);
  const won = outcomes.filter((r) => r.status === "fulfilled").length;
  for (const outcome of outcomes) {
    if (outcome.status === "rejected" && !(outcome.reason instanceof RefMovedError)) {
      assert.fail(`${o.what}: a loser got ${String(outcome.reason)} instead of a moved ref`);
    }
  }
  assert.equal(won, 1, `${o.what}: ${won} of ${bench.racers} contenders won`);
  bench.same(await bench.head(object.locator, o.name), object.state, `${o.what}: the ref is at the source`);
}

async function raceWrite(bench: Bench, object: Prepared): Promise<void> {
  const { locator, source, state } = object;
  const name = await bench.fork(locator, source);
  const expected = await bench.write(locator, name);
  const [fork, write] = await Promise.allSettled([
    bench.backend.fork(locator, source, name, { expected }),
    bench.harness.mutate(locator, name),
  ]);
  const head = await bench.head(locator, name);
  if (fork.status === "rejected") {
    assert.ok(fork.reason instanceof RefMovedError, `a fork that lost to a write got ${String(fork.reason)}`);
    assert.equal(write.status, "fulfilled", "a fork and a write may not both lose");
    bench.differs(head, expected, "a write that won is kept");
    bench.differs(head, state, "a write that won is kept");
  } else if (write.status === "fulfilled") {
    bench.differs(head, state, "a write that was reported done was discarded by the fork beside it");
  } else {
    bench.same(head, state, "a fork that won over a write is at its source");
  }
}
