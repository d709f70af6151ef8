import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { CapabilityError, StateGoneError } from "../../engine/model/backend_errors.ts";
import { ConfigError, PinDriftError, TetherError } from "../../engine/model/errors.ts";
import { REAL_ENV } from "../../engine/env.ts";
import { tempDataset } from "../helpers/dataset.ts";

Deno.test("[commands 2.1, 5.11, Δ27] open hands out where the object stands, and says so in JSON", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const first = `${t.system("a")}:s0`;
  const json = async (options = {}): Promise<Record<string, unknown>> =>
    JSON.parse(JSON.stringify(await t.with((ds) => ds.open("a", options))));
  await test.step("on the trunk, writable: the upstream branch", async () => {
    const opened = await json();
    assert.equal(opened["ref"], "main");
    assert.equal(opened["read_only"], false);
    assert.deepEqual(Object.keys(opened).slice(0, 4), ["key", "read_only", "address", "type"]);
    assert.equal(opened["object"], "a");
  });
  await test.step("on the trunk, read-only: the pin", async () => {
    const opened = await json({ readOnly: true });
    assert.equal(opened["pinned"], true);
    assert.deepEqual(opened["state"], { snapshot_id: first });
  });
  t.write("a");
  await t.with((ds) => ds.commit({ message: "second" }));
  await test.step("at a revision: what that commit recorded", async () => {
    assert.deepEqual((await json({ rev: "HEAD~1" }))["state"], { snapshot_id: first });
  });
  await test.step("at $TETHER_REV", async () => {
    const env = { ...REAL_ENV, variable: (name: string) => name === "TETHER_REV" ? "HEAD~1" : REAL_ENV.variable(name) };
    const opened = await t.with((ds) => ds.open("a"), { env });
    assert.deepEqual(opened.state, { snapshot_id: first });
  });
  await test.step("writable at a revision is refused", async () => {
    await assert.rejects(t.with((ds) => ds.open("a", { rev: "HEAD", readOnly: false })), TetherError);
  });
  await test.step("an unknown key or revision is refused", async () => {
    await assert.rejects(t.with((ds) => ds.open("nokey")), ConfigError);
    await assert.rejects(t.with((ds) => ds.open("a", { rev: "nosuch" })), TetherError);
    await assert.rejects(t.with((ds) => ds.open("a", { rev: " " })), TetherError);
  });
});

Deno.test("[commands 5.11] a pin that moved is never opened; one that is gone falls back on the recorded state", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  const report = await t.with((ds) => ds.commit({ message: "first" }));
  const ref = report.pinned["a"] ?? "";
  const system = namedStore().find(t.system("a"));
  const moved = t.write("a");
  system?.tags.set(ref, moved.id);
  await assert.rejects(t.with((ds) => ds.open("a", { rev: "HEAD" })), PinDriftError);
  assert.deepEqual((await t.with(async (ds) => await ds.verify())).entries.map((e) => e.status), ["drifted"]);
  system?.tags.delete(ref);
  const opened = await t.with((ds) => ds.open("a", { rev: "HEAD" }));
  assert.equal(opened.pinned, false);
  assert.match(opened.warning ?? "", /^Opened "a" at revision "HEAD" without its pin: .* is gone, "tether repair" /);
  assert.equal(opened.toJSON()["warning"], opened.warning);
  assert.deepEqual((await t.with(async (ds) => await ds.verify())).entries.map((e) => e.status), ["missing"]);
  system?.snapshots.delete(`${t.system("a")}:s0`);
  await assert.rejects(t.with((ds) => ds.open("a", { rev: "HEAD" })), StateGoneError);
});

Deno.test("[commands 8.2] an Observed state cannot be opened again, and the message says so", async () => {
  await using t = await tempDataset();
  const data = await t.repo.write("../data/plate.csv", "a,b\n");
  await t.with((ds) => ds.add({ kind: "file", locator: { uri: data } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await assert.rejects(t.with((ds) => ds.open("plate.csv", { rev: "HEAD" })), (error) => {
    assert.ok(error instanceof CapabilityError);
    assert.match(error.message, /at revision "HEAD": only its fingerprint was recorded/);
    assert.match(
      error.hints.join(),
      /^tether open --read-only -- plate\.csv opens what is there now, which may be some/,
    );
    return true;
  });
  await assert.rejects(t.with((ds) => ds.open("plate.csv", { readOnly: false })), CapabilityError);
  assert.equal((await t.with((ds) => ds.open("plate.csv"))).address(), data);
});

Deno.test("[formats 8] objects of one branch space switch to it together", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.add({ key: "b", kind: "memory", locator: { system: t.system("a") } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat" }));
  const handle = await t.with((ds) => ds.open("b"));
  assert.deepEqual(await t.with((ds) => Promise.resolve(ds.workspace.workingRefs)), { a: handle.ref, b: handle.ref });
  assert.deepEqual(await t.with((ds) => Promise.resolve(ds.workspace.pendingForks)), {});
});
