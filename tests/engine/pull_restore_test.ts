import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { ConfigError, StaleWorkingCopyError, TetherError } from "../../engine/model/errors.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { tempDataset } from "../helpers/dataset.ts";

Deno.test("[commands 5.8] pull takes what upstream holds now: branches, files, and objects past their position", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "still");
  const data = await t.repo.write("../data/f", "one");
  await t.with((ds) => ds.add({ key: "loose", kind: "file", locator: { uri: data }, policy: { file: "versioned" } }));
  await t.with((ds) =>
    ds.add({ key: "at", kind: "memory", locator: { system: t.system("a") }, at: `${t.system("a")}:s0` })
  );
  await t.with((ds) => ds.commit({ message: "first" }));
  t.write("a");
  await Deno.writeTextFile(data, "two");
  const report = await t.with((ds) => ds.pull());
  assert.deepEqual(Object.keys(report.committed).sort(), ["a", "at", "loose"]);
  assert.deepEqual(report.unchanged, ["still"]);
  assert.equal(await t.repo.git(["log", "-1", "--format=%s"]), "pull main: 3 objects");
  assert.doesNotMatch(await t.read(".tether/objects/at.toml"), /^at =/m);
  assert.equal((await t.with((ds) => ds.ops())).ops[0]?.command, "pull");
  assert.equal((await t.with((ds) => ds.pull())).vcsCommit, null);
});

Deno.test("[commands 5.8, Δ33] what pull refuses", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  const data = await t.repo.write("../data/f", "one");
  await t.with((ds) => ds.add({ key: "fixed", kind: "file", locator: { uri: data } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await test.step("uncommitted edits", async () => {
    await t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
    await assert.rejects(t.with((ds) => ds.pull()), ConfigError);
    await t.with((ds) => ds.commit({ message: "second" }));
  });
  await test.step("another bookmark", async () => {
    await assert.rejects(t.with((ds) => ds.pull({ bookmark: "other" })), StaleWorkingCopyError);
  });
  await test.step("an immutable object that changed, with nothing committed", async () => {
    t.write("a");
    await Deno.writeTextFile(data, "two");
    const head = await t.repo.git(["rev-parse", "HEAD"]);
    await assert.rejects(
      t.with((ds) => ds.pull()),
      (e) => e instanceof MultiObjectError && e.code === "immutable-modified",
    );
    assert.equal(await t.repo.git(["rev-parse", "HEAD"]), head);
    assert.deepEqual(Object.keys((await t.with((ds) => ds.pull({ keys: ["a"] }))).committed), ["a"]);
  });
});

Deno.test("[commands 5.8, L20] what pull saw of objects it could not take in is what the next status tells", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  const data = await t.repo.write("../data/f", "one");
  await t.with((ds) => ds.add({ key: "raw", kind: "file", locator: { uri: data } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  const told = async (): Promise<unknown> => {
    const { objects } = await t.with((ds) => ds.status());
    const raw = objects.find((o) => o.key === "raw");
    return [raw?.state, raw?.error === null || raw?.error === undefined ? "" : raw.error];
  };
  assert.deepEqual(await told(), ["clean", ""]);
  await test.step("an immutable object that changed", async () => {
    await Deno.writeTextFile(data, "two");
    t.write("a");
    await assert.rejects(t.with((ds) => ds.pull()), MultiObjectError);
    assert.match(String(await told()), /is immutable and yet changed/);
    const a = (await t.with((ds) => ds.status())).objects.find((o) => o.key === "a");
    assert.equal(a?.state, "modified", "and what else it read");
  });
  await test.step("one that cannot be read", async () => {
    await Deno.remove(data);
    await assert.rejects(t.with((ds) => ds.pull()), MultiObjectError);
    assert.doesNotMatch(String(await told()), /^clean|yet changed/);
  });
  await test.step("one that is back", async () => {
    await Deno.writeTextFile(data, "one");
    await t.with((ds) => ds.pull());
    assert.deepEqual(await told(), ["clean", ""]);
  });
});

Deno.test("[commands 5.19] restore takes one branch back, and leaves it modified until a commit", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
  t.write("a", ref);
  await t.with((ds) => ds.commit({ message: "second" }));
  const report = await t.with((ds) => ds.restore(["a"], { from: "HEAD~1" }));
  assert.deepEqual(report.workingRefs, { a: ref });
  assert.equal(namedStore().find(t.system("a"))?.head(ref).id, `${t.system("a")}:s0`);
  const status = await t.with((ds) => ds.status({ snapshot: true }));
  assert.deepEqual(status.objects.map((o) => o.state), ["modified", "clean"]);
  assert.equal(status.stale, false);
  t.write("a", ref);
  await assert.rejects(t.with((ds) => ds.restore(["a"], { from: "HEAD" })), MultiObjectError);
  await t.with((ds) => ds.restore(["a"], { at: "main", discard: true }));
  assert.equal(namedStore().find(t.system("a"))?.head(ref).id, `${t.system("a")}:s0`);
});

Deno.test("[L42, commands 5.19] what restore refuses, with nothing moved", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await test.step("the trunk", async () => {
    await assert.rejects(t.with((ds) => ds.restore(["a"], { from: "HEAD" })), StaleWorkingCopyError);
  });
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  for (
    const [keys, options] of [[["a"], {}], [[], { from: "HEAD" }], [["a"], { from: " " }], [["a"], { at: "" }], [
      ["a"],
      { from: "HEAD", at: "x" },
    ]] as const
  ) {
    await test.step(JSON.stringify([keys, options]), async () => {
      await assert.rejects(t.with((ds) => ds.restore(keys, options)), ConfigError);
    });
  }
  await test.step("a ref that does not resolve", async () => {
    await assert.rejects(t.with((ds) => ds.restore(["a"], { at: "nosuch" })), MultiObjectError);
  });
});

Deno.test("[L43] a restore that finds its branch there already resets nothing, and its undo says of nothing that it is lost", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "first" }));
  const made = await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
  t.write("a", made.workingRefs["a"]);
  await t.with((ds) => ds.commit({ message: "on x" }));
  await t.with((ds) => ds.restore(["a", "b"], { from: "main" }));
  const [entry] = (await t.with((ds) => ds.ops())).ops;
  assert.deepEqual([entry?.command, entry?.result["reset"]], ["restore", ["a"]]);
  await t.with((ds) => ds.restore(["b"], { from: "main" }));
  const lost = await t.with((ds) => ds.undo()).then(
    (report) => report.irreversible,
    (error) => error instanceof TetherError ? error.details["irreversible"] : [String(error)],
  );
  assert.deepEqual(lost, []);
});

Deno.test("[commands 5.19] a refused restore says of the object what is wrong", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await Deno.mkdir(`${t.repo.outer}/raw`);
  await t.with((ds) => ds.add({ key: "raw", kind: "file", locator: { uri: `${t.repo.outer}/raw` } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
  const cases: readonly (readonly [string, { from: string } | { at: string }, RegExp])[] = [
    ["raw", { from: "main" }, /\(raw: "raw" cannot be reset: its kind has no branches\)/],
    ["a", { at: "nosuch" }, /\(a: "a" cannot be taken to "nosuch": /],
  ];
  for (const [key, where, text] of cases) {
    await test.step(`${key} ${JSON.stringify(where)}`, async () => {
      await assert.rejects(t.with((ds) => ds.restore([key], where)), text);
    });
  }
});
