import assert from "node:assert/strict";
import { Dataset } from "../../engine/dataset.ts";
import type { UpgradeReport } from "../../engine/commands/upgrade.ts";
import { ConfigError, StalePlanError } from "../../engine/model/errors.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { Plan } from "../../engine/plan/plan.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";
import { tempDataset } from "../helpers/dataset.ts";

/** Makes a committed dataset what version 4 would have left: one manifest misnamed, one path relative, an old index. */
async function olden(t: BothDataset, version = 4): Promise<void> {
  await Deno.mkdir(`${t.repo.outer}/plate`);
  await Deno.writeTextFile(`${t.repo.outer}/plate/x.txt`, "x\n");
  await t.addMemory("a");
  await t.with((ds) => ds.add({ key: "raw.plate", kind: "file", locator: { uri: `${t.repo.outer}/plate` } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await edit(t, "tether.toml", (text) => text.replace("version = 5", `version = ${version}`));
  const objects = `${t.root}/.tether/objects`;
  await edit(t, ".tether/objects/raw.plate.toml", (text) => text.replace(/uri = ".*"/, 'uri = "../plate"'));
  await Deno.rename(`${objects}/raw.plate.toml`, `${objects}/raw.toml`);
}

async function edit(t: BothDataset, path: string, change: (text: string) => string): Promise<void> {
  const before = await t.read(path);
  const after = change(before);
  assert.notEqual(after, before);
  await Deno.writeTextFile(`${t.root}/${path}`, after);
}

async function older(t: { readonly root: string }): Promise<Dataset> {
  return await Dataset.open(t.root, { allowOlder: true });
}

onBoth("[commands 5.25, formats 16] upgrade brings version 4 to 5 in one commit, and nothing twice", async (t) => {
  await olden(t);
  const head = await t.commitFiles("as version 4 left it", {});
  const listings = await Array.fromAsync(Deno.readDir(`${t.root}/.tether/listings`));
  await assert.rejects(Dataset.open(t.root), (e) => e instanceof ConfigError && e.code === "version-older");
  await using ds = await older(t);
  const plan = await ds.plan.upgrade();
  assert.deepEqual(plan.actions.map((a) => a.op), ["rename-manifest", "rewrite-locator", "vcs-commit"]);
  assert.deepEqual(plan.preconditions.map((p) => p.kind), ["config_version"]);
  const report = await ds.upgrade();
  assert.deepEqual([report.fromVersion, report.toVersion, report.rewrittenManifests], [4, 5, ["raw.plate"]]);
  assert.equal(report.vcsCommit, await t.id("here"));
  assert.equal(await t.id("here~1"), head);
  const files = await t.filesOf(report.vcsCommit ?? "");
  assert.ok(!(".tether/objects/raw.toml" in files));
  assert.match(files[".tether/objects/raw.plate.toml"] ?? "", new RegExp(`uri = "${t.repo.outer}/plate"`));
  assert.match(files["tether.toml"] ?? "", /version = 5/);
  await t.with(async (now) => {
    const status = await now.status({ snapshot: true });
    assert.deepEqual(status.objects.map((o) => [o.key, o.state]), [["a", "clean"], ["raw.plate", "clean"]]);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(`${t.root}/.tether/listings`)), listings);
    assert.equal((await now.upgrade()).vcsCommit, null);
    assert.equal((await now.ops()).ops.filter((o) => o.command === "upgrade").length, 1);
  });
});

Deno.test("[commands 5.25] upgrade refuses what is too old, not committed or not as planned; nothing else opens it", async (test) => {
  await using t = await tempDataset();
  const both = t as unknown as BothDataset;
  await olden(both);
  await test.step("uncommitted manifests", async () => {
    await using ds = await older(t);
    await assert.rejects(ds.upgrade(), (e) => e instanceof ConfigError && e.code === "dirty");
  });
  await t.repo.commit("as version 4 left it");
  await test.step("no other command writes", async () => {
    await using ds = await older(t);
    await assert.rejects(ds.commit({ message: "x" }), (e) => e instanceof ConfigError && e.code === "version-older");
  });
  await test.step("a version before 4", async () => {
    await edit(both, "tether.toml", (text) => text.replace("version = 4", "version = 3"));
    await using ds = await older(t);
    await assert.rejects(ds.upgrade(), (e) => e instanceof ConfigError && e.code === "version-older");
    await edit(both, "tether.toml", (text) => text.replace("version = 3", "version = 4"));
  });
  await test.step("a plan that needs other steps now, or another version", async () => {
    await using ds = await older(t);
    const plan = Plan.fromJSON((await ds.plan.upgrade()).text());
    await edit(both, ".tether/objects/a.toml", (text) => text.replace(/system = ".*"/, 'system = "other"'));
    await Deno.rename(`${t.root}/.tether/objects/a.toml`, `${t.root}/.tether/objects/b.toml`);
    await t.repo.commit("moved");
    await assert.rejects(ds.apply(plan), StalePlanError);
    const now = await ds.plan.upgrade();
    await ds.apply(now);
    await using after = await Dataset.open(t.root);
    await assert.rejects(after.apply(now), StalePlanError);
  });
});

Deno.test("[L37] a failed upgrade puts the files back; a refused commit leaves them, and says so", async (test) => {
  await using t = await tempDataset();
  const both = t as unknown as BothDataset;
  await olden(both);
  await t.repo.commit("as version 4 left it");
  await test.step("a failure on the way", async () => {
    await using ds = await Dataset.open(t.root, {
      allowOlder: true,
      env: {
        ...(await import("../../engine/env.ts")).REAL_ENV,
        boundary: (name) => name === "version" ? Promise.reject(new Error("power cut")) : Promise.resolve(),
      },
    });
    await assert.rejects(ds.upgrade(), /power cut/);
    assert.equal(await t.repo.git(["status", "--porcelain"]), "");
  });
  await test.step("a hook that refuses the commit", async () => {
    await Deno.writeTextFile(`${t.root}/.git/hooks/pre-commit`, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    await using ds = await older(t);
    await assert.rejects(ds.upgrade(), (e) => {
      assert.ok(e instanceof MultiObjectError && e.code === "partial");
      assert.deepEqual(Object.keys((e.report as UpgradeReport).failed), ["vcs-commit"]);
      return true;
    });
    await using now = await Dataset.open(t.root);
    assert.equal(now.config.version, 5);
  });
});
