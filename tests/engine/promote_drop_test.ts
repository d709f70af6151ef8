import { REAL_ENV } from "../../engine/env.ts";
import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { ConfigError, StaleWorkingCopyError, TetherError } from "../../engine/model/errors.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { onBoth } from "../helpers/both.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

/** A dataset whose bookmark `feat` has a commit of its own, with a write to `a`. */
async function onFeature(): Promise<{ t: TempDataset; ref: string; written: string; pin: string }> {
  const t = await tempDataset();
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
  const written = t.write("a", ref).id;
  const report = await t.with((ds) => ds.commit({ message: "second" }));
  return { t, ref, written, pin: report.pinned["a"] ?? "" };
}

Deno.test("[commands 8.3, Δ9] promote fast-forwards every upstream, then the trunk bookmark", async () => {
  const { t, written } = await onFeature();
  await using _ = t;
  const plan = await t.with((ds) => ds.plan.promote());
  assert.deepEqual(plan.actions.map((a) => `${a.op} ${a.key}`), ["fast-forward a"]);
  const before = namedStore().find(t.system("a"))?.head("main").id ?? "";
  const report = await t.with((ds) => ds.promote());
  assert.equal(namedStore().find(t.system("a"))?.head("main").id, written);
  await assert.rejects(t.with((ds) => ds.undo()), (error: unknown) => {
    assert.ok(error instanceof TetherError);
    assert.ok(
      error.message.endsWith(`; before: a snapshot_id=${before}; after: a snapshot_id=${written}`),
      error.message,
    );
    return true;
  });
  assert.equal(await t.repo.git(["rev-parse", "main"]), report.trunkMoved);
  assert.equal(await t.repo.git(["rev-parse", "main"]), await t.repo.git(["rev-parse", "feat"]));
  const again = await t.with((ds) => ds.promote());
  assert.deepEqual(again.fastForwarded, {});
});

Deno.test("[Δ9] the trunk moves even when only manifests changed", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  await t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
  await t.with((ds) => ds.commit({ message: "policy" }));
  const report = await t.with((ds) => ds.promote());
  assert.equal(report.trunkMoved, await t.repo.git(["rev-parse", "feat"]));
});

Deno.test("[commands 5.24] a base that moved is merged; on a conflict it stays, and the rest is held", async (test) => {
  await test.step("disjoint", async () => {
    const { t } = await onFeature();
    await using _ = t;
    t.write("a");
    const report = await t.with((ds) => ds.promote());
    assert.deepEqual(Object.keys(report.merged), ["a"]);
    assert.equal(report.trunkMoved, null);
    await t.with((ds) => ds.commit({ message: "merged" }));
    assert.equal((await t.with((ds) => ds.promote())).trunkMoved, await t.repo.git(["rev-parse", "feat"]));
  });
  await test.step("a conflict", async () => {
    const { t, ref } = await onFeature();
    await using _ = t;
    const other = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["b"] ?? ""));
    t.write("b", other);
    namedStore().write(t.system("a"), { same: 1 }, { branch: ref });
    await t.with((ds) => ds.commit({ message: "third" }));
    const base = namedStore().write(t.system("a"), { same: 2 }, { branch: "main" });
    await assert.rejects(t.with((ds) => ds.promote()), (e) => e instanceof MultiObjectError && e.code === "refused");
    assert.equal(namedStore().find(t.system("a"))?.head("main").id, base.id);
    assert.equal(namedStore().find(t.system("b"))?.head("main").id, `${t.system("b")}:s0`);
  });
  await test.step("--strategy ff refuses, and holds everything", async () => {
    const { t } = await onFeature();
    await using _ = t;
    t.write("a");
    const plan = await t.with((ds) => ds.plan.promote({ strategy: "ff" }));
    assert.deepEqual(plan.actions.map((a) => a.op), ["refuse"]);
    await assert.rejects(t.with((ds) => ds.promote({ strategy: "ff" })), MultiObjectError);
  });
});

Deno.test("[commands 5.24] unpinned writes are refused: what was reviewed lands, nothing else", async () => {
  const { t, ref, written } = await onFeature();
  await using _ = t;
  const plan = await t.with((ds) => ds.plan.promote());
  t.write("a", ref);
  await assert.rejects(t.with((ds) => ds.promote()), MultiObjectError);
  await assert.rejects(t.with((ds) => ds.apply(plan)), TetherError);
  assert.notEqual(namedStore().find(t.system("a"))?.head("main").id, written);
  const landed = await t.with((ds) => ds.promote({ rev: "feat" }));
  assert.deepEqual(Object.keys(landed.fastForwarded), ["a"]);
  assert.equal(namedStore().find(t.system("a"))?.head("main").id, written);
  assert.equal(landed.trunkMoved, null);
});

