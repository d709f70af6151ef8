import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { Dataset } from "../../engine/dataset.ts";
import { initDataset } from "../../engine/commands/init.ts";
import type { TempDataset } from "../helpers/dataset.ts";
import { tempDataset } from "../helpers/dataset.ts";
import { tempRepo } from "../helpers/repo.ts";

/** A dataset with a committed bookmark `feat` that has uncommitted writes, as its stores survive it; and its id. */
async function lostDataset(): Promise<{ t: TempDataset; id: string; head: string; pins: string[] }> {
  const t = await tempDataset();
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
  t.write("a", ref);
  await t.with((ds) => ds.commit({ message: "second" }));
  const head = t.write("a", ref).id;
  const id = await t.with((ds) => Promise.resolve(ds.config.datasetId));
  return { t, id, head, pins: [...namedStore().find(t.system("a"))?.tags.keys() ?? []].sort() };
}

/** Registers the same systems in a new repository. */
async function anew(t: TempDataset, at: string, datasetId?: string): Promise<void> {
  await initDataset(at, datasetId === undefined ? {} : { datasetId });
  await using ds = await Dataset.open(at);
  for (const key of ["a", "b"]) await ds.add({ key, kind: "memory", locator: { system: t.system(key) } });
}

Deno.test("[commands 8.13] a dataset made anew under its old id: the steps bring its bookmark back", async () => {
  const { t, id, head, pins } = await lostDataset();
  await using _ = t;
  await using repo = await tempRepo();
  await anew(t, repo.path, id);
  await using ds = await Dataset.open(repo.path);
  const report = await ds.recover();
  assert.deepEqual([report.pinned, report.suggestedDatasetId, report.complete], [true, null, true]);
  assert.deepEqual(report.datasets[0]?.bookmarks.map((b) => [b.slug, b.generation]), [["feat", 1]]);
  assert.deepEqual(report.steps.map((s) => s.command), [
    "tether commit -m 'Recover main'",
    "tether new -b feat --adopt -- main && tether commit -m 'Recover feat'",
  ]);
  await ds.commit({ message: "Recover main" });
  await ds.new({ bookmark: "feat", rev: "main", adopt: true });
  await ds.commit({ message: "Recover feat" });
  assert.ok(JSON.stringify(ds.objects.get("a")?.state).includes(`"${head}"`));
  const now = namedStore().find(t.system("a"))?.tags;
  assert.ok(pins.every((pin) => now?.has(pin)), "earlier pins are untouched");
  assert.deepEqual((await ds.recover()).steps, []);
  assert.ok((await ds.verify({ allHistory: true })).ok);
});

Deno.test("[commands 5.18] which id is advised: only one without doubt, and none where something is pinned", async (test) => {
  const { t, id } = await lostDataset();
  await using _ = t;
  await test.step("one other id, nothing pinned", async () => {
    await using repo = await tempRepo();
    await anew(t, repo.path);
    await using ds = await Dataset.open(repo.path);
    const report = await ds.recover();
    assert.equal(report.suggestedDatasetId, id);
    assert.equal(report.steps[0]?.command, null);
    assert.match(report.steps[0]?.note ?? "", new RegExp(`\\[dataset\\]\\nid = "${id}"$`));
    const scoped = await ds.recover({ keys: ["a"] });
    assert.deepEqual([scoped.suggestedDatasetId, scoped.steps.at(-1)?.command], [null, "tether recover"]);
    assert.ok(!scoped.steps.some((s) => /commit|--adopt/.test(s.command ?? "")));
  });
  await test.step("several ids", async () => {
    await using repo = await tempRepo();
    await using other = await tempRepo();
    await anew(t, other.path, "ffffffff");
    await using second = await Dataset.open(other.path);
    await second.commit({ message: "another" });
    await anew(t, repo.path, "eeeeeeee");
    await using ds = await Dataset.open(repo.path);
    const report = await ds.recover();
    assert.equal(report.suggestedDatasetId, null);
    assert.match(report.steps[0]?.note ?? "", /choose/);
    assert.deepEqual(
      (await second.recover()).steps,
      [],
      "refs of others are nothing to act on once something is pinned",
    );
  });
});

Deno.test("[commands 5.18] older branches, unreadable refs, a missing pin and a store that cannot be listed", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const store = namedStore();
  const id = await t.with((ds) => Promise.resolve(ds.config.datasetId));
  const system = store.find(t.system("a"));
  const legacy = `tether.ws.${id}.0123abcd.a-3025a6`;
  system?.branches.set(legacy, system.head("main").id);
  system?.branches.set("tether.ws.x", system.head("main").id);
  await test.step("older branches get a bookmark of their own", async () => {
    const report = await t.with((ds) => ds.recover());
    assert.deepEqual(report.objects[0]?.unrecognized, ["tether.ws.x"]);
    assert.deepEqual(report.datasets[0]?.legacy, [{ workspace: "0123abcd", branches: [legacy] }]);
    assert.deepEqual(report.steps.map((s) => s.command), [
      `tether new -b recover-0123abcd -- main && tether restore --at ${legacy} -- a && tether commit -m 'Recover recover-0123abcd'`,
    ]);
    await t.repo.git(["branch", "recover-0123abcd"]);
    assert.match((await t.with((ds) => ds.recover())).steps[0]?.command ?? "", /-b recover-0123abcd-2 /);
  });
  await test.step("a missing pin", async () => {
    for (const pin of system?.tags.keys() ?? []) system?.tags.delete(pin);
    const report = await t.with((ds) => ds.recover());
    assert.match(report.objects[0]?.missingPin ?? "", /^tether\./);
    assert.equal(report.steps[0]?.command, "tether repair -- a");
  });
  await test.step("a store that cannot be listed: no advice, and it says so", async () => {
    await t.with((ds) => ds.add({ key: "gone", kind: "git", locator: { uri: `${t.repo.outer}/nowhere` } }));
    const report = await t.with((ds) => ds.recover());
    assert.equal(report.complete, false);
    assert.deepEqual(report.steps, []);
    assert.match(report.objects.find((o) => o.key === "gone")?.error ?? "", /nowhere/);
  });
});

Deno.test("[commands 5.18] what could not be looked at is not called found: recover says so and is not complete", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "first" }));
  assert.ok((await t.with((ds) => ds.recover())).complete);
  await Deno.writeTextFile(`${t.root}/.tether/objects/a.toml`, "<<<<<<< here\n=======\n>>>>>>> there\n");
  const report = await t.with((ds) => ds.recover());
  assert.deepEqual([report.complete, report.steps, report.suggestedDatasetId], [false, [], null]);
  assert.match(report.warnings.join(), /Not looked at: ".*a\.toml"/);
  assert.ok((await t.with((ds) => ds.recover({ keys: ["b"] }))).complete, "only what was asked for");
});
