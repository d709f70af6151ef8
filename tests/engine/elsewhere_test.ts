import assert from "node:assert/strict";
import { StaleWorkingCopyError, TetherError } from "../../engine/model/errors.ts";
import { tempDataset } from "../helpers/dataset.ts";
import { onBoth } from "../helpers/both.ts";

Deno.test("[formats 19.1] new refuses a revision in which the dataset lies at another place", async () => {
  await using t = await tempDataset({ at: "old" });
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "before" }));
  await t.with((ds) => ds.new({ rev: "main" }));
  await t.repo.git(["mv", "old", "new"]);
  await t.repo.git(["commit", "-qm", "moved"]);
  const at = `${t.repo.path}/new`;
  for (const rev of ["before", "main~1"]) {
    await assert.rejects(t.with((ds) => ds.new({ rev }), { at }), (error) => {
      assert.ok(error instanceof TetherError);
      assert.match(error.message, /the dataset lies in ".*\/old" there, not in ".*\/new"/);
      assert.match(error.hints.join(), /^git switch .* && cd .*\/old && tether new$/);
      return true;
    });
    assert.equal(await t.repo.git(["branch", "--show-current"]), "main");
  }
});

onBoth("[Δ18] drop of the bookmark of a checkout that went elsewhere says so before it plans", async (t) => {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
  t.write("a", await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"])));
  await t.with((ds) => ds.commit({ message: "on x" }));
  await t.vcs(t.kind === "git" ? ["switch", "-q", "main"] : ["new", "main"]);
  await using ds = await t.open();
  for (const drop of [() => ds.drop("x"), () => ds.drop("x", { dryRun: false })]) {
    await assert.rejects(drop(), (error) => {
      assert.ok(error instanceof StaleWorkingCopyError, String(error));
      assert.match(error.message, /^Cannot drop "x": the working copy left bookmark "x"/);
      assert.ok(error.hints.some((hint) => hint.startsWith("tether new")));
      return true;
    });
  }
  await ds.new();
  await ds.drop("x", { dryRun: false });
  assert.equal((await ds.vcs.bookmarks()).has("x"), false);
});
