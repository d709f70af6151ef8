import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import type { Dataset } from "../../engine/dataset.ts";
import { REAL_ENV } from "../../engine/env.ts";
import { StalePlanError } from "../../engine/model/errors.ts";
import type { Plan } from "../../engine/plan/plan.ts";
import type { GcReport } from "../../engine/reports/releasing.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

const REQUEST = { pruneBookmarks: true } as const;

/** A clone whose plan releases a pin and a branch, and another clone of the same dataset. */
interface Two {
  readonly t: TempDataset;
  readonly plan: Plan;
  readonly pin: string;
  readonly ref: string;
  /** The other clone commits on its bookmark `x` what this one threw away: pin and branch are there again, and its. */
  again(): Promise<void>;
  refs(): { readonly pin: boolean; readonly branch: boolean };
}

async function twoClones(t: TempDataset): Promise<Two> {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const other = `${t.repo.outer}/clone`;
  await t.repo.git(["clone", "-q", t.repo.path, other]);
  await t.repo.git(["switch", "-q", "-c", "x"], { cwd: other });
  await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? assert.fail()));
  t.write("a", ref);
  const { pinned } = await t.with((ds) => ds.commit({ message: "on x" }));
  const pin = pinned["a"] ?? assert.fail();
  await t.with((ds) => ds.new({ rev: "main" }));
  await t.repo.git(["branch", "-q", "-D", "x"]);
  const system = namedStore().find(t.system("a")) ?? assert.fail();
  const at = system.head(ref).id;
  // Upstream is there too, so the branch goes by the same plan as the pin.
  system.branches.set("main", at);
  const plan = await t.with((ds) => ds.plan.gc(REQUEST));
  assert.deepEqual(plan.writes.map((a) => [a.op, a.target]), [["unpin", pin], ["delete-branch", ref]]);
  return {
    t,
    plan,
    pin,
    ref,
    async again() {
      system.branches.set(ref, at);
      await t.with((ds) => ds.new({ shared: true }), { at: other });
      const made = await t.with((ds) => ds.commit({ message: "on x too" }), { at: other });
      assert.equal(made.pinned["a"], pin);
    },
    refs: () => ({ pin: system.tags.has(pin), branch: system.branches.has(ref) }),
  };
}

/** What released the pin and the branch before another clone made them again. */
const RELEASES: Readonly<Record<string, (two: Two) => Promise<unknown>>> = {
  "the plan itself": ({ t, plan }) => t.with((ds) => ds.apply(plan)),
  "another gc": ({ t }) => t.with((ds) => ds.gc({ ...REQUEST, dryRun: false })),
  "the plan itself, killed right before it was done": ({ t, plan }) => killed(t, plan, "done"),
};

async function killed(t: TempDataset, plan: Plan, at: string): Promise<void> {
  const boundary = (step: string): void => {
    if (step === at) throw new Error("killed");
  };
  await assert.rejects(t.with((ds) => ds.apply(plan), { env: { ...REAL_ENV, boundary } }), /killed/);
}

Deno.test("[L43, commands 3.2] a gc plan releases nothing that another clone made again since it was planned", async (test) => {
  for (const [what, release] of Object.entries(RELEASES)) {
    await test.step(what, async () => {
      await using t = await tempDataset();
      const two = await twoClones(t);
      await release(two);
      assert.deepEqual(two.refs(), { pin: false, branch: false });
      await two.again();
      for (const attempt of [(ds: Dataset) => ds.checkPlan(two.plan), (ds: Dataset) => ds.apply(two.plan)]) {
        if (what.includes("killed")) await t.with<unknown>(attempt).catch(() => {});
        else await assert.rejects(t.with<unknown>(attempt), StalePlanError);
      }
      assert.deepEqual(two.refs(), { pin: true, branch: true });
    });
  }
});

async function applied(t: TempDataset, plan: Plan): Promise<GcReport> {
  return await t.with((ds) => ds.apply(plan)) as GcReport;
}

Deno.test("[L37, commands 3.2] a gc plan applies once; one that was killed goes on, and counts what it did itself", async (test) => {
  await test.step("applied twice", async () => {
    await using t = await tempDataset();
    const { plan, pin, ref } = await twoClones(t);
    const report = await applied(t, plan);
    assert.deepEqual(report.unpinned, { memory: [pin.replace("tether.", "")] });
    assert.deepEqual(report.deletedWorkingRefs, { a: [ref] });
    for (const attempt of [(ds: Dataset) => ds.checkPlan(plan), (ds: Dataset) => ds.apply(plan)]) {
      await assert.rejects(t.with<unknown>(attempt), (e) => e instanceof StalePlanError && /already/.test(e.message));
    }
  });
  await test.step("what is gone already is not counted, and no longer this clone's", async () => {
    await using t = await tempDataset();
    const { plan, pin, ref } = await twoClones(t);
    const system = namedStore().find(t.system("a")) ?? assert.fail();
    system.tags.delete(pin);
    system.branches.delete(ref);
    const report = await applied(t, plan);
    assert.deepEqual([report.unpinned, report.deletedWorkingRefs], [{}, {}]);
    assert.ok(!(await t.inside((ctx) => ctx.indexes.pinned())).has(pin.replace("tether.", "")));
  });
  for (const at of ["journal", "released", "unpin"]) {
    await test.step(`killed at "${at}"`, async () => {
      await using t = await tempDataset();
      const { plan, pin, refs } = await twoClones(t);
      await killed(t, plan, { released: `released ${pin}`, unpin: `unpin ${pin}` }[at] ?? at);
      const report = await applied(t, plan);
      assert.deepEqual(report.unpinned, at === "journal" ? { memory: [pin.replace("tether.", "")] } : {});
      assert.deepEqual(refs(), { pin: false, branch: false });
      assert.ok(!(await t.inside((ctx) => ctx.indexes.pinned())).has(pin.replace("tether.", "")));
    });
  }
});
