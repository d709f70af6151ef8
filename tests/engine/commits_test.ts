import assert from "node:assert/strict";
import { tempDataset } from "../helpers/dataset.ts";

Deno.test("[commands 7.1] every commit is listed with what it records, newest first, wherever the dataset lay", async () => {
  await using t = await tempDataset({ at: "old" });
  await t.addMemory("a", "b");
  const first = await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.remove("b"));
  const second = await t.with((ds) => ds.commit({ message: "second" }));
  await t.repo.git(["mv", "old", "new"]);
  await t.repo.git(["commit", "-qm", "moved"]);
  await t.repo.write("new/.tether/objects/broken.toml", "no = = toml\n");
  await t.repo.git(["add", "-A"]);
  await t.repo.git(["commit", "-qm", "broken"]);

  await using ds = await t.open({ at: `${t.repo.path}/new` });
  const all = await Array.fromAsync(ds.commits());
  assert.deepEqual(all.map((c) => [...c.objects.keys()].join()), ["a", "a", "a", "a,b"]);
  assert.deepEqual(all.slice(2).map((c) => c.commit), [second.vcsCommit, first.vcsCommit]);
  assert.match(ds.warnings.join(), /Left out: "new\/\.tether\/objects\/broken\.toml" at [0-9a-f]{12} does not parse/);

  const only = await Array.fromAsync(ds.commits({ revs: ["HEAD~2"] }));
  assert.deepEqual(only.map((c) => c.commit), [second.vcsCommit]);
  await assert.rejects(Array.fromAsync(ds.commits({ revs: ["nowhere"] })), { name: "VcsError" });
});

Deno.test("[commands 7.1] what this clone made and wrote into can be listed", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  await using ds = await t.open();
  assert.deepEqual([await ds.touchedStores(), await ds.createdStores()], [[], []]);
  await ds.commit({ message: "first" });
  await using _made = await ds.create({ key: "made", kind: "memory", locator: { system: t.system("made") } });
  assert.deepEqual((await ds.touchedStores()).map((s) => s.key).sort(), ["a", "b"]);
  assert.deepEqual((await ds.createdStores()).map((s) => [s.key, s.kind]), [["made", "memory"]]);
});
