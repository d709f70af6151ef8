/** What holds for every kind: fingerprints, identity, disposal, redaction. */

import { strict as assert } from "node:assert";
import { parse, stringify } from "smol-toml";
import { integer, type Json, jsonEqual, type JsonObject, parseJson, writeJson } from "../../engine/model/json.ts";
import { refForPin } from "../../engine/model/names.ts";
import { stateProblem } from "../../engine/model/state_form.ts";
import { type Bench, type Check, pinIdOf } from "./_bench.ts";
import { watchWorkers } from "./_leaks.ts";
import { heldFiles, spellingsOf } from "./_local.ts";

/** C01, C02, C03, C07, C29. */
export const ALWAYS: readonly Check[] = [
  {
    id: "C01",
    name: "fingerprint-stable",
    async run(bench) {
      const locator = await bench.object();
      const state = await bench.head(locator);
      assert.ok(Object.keys(state).length > 0, "a state must not be empty");
      assertExactJson(state, "state");
      const { stateForms } = bench.bare.statics;
      const problem = stateForms && stateProblem(state, stateForms);
      assert.ok(!problem, `a state must have a declared form: ${problem?.field}: ${problem?.reason}`);
      assert.ok(jsonEqual(await bench.head(locator), state), "two reads of an unchanged object must give one state");
    },
  },
  {
    id: "C02",
    name: "fingerprint-changes",
    async run(bench) {
      const locator = await bench.harness.newObject();
      const states = [await bench.head(locator), await bench.write(locator), await bench.write(locator)];
      for (const [i, state] of states.entries()) {
        const content = bench.content(state);
        assert.ok(Object.keys(content).length > 0, "a state must have content keys beside volatile ones");
        for (const other of states.slice(i + 1)) bench.differs(state, other, "a write must change the content");
      }
    },
  },
  { id: "C03", name: "identity", run: checkIdentity },
  { id: "C07", name: "dispose", run: checkDispose },
  { id: "C29", name: "redaction", run: checkRedaction },
];

async function checkDispose(bench: Bench): Promise<void> {
  const locator = await bench.object();
  const state = await bench.head(locator);
  const before = heldFiles(bench.bare, locator);
  using workers = watchWorkers();
  const backend = await bench.another();
  await backend.fingerprint(locator, undefined);
  const handle = await backend.openHandle(locator, { on: "base" }, { readOnly: true });
  for (let i = 0; i < 2; i++) await handle[Symbol.asyncDispose]();
  for (let i = 0; i < 2; i++) await backend[Symbol.asyncDispose]();
  assert.equal(workers.alive(), 0, "no worker may outlive its backend");
  assert.deepEqual(heldFiles(bench.bare, locator), before, "no file of the store may stay open or locked");
  bench.same(await bench.head(locator), state, "disposing one instance must leave others alone");
}

async function checkIdentity(bench: Bench): Promise<void> {
  const locator = await bench.object();
  const state = await bench.head(locator);
  const identity = bench.bare.identity(locator);
  assert.ok(Object.values(identity).some((v) => v !== null && v !== ""), "an identity must name something");
  assertExactJson(identity, "identity");
  assert.ok(jsonEqual(bench.bare.identity(locator), identity), "an identity must be deterministic");
  const id = bench.pinId(locator, state);
  await using second = await bench.another();
  assert.equal(pinIdOf(second, locator, state), id, "two instances must give one pin id");
  for (const [what, trip] of [["JSON", throughJson], ["TOML", throughToml]] as const) {
    assert.equal(bench.pinId(trip(locator), trip(state)), id, `a pin id must survive ${what}`);
  }
  await using local = await spellingsOf(bench.bare, locator);
  const own = bench.harness.spellings?.(locator) ?? { same: [], different: [] };
  for (const spelling of [...local.same, ...own.same]) {
    assert.ok(jsonEqual(bench.bare.identity(spelling), identity), `${writeJson(spelling)} names the same store`);
  }
  for (const spelling of [...local.different, ...own.different]) {
    assert.ok(!jsonEqual(bench.bare.identity(spelling), identity), `${writeJson(spelling)} names another store`);
  }
}

async function checkRedaction(bench: Bench): Promise<void> {
  const locator = await bench.object();
  const absent = refForPin(bench.pinId(locator, { none: "none" }));
  await bench.fails(() => bench.bare.fingerprint(locator, `${absent}-missing`), "reading a ref that does not exist");
  await using handle = await bench.bare.openHandle(locator, { on: "base" }, { readOnly: true });
  const json = handle.toJSON();
  assert.equal(json.address, handle.address(), "a handle's JSON must hold its redacted address");
  assert.equal(json.type, handle.type);
  assert.equal(json.key, handle.key);
  assert.equal(json.kind, bench.bare.statics.kind);
  const texts = [writeJson({ ...json }), Deno.inspect(handle, { depth: 20 }), handle.address()];
  for (const error of bench.errors) {
    texts.push(error.message, JSON.stringify(error), Deno.inspect(error, { depth: 20 }));
  }
  for (const secret of bench.harness.secrets ?? []) {
    for (const text of texts) assert.ok(!text.includes(secret), `a secret is in: ${text.replaceAll(secret, "***")}`);
  }
}

/** Asserts that a value has neither floats nor integers that lost their exact form. */
function assertExactJson(value: Json, path: string): void {
  switch (typeof value) {
    case "boolean":
    case "string":
      return;
    case "number":
      return assert.ok(Number.isSafeInteger(value), `${path} is ${value}: a number must be a safe integer`);
    case "bigint":
      return assert.ok(typeof integer(value) === "bigint", `${path} is a bigint although ${value} is a safe integer`);
    case "object":
      if (value === null) return;
      if (Array.isArray(value)) return value.forEach((v: Json, i) => assertExactJson(v, `${path}[${i}]`));
      assert.equal(Object.getPrototypeOf(value), Object.prototype, `${path} must be a plain object: floats are none`);
      for (const [key, item] of Object.entries(value)) assertExactJson(item, `${path}.${key}`);
      return;
    default:
      assert.fail(`${path} is ${typeof value}: not JSON`);
  }
}

function throughJson(value: JsonObject): JsonObject {
  return parseJson(writeJson(value)) as JsonObject;
}

function throughToml(value: JsonObject): JsonObject {
  return exact(parse(stringify(value), { integersAsBigInt: true }) as Json) as JsonObject;
}

function exact(value: Json): Json {
  if (typeof value === "bigint") return integer(value);
  if (Array.isArray(value)) return value.map(exact);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, exact(v)]));
}
