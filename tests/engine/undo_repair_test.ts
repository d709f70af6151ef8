import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { parsePinRef } from "../../engine/model/names.ts";
import { scene } from "../fault/_scene.ts";
import type { RepairReport } from "../../engine/reports/releasing.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

async function committed(): Promise<TempDataset> {
  const t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  return t;
}

/** A git repository with one commit. */
async function store(path: string): Promise<{ readonly path: string }> {
  for (const args of [["init", "-q", "-b", "main", path], ["-C", path, "commit", "-q", "--allow-empty", "-m", "one"]]) {
    const { success } = await new Deno.Command("git", { args }).output();
    assert.ok(success);
  }
  return { path };
}

function branches(t: TempDataset): string[] {
  return [...namedStore().find(t.system("a"))?.branches.keys() ?? []];
}

Deno.test("[commands 5.16, Δ15] undo of a commit makes its manifests edits, stages nothing and keeps its pins", async () => {
  await using t = await committed();
  t.write("a");
  const second = await t.with((ds) => ds.commit({ message: "second" }));
  const manifest = await t.read(".tether/objects/a.toml");
  const report = await t.with((ds) => ds.undo());
  assert.equal(report.command, "commit");
  assert.equal(await t.repo.git(["log", "--format=%s"]), "first");
  assert.equal(await t.read(".tether/objects/a.toml"), manifest);
  assert.equal(await t.repo.git(["diff", "--cached", "--name-only"]), "");
  assert.ok(namedStore().find(t.system("a"))?.tags.has(second.pinned["a"] ?? ""));
  assert.deepEqual((await t.with((ds) => ds.status())).vcsDrift, []);
  assert.ok((await t.with((ds) => ds.commit({ message: "again" }))).vcsCommit);
});

Deno.test("[commands 5.16] undo of add, remove and set puts the manifests back", async () => {
  await using t = await committed();
  const before = await t.read(".tether/objects/a.toml");
  await t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
  await t.with((ds) => ds.undo());
  assert.equal(await t.read(".tether/objects/a.toml"), before);
  await t.with((ds) => ds.remove("a"));
  await t.with((ds) => ds.undo());
  assert.equal(await t.read(".tether/objects/a.toml"), before);
  await t.addMemory("b");
  assert.deepEqual((await t.with((ds) => ds.undo())).restored, ['"b" is not registered any more']);
  assert.deepEqual(await t.with((ds) => Promise.resolve([...ds.objects.keys()])), ["a"]);
});

Deno.test("[commands 8.9, L43] undo of new deletes the branches it made, its bookmark, and goes back", async (test) => {
  await test.step("eager", async () => {
    await using t = await committed();
    const workspace = await t.with((ds) => Promise.resolve(ds.workspace));
    await t.with((ds) => ds.new({ bookmark: "oops", eager: true }));
    const report = await t.with((ds) => ds.undo());
    assert.deepEqual(report.irreversible, []);
    assert.deepEqual(branches(t), ["main"]);
    assert.equal(await t.repo.git(["branch", "--format=%(refname:short)"]), "main");
    assert.deepEqual(await t.with((ds) => Promise.resolve(ds.workspace)), workspace);
  });
  await test.step("a branch with later writes stays, unless they are thrown away", async () => {
    await using t = await committed();
    await t.with((ds) => ds.new({ bookmark: "oops", eager: true }));
    const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
    t.write("a", ref);
    await assert.rejects(t.with((ds) => ds.undo()), TetherError);
    assert.ok(branches(t).includes(ref));
    assert.equal(await t.repo.git(["branch", "--show-current"]), "oops");
    await t.with((ds) => ds.undo({ discard: true }));
    assert.deepEqual(branches(t), ["main"]);
  });
  await test.step("a lazy fork", async () => {
    await using t = await committed();
    await t.with((ds) => ds.new({ bookmark: "lazy" }));
    await t.with((ds) => ds.open("a"));
    assert.equal((await t.with((ds) => ds.undo())).command, "fork");
    assert.deepEqual(branches(t), ["main"]);
    assert.ok("a" in await t.with((ds) => Promise.resolve(ds.workspace.pendingForks)));
  });
  await test.step("what a restore reset is irreversible, and says where the branch was", async () => {
    await using t = await committed();
    await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
    const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
    t.write("a", ref);
    await t.with((ds) => ds.commit({ message: "second" }));
    await t.with((ds) => ds.restore(["a"], { from: "HEAD~1" }));
    await assert.rejects(t.with((ds) => ds.undo()), /was reset; it was at/);
  });
  await test.step("in full, with the command that puts it back", async () => {
    await using t = await committed();
    const { path } = await store(`${t.repo.outer}/code`);
    await t.with((ds) => ds.add({ key: "code", kind: "git", locator: { path } }));
    await t.with((ds) => ds.commit({ message: "both" }));
    await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
    const refs = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs));
    const head = { a: t.write("a", refs["a"] ?? "").id, code: "" };
    await t.repo.git(["-C", path, "commit", "-q", "--allow-empty", "-m", "two"]);
    await t.repo.git(["-C", path, "branch", "-f", refs["code"] ?? "", "HEAD"]);
    head.code = await t.repo.git(["-C", path, "rev-parse", "HEAD"]);
    await t.with((ds) => ds.commit({ message: "second" }));
    await t.with((ds) => ds.restore(["a", "code"], { from: "HEAD~1" }));
    const error = await t.with((ds) => ds.undo()).catch((e) => e);
    assert.ok(error instanceof TetherError);
    for (const [key, id] of Object.entries(head)) {
      assert.ok(error.message.includes(`=${id}`), "the whole state");
      assert.doesNotMatch(error.message, /[{}]/);
      const [, at = ""] = new RegExp(`^tether restore --at (\\S+) -- ${key}$`, "m").exec(error.hints.join("\n")) ?? [];
      await t.with((ds) => ds.restore([key], { at }));
    }
    assert.equal(namedStore().find(t.system("a"))?.head(refs["a"] ?? "").id, head.a);
    assert.equal(await t.repo.git(["-C", path, "rev-parse", refs["code"] ?? ""]), head.code);
  });
});

