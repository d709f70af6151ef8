import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { ConfigError, TetherError } from "../../engine/model/errors.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { tempDataset } from "../helpers/dataset.ts";

Deno.test("[commands 5.6, Δ38, L06] status is local: it contacts no store until asked", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  using _outage = namedStore().outage(t.system("a"), "offline");
  const report = await t.with((ds) => ds.status());
  assert.deepEqual(report.objects.map((o) => [o.key, o.state]), [["a", "new"]]);
  assert.equal(report.fresh, false);
  assert.equal(report.snapshotAt, null);
});

Deno.test("[commands 5.6] the labels of status", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a", "gone");
  const data = await t.repo.write("../data/f", "one");
  await t.with((ds) => ds.add({ key: "fixed", kind: "file", locator: { uri: data } }));
  await t.with((ds) => ds.add({ key: "loose", kind: "file", locator: { uri: data }, policy: { file: "versioned" } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) =>
    ds.add({ key: "at", kind: "memory", locator: { system: t.system("a") }, at: `${t.system("a")}:s0` })
  );
  const labels = async (): Promise<Record<string, string>> => {
    const report = await t.with((ds) => ds.status({ snapshot: true }));
    return Object.fromEntries(report.objects.map((o) => [o.key, o.state]));
  };
  await test.step("everything as committed", async () => {
    assert.deepEqual(await labels(), { a: "clean", at: "new", fixed: "clean", gone: "clean", loose: "clean" });
  });
  await t.with((ds) => ds.commit({ message: "second" }));
  t.write("a");
  await Deno.writeTextFile(data, "two!");
  using _outage = namedStore().outage(t.system("gone"), "offline");
  await test.step("[Δ7] a moved branch, a detached object, changed files and a store that does not answer", async () => {
    assert.deepEqual(await labels(), { a: "modified", at: "behind", fixed: "error", gone: "error", loose: "behind" });
  });
  await test.step("[Δ7] the next local status says the same", async () => {
    const report = await t.with((ds) => ds.status());
    const cached = Object.fromEntries(report.objects.map((o) => [o.key, o.state]));
    assert.deepEqual(cached, { a: "modified", at: "behind", fixed: "error", gone: "error", loose: "behind" });
    assert.match(report.objects.find((o) => o.key === "gone")?.error ?? "", /does not answer/);
  });
  await test.step("[commands 5.7] snapshot lists every failure, after caching what it could read", async () => {
    await assert.rejects(
      t.with((ds) => ds.snapshot()),
      (e) => e instanceof MultiObjectError && [...e.errors.keys()].join() === "fixed,gone",
    );
  });
});

Deno.test("[commands 5.6, Δ4] drift: a bookmark left or gone, and commits that vanished", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  t.write("a");
  const second = await t.with((ds) => ds.commit({ message: "second" }));
  await test.step("a vanished commit names its pins", async () => {
    await t.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
    const { vcsDrift } = await t.with((ds) => ds.status());
    assert.deepEqual(vcsDrift.map((d) => [d.commit, d.referenced]), [[second.vcsCommit, { a: false }]]);
    assert.equal((await t.with((ds) => ds.ops())).ops[0]?.vcsCommitGone, true);
  });
  await test.step("which can be acknowledged, and is then silent for good", async () => {
    await t.with(async (ds) => {
      const [drift] = await ds.vcsDrift();
      const [last, first] = (await ds.ops()).ops;
      const before = await t.read(".tether/ops.jsonl");
      for (const ids of [["ffffffffffff"], [""], [drift?.op ?? "", first?.id ?? ""]]) {
        await assert.rejects(ds.acknowledge(ids), TetherError);
        assert.equal(await t.read(".tether/ops.jsonl"), before, "all of them, or none");
      }
      await ds.acknowledge([drift?.op ?? ""]);
      await ds.acknowledge([drift?.op ?? ""]);
      assert.deepEqual([(await ds.status()).vcsDrift, await ds.vcsDrift()], [[], []]);
      const [now, ...rest] = (await ds.ops()).ops;
      assert.deepEqual([now?.vcsCommitGone, now?.acknowledged, now?.progress.at(-1)], [true, true, { action: "ack" }]);
      assert.deepEqual([now?.id, now?.status, now?.undoneBy, rest[0]?.acknowledged], [last?.id, "done", null, false]);
      assert.equal((await t.read(".tether/ops.jsonl")).split("\n").length, before.split("\n").length + 1);
    });
  });
  await test.step("a bookmark left", async () => {
    await t.repo.git(["switch", "-q", "-c", "side"]);
    assert.match((await t.with((ds) => ds.status())).bookmarkDrift.join(), /left bookmark "main"/);
  });
  await test.step("a bookmark gone", async () => {
    await t.repo.git(["branch", "-q", "-D", "main"]);
    assert.match((await t.with((ds) => ds.status())).bookmarkDrift.join(), /"main" is gone/);
  });
});

