/** Working refs: made, reset, listed, deleted, moved only from the head that was reviewed. */

import { strict as assert } from "node:assert";
import { WORKING_REF_PREFIX } from "../../engine/model/names.ts";
import { jsonEqual } from "../../engine/model/json.ts";
import { RefMovedError } from "../../engine/model/backend_errors.ts";
import { ABSENT, type Expected, type Locator, type Source, type State } from "../backend.ts";
import type { Bench, Check } from "./_bench.ts";

/** C17, C18, C19, C21. */
export const FORKS: readonly Check[] = [
  { id: "C17", name: "fork", when: ["fork"], run: checkFork },
  {
    id: "C18",
    name: "fork-siblings",
    when: ["fork"],
    skip: (b) => b.has("pin") ? undefined : "has no pins",
    run: checkSiblings,
  },
  {
    id: "C19",
    name: "conditional-fork",
    when: ["fork"],
    skip: (b) =>
      b.bare.statics.honoursExpected.has("fork") ? undefined : "fork does not honour expected; the engine compares",
    run: checkConditional,
  },
  {
    id: "C21",
    name: "race-distinct",
    when: ["fork"],
    async run(bench) {
      const { locator, state, source } = await bench.prepared();
      const names = Array.from({ length: bench.racers }, () => bench.ref());
      await Promise.all(names.map((n) => bench.backend.fork(locator, source, n, { expected: ABSENT })));
      const listed = await bench.backend.listWorkingRefs(locator);
      for (const name of names) {
        assert.ok(listed.includes(name), `"${name}" was lost among forks made at once`);
        bench.same(await bench.head(locator, name), state, "a fork made among others is at its source");
      }
    },
  },
];

async function checkFork(bench: Bench): Promise<void> {
  const { locator, state, source } = await bench.prepared();
  const { backend } = bench;
  const ref = await bench.fork(locator, source);
  bench.same(await bench.head(locator, ref), state, "a fresh fork equals its source");
  const handle = await bench.opened(locator, { on: "ref", ref }, false);
  assert.equal(handle.read_only, false, "a working ref opens writable");

  bench.differs(await bench.write(locator, ref), state, "a write on the fork must show there");
  bench.same(await bench.head(locator), state, "a write on the fork must leave the base alone");
  const written = await bench.head(locator, ref);
  const base = await bench.write(locator);
  bench.same(await bench.head(locator, ref), written, "a write on the base must leave the fork alone");

  assert.equal(await backend.fork(locator, source, ref), ref, "a fork nobody holds is reset under its own name");
  bench.same(await bench.head(locator, ref), state, "forking onto an existing name resets it");
  const listed = await backend.listWorkingRefs(locator);
  assert.equal(await backend.fork(locator, source, ref), ref, "forking a name that is at its source keeps it");
  assert.deepEqual([...await backend.listWorkingRefs(locator)].sort(), [...listed].sort(), "and makes no sibling");
  assert.ok(listed.includes(ref), "a working ref is listed");
  for (const name of listed) assert.ok(name.startsWith(WORKING_REF_PREFIX), `"${name}" is no working ref`);

  await backend.deleteWorkingRef(locator, ref);
  assert.ok(!(await backend.listWorkingRefs(locator)).includes(ref), "a deleted working ref is not listed");
  await bench.fails(() => bench.head(locator, ref), "reading a deleted working ref");
  await bench.fails(() => bench.opened(locator, { on: "ref", ref }, false), "opening a deleted working ref");
  await backend.deleteWorkingRef(locator, ref);
  await backend.deleteWorkingRef(locator, await backend.baseBranch(locator));
  bench.same(await bench.head(locator), base, "the base branch is never deleted");

  const bare = await bench.fork(locator, { on: "state", state });
  bench.same(await bench.head(locator, bare), state, "a fork from a recorded state equals it");
}

async function checkSiblings(bench: Bench): Promise<void> {
  const { locator, state, source } = await bench.prepared();
  const { backend } = bench;
  const name = await bench.fork(locator, source);
  const written = await bench.write(locator, name);
  const held = await bench.pin(locator, written);
  const ref = await backend.fork(locator, source, name);
  bench.same(await bench.head(locator, ref), state, "the ref a reset returned is at its source");
  assert.ok((await backend.listWorkingRefs(locator)).includes(ref), "the ref a reset returned is listed");
  for (const deep of [false, true]) {
    const { status, message } = await backend.verify(locator, written, held, { deep });
    assert.equal(status, "ok", `a pin of a branch must survive its reset: ${message ?? ""}`);
  }
  assert.equal((await bench.opened(locator, { on: "pin", pin: held })).read_only, true);
  if (ref === name) return;
  assert.match(ref.slice(name.length), /^\.[0-9]+$/, `"${ref}" must be a generation of "${name}"`);
  bench.same(await bench.head(locator, name), written, "a branch that could not be reset is left alone");
  const why = await bench.bare.workingRefBlockers?.(locator, name);
  assert.ok(why !== undefined && why !== "", "workingRefBlockers must say why the old branch stays");
  await bench.fails(() => backend.deleteWorkingRef(locator, name), "deleting a branch that is held");
  assert.equal(await backend.fork(locator, source, ref), ref, "a sibling at its source keeps its name");
}

async function checkConditional(bench: Bench): Promise<void> {
  const { locator, state, source } = await bench.prepared();
  const name = await bench.fork(locator, source);
  const head = await bench.write(locator, name);
  const newer = await bench.write(locator);
  const forward = await bench.source(locator, newer);

  await refusesMove(bench, { locator, from: forward, name, expected: state, found: head, what: "a stale expectation" });
  await refusesMove(bench, {
    locator,
    from: forward,
    name,
    expected: ABSENT,
    found: head,
    what: "ABSENT onto a branch",
  });
  const absent = bench.ref();
  await refusesMove(bench, {
    locator,
    from: source,
    name: absent,
    expected: state,
    found: null,
    what: "a vanished head",
  });
  assert.ok(!(await bench.backend.listWorkingRefs(locator)).includes(absent), "a refused fork makes no branch");

  const moved = await bench.backend.fork(locator, forward, name, { expected: head });
  bench.same(await bench.head(locator, moved), newer, "the right expectation moves the branch");
  const fresh = await bench.backend.fork(locator, source, bench.ref(), { expected: ABSENT });
  bench.same(await bench.head(locator, fresh), state, "ABSENT onto a fresh name makes the branch");
}

async function refusesMove(
  bench: Bench,
  o: { locator: Locator; from: Source; name: string; expected: Expected; found: State | null; what: string },
): Promise<void> {
  const error = await bench.fails(
    () => bench.backend.fork(o.locator, o.from, o.name, { expected: o.expected }),
    o.what,
    ["ref-moved"],
  );
  assert.ok(error instanceof RefMovedError);
  assert.equal(error.ref, o.name, "the error names the ref");
  if (o.expected === ABSENT) assert.equal(error.expected, null, "the error says that absence was expected");
  assert.equal(error.found === null, o.found === null, "the error says what was found");
  if (o.found === null) return;
  const now = await bench.head(o.locator, o.name);
  assert.ok(jsonEqual(bench.content(now), bench.content(o.found)), `${o.what} must move nothing`);
}
