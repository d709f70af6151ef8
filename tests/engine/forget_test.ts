import assert from "node:assert/strict";
import { dirname } from "node:path";
import { namedStore } from "../../backends/memory/store.ts";
import type { ForgetReport } from "../../engine/commands/forget.ts";
import { Dataset } from "../../engine/dataset.ts";
import { ConfigError, messageOf, StalePlanError, TetherError } from "../../engine/model/errors.ts";
import { Plan } from "../../engine/plan/plan.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";
import { tempDataset } from "../helpers/dataset.ts";

/** A second checkout on bookmark `b`, with a branch in a store; its root and workspace id. */
async function second(t: BothDataset): Promise<{ root: string; id: string; ref: string }> {
  await t.commitFiles("base", { "code.txt": "1\n" });
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const root = await t.checkout("b");
  await t.with((ds) => ds.new({ rev: "b", eager: true }), { at: root });
  const [id, ref] = await t.with(
    (ds) => Promise.resolve([ds.workspace.workspaceId, ds.workspace.workingRefs["a"] ?? ""]),
    { at: root },
  );
  return { root, id, ref };
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

onBoth("[commands 5.20, 8.5, Δ41] forget-workspace retires a checkout and keeps its branches", async (t) => {
  const { root, id, ref } = await second(t);
  await assert.rejects(t.with((ds) => ds.drop("b", { dryRun: false })), /held by/);
  const plan = await t.with((ds) => ds.plan.forgetWorkspace(id.slice(0, 8)));
  assert.deepEqual(plan.actions.map((a) => a.op), ["delete-file", "delete-file", "forget-vcs-workspace"]);
  assert.deepEqual(plan.preconditions, []);
  const report = await t.with((ds) => ds.forgetWorkspace(id));
  assert.equal(report.workspace, id.slice(0, 8));
  assert.equal(report.removedFiles.length, 2);
  assert.equal(await exists(`${root}/.tether/workspace.toml`), false);
  assert.equal(await exists(root), t.kind === "jj", "jj leaves the folder");
  assert.ok(namedStore().find(t.system("a"))?.branches.has(ref));
  const [entry] = (await t.with((ds) => ds.ops())).ops;
  assert.deepEqual([entry?.command, entry?.status], ["forget-workspace", "done"]);
  assert.equal(entry?.summary, `forgot workspace ${id.slice(0, 8)}`);
  await assert.rejects(t.with((ds) => ds.undo()), (e) => e instanceof TetherError && e.code === "not-undoable");
  await assert.rejects(t.with((ds) => ds.forgetWorkspace(id)), ConfigError, "it is not live any more");
  await t.with((ds) => ds.drop("b", { dryRun: false }));
  assert.ok(!namedStore().find(t.system("a"))?.branches.has(ref));
});

onBoth("[commands 5.20] from inside, the current checkout goes", async (t) => {
  const { root, id } = await second(t);
  const report = await t.with((ds) => ds.forgetWorkspace(), { at: root });
  assert.equal(report.workspace, id.slice(0, 8));
  assert.equal(await exists(`${root}/.tether/ops.jsonl`), false);
  assert.deepEqual(await t.with((ds) => ds.bookmarkHolders("b")), []);
});

Deno.test("[Δ13, Δ20] git: unknown ids, changes in the way, plans that were edited, and the main checkout", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const other = await t.repo.worktree("b");
  await t.with((ds) => ds.new(), { at: other });
  const id = await t.with((ds) => Promise.resolve(ds.workspace.workspaceId), { at: other });
  await test.step("an unknown id is refused, naming the live ones", async () => {
    await assert.rejects(
      t.with((ds) => ds.forgetWorkspace("ffffffff")),
      (e) => e instanceof ConfigError && e.message.includes(id.slice(0, 8)),
    );
  });
  await test.step("changes in the checkout: git refuses, and nothing is half forgotten", async () => {
    await Deno.writeTextFile(`${other}/new.txt`, "x");
    await assert.rejects(t.with((ds) => ds.forgetWorkspace(id)), TetherError);
    assert.ok(await exists(`${other}/.tether/workspace.toml`));
    await Deno.remove(`${other}/new.txt`);
  });
  await test.step("what git ignores and would delete is in the way too, but for tether's own files", async () => {
    await t.repo.write(".git/info/exclude", "data/\n*.pyc\n");
    for (const path of ["data/precious", "x/y.pyc", ".tether/secrets.toml"]) {
      const file = `${other}/${path}`;
      await Deno.mkdir(dirname(file), { recursive: true });
      await Deno.writeTextFile(file, "[objects]\n");
      await assert.rejects(t.with((ds) => ds.forgetWorkspace(id)), (error) => {
        assert.match(messageOf(error), /it holds what git ignores and would delete, such as/);
        return true;
      });
      assert.ok(await exists(file));
      await Deno.remove(file);
      if (path.startsWith("data/")) await Deno.remove(dirname(file));
    }
  });
  await test.step("a link in place of its folder leads nowhere", async () => {
    const away = `${t.repo.outer}/away`;
    await Deno.rename(`${other}/.tether`, away);
    await Deno.symlink(away, `${other}/.tether`);
    await assert.rejects(t.with((ds) => ds.forgetWorkspace(id)), TetherError);
    assert.ok(await exists(`${away}/workspace.toml`));
    await Deno.remove(`${other}/.tether`);
    await Deno.rename(away, `${other}/.tether`);
  });
  await test.step("a plan's paths are not followed, and a saved plan applies", async () => {
    const plan = await t.with((ds) => ds.plan.forgetWorkspace(id));
    const victim = `${t.repo.outer}/victim`;
    await Deno.writeTextFile(victim, "precious");
    const forged = new Plan({
      ...plan,
      actions: plan.actions.map((a) => a.op === "delete-file" ? { ...a, target: victim } : a),
    });
    const report = await t.with((ds) => ds.apply(Plan.fromJSON(forged.text()))) as ForgetReport;
    assert.ok(!report.removedFiles.includes(victim));
    assert.ok(await exists(victim));
    assert.equal(await exists(other), false);
    await assert.rejects(t.with((ds) => ds.apply(plan)), ConfigError);
    await assert.rejects(
      t.with((ds) => ds.apply(Plan.fromJSON(plan.text().replace(id, "ffffffff")))),
      StalePlanError,
    );
  });
  await test.step("of the main checkout only tether's files go", async () => {
    const report = await t.with((ds) => ds.forgetWorkspace());
    assert.equal(report.vcs, null);
    assert.equal(await exists(`${t.root}/.tether/workspace.toml`), false);
    assert.ok(await exists(`${t.root}/.tether/objects/a.toml`));
    await using ds = await Dataset.open(t.root);
    assert.equal((await ds.status()).objects.length, 1);
  });
});

Deno.test("[formats 19.10] git: a dataset below the root of its repository", async () => {
  await using t = await tempDataset({ at: "data/set" });
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const other = await t.repo.worktree("b");
  await t.with((ds) => ds.new(), { at: `${other}/data/set` });
  const id = await t.with((ds) => Promise.resolve(ds.workspace.workspaceId), { at: `${other}/data/set` });
  await t.with((ds) => ds.forgetWorkspace(id));
  assert.equal(await exists(other), false);
});