onBoth(
  "[commands 5.24] a revision lands by itself: what upstream has is skipped, and no branch here moves",
  async (t, test) => {
    await t.addMemory("a");
    await t.with((ds) => ds.commit({ message: "first" }));
    await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
    const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
    const written: string[] = [];
    for (const message of ["second", "third"]) {
      written.push(t.write("a", ref).id);
      await t.with((ds) => ds.commit({ message }));
    }
    const [second, third] = written;
    const [old, newest] = [await t.id("here~1"), await t.id("here")];
    const head = (branch: string) => namedStore().find(t.system("a"))?.head(branch).id;
    await test.step("an older one moves forward", async () => {
      const report = await t.with((ds) => ds.promote({ rev: old }));
      assert.deepEqual([Object.keys(report.fastForwarded), head("main"), head(ref)], [["a"], second, third]);
    });
    for (const strategy of ["auto", "ff", "merge"] as const) {
      await test.step(`what upstream has, ${strategy}`, async () => {
        const upstream = t.write("a").id;
        const plan = await t.with((ds) => ds.plan.promote({ rev: old, strategy }));
        assert.ok(plan.isEmpty);
        const report = await t.with((ds) => ds.promote({ rev: old, strategy }));
        assert.deepEqual([report.skipped, report.merged, report.refused, report.keptForks], [["a"], {}, {}, {}]);
        assert.deepEqual([report.hints, head("main"), head(ref)], [[], upstream, third]);
        assert.match(report.notes.join(), /upstream has it already/);
      });
    }
    await test.step("what upstream lacks is merged, and the branch stays", async () => {
      const fork = await t.with((ds) => Promise.resolve(ds.workspace.forkPoints["a"]));
      const report = await t.with((ds) => ds.promote({ rev: newest }));
      assert.deepEqual([Object.keys(report.merged), report.keptForks, report.hints], [["a"], {}, []]);
      assert.equal(head(ref), third);
      assert.deepEqual(await t.with((ds) => Promise.resolve(ds.workspace.forkPoints["a"])), fork);
      assert.equal((await t.with((ds) => ds.status())).objects[0]?.state, "clean");
    });
  },
);

onBoth(
  "[Δ9, commands 5.24] a trunk that stays says so beforehand, and the commands it names let it follow",
  async (t, test) => {
    await t.addMemory("a");
    await t.with((ds) => ds.commit({ message: "first" }));
    const feature = async (name: string): Promise<{ ref: string; commit: string | null }> => {
      await t.with((ds) => ds.new({ bookmark: name, eager: true }));
      const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
      t.write("a", ref);
      return { ref, commit: (await t.with((ds) => ds.commit({ message: name }))).vcsCommit };
    };
    await test.step("a branch that is not made yet", async () => {
      const { ref, commit } = await feature("deferred");
      await t.with((ds) => ds.new({ rev: "main" }));
      namedStore().find(t.system("a"))?.branches.delete(ref);
      await t.with((ds) => ds.new({ rev: "deferred" }));
      const plan = await t.with((ds) => ds.plan.promote());
      assert.match(
        plan.notes.join(),
        /the trunk stays: a moved here and has no branch .*: tether open -- a, then tether promote/,
      );
      const report = await t.with((ds) => ds.promote());
      assert.deepEqual([report.trunkMoved, report.hints], [null, ["tether open -- a", "tether promote"]]);
      assert.deepEqual(report.skipped, ["a"], "the note on the trunk is no key");
      await t.with((ds) => ds.open("a"));
      assert.equal((await t.with((ds) => ds.promote())).trunkMoved, commit);
    });
    await test.step("another checkout is on the trunk", async () => {
      const other = await t.checkout("aside");
      await t.vcs(t.kind === "git" ? ["switch", "-q", "main"] : ["new", "main"], { cwd: other });
      const { commit } = await feature("elsewhere");
      const plan = await t.with((ds) => ds.plan.promote());
      const report = await t.with((ds) => ds.promote());
      if (t.kind === "git") {
        assert.match(plan.notes.join(), /the trunk stays: the checkout at ".*" is on it: git -C/);
        assert.match(report.trunkHeld ?? "", /is on it/);
        assert.deepEqual(report.hints, [`git -C ${other} merge --ff-only -- elsewhere`]);
        const [, , cwd = "", ...args] = report.hints[0]?.split(" ") ?? [];
        await t.vcs(args, { cwd });
      } else assert.deepEqual([plan.notes, report.trunkMoved], [[], commit], "jj moves it all the same");
      assert.equal(
        await t.vcs(t.kind === "git" ? ["rev-parse", "main"] : ["log", "--no-graph", "-r", "main", "-T", "commit_id"]),
        commit,
      );
      assert.equal((await t.with((ds) => ds.promote())).trunkHeld, null);
    });
  },
);

