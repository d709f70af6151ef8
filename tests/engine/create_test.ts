import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { type EngineEnv, REAL_ENV } from "../../engine/env.ts";
import { CapabilityError } from "../../engine/model/backend_errors.ts";
import { ConfigError, TetherError } from "../../engine/model/errors.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

/** A dataset on bookmark `probe`, with one commit below it. */
async function probing(): Promise<TempDataset> {
  const t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "baseline" }));
  await t.with((ds) => ds.new({ bookmark: "probe" }));
  return t;
}

function create(t: TempDataset, key = "made", env: Partial<EngineEnv> = {}): Promise<unknown> {
  const options = { key, kind: "memory", locator: { system: t.system(key) }, create: true };
  return t.with((ds) => ds.add(options), { env: { ...REAL_ENV, ...env } });
}

const found = (t: TempDataset, key = "made") => namedStore().find(t.system(key));
const owner = (t: TempDataset, key = "made") => found(t, key)?.owner;
const indexed = (t: TempDataset) =>
  t.inside(async (ctx) => (await ctx.indexes.created()).map((c) => [c.key, c.bookmark]));

Deno.test("[commands 5.2] add --create makes the store, marks it, remembers it and makes the bookmark's branch", async (test) => {
  await test.step("off the trunk", async () => {
    await using t = await probing();
    const id = await t.with((ds) => Promise.resolve(ds.config.datasetId));
    const ref = `tether.ws.${id}.probe`;
    await create(t);
    assert.equal(owner(t), id);
    assert.deepEqual([...found(t)?.branches.keys() ?? []], ["main", ref]);
    assert.deepEqual(await indexed(t), [["made", "probe"]]);
    await t.inside(async (ctx) => {
      assert.equal(ctx.object("made").origin, "created");
      assert.equal(ctx.workspace.workingRefs["made"], ref);
      assert.deepEqual(ctx.workspace.forkPoints["made"], { snapshot_id: `${t.system("made")}:s0` });
      assert.deepEqual((await ctx.indexes.touched()).map((e) => e.key), ["a", "made"]);
      const entry = (await ctx.journal.read()).at(-1);
      assert.deepEqual([entry?.status, entry?.result["fork"]], ["done", ref]);
      assert.deepEqual(entry?.result["created"], {
        kind: "memory",
        identity: { system: t.system("made") },
        locator: { system: t.system("made") },
      });
    });
    t.write("made", ref);
    const { pinned } = await t.with((ds) => ds.commit({ message: "one" }));
    assert.ok(found(t)?.tags.has(pinned["made"] ?? ""));
  });
  await test.step("on the trunk there is no branch", async () => {
    await using t = await tempDataset();
    await create(t);
    assert.deepEqual([...found(t)?.branches.keys() ?? []], ["main"]);
    assert.deepEqual(await indexed(t), [["made", "main"]]);
    await t.with((ds) => ds.commit({ message: "one" }));
  });
  await test.step("a folder, opened by create()", async () => {
    await using t = await probing();
    const uri = `${t.repo.outer}/made`;
    await t.with(async (ds) => {
      await using handle = await ds.create({ kind: "file", locator: { uri } });
      assert.equal(handle.address(), uri);
    });
    assert.match(await Deno.readTextFile(`${uri}/.tether-owner`), /^[0-9a-f]{8}\n$/);
  });
});

Deno.test("[commands 5.2] add --create refuses where something is, a position, and kinds without creation", async () => {
  await using t = await probing();
  const before = found(t, "a")?.head("main").id;
  await assert.rejects(create(t, "a"), ConfigError);
  const again = { key: "again", kind: "memory", locator: { system: t.system("a") }, create: true };
  await assert.rejects(t.with((ds) => ds.add(again)), TetherError);
  assert.deepEqual([owner(t, "a"), found(t, "a")?.head("main").id], [undefined, before]);
  await assert.rejects(t.with((ds) => ds.add({ ...again, locator: { system: "n" }, at: "s0" })), ConfigError);
  const table = { key: "t", kind: "delta", locator: { uri: `${t.repo.outer}/t` }, create: true };
  await assert.rejects(t.with((ds) => ds.add(table)), CapabilityError);
  const remote = { key: "t", kind: "file", locator: { uri: "s3://lab/t" }, create: true };
  await assert.rejects(t.with((ds) => ds.add(remote)), CapabilityError);
  await t.repo.git(["checkout", "-q", "main"]);
  await assert.rejects(create(t, "elsewhere"), /not on bookmark "probe"/);
  assert.equal(found(t, "elsewhere"), undefined);
  assert.deepEqual(await indexed(t), []);
  assert.deepEqual(await t.inside((ctx) => Promise.resolve([...ctx.objects.keys()])), ["a"]);
  assert.deepEqual(await t.inside(async (ctx) => (await ctx.journal.read()).filter((e) => e.status === "started")), []);
});

