import assert from "node:assert/strict";
import type { RepairRequest } from "../../engine/commands/repair.ts";
import type { VerifyOptions } from "../../engine/commands/verify.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

const FOREIGN = 'key = "old"\nkind = "lakefs"\n\n[locator]\nuri = "lakefs://x"\n\n[state]\nid = 7\n';

Deno.test("[lessons, commands 5.6] status says which objects it did not read, and why", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  const file = await t.repo.write("../data/f", "one");
  await t.with((ds) => ds.add({ key: "raw", kind: "file", locator: { uri: file } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "x" }));
  await t.with(async (ds) => await (await ds.open("a"))[Symbol.asyncDispose]());
  const seen = async (snapshot: boolean): Promise<Record<string, unknown>> => {
    const { objects } = await t.with((ds) => ds.status({ snapshot }));
    return Object.fromEntries(objects.map((o) => [o.key, [o.state, o.seen, o.reason]]));
  };
  await test.step("one without a branch yet, and one this bookmark does not move", async () => {
    assert.deepEqual(await seen(true), {
      a: ["clean", "now", null],
      b: ["clean", null, "not read: its branch is made by the first writable open"],
      raw: ["clean", "before", 'not read now: bookmark "x" does not move it'],
    });
  });
  await test.step("a later local status tells what was read before from what never was", async () => {
    const later = await seen(false);
    assert.deepEqual(later["a"], ["clean", "before", null]);
    assert.deepEqual(later["b"], ["clean", null, "not read: its branch is made by the first writable open"]);
    assert.deepEqual(later["raw"], ["clean", "before", null]);
  });
  await test.step("on the trunk everything is read, and the JSON says so", async () => {
    await t.with((ds) => ds.new({ rev: "main" }));
    const report = await t.with((ds) => ds.status({ snapshot: true }));
    assert.deepEqual(report.objects.map((o) => o.seen), ["now", "now", "now"]);
    const { objects } = report.toJSON() as { objects: { seen: string }[] };
    assert.deepEqual(objects.map((o) => o.seen), ["now", "now", "now"]);
  });
});

Deno.test("[lessons, commands 5.12] a kind this build lacks is unknown, not ok and not left out", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.repo.write(".tether/objects/old.toml", FOREIGN);
  await t.repo.commit("another tether's object");
  const commit = await t.repo.git(["rev-parse", "HEAD"]);
  for (
    const [name, options, label] of [
      ["the working tree", {}, "old"],
      ["a revision", { rev: "HEAD" }, "old"],
      ["all of history", { allHistory: true }, `${commit.slice(0, 12)}:old`],
    ] as const
  ) {
    await test.step(`verify of ${name}`, async () => {
      const report = await t.with(async (ds) => await ds.verify(options));
      const entry = report.entries.find((e) => e.label === label);
      assert.equal(entry?.status, "unknown");
      assert.match(entry?.message ?? "", /"lakefs"/);
      assert.equal(report.ok, false);
      assert.ok(label in (report.toJSON() as object));
      assert.match(report.warnings.join(), /^Not checked: 1 state\(s\) of kinds .*"lakefs"$/);
      assert.equal((await t.with(async (ds) => await ds.verify({ ...options, allowUnknown: true }))).ok, true);
    });
  }
  await test.step("status", async () => {
    const old = (await t.with((ds) => ds.status())).objects.find((o) => o.key === "old");
    assert.deepEqual([old?.tier, old?.seen], [null, null]);
    assert.match(old?.reason ?? "", /does not have kind "lakefs"/);
    const read = (await t.with((ds) => ds.status({ snapshot: true }))).objects.find((o) => o.key === "old");
    assert.equal(read?.state, "error");
  });
});

