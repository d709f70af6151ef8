import assert from "node:assert/strict";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { tempDataset } from "../helpers/dataset.ts";
import { tempRepo } from "../helpers/repo.ts";

Deno.test("[commands 5.10] a store that is away keeps nobody from the trunk, and no bookmark's branch is made blind", async () => {
  await using t = await tempDataset();
  await using store = await tempRepo();
  await store.commit("one", { f: "1" });
  await t.addMemory("a");
  await using ds = await t.open();
  await ds.add({ key: "two", kind: "git", locator: { path: store.path } });
  await ds.commit({ message: "first" });
  await ds.new({ bookmark: "work", eager: true });
  const away = `${store.path}-away`;
  await Deno.rename(store.path, away);

  const report = await ds.new({ rev: "main" });
  assert.deepEqual([report.bookmark, report.workingRefs], ["main", { a: "main" }]);
  assert.match(
    report.warnings.join(),
    /two: its upstream branch is not known \(.*\); once it is, go to the trunk again/,
  );
  await assert.rejects(ds.new({ bookmark: "other", eager: true }), MultiObjectError);

  await Deno.rename(away, store.path);
  assert.deepEqual((await ds.new({ rev: "main" })).workingRefs, { a: "main", two: "main" });
});
