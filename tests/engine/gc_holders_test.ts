import assert from "node:assert/strict";
import { type MemorySystem, namedStore } from "../../backends/memory/store.ts";
import type { Dataset } from "../../engine/dataset.ts";
import { REAL_ENV } from "../../engine/env.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { StalePlanError } from "../../engine/model/errors.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";

/** The branch of a bookmark `x`, at a state that a commit of bookmark `keep` has pinned too. */
class Stray {
  readonly t: BothDataset;
  readonly system: MemorySystem;
  readonly ref: string;
  readonly pin: string;
  readonly commit: string;
  readonly #refs: readonly [ReadonlyMap<string, string>, ReadonlyMap<string, string>];

  private constructor(t: BothDataset, made: { ref: string; pin: string; commit: string }) {
    this.t = t;
    this.system = namedStore().find(t.system("a")) ?? assert.fail();
    this.ref = made.ref;
    this.pin = made.pin;
    this.commit = made.commit;
    this.#refs = [new Map(this.system.tags), new Map(this.system.branches)];
  }

  static async make(t: BothDataset): Promise<Stray> {
    await t.addMemory("a");
    await t.with((ds) => ds.commit({ message: "first" }));
    await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
    const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? assert.fail()));
    t.write("a", ref);
    const { pinned } = await t.with((ds) => ds.commit({ message: "on x" }));
    const commit = await t.id("here");
    await t.bookmark("keep", commit);
    await t.with((ds) => ds.new({ rev: "main" }));
    await t.deleteBookmark("x");
    return new Stray(t, { ref, pin: pinned["a"] ?? assert.fail(), commit });
  }

  /** Puts the store's refs back to what they were at first. */
  restore(): void {
    const [tags, branches] = this.#refs;
    for (const [now, then] of [[this.system.tags, tags], [this.system.branches, branches]] as const) {
      now.clear();
      for (const [name, at] of then) now.set(name, at);
    }
  }

  /** Makes the branch one that nothing was written to. */
  empty(): void {
    this.t.write("a");
    this.system.branches.set(this.ref, this.system.head("main").id);
  }
}

/** What may become of a pin, and the verdict on a branch that it held. */
const FATES: Readonly<Record<string, { readonly verdict: string; readonly befall: (stray: Stray) => void }>> = {
  "is there": { verdict: "delete-branch", befall: () => {} },
  "is gone": { verdict: "keep-branch", befall: ({ system, pin }) => void system.tags.delete(pin) },
  "is elsewhere": {
    verdict: "keep-branch",
    befall: ({ system, pin }) => void system.tags.set(pin, system.head("main").id),
  },
};

onBoth(
  "[L05, L10, commands 5.23] a branch goes only while the pin that a commit names for its head is at it",
  async (t, test) => {
    const stray = await Stray.make(t);
    const judging: Readonly<Record<string, (ds: Dataset) => ReturnType<Dataset["plan"]["gc"]>>> = {
      gc: (ds) => ds.plan.gc({ pruneBookmarks: true }),
      drop: (ds) => ds.plan.drop({ bookmark: "x" }),
    };
    for (const [command, judge] of Object.entries(judging)) {
      if (command === "drop") await t.bookmark("x", stray.commit);
      for (const [fate, { verdict, befall }] of Object.entries(FATES)) {
        await test.step(`${command}, when it ${fate}`, async () => {
          stray.restore();
          befall(stray);
          const { actions } = await t.with(judge);
          assert.deepEqual(actions.filter((a) => a.target === stray.ref).map((a) => a.op), [verdict]);
        });
      }
    }
  },
);

/** What makes a branch that was to go the only holder of its head. */
const LOSSES: Readonly<Record<string, { readonly empty?: true; readonly befall: (stray: Stray) => void }>> = {
  "its pin is gone": { befall: (stray) => FATES["is gone"]?.befall(stray) },
  "its pin is elsewhere": { befall: (stray) => FATES["is elsewhere"]?.befall(stray) },
  "the base it was equal to moved": { empty: true, befall: ({ t }) => void t.write("a") },
};

onBoth("[L43, commands 3.2, 5.23] a branch to delete must be dispensable still when it goes", async (t, test) => {
  const stray = await Stray.make(t);
  for (const [loss, { empty, befall }] of Object.entries(LOSSES)) {
    await test.step(`a saved plan is stale once ${loss}`, async () => {
      stray.restore();
      if (empty) stray.empty();
      const plan = await t.with((ds) => ds.plan.gc({ pruneBookmarks: true }));
      assert.deepEqual(plan.writes.map((a) => [a.op, a.target]), [["delete-branch", stray.ref]]);
      await t.with((ds) => ds.checkPlan(plan));
      befall(stray);
      for (const attempt of [(ds: Dataset) => ds.checkPlan(plan), (ds: Dataset) => ds.apply(plan)]) {
        await assert.rejects(
          t.with<unknown>(attempt),
          (e) => e instanceof StalePlanError && e.message.includes("is the only one that holds"),
        );
      }
      assert.ok(stray.system.branches.has(stray.ref));
    });
    await test.step(`it is kept and reported when, while gc runs, ${loss}`, async () => {
      stray.restore();
      if (empty) stray.empty();
      const boundary = (step: string) => void (step === "journal" && befall(stray));
      const running = t.with((ds) => ds.gc({ dryRun: false, pruneBookmarks: true }), {
        env: { ...REAL_ENV, boundary },
      });
      await assert.rejects(running, (e) => {
        assert.ok(e instanceof MultiObjectError && e.message.includes("is the only one that holds"));
        assert.deepEqual((e.report as { keptWorkingRefs: unknown }).keptWorkingRefs, { a: [stray.ref] });
        return true;
      });
      assert.ok(stray.system.branches.has(stray.ref));
    });
  }
});
