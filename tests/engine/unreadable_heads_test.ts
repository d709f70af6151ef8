import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import type { Dataset } from "../../engine/dataset.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";
import { faults, mendAll, registerFlaky } from "../helpers/flaky_memory.ts";

registerFlaky();

async function datasetOf(kind: string): Promise<TempDataset> {
  const t = await tempDataset();
  await t.with((ds) => ds.add({ key: "a", kind, locator: { system: t.system("a") } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  return t;
}

function refs(t: TempDataset): unknown {
  const { tags, branches } = namedStore().find(t.system("a")) ?? assert.fail();
  return [[...tags].sort(), [...branches].sort()];
}

function branches(t: TempDataset): string[] {
  return [...namedStore().find(t.system("a"))?.branches.keys() ?? []].filter((b) => b !== "main");
}

/** A bookmark `x` whose branch was made and written to; returns the branch. */
async function written(t: TempDataset, write: boolean = true): Promise<string> {
  await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? assert.fail()));
  if (write) t.write("a", ref);
  return ref;
}

/** The bookmark of the branch is gone, and this checkout elsewhere. */
async function gone(t: TempDataset, write: boolean = true): Promise<string> {
  const ref = await written(t, write);
  await t.with((ds) => ds.new({ rev: "main" }));
  await t.repo.git(["branch", "-q", "-D", "x"]);
  return ref;
}

const FORCED = { dryRun: false, pruneBookmarks: true, forcePrune: true } as const;

/** What is asked while a head is unreadable, and what comes of it: `kept` and reported, or refused. */
interface Case {
  readonly prepare: (t: TempDataset) => Promise<string>;
  readonly unreadable?: (ref: string) => string;
  readonly call: (ds: Dataset, t: TempDataset) => Promise<unknown>;
  readonly comes: "kept" | "refused" | "shown";
}

const CASES: Readonly<Record<string, Case>> = {
  "status --snapshot": { prepare: written, call: (ds) => ds.status({ snapshot: true }), comes: "shown" },
  snapshot: { prepare: written, call: (ds) => ds.snapshot(), comes: "refused" },
  commit: { prepare: written, call: (ds) => ds.commit({ message: "m" }), comes: "refused" },
  pull: { prepare: written, call: (ds) => ds.pull(), comes: "refused" },
  "new over the branch": { prepare: written, call: (ds) => ds.new(), comes: "refused" },
  "new --discard": { prepare: written, call: (ds) => ds.new({ discard: true }), comes: "refused" },
  "new --adopt": { prepare: written, call: (ds) => ds.new({ adopt: true }), comes: "refused" },
  restore: { prepare: written, call: (ds) => ds.restore(["a"], { from: "main" }), comes: "refused" },
  "restore --discard": {
    prepare: written,
    call: (ds) => ds.restore(["a"], { from: "main", discard: true }),
    comes: "refused",
  },
  promote: { prepare: written, call: (ds) => ds.promote(), comes: "refused" },
  "promote onto an unreadable base": {
    prepare: async (t) => {
      const ref = await written(t);
      await t.with((ds) => ds.commit({ message: "on x" }));
      return ref;
    },
    unreadable: () => "base",
    call: (ds) => ds.promote(),
    comes: "refused",
  },
  "undo of new": { prepare: (t) => written(t, false), call: (ds) => ds.undo(), comes: "refused" },
  "gc --prune-bookmarks": {
    prepare: gone,
    call: (ds) => ds.gc({ dryRun: false, pruneBookmarks: true }),
    comes: "kept",
  },
  "gc --force-prune": { prepare: gone, call: (ds) => ds.gc(FORCED), comes: "kept" },
  "gc --prune-bookmarks of a branch at an unreadable base": {
    prepare: async (t) => {
      const ref = await gone(t, false);
      // Only the base says that nothing was written.
      namedStore().find(t.system("a"))?.tags.clear();
      return ref;
    },
    unreadable: () => "base",
    call: (ds) => ds.gc({ dryRun: false, pruneBookmarks: true }),
    comes: "kept",
  },
  "drop --force-prune": {
    prepare: async (t) => {
      const ref = await written(t);
      await t.with((ds) => ds.new({ rev: "main" }));
      return ref;
    },
    call: (ds) => ds.drop("x", { dryRun: false, forcePrune: true }),
    comes: "kept",
  },
};

Deno.test("[L10] a head that cannot be read decides nothing: what needs it refuses, and what would delete it keeps it", async (test) => {
  for (const [name, c] of Object.entries(CASES)) {
    await test.step(name, async () => {
      await using t = await datasetOf("flaky");
      const ref = await c.prepare(t);
      const before = refs(t);
      const position = await t.repo.git(["for-each-ref"]);
      faults.unreadable.add(c.unreadable?.(ref) ?? ref);
      try {
        const called = t.with((ds) => c.call(ds, t));
        if (c.comes === "refused") {
          await assert.rejects(called, TetherError);
          assert.equal(await t.repo.git(["for-each-ref"]), position);
        } else {
          const said = JSON.stringify(await called);
          assert.ok(said.includes(c.comes === "kept" ? ref : "no answer"), said);
        }
        assert.deepEqual(refs(t), before);
        await t.with((ds) => ds.status());
      } finally {
        mendAll();
      }
    });
  }
});

Deno.test("[L10, Δ6] gc: the table of verdicts, forced and not", async (test) => {
  const pinned = async (t: TempDataset) => {
    const ref = await written(t);
    await t.with((ds) => ds.commit({ message: "on x" }));
    await t.repo.git(["tag", "keep"]);
    await t.with((ds) => ds.new({ rev: "main" }));
    await t.repo.git(["branch", "-q", "-D", "x"]);
    return ref;
  };
  const recorded = async (t: TempDataset) => {
    await t.with((ds) => ds.setPolicy("all", { pin: "record" }));
    await t.with((ds) => ds.commit({ message: "recorded from now on" }));
    return await pinned(t);
  };
  const untouched = (t: TempDataset) => gone(t, false);
  const blocked = async (t: TempDataset) => {
    const ref = await gone(t);
    faults.blockers.set(ref, "something hangs off it");
    return ref;
  };
  const table: [name: string, kind: string, prepare: (t: TempDataset) => Promise<string>, ...verdicts: string[]][] = [
    ["natively pinned", "flaky", pinned, "delete-branch", "delete-branch"],
    ["at the base", "flaky", untouched, "delete-branch", "delete-branch"],
    ["unpinned writes", "flaky", gone, "keep-branch", "delete-branch FORCED"],
    ["a recorded state", "flaky", recorded, "keep-branch", "delete-branch FORCED"],
    ["storage, at the base", "storage", untouched, "keep-branch", "delete-branch FORCED"],
    ["storage, pinned", "storage", pinned, "keep-branch", "delete-branch FORCED"],
    ["blocked", "flaky", blocked, "keep-branch", "keep-branch"],
  ];
  for (const [name, kind, prepare, ...verdicts] of table) {
    for (const [index, force] of [false, true].entries()) {
      await test.step(`${name}${force ? ", forced" : ""}`, async () => {
        await using t = await datasetOf(kind);
        try {
          const ref = await prepare(t);
          const options = { pruneBookmarks: true, forcePrune: force };
          const plan = await t.with((ds) => ds.plan.gc(options));
          const [action, ...others] = plan.actions;
          assert.deepEqual(others, []);
          assert.equal(`${action?.op}${action?.params["forced"] ? " FORCED" : ""}`, verdicts[index]);
          assert.equal(action?.target, ref);
          assert.equal(action?.detail.includes("FORCED"), action?.params["forced"] === true);
          await t.with((ds) => ds.gc({ ...options, dryRun: false }));
          assert.deepEqual(branches(t), action?.op === "keep-branch" ? [ref] : []);
        } finally {
          mendAll();
        }
      });
    }
  }
});

Deno.test("[L10] tags that cannot be listed release nothing and hold nothing", async () => {
  await using t = await datasetOf("flaky");
  const ref = await written(t);
  await t.with((ds) => ds.commit({ message: "on x" }));
  await t.with((ds) => ds.new({ rev: "main" }));
  await t.repo.git(["branch", "-q", "-D", "x"]);
  const before = refs(t);
  faults.unlistable = true;
  try {
    const { notes } = await t.with((ds) => ds.plan.gc({ pruneBookmarks: true, forcePrune: true }));
    assert.match(notes.join(), /its pins are not known, none is released/);
    assert.match(notes.join(), /its branches are not known, none is deleted/);
    await assert.rejects(t.with((ds) => ds.gc(FORCED)), MultiObjectError);
  } finally {
    mendAll();
  }
  assert.deepEqual(refs(t), before);
  await t.with((ds) => ds.gc({ dryRun: false, pruneBookmarks: true }));
  assert.ok(branches(t).includes(ref), "its pin goes with the same plan, so nothing holds its head");
});