Deno.test("[L43] what add --create made is taken back when the rest fails, and only that", async (test) => {
  for (const at of ["create made", "created index", "manifests", "fork made"]) {
    await test.step(`a failure after: ${at}`, async () => {
      await using t = await probing();
      const boundary = (step: string): void => {
        if (step === at) throw new Error("no more");
      };
      await assert.rejects(create(t, "made", { boundary }), /no more/);
      assert.equal(found(t)?.owner, undefined);
      assert.deepEqual(await indexed(t), []);
      await t.inside(async (ctx) => {
        assert.ok(!ctx.objects.has("made"));
        assert.equal(ctx.workspace.workingRefs["made"], undefined);
        assert.equal((await ctx.journal.read()).at(-1)?.result["rolled_back"], true);
      });
      await create(t);
    });
  }
  await test.step("a store that was written to meanwhile stays, and stays known", async () => {
    await using t = await probing();
    const boundary = (step: string): void => {
      if (step !== "fork made") return;
      t.write("made", [...found(t)?.branches.keys() ?? []].at(-1));
      throw new Error("no more");
    };
    await assert.rejects(create(t, "made", { boundary }), /no more/);
    assert.equal(found(t)?.branches.size, 2);
    assert.deepEqual(await indexed(t), [["made", "probe"]]);
  });
});

Deno.test("[commands 5.16] undo of add --create removes the store while it is empty and ours", async (test) => {
  const cases: Record<string, (t: TempDataset, ref: string) => unknown> = {
    "a write to its branch": (t, ref) => t.write("made", ref),
    "a write to its base": (t) => t.write("made"),
    "a foreign branch": (t) => found(t)?.branches.set("theirs", found(t)?.head("main").id ?? ""),
    "a foreign tag": (t) => found(t)?.tags.set("v1", found(t)?.head("main").id ?? ""),
    "another owner": (t) => Object.assign(found(t) ?? {}, { owner: "ffffffff" }),
    "no marker": (t) => Object.assign(found(t) ?? {}, { owner: undefined }),
    "another object in it": (t) =>
      t.with((ds) => ds.add({ key: "second", kind: "memory", locator: { system: t.system("made") } })),
    "a commit that names it": (t) => t.repo.git(["add", ".tether"]).then(() => t.repo.git(["commit", "-q", "-m", "x"])),
  };
  for (const [what, change] of Object.entries(cases)) {
    await test.step(`kept: ${what}`, async () => {
      await using t = await probing();
      await create(t);
      const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["made"] ?? ""));
      const op = (await t.with((ds) => ds.ops())).ops[0]?.id ?? "";
      await change(t, ref);
      const before = [...found(t)?.branches ?? []];
      const report = await t.with((ds) => ds.undo({ op }));
      assert.equal(report.complete, false);
      assert.match(report.irreversible.join(), /the store at .* stays: /);
      assert.deepEqual([...found(t)?.branches ?? []], before);
      assert.ok(!(await t.with((ds) => Promise.resolve(ds.objects.has("made")))));
      assert.deepEqual(await indexed(t), [["made", "probe"]]);
    });
  }
  await test.step("removed", async () => {
    await using t = await probing();
    await create(t);
    const report = await t.with((ds) => ds.undo());
    assert.equal(report.complete, true, report.irreversible.join());
    assert.equal(found(t), undefined);
    assert.deepEqual(await indexed(t), []);
    await t.inside(async (ctx) => assert.deepEqual((await ctx.indexes.touched()).map((e) => e.key), ["a"]));
    await create(t);
  });
  await test.step("a later commit keeps manifest and store", async () => {
    await using t = await probing();
    await create(t);
    const op = (await t.with((ds) => ds.ops())).ops[0]?.id ?? "";
    await t.with((ds) => ds.commit({ message: "one" }));
    await assert.rejects(t.with((ds) => ds.undo({ op })), (e) => e instanceof TetherError && e.code === "not-undoable");
    assert.ok(owner(t));
  });
});