Deno.test("[L03, commands 5.12, 5.17] a manifest of history that cannot be used is unknown, not ok and not left out", async (test) => {
  const broken: Readonly<Record<string, (whole: string) => string>> = {
    "no TOML": () => "garbage ===",
    "no kind": () => 'key = "x/b"\n',
    conflicted: (whole) => `<<<<<<< ours\n${whole}=======\n${whole}>>>>>>> theirs\n`,
    "too large": () => `# ${"x".repeat(5 * 1024 * 1024)}\n`,
  };
  for (const [name, text] of Object.entries(broken)) {
    await test.step(name, async () => {
      await using t = await tempDataset({ at: "data" });
      await t.addMemory("a", "x/b");
      const first = (await t.with((ds) => ds.commit({ message: "first" }))).vcsCommit ?? "";
      const whole = await t.read(".tether/objects/x/b.toml");
      const bad: string[] = [];
      for (const other of ["one", "two"]) {
        bad.push(await t.repo.commit("bad", { "data/.tether/objects/x/b.toml": text(whole), other }));
      }
      await t.repo.commit("mended", { "data/.tether/objects/x/b.toml": whole });
      const report = await t.with(async (ds) => await ds.verify({ allHistory: true }));
      const labels = (status: string) => report.entries.filter((e) => e.status === status).map((e) => e.label).sort();
      assert.deepEqual(labels("unknown"), bad.map((commit) => `${commit.slice(0, 12)}:x/b`).sort());
      assert.ok(labels("ok").includes(`${first.slice(0, 12)}:x/b`));
      assert.match(report.entries.find((e) => e.status === "unknown")?.message ?? "", /^Cannot .*x\/b\.toml/);
      assert.equal(report.ok, false);
      assert.ok(labels("unknown").every((label) => label in (report.toJSON() as object)));
      const of = (options: VerifyOptions) =>
        t.with(async (ds) => (await ds.verify({ ...options, allHistory: true })).ok);
      assert.equal(await of({ keys: ["a"] }), true, "it is none of the others' business");
      assert.equal(await of({ keys: ["x/"] }), false);
      assert.equal(await of({ allowUnknown: true }), true);
      const repaired = (request: RepairRequest) =>
        t.with(async (ds) => {
          const { complete, failed } = await ds.repair(request);
          return { complete, failed: Object.keys(failed) };
        });
      const named = [`x/b@${bad[1]?.slice(0, 12)}`];
      assert.deepEqual(await repaired({ allHistory: true }), { complete: false, failed: named });
      assert.deepEqual(await repaired({ allHistory: true, keys: ["x/"] }), { complete: false, failed: named });
      assert.deepEqual(await repaired({ allHistory: true, keys: ["a"] }), { complete: true, failed: [] });
      assert.deepEqual(await repaired({}), { complete: true, failed: [] });
    });
  }
});

Deno.test("[commands 5.12] verify of all history answers for every copy of a key that a commit holds", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  const first = (await t.with((ds) => ds.commit({ message: "first" }))).vcsCommit ?? "";
  const copy = await t.repo.commit("copied", {
    "copy/tether.toml": await t.read("tether.toml"),
    "copy/.tether/objects/a.toml": await t.read(".tether/objects/a.toml"),
  });
  const { entries } = await t.with(async (ds) => await ds.verify({ allHistory: true }));
  const short = copy.slice(0, 12);
  assert.deepEqual(
    entries.map((e) => e.label).sort(),
    [`${first.slice(0, 12)}:a`, `${short}:a`, `${short}:copy/.tether/objects/a.toml`].sort(),
  );
});

Deno.test("[lessons, commands 5.12] verify of all history counts the observed states it leaves out", async () => {
  await using t = await tempDataset();
  const file = await t.repo.write("../data/f", "one");
  await t.with((ds) => ds.add({ key: "raw", kind: "file", locator: { uri: file } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  const report = await t.with(async (ds) => await ds.verify({ allHistory: true }));
  assert.deepEqual(report.entries, []);
  assert.match(report.warnings.join(), /^Not checked: 1 state\(s\) of history that were only observed/);
});

Deno.test("[lessons, commands 5.13] diff never says that an unreadable manifest does not differ", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "first" }));
  const whole = await t.read(".tether/objects/b.toml");
  const path = `${t.root}/.tether/objects/b.toml`;
  for (
    const [name, text] of Object.entries({
      "no TOML": "key = ",
      "no kind": 'key = "b"\n',
      conflicted: `<<<<<<< ours\n${whole}=======\n${whole}>>>>>>> theirs\n`,
    })
  ) {
    await test.step(name, async () => {
      await Deno.writeTextFile(path, text);
      const { entries, warnings } = await t.with((ds) => ds.diff());
      assert.deepEqual(entries.map((e) => [e.key, e.change]), [["a", "unchanged"], ["b", "unknown"]]);
      assert.match(entries[1]?.detailError ?? "", /b\.toml/);
      assert.equal(warnings.length, 1);
    });
  }
});

Deno.test("[lessons, L18] a branch whose commit is gone is no branch before its first commit", async (test) => {
  const calls: Readonly<Record<string, (t: TempDataset) => Promise<unknown>>> = {
    status: (t) => t.with((ds) => ds.status()),
    diff: (t) => t.with((ds) => ds.diff()),
    "a commit's plan": (t) => t.with((ds) => ds.plan.commit({ message: "m" })),
    commit: (t) => t.with((ds) => ds.commit({ message: "m" })),
    new: (t) => t.with((ds) => ds.new({ bookmark: "x" })),
  };
  await using t = await tempDataset();
  await t.addMemory("a");
  const { vcsCommit } = await t.with((ds) => ds.commit({ message: "first" }));
  await Deno.remove(`${t.repo.path}/.git/objects/${vcsCommit?.slice(0, 2)}/${vcsCommit?.slice(2)}`);
  for (const [name, call] of Object.entries(calls)) {
    await test.step(name, async () => {
      await assert.rejects(call(t), (error) => {
        assert.ok(error instanceof TetherError);
        assert.match(error.message, new RegExp(String(vcsCommit)));
        assert.deepEqual(error.hints, ["git fetch", "git fsck --full"]);
        return true;
      });
    });
  }
});
