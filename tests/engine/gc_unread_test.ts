import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { dropLines } from "../../cli/drop.ts";
import { gcLines } from "../../cli/gc.ts";
import type { Dataset } from "../../engine/dataset.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import type { DropReport, GcReport } from "../../engine/reports/releasing.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";
import { plainGit } from "../helpers/repo.ts";
import { faults, mendAll, registerFlaky } from "../helpers/flaky_memory.ts";

registerFlaky();

/** A dataset on the trunk, with an object `a` whose store answers, and `b` whose store does not; and a bookmark `x`. */
async function halfAway(t: BothDataset): Promise<void> {
  await t.addMemory("a");
  await t.with((ds) => ds.add({ key: "b", kind: "flaky", locator: { system: t.system("b") } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
  for (const key of ["a", "b"]) {
    t.write(key, await t.with((ds) => Promise.resolve(ds.workspace.workingRefs[key] ?? assert.fail())));
  }
  await t.with((ds) => ds.commit({ message: "on x" }));
  await t.with((ds) => ds.new({ rev: "main" }));
  faults.unlistable = true;
}

const PINS = /^list-pins .* \(b\)$/;
const BRANCHES = /^list-branches .* \(b\)$/;

/** What is applied, and what it says. */
interface Case {
  readonly run: (ds: Dataset) => Promise<unknown>;
  readonly failed: readonly RegExp[];
  /** `partial` when something was done all the same. */
  readonly code: string;
}

const CASES: Readonly<Record<string, Case>> = {
  gc: { run: (ds) => ds.gc({ dryRun: false }), failed: [PINS], code: "multi-object" },
  "gc from a plan": { run: async (ds) => await ds.apply(await ds.plan.gc()), failed: [PINS], code: "multi-object" },
  "gc --prune-bookmarks": {
    run: (ds) => ds.gc({ dryRun: false, pruneBookmarks: true }),
    failed: [PINS],
    code: "multi-object",
  },
  drop: { run: (ds) => ds.drop("x", { dryRun: false }), failed: [BRANCHES, PINS], code: "partial" },
};

onBoth("[L10, commands 5.22, 5.23] a store that did not answer is a failure of what was applied", async (t, test) => {
  try {
    await halfAway(t);
    for (const [what, { run, failed, code }] of Object.entries(CASES)) {
      await test.step(what, async () => {
        await assert.rejects(t.with(run), (e) => {
          assert.ok(e instanceof MultiObjectError && e.code === code, String(e));
          const report = what === "drop" ? (e.report as DropReport).gc : e.report as GcReport;
          assert.ok(report !== null);
          const names = Object.keys(report.failed).sort();
          assert.equal(names.length, failed.length);
          failed.forEach((pattern, i) => assert.match(names[i] ?? "", pattern));
          assert.ok(report.notes.some((n) => n.startsWith("b: its pins are not known")));
          assert.ok(gcLines(report).some((line) => line.to === "err" && line.text.startsWith("FAILED list-pins")));
          return true;
        });
      });
    }
    await test.step("nothing of that store was released, and it is when it answers", async () => {
      mendAll();
      const { unpinned } = await t.with((ds) => ds.gc({ dryRun: false, pruneBookmarks: true }));
      assert.equal(unpinned["flaky"]?.length, 1);
    });
    await test.step("drop of a bookmark that has nothing to do with it says so and is done", async () => {
      await t.with((ds) => ds.remove("b"));
      await t.with((ds) => ds.commit({ message: "without b" }));
      await t.with((ds) => ds.new({ bookmark: "y", eager: true }));
      await t.with((ds) => ds.new({ rev: "main" }));
      faults.unlistable = true;
      const { gc } = await t.with((ds) => ds.drop("y", { dryRun: false }));
      assert.deepEqual(gc?.failed, {});
      assert.ok(gc?.notes.some((n) => n.startsWith("b: its pins are not known")));
    });
  } finally {
    mendAll();
  }
});

onBoth(
  "[commands 5.23] what a plan left alone is in the report of what was applied, for people and as JSON",
  async (t) => {
    await t.addMemory("a", "b");
    await t.with((ds) => ds.commit({ message: "first" }));
    const path = `${t.root}/.tether/objects/b.toml`;
    await Deno.writeTextFile(path, (await Deno.readTextFile(path)).replace("[state]", "[state"));
    const report = await t.with((ds) => ds.gc({ dryRun: false }));
    const notes = report.toJSON() as { readonly notes: readonly string[] };
    assert.deepEqual(notes.notes, report.notes);
    const note = report.notes.find((n) => n.includes("b.toml") && n.includes("its pins count as referenced"));
    assert.ok(note !== undefined && gcLines(report).some(({ text }) => text === note));
  },
);

onBoth("[commands 5.22] drop says that a remote bookmark still reaches what it dropped", async (t) => {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const remote = `${t.repo.outer}/remote.git`;
  await plainGit(["init", "-q", "--bare", remote]);
  await t.vcs([...(t.kind === "git" ? [] : ["git"]), "remote", "add", "origin", remote]);
  await t.with((ds) => ds.new({ bookmark: "x" }));
  await t.commitFiles("beside", { "note.txt": "x" });
  await t.with((ds) => ds.new({ rev: "main" }));
  if (t.kind === "git") await t.vcs(["push", "-q", "origin", "x"]);
  else await t.vcs(["git", "push", "--bookmark", "x"]);
  const report = await t.with((ds) => ds.drop("x", { dryRun: false }));
  const [note = ""] = report.notes;
  assert.match(note, /x.*still reaches these commits/);
  assert.deepEqual((report.toJSON() as { readonly notes: readonly string[] }).notes, report.notes);
  assert.ok(dropLines(report).some(({ text }) => text === note));
});

onBoth("[L37] a gc that could not look into a store finishes no older one; the next that can does", async (t) => {
  try {
    await halfAway(t);
    const id = await t.with((ds) => Promise.resolve(ds.config.datasetId));
    const tags = namedStore().find(t.system("a"))?.tags;
    const statusOf = (entry: string) =>
      t.with(async (ds) => (await ds.ops()).ops.find((op) => op.id === entry)?.status);
    // As a killed gc leaves it.
    const plan = (await t.with((ds) => ds.plan.gc())).toJSON();
    const { id: killed } = await t.inside((ctx) => ctx.journal.start({ command: "gc", plan }));
    const request = { dryRun: false, releaseForeign: true } as const;
    for (const [orphans, code] of [[0, "multi-object"], [1, "partial"]] as const) {
      if (orphans > 0) tags?.set(`tether.${id}.0123456789abcdef`, `${t.system("a")}:s0`);
      await assert.rejects(t.with((ds) => ds.gc(request)), (e) => e instanceof MultiObjectError && e.code === code);
      assert.equal(await statusOf(killed), "started");
    }
    mendAll();
    await t.with((ds) => ds.gc(request));
    assert.equal(await statusOf(killed), "done");
  } finally {
    mendAll();
  }
});