Deno.test("[formats 15.7, 19.2, L34] one manifest that does not parse is listed and stops only what needs it", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "first" }));
  const text = await t.read(".tether/objects/b.toml");
  await Deno.writeTextFile(`${t.root}/.tether/objects/b.toml`, `<<<<<<< ours\n${text}=======\n${text}>>>>>>> theirs\n`);
  const report = await t.with((ds) => ds.status());
  assert.deepEqual(report.objects.map((o) => [o.key, o.state]), [["a", "clean"], ["b", "conflicted"]]);
  t.write("a");
  assert.ok((await t.with((ds) => ds.commit({ message: "a alone", keys: ["a"] }))).vcsCommit);
  await assert.rejects(t.with((ds) => ds.commit({ message: "all" })), ConfigError);
  await assert.rejects(t.with((ds) => ds.open("b")), ConfigError);
  assert.ok(await t.with((ds) => ds.open("a")));
  await t.with((ds) => ds.remove("b"));
  assert.equal((await t.with((ds) => ds.status())).objects.length, 1);
});

Deno.test("[commands 5.6] an unknown kind is listed and stops no other", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.repo.write(".tether/objects/old.toml", 'key = "old"\nkind = "lakefs"\n\n[locator]\nuri = "lakefs://x"\n');
  const report = await t.with((ds) => ds.status());
  assert.deepEqual(report.objects.map((o) => [o.key, o.tier]), [["a", "forkable"], ["old", null]]);
  assert.ok((await t.with((ds) => ds.commit({ message: "a", keys: ["a"] }))).vcsCommit);
  await assert.rejects(t.with((ds) => ds.commit({ message: "all" })), /lakefs/);
});

Deno.test("[commands 5.12, Δ14, DIV-6, DIV-7] verify says what it knows, each state asked once", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) =>
    ds.add({ key: "r", kind: "memory", locator: { system: t.system("r") }, policy: { pin: "record" } })
  );
  await t.with((ds) => ds.commit({ message: "first" }));
  const statuses = async (options = {}): Promise<Record<string, string>> => {
    const { entries } = await t.with(async (ds) => await ds.verify(options));
    return Object.fromEntries(entries.map((e) => [e.label, e.status]));
  };
  await test.step("a pin is ok; a recorded state is unknown until opened", async () => {
    assert.deepEqual(await statuses(), { a: "ok", r: "unknown" });
    assert.deepEqual(await statuses({ deep: true }), { a: "ok", r: "ok" });
    assert.equal((await t.with(async (ds) => await ds.verify())).ok, false);
    assert.equal((await t.with(async (ds) => await ds.verify({ allowUnknown: true }))).ok, true);
  });
  await test.step("a store that does not answer is unknown, never missing", async () => {
    using _outage = namedStore().outage(t.system("a"), "offline");
    assert.equal((await statuses())["a"], "unknown");
  });
  await test.step("[Δ42] an expired state is missing", async () => {
    namedStore().expire(t.system("r"), `${t.system("r")}:s0`);
    assert.equal((await statuses({ deep: true }))["r"], "missing");
  });
  await test.step("--all-history labels each commit", async () => {
    t.write("a");
    await t.with((ds) => ds.commit({ message: "second", keys: ["a"] }));
    const labels = Object.keys(await statuses({ allHistory: true, keys: ["a"] }));
    assert.equal(labels.length, 2);
    for (const label of labels) assert.match(label, /^[0-9a-f]{12}:a$/);
  });
});

Deno.test("[commands 5.6] an object that is immutable and yet changed comes with the way out", async () => {
  await using t = await tempDataset();
  const file = `${t.repo.outer}/a.txt`;
  await Deno.writeTextFile(file, "one");
  await t.with(async (ds) => {
    await ds.add({ key: "-a b", kind: "file", locator: { uri: file } });
    await ds.commit({ message: "Baseline" });
    await Deno.writeTextFile(file, "another");
    for (const snapshot of [true, false]) {
      const [object] = (await ds.status({ snapshot })).objects;
      assert.match(object?.error ?? "", /is immutable and yet changed/);
      assert.deepEqual(object?.hints, ["tether set --file versioned -- '-a b'"]);
    }
  });
});
