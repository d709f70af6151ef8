import assert from "node:assert/strict";
import { join } from "node:path";
import { namedStore } from "../../backends/memory/store.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { Plan } from "../../engine/plan/plan.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";

const SAYS = /work that no commit has/;

/** A dataset of a memory system and a repository with work that no commit has. */
async function withDirtyRepo(fn: (t: TempDataset, code: TempRepo) => Promise<void>): Promise<void> {
  await using t = await tempDataset({ files: { README: "hello" } });
  await using code = await tempRepo({ files: { a: "a" } });
  await t.addMemory("table");
  await t.with((ds) => ds.add({ key: "code", kind: "git", locator: { path: code.path } }));
  await code.write("a", "b");
  await fn(t, code);
}

/** What a commit writes first: the journal, and pins in the other store. */
async function written(t: TempDataset): Promise<readonly unknown[]> {
  const journal = await Deno.readTextFile(join(t.root, ".tether/ops.jsonl"));
  return [journal, namedStore().find(t.system("table"))?.tags.size ?? 0];
}

/** Asserts that a call refuses `code` alone, before any store or file was written. */
async function refuses(t: TempDataset, call: () => Promise<unknown>, hint: string): Promise<void> {
  const before = await written(t);
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof MultiObjectError);
    assert.deepEqual([...error.errors.keys()], ["code"]);
    assert.match(error.message, SAYS);
    assert.equal(error.hints[0], hint);
    return error.hints.includes("Commit the work there");
  });
  assert.deepEqual(await written(t), before);
}

Deno.test("[commands 5.9, L43] a state that cannot be pinned is refused before any store is written", async (t) => {
  await withDirtyRepo(async (d, code) => {
    const rest = "tether commit -m MESSAGE -- table";
    await t.step("by the plan", () => refuses(d, () => d.with((ds) => ds.plan.commit({ message: "m" })), rest));
    await t.step("by the commit", () => refuses(d, () => d.with((ds) => ds.commit({ message: "m" })), rest));
    await t.step("by a saved plan that has it", async () => {
      await code.git(["stash"]);
      const plan = await d.with((ds) => ds.plan.commit({ message: "m" }));
      const actions = plan.actions.map((a) => {
        const state = { ...a.params["state"] as object, dirty: true };
        return a.key === "code" ? { ...a, params: { ...a.params, state } } : a;
      });
      const dirty = new Plan({ ...plan, actions });
      await refuses(d, () => d.with((ds) => ds.apply(dirty)), rest);
      await code.git(["stash", "pop"]);
    });
    await t.step("the rest can be committed, and so can the object once it is recorded without a pin", async () => {
      assert.deepEqual(Object.keys((await d.with((ds) => ds.commit({ message: "m", keys: ["table"] }))).pinned), [
        "table",
      ]);
      await d.with((ds) => ds.setPolicy(["code"], { pin: "record" }));
      assert.deepEqual((await d.with((ds) => ds.commit({ message: "m" }))).pinned, { code: null });
    });
    await t.step("by a pull", async () => {
      await d.with((ds) => ds.setPolicy(["code"], { pin: "native" }));
      await code.commit("next", { c: "c" });
      await d.with((ds) => ds.commit({ message: "native" }));
      await code.commit("later", { c: "d" });
      await code.write("a", "e");
      await refuses(d, () => d.with((ds) => ds.pull()), "tether pull --key table");
    });
  });
});

Deno.test("[commands 5.6] status says of an object why a commit would refuse it, from the cache too", async () => {
  await withDirtyRepo(async (t, code) => {
    const seen = async (snapshot: boolean) => {
      const { objects } = await t.with((ds) => ds.status({ snapshot }));
      return objects.find((o) => o.key === "code");
    };
    for (const snapshot of [true, false]) {
      const object = await seen(snapshot);
      assert.deepEqual([object?.state, object?.error], ["new", null]);
      assert.match(object?.reason ?? "", SAYS);
      assert.equal(object?.hints?.[0], "Commit the work there");
    }
    await code.commit("next");
    assert.equal((await seen(true))?.reason, null);
    await t.with((ds) => ds.commit({ message: "m" }));
    await code.write("a", "c");
    // The commit is recorded and pinned: work beside it is nobody's concern.
    assert.deepEqual([(await seen(true))?.state, (await seen(true))?.reason], ["clean", null]);
    await code.commit("later");
    await code.write("a", "d");
    const object = await seen(true);
    assert.equal(object?.state, "modified");
    assert.match(object?.reason ?? "", /^recorded sha=.*; cannot be committed: .*work that no commit has$/);
  });
});