Deno.test("[commands 5.16, 5.24] the branch that a restore reset stays, and so does what it builds on: promote cannot take main back", async () => {
  await using t = await committed();
  t.write("a");
  await t.with((ds) => ds.commit({ message: "upstream" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const point = (): Promise<unknown> => t.with((ds) => Promise.resolve(ds.workspace.forkPoints["a"]));
  const forked = await point();
  await t.with((ds) => ds.restore(["a"], { from: "HEAD~1" }));
  const restored = await point();
  assert.notDeepEqual(restored, forked);
  await assert.rejects(t.with((ds) => ds.undo()), /was reset; it was at/);
  assert.deepEqual(await point(), restored);
});

Deno.test("[commands 5.16, L37] undo never looks past what it cannot take back", async (test) => {
  await using t = await committed();
  await test.step("an operation that never finished", async () => {
    await t.inside((ctx) => ctx.journal.start({ command: "commit" }));
    await assert.rejects(t.with((ds) => ds.undo()), (e) => e instanceof TetherError && e.code === "incomplete");
    await t.inside(async (ctx) => {
      const open = (await ctx.journal.read()).find((e) => e.status === "started");
      await ctx.journal.close(open?.id ?? "", { failed: "killed", rolled_back: true });
    });
  });
  await test.step("an unknown, blank or undone id", async () => {
    for (const op of ["zzz", " "]) await assert.rejects(t.with((ds) => ds.undo({ op })), TetherError);
    await t.addMemory("b");
    const { undone } = await t.with((ds) => ds.undo());
    await assert.rejects(
      t.with((ds) => ds.undo({ op: undone })),
      (e) => e instanceof TetherError && e.code === "undone",
    );
  });
});

Deno.test("[L44, commands 8.9] repair makes a missing pin and branch again, and never moves what drifted", async (test) => {
  await test.step("a pin", async () => {
    await using t = await committed();
    const tags = namedStore().find(t.system("a"))?.tags;
    const [ref = ""] = [...tags?.keys() ?? []];
    tags?.delete(ref);
    assert.equal((await t.with(async (ds) => await ds.verify())).ok, false);
    const report = await t.with((ds) => ds.repair());
    assert.deepEqual(report.pinRefs, { a: ref });
    assert.deepEqual(report.repinned, { a: parsePinRef(ref)?.id });
    assert.equal((await t.with(async (ds) => await ds.verify())).ok, true);
  });
  await test.step("pins of history, once each", async () => {
    await using t = await committed();
    t.write("a");
    await t.with((ds) => ds.commit({ message: "second" }));
    namedStore().find(t.system("a"))?.tags.clear();
    assert.deepEqual((await t.with((ds) => ds.plan.repair())).actions.length, 1);
    const report = await t.with((ds) => ds.repair({ allHistory: true }));
    assert.equal(Object.keys(report.repinned).length, 2);
    assert.equal((await t.with(async (ds) => await ds.verify({ allHistory: true }))).ok, true);
  });
  await test.step("a branch", async () => {
    await using t = await committed();
    await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
    const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
    namedStore().find(t.system("a"))?.branches.delete(ref);
    assert.deepEqual((await t.with((ds) => ds.repair())).reforked, { a: ref });
    assert.ok(branches(t).includes(ref));
  });
  await test.step("a moved pin, and a state that is gone", async () => {
    await using t = await committed();
    const system = namedStore().find(t.system("a"));
    const [ref = ""] = [...system?.tags.keys() ?? []];
    const moved = t.write("a");
    system?.tags.set(ref, moved.id);
    assert.match((await t.with((ds) => ds.repair())).notes.join(), /drifted, left alone/);
    assert.equal(system?.tags.get(ref), moved.id);
    system?.tags.delete(ref);
    system?.snapshots.delete(`${t.system("a")}:s0`);
    const report = await t.with((ds) => ds.repair());
    assert.equal(report.complete, false);
  });
});

Deno.test("[Δ31] undo of a restore deletes the sibling branch that it made, and writes go on where they were", async () => {
  await using s = await scene(["feat"]);
  await s.with((ds) => ds.new({ bookmark: "x", eager: true }));
  await s.write();
  // The pin of this commit holds the branch, so that going back makes another (formats 3).
  await s.with((ds) => ds.commit({ message: "second" }));
  const before = await s.refs();
  const restored = await s.with((ds) => ds.restore(["feat"], { from: "main" }));
  const sibling = restored.workingRefs["feat"] ?? "";
  assert.match(sibling, /\.x\.2$/);
  assert.ok((await s.refs()).includes(`feat ${sibling}`));
  const report = await s.with((ds) => ds.undo());
  assert.deepEqual([report.command, report.irreversible], ["restore", []]);
  assert.deepEqual(await s.refs(), before);
  assert.equal((await s.with((ds) => Promise.resolve(ds.workspace.workingRefs["feat"])))?.endsWith(".x"), true);
});

/** Ways an operation ends of which nothing is left, after a commit; each returns why it is nothing. */
const NOTHING_LEFT: Readonly<Record<string, (t: BothDataset) => Promise<RegExp>>> = {
  async "a promote of which nothing landed"(t) {
    namedStore().write(t.system("a"), { same: 1 }, { branch: "main" });
    await assert.rejects(t.with((ds) => ds.promote()), MultiObjectError);
    return /\(promote\): nothing landed$/;
  },
  async "a commit that could not pin"(t) {
    const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
    t.write("a", ref);
    const plan = await t.with((ds) => ds.plan.commit({ message: "third" }));
    const system = namedStore().find(t.system("a"));
    const other = system?.append({ parents: [], payload: {}, message: "other", when: new Date() }).id ?? "";
    system?.tags.set(plan.actions.find((a) => a.key === "a")?.target ?? "", other);
    await assert.rejects(t.with((ds) => ds.commit({ message: "third" })), MultiObjectError);
    return /\(commit\): it failed and was taken back$/;
  },
  async "both, one after the other"(t) {
    await NOTHING_LEFT["a promote of which nothing landed"]?.(t);
    return await NOTHING_LEFT["a commit that could not pin"]?.(t) ?? /never/;
  },
};

onBoth("[commands 5.16] undo of what left nothing says so and names what came before it", async (t, test) => {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
  for (const [name, fail] of Object.entries(NOTHING_LEFT)) {
    await test.step(name, async () => {
      namedStore().write(t.system("a"), { same: 2 }, { branch: ref });
      t.write("a", ref);
      const { vcsCommit } = await t.with((ds) => ds.commit({ message: "second" }));
      const [commit] = (await t.with((ds) => ds.ops())).ops;
      const why = await fail(t);
      const error = await t.with((ds) => ds.undo()).catch((e) => e);
      assert.ok(error instanceof TetherError && why.test(error.message), String(error));
      assert.deepEqual(error.hints, [`tether undo ${commit?.id}`]);
      assert.equal(await t.id("here"), vcsCommit, "nobody asked for that one");
      assert.equal((await t.with((ds) => ds.undo({ op: commit?.id ?? "" }))).command, "commit");
    });
  }
});

Deno.test("[commands 5.17] what repair could not tell is not repaired: it fails, in the answer and in a saved plan's", async (test) => {
  const troubles: Readonly<Record<string, (t: TempDataset) => Promise<void>>> = {
    "a manifest with conflict markers": (t) =>
      Deno.writeTextFile(`${t.root}/.tether/objects/a.toml`, "<<<<<<< here\n=======\n>>>>>>> there\n"),
    "a manifest that is no TOML": (t) => Deno.writeTextFile(`${t.root}/.tether/objects/a.toml`, "= 1"),
    "a store that is not there": (t) => Deno.rename(`${t.repo.outer}/code`, `${t.repo.outer}/away`),
  };
  for (const [name, trouble] of Object.entries(troubles)) {
    await test.step(name, async () => {
      await using t = await tempDataset();
      const locator = await store(`${t.repo.outer}/code`);
      await t.with((ds) => ds.add({ key: "a", kind: "git", locator: { ...locator } }));
      await t.addMemory("b");
      await t.with((ds) => ds.commit({ message: "first" }));
      assert.deepEqual((await t.with((ds) => ds.repair())).notes, ["nothing to repair"]);
      namedStore().find(t.system("b"))?.tags.clear();
      await trouble(t);
      const plan = await t.with((ds) => ds.plan.repair());
      assert.match(plan.notes.join(), /^a: left alone: /);
      const first = await t.with((ds) => ds.apply(plan)) as RepairReport;
      const again = await t.with((ds) => ds.repair());
      for (const report of [first, again]) {
        assert.deepEqual([Object.keys(report.failed), report.complete, report.notes], [["a"], false, []]);
      }
      assert.deepEqual([Object.keys(first.repinned), again.repinned], [["b"], {}], "the rest is repaired");
      assert.ok((await t.with((ds) => ds.repair({ keys: ["b"] }))).complete, "only what was asked for");
    });
  }
});
