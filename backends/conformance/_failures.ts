/** Stores out of reach, and callers who give up. */

import { strict as assert } from "node:assert";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { jsonEqual } from "../../engine/model/json.ts";
import { ABSENT, type Locator, type Op, type State } from "../backend.ts";
import { type Bench, type Check, DATASET } from "./_bench.ts";
import type { Breakage } from "./harness.ts";

/** C05, C06. */
export const FAILURES: readonly Check[] = [
  { id: "C05", name: "verify-typed", hook: { member: "breakStore", optional: true }, run: checkBrokenStores },
  {
    id: "C06",
    name: "abort",
    async run(bench) {
      await checkAbortedBefore(bench);
      if (bench.has("fork")) await checkAbortedDuring(bench);
    },
  },
];

const CODES: Readonly<Record<Breakage, readonly string[]>> = {
  absent: ["store-not-found"],
  forbidden: ["forbidden", "credentials"],
  offline: ["unavailable"],
};

async function checkBrokenStores(bench: Bench): Promise<void> {
  let tried = 0;
  for (const how of ["absent", "forbidden", "offline"] as const) {
    const { locator, state, source } = await bench.prepared();
    await using broken = await bench.harness.breakStore?.(locator, how);
    if (!broken) continue;
    tried++;
    await bench.fails(() => bench.head(locator), `reading a store that is ${how}`, CODES[how]);
    for (const pin of source.on === "pin" ? [source.pin, undefined] : [undefined]) {
      const verdict = await bench.bare.verify(locator, state, pin, { deep: true });
      if (verdict.cause) bench.errors.push(verdict.cause);
      const code = verdict.cause?.code ?? "none";
      const told = how === "absent" && verdict.status === "missing" ||
        verdict.status === "unknown" && CODES[how].includes(code);
      assert.ok(told, `verify of a store that is ${how} said ${verdict.status} with cause ${code}`);
    }
  }
  assert.ok(tried > 0, "the harness must be able to break a store in one way at least");
}

async function checkAbortedBefore(bench: Bench): Promise<void> {
  const { locator, state, source } = await bench.prepared();
  const op = { signal: AbortSignal.abort() };
  const backend = bench.backend;
  const base = { on: "state", state } as const;
  const ref = bench.has("fork") ? await bench.fork(locator, source) : undefined;
  const before = await inventory(bench, locator);
  const calls: [boolean, string, (o: Op) => Promise<unknown>][] = [
    [true, "fingerprint", (o) => backend.fingerprint(locator, undefined, o)],
    [true, "verify", (o) => backend.verify(locator, state, undefined, { ...o, deep: true })],
    [true, "openHandle", (o) => backend.openHandle(locator, { on: "base" }, { ...o, readOnly: true })],
    [bench.has("pin"), "pin", (o) => backend.pin(locator, state, `${DATASET}.0000000000000000`, o)],
    [source.on === "pin", "unpin", (o) => source.on === "pin" ? backend.unpin(locator, source.pin, o) : unreachable()],
    [bench.has("pin"), "listPins", (o) => backend.listPins(locator, o)],
    [bench.has("fork"), "fork", (o) => backend.fork(locator, source, bench.ref(), o)],
    [ref !== undefined, "deleteWorkingRef", (o) => backend.deleteWorkingRef(locator, ref ?? "", o)],
    [bench.has("fork"), "listWorkingRefs", (o) => backend.listWorkingRefs(locator, o)],
    [bench.has("promote"), "promote", (o) => backend.promote(locator, base, o)],
    [bench.has("merge"), "merge", (o) => backend.merge(locator, base, "conformance", o)],
    [bench.has("history"), "history", (o) => backend.history(locator, { ...o, limit: 1 })],
    [bench.has("diff"), "diff", (o) => backend.diff(locator, state, state, o)],
    [bench.has("create"), "deleteStore", (o) => backend.deleteStore(locator, { ...o, owner: DATASET })],
  ];
  for (const [declared, name, call] of calls) {
    if (!declared) continue;
    const error = await call(op).then(() => undefined, (e) => e);
    assert.ok(isAbort(error), `${name}() with an aborted signal must reject with the abort, not ${String(error)}`);
  }
  const after = await inventory(bench, locator);
  assert.ok(jsonEqual(after, before), "an aborted call must change nothing");
}

async function checkAbortedDuring(bench: Bench): Promise<void> {
  const { locator, state, source } = await bench.prepared();
  for (let turns = 0; turns < 6; turns++) {
    const name = bench.ref();
    const controller = new AbortController();
    const call = bench.backend.fork(locator, source, name, { signal: controller.signal, expected: ABSENT })
      .then((ref) => ({ ref }), (error: unknown) => ({ error }));
    for (let i = 0; i < turns; i++) await new Promise((done) => setTimeout(done, 0));
    controller.abort();
    const outcome = await call;
    const exists = (await bench.backend.listWorkingRefs(locator)).includes(name);
    if ("ref" in outcome) assert.ok(exists, "a fork that reported success must exist, aborted or not");
    else if (isAbort(outcome.error)) {
      assert.ok(!exists, "a fork that rejected with the abort must have changed nothing");
    } else assert.ok(outcome.error instanceof BackendError, `an aborted fork raised ${String(outcome.error)}`);
    if (exists) bench.same(await bench.head(locator, name), state, "an aborted fork is at its source or absent");
  }
}

async function inventory(bench: Bench, locator: Locator): Promise<State> {
  return {
    base: await bench.head(locator),
    pins: bench.has("pin") ? [...await bench.backend.listPins(locator)].sort() : null,
    refs: bench.has("fork") ? [...await bench.backend.listWorkingRefs(locator)].sort() : null,
  };
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

function unreachable(): never {
  throw new TypeError("not declared");
}
