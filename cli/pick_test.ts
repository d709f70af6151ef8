import assert from "node:assert/strict";
import fc from "fast-check";
import { ConfigError } from "../engine/model/errors.ts";
import type { LogEntry } from "../engine/reports/reading.ts";
import { testContext, testWorld } from "./_test_world.ts";
import { chosen, pickPosition } from "./pick.ts";

const entry = (id: string): LogEntry => ({ id, when: "2026-11-30T04:05:06+00:00", message: `m ${id}\nmore`, refs: [] });

Deno.test("[Δ26] chosen(): a bare number that is both a place and an id is not guessed at", () => {
  const versions = ["3", "2", "1"].map(entry);
  assert.throws(() => chosen("3", versions), /place in the list and an id/);
  assert.equal(chosen("#3", versions), "1");
  assert.equal(chosen("id:3", versions), "3");
  // Place and id agree.
  assert.equal(chosen("2", versions), "2");
  assert.equal(chosen("", versions), "3");
  assert.equal(chosen("7", [...versions, entry("7")]), "7");
});

Deno.test("[commands 5.2] chosen() takes an id or the beginning of just one", () => {
  const commits = ["c0ffee1", "c0de", "1abc"].map(entry);
  assert.equal(chosen("c0f", commits), "c0ffee1");
  assert.equal(chosen(" c0de ", commits), "c0de");
  // A place comes before the beginning of an id.
  assert.equal(chosen("1", commits), "c0ffee1");
  for (const bad of ["c0", "x", "#4", "#0", "0", "id:", "id:#1"]) {
    assert.throws(() => chosen(bad, commits), ConfigError, bad);
  }
});

Deno.test("chosen(): #N is always the place, id:X always the id", () => {
  const ids = fc.uniqueArray(fc.stringMatching(/^[0-9a-f]{1,4}$/), { minLength: 1, maxLength: 20 });
  fc.assert(fc.property(ids, fc.nat(), (list, n) => {
    const entries = list.map(entry);
    const at = n % list.length;
    assert.equal(chosen(`#${at + 1}`, entries), list[at]);
    assert.equal(chosen(`id:${list[at]}`, entries), list[at]);
  }));
});

Deno.test("[Δ26] pickPosition() lists on standard error, and refuses when nobody answers", async () => {
  const world = testWorld({ input: ["#2"] });
  assert.equal(await pickPosition(testContext(world), ["aaa", "bbb"].map(entry)), "bbb");
  assert.equal(world.stdout.text, "");
  assert.equal(
    world.stderr.text,
    "#1  aaa  2026-11-30 04:05  m aaa\n#2  bbb  2026-11-30 04:05  m bbb\nwhich one? [#1] ",
  );
  await assert.rejects(pickPosition(testContext(), [entry("aaa")]), /standard input has no answer/);
  await assert.rejects(pickPosition(testContext(), []), /the history is empty/);
});