Deno.test("[commands 8.4] drop: the plan first, then commits, bookmark, pins and branches", async () => {
  const { t, ref, pin } = await onFeature();
  await using _ = t;
  const plan = await t.with((ds) => ds.drop("feat"));
  assert.deepEqual(plan.actions.map((a) => a.op), [
    "leave-bookmark",
    "abandon-commit",
    "delete-bookmark",
    "unpin",
    "delete-branch",
    "delete-branch",
  ]);
  const gone = plan.actions.find((a) => a.op === "delete-branch" && a.target === ref);
  assert.match(gone?.detail ?? "", /; what the commits recorded of it is given up$/, "its pin goes in the same plan");
  assert.ok(namedStore().find(t.system("a"))?.branches.has(ref));
  const report = await t.with((ds) => ds.drop("feat", { dryRun: false }));
  assert.equal(report.leftFor, "main");
  assert.equal(await t.repo.git(["branch", "--format=%(refname:short)"]), "main");
  assert.deepEqual([...namedStore().find(t.system("a"))?.branches.keys() ?? []], ["main"]);
  assert.ok(!namedStore().find(t.system("a"))?.tags.has(pin));
  assert.deepEqual((await t.with((ds) => ds.status())).vcsDrift, []);
  await assert.rejects(t.with((ds) => ds.undo()), (e) => e instanceof TetherError && e.code === "not-undoable");
  const [gc, left] = (await t.with((ds) => ds.ops())).ops;
  assert.ok(gc?.parent !== null && left?.parent !== null);
});

Deno.test("[L05] a recorded state that loses its last holder stops drop unless forced", async () => {
  await using t = await tempDataset();
  await t.with((ds) =>
    ds.add({ key: "a", kind: "memory", locator: { system: t.system("a") }, policy: { pin: "record" } })
  );
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
  t.write("a", ref);
  await t.with((ds) => ds.commit({ message: "second" }));
  assert.match((await t.with((ds) => ds.drop("feat"))).notes.join(), /loses its last holder/);
  await assert.rejects(
    t.with((ds) => ds.drop("feat", { dryRun: false })),
    (e) => e instanceof TetherError && e.code === "last-holder",
  );
  assert.equal(await t.repo.git(["branch", "--show-current"]), "feat");
  await t.with((ds) => ds.drop("feat", { dryRun: false, forcePrune: true }));
  assert.ok(!namedStore().find(t.system("a"))?.branches.has(ref));
});

Deno.test("[commands 5.22] what drop refuses, and unpinned writes that it keeps", async (test) => {
  const { t, ref } = await onFeature();
  await using _ = t;
  for (const name of ["main", "nosuch", " "]) {
    await test.step(JSON.stringify(name), async () => {
      await assert.rejects(t.with((ds) => ds.drop(name)), ConfigError);
    });
  }
  await test.step("a bookmark another checkout holds", async () => {
    const other = await t.repo.worktree("held");
    await t.with((ds) => ds.new(), { at: other });
    await assert.rejects(t.with((ds) => ds.drop("held")), StaleWorkingCopyError);
  });
  await test.step("unpinned writes stay", async () => {
    t.write("a", ref);
    const report = await t.with((ds) => ds.drop("feat", { dryRun: false }));
    assert.deepEqual(report.gc?.keptWorkingRefs, { a: [ref] });
    assert.ok(namedStore().find(t.system("a"))?.branches.has(ref));
  });
});

Deno.test("[commands 5.24] what is cached of a branch that did not follow a merge is not what was merged", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? assert.fail()));
  t.write("a", ref);
  await t.with((ds) => ds.commit({ message: "on x" }));
  t.write("a");
  const env = { ...REAL_ENV, boundary: (step: string) => void (step === "merge a" && t.write("a", ref)) };
  const report = await t.with((ds) => ds.promote(), { env });
  assert.deepEqual([Object.keys(report.merged), Object.keys(report.keptForks)], [["a"], ["a"]]);
  assert.equal(await t.with((ds) => Promise.resolve(ds.workspace.lastSnapshot["a"])), undefined);
});

Deno.test("[L18] drop says what is in progress before it looks at anything else, as does a saved plan", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  for (const message of ["first", "second"]) {
    t.write("a");
    await t.with((ds) => ds.commit({ message }));
  }
  await t.with((ds) => ds.new({ bookmark: "x" }));
  await t.with((ds) => ds.new({ rev: "main" }));
  const plan = await t.with((ds) => ds.plan.drop({ bookmark: "x" }));
  await t.repo.git(["bisect", "start", "HEAD", "HEAD~1"]);
  const inTheWay = (error: unknown): boolean => error instanceof TetherError && error.hints[0] === "git bisect reset";
  await assert.rejects(t.with((ds) => ds.drop("x", { dryRun: false })), inTheWay);
  await t.repo.git(["switch", "-q", "main"]);
  await assert.rejects(t.with((ds) => ds.checkPlan(plan)), inTheWay);
  await assert.rejects(t.with((ds) => ds.apply(plan)), inTheWay);
  await t.repo.git(["bisect", "reset"]);
  await t.with((ds) => ds.apply(plan));
});
