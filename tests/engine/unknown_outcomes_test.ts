import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import type { Dataset } from "../../engine/dataset.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";
import { faults, mendAll, type RefWrite, registerFlaky } from "../helpers/flaky_memory.ts";

registerFlaky();

/** A command that writes refs, and the write whose answer is lost. */
interface Case {
  readonly lose: RefWrite;
  /** How the journal calls it. */
  readonly entry: string;
  readonly prepare?: (t: TempDataset) => Promise<unknown>;
  readonly call: (ds: Dataset) => Promise<unknown>;
  /** What is so once the command was given again. */
  readonly after: (t: TempDataset) => Promise<void> | void;
}

function system(t: TempDataset, key = "a") {
  return namedStore().find(t.system(key)) ?? assert.fail();
}

function tags(t: TempDataset): number {
  return system(t).tags.size;
}

function branches(t: TempDataset): string[] {
  return [...system(t).branches.keys()].filter((b) => b !== "main");
}

async function working(t: TempDataset): Promise<string> {
  return await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? assert.fail()));
}

/** On a bookmark with a commit of its own; then the last one is gone. */
async function orphan(t: TempDataset): Promise<void> {
  t.write("a");
  await t.with((ds) => ds.commit({ message: "orphan" }));
  await t.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
}

async function onBookmark(t: TempDataset, options: { write: boolean; commit?: boolean }): Promise<void> {
  await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
  if (options.write) t.write("a", await working(t));
  if (options.commit) await t.with((ds) => ds.commit({ message: "on x" }));
}

async function goneBookmark(t: TempDataset): Promise<void> {
  await onBookmark(t, { write: false });
  await t.with((ds) => ds.new({ rev: "main" }));
  await t.repo.git(["branch", "-q", "-D", "x"]);
}

const CASES: Readonly<Record<string, Case>> = {
  "commit makes a pin": {
    lose: "pin",
    entry: "commit",
    prepare: (t) => Promise.resolve(t.write("a")),
    call: (ds) => ds.commit({ message: "second" }),
    after: (t) => assert.equal(tags(t), 2),
  },
  "pull makes a pin": {
    lose: "pin",
    entry: "pull",
    prepare: (t) => Promise.resolve(t.write("a")),
    call: (ds) => ds.pull(),
    after: (t) => assert.equal(tags(t), 2),
  },
  "new makes a branch": {
    lose: "fork",
    entry: "new",
    call: (ds) => ds.workspace.bookmark === "x" ? ds.new({ eager: true }) : ds.new({ bookmark: "x", eager: true }),
    after: async (t) => assert.deepEqual(branches(t), [await working(t)]),
  },
  "the first writable open makes a branch": {
    lose: "fork",
    entry: "fork",
    prepare: (t) => t.with((ds) => ds.new({ bookmark: "x" })),
    call: (ds) => ds.open("a").then((handle) => handle[Symbol.asyncDispose]()),
    after: async (t) => assert.deepEqual(branches(t), [await working(t)]),
  },
  "restore resets a branch": {
    lose: "fork",
    entry: "restore",
    prepare: (t) => onBookmark(t, { write: true, commit: true }),
    call: (ds) => ds.restore(["a"], { from: "main", discard: true }),
    after: async (t) => assert.equal(system(t).head(await working(t)).number, 0),
  },
  "promote moves upstream": {
    lose: "promote",
    entry: "promote",
    prepare: (t) => onBookmark(t, { write: true, commit: true }),
    call: (ds) => ds.promote(),
    after: async (t) => {
      assert.equal(system(t).head("main").number, 1);
      const [main, x] = await Promise.all(["main", "x"].map((b) => t.repo.git(["rev-parse", b])));
      assert.equal(main, x, "the trunk landed too");
    },
  },
  "promote merges": {
    lose: "merge",
    entry: "promote",
    prepare: async (t) => {
      await onBookmark(t, { write: true, commit: true });
      t.write("a");
    },
    call: (ds) => ds.promote(),
    after: (t) => assert.equal(Object.keys(system(t).head("main").payload).length, 2),
  },
  "gc releases a pin": {
    lose: "unpin",
    entry: "gc",
    prepare: orphan,
    call: (ds) => ds.gc({ dryRun: false }),
    after: (t) => assert.equal(tags(t), 1),
  },
  "gc deletes a branch": {
    lose: "deleteWorkingRef",
    entry: "gc",
    prepare: goneBookmark,
    call: (ds) => ds.gc({ dryRun: false, pruneBookmarks: true }),
    after: (t) => assert.deepEqual(branches(t), []),
  },
  "drop deletes a branch": {
    lose: "deleteWorkingRef",
    entry: "drop",
    prepare: (t) => onBookmark(t, { write: true, commit: true }),
    call: async (ds) =>
      (await ds.liveBookmarks()).has("x")
        ? await ds.drop("x", { dryRun: false })
        : await ds.gc({ dryRun: false, pruneBookmarks: true, forcePrune: true }),
    after: (t) => assert.deepEqual([branches(t), tags(t)], [[], 1]),
  },
  "drop releases a pin": {
    lose: "unpin",
    entry: "drop",
    prepare: (t) => onBookmark(t, { write: true, commit: true }),
    call: async (ds) =>
      (await ds.liveBookmarks()).has("x")
        ? await ds.drop("x", { dryRun: false })
        : await ds.gc({ dryRun: false, pruneBookmarks: true }),
    after: (t) => assert.deepEqual([branches(t), tags(t)], [[], 1]),
  },
  "undo deletes a branch": {
    lose: "deleteWorkingRef",
    entry: "undo",
    prepare: (t) => onBookmark(t, { write: false }),
    call: (ds) => ds.undo(),
    after: async (t) => {
      assert.deepEqual(branches(t), []);
      assert.equal(await t.repo.git(["branch", "--format=%(refname:short)"]), "main");
      assert.equal(await t.with((ds) => Promise.resolve(ds.workspace.bookmark)), "main");
    },
  },
  "repair makes a pin again": {
    lose: "pin",
    entry: "repair",
    prepare: (t) => Promise.resolve(system(t).tags.clear()),
    call: (ds) => ds.repair(),
    after: (t) => assert.equal(tags(t), 1),
  },
  "repair makes a branch again": {
    lose: "fork",
    entry: "repair",
    prepare: async (t) => {
      await onBookmark(t, { write: false });
      system(t).branches.delete(await working(t));
    },
    call: (ds) => ds.repair(),
    after: async (t) => assert.deepEqual(branches(t), [await working(t)]),
  },
};

Deno.test("[L08] a write whose answer was lost: nothing is taken back, the entry stays open, and the command can be given again", async (test) => {
  for (const [name, c] of Object.entries(CASES)) {
    for (const truth of ["done", "not done"] as const) {
      await test.step(`${name}, and in truth that was ${truth}`, async () => {
        await using t = await tempDataset();
        await t.with((ds) => ds.add({ key: "a", kind: "flaky", locator: { system: t.system("a") } }));
        await t.with((ds) => ds.commit({ message: "first" }));
        await c.prepare?.(t);
        try {
          faults.lost = { [c.lose]: truth };
          const failed = await outcome(t.with(c.call));
          assert.match(failed, /Cannot tell whether/);
        } finally {
          mendAll();
        }
        const refs = [...system(t).tags.keys(), ...system(t).branches.keys()];
        const { ops } = await t.with((ds) => ds.ops());
        assert.equal(ops.find((op) => op.command === c.entry)?.status, "started");
        await t.with((ds) => ds.status());
        // What may have been written is held by the open entry, whoever made it.
        await t.with((ds) => ds.gc({ dryRun: false, releaseForeign: c.entry !== "gc" && c.entry !== "drop" }));
        if (c.entry !== "gc" && c.entry !== "drop") {
          assert.deepEqual([...system(t).tags.keys(), ...system(t).branches.keys()], refs);
        }
        await t.with(c.call);
        await c.after(t);
        const { ok, entries } = await t.with(async (ds) => await ds.verify({ allHistory: true }));
        assert.ok(ok, JSON.stringify(entries));
        assert.deepEqual((await t.with((ds) => ds.status())).objects.map((o) => o.error), [null]);
      });
    }
  }
});

/** Returns what a call said of its failure: as an error, or in its report. */
async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await call);
  } catch (error) {
    if (!(error instanceof TetherError)) throw error;
    return error.message;
  }
}
