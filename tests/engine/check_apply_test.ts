import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { Dataset } from "../../engine/dataset.ts";
import { REAL_ENV } from "../../engine/env.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { Plan } from "../../engine/plan/plan.ts";
import type { DropReport } from "../../engine/reports/releasing.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

/** A saved plan, and something that stops it although every precondition of it holds. */
interface Case {
  readonly ready: (t: TempDataset) => Promise<unknown>;
  readonly plan: (ds: Dataset, t: TempDataset) => Promise<Plan>;
  readonly changes: Readonly<Record<string, (t: TempDataset) => Promise<unknown>>>;
}

/** `a` committed on the trunk. */
async function committed(t: TempDataset): Promise<void> {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "First" }));
}

/** On `feat`, which has a branch of `a` and a commit that recorded a write there. */
async function onFeat(t: TempDataset): Promise<void> {
  await committed(t);
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  await writeBranch(t);
  await t.with((ds) => ds.commit({ message: "Second" }));
}

/** On `feat`, which made a store that a commit recorded. */
async function withStore(t: TempDataset): Promise<void> {
  await committed(t);
  await t.with((ds) => ds.new({ bookmark: "feat" }));
  await t.with((ds) => ds.add({ key: "made", kind: "memory", locator: { system: t.system("made") }, create: true }));
  await t.with((ds) => ds.commit({ message: "Second" }));
}

async function writeBranch(t: TempDataset): Promise<void> {
  t.write("a", await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? "")));
}

/** A second checkout on `b`. */
async function elsewhere(t: TempDataset): Promise<string> {
  const other = await t.repo.worktree("b");
  await t.with((ds) => ds.new(), { at: other });
  return other;
}

const other = (t: TempDataset): string => `${t.repo.outer}/worktree-b`;

const nameStore = (t: TempDataset): Promise<unknown> =>
  t.with((ds) => ds.add({ key: "alias", kind: "memory", locator: { system: t.system("made") } }));

const CASES: Readonly<Record<string, Case>> = {
  commit: {
    ready: async (t) => (await committed(t), t.write("a")),
    plan: (ds) => ds.plan.commit({ message: "Second" }),
    changes: { "an object moved": (t) => Promise.resolve(t.write("a")) },
  },
  new: {
    ready: committed,
    plan: (ds) => ds.plan.new({ bookmark: "feat", eager: true }),
    changes: { "the bookmark is there already": (t) => t.repo.git(["branch", "feat"]) },
  },
  "new that goes to one": {
    ready: async (t) => (await committed(t), await t.repo.git(["branch", "feat"])),
    plan: (ds) => ds.plan.new({ rev: "feat", eager: true }),
    changes: {
      "the bookmark is gone": (t) => t.repo.git(["branch", "-D", "feat"]),
      "it is checked out elsewhere": (t) =>
        t.repo.git(["worktree", "add", "-q", `${t.repo.outer}/worktree-b`, "feat"]).then(() =>
          t.with((ds) => ds.new(), { at: other(t) })
        ),
    },
  },
  gc: {
    ready: async (t) => {
      await onFeat(t);
      await t.with((ds) => ds.new({ rev: "main" }));
      await t.repo.git(["branch", "-D", "feat"]);
    },
    plan: (ds) => ds.plan.gc({ pruneBookmarks: true, forcePrune: true }),
    changes: {
      "a branch moved": async (t) => {
        const id = await t.with((ds) => Promise.resolve(ds.config.datasetId));
        t.write("a", `tether.ws.${id}.feat`);
      },
      "the index names a pin": (t) =>
        t.repo.git(["restore", "--staged", "--source=HEAD@{1}", "--", ".tether/objects/a.toml"]),
    },
  },
  drop: {
    ready: onFeat,
    plan: (ds) => ds.plan.drop({ bookmark: "feat" }),
    changes: { "a branch was written to": writeBranch },
  },
  "drop --delete-stores": {
    ready: withStore,
    plan: (ds) => ds.plan.drop({ bookmark: "feat", deleteStores: true }),
    changes: {
      "the store has a new holder here": nameStore,
      "somebody else's branch is in the store": (t) => {
        const store = namedStore().find(t.system("made"));
        return Promise.resolve(store?.branches.set("theirs", store.head("main").id));
      },
    },
  },
  "forget-workspace": {
    ready: async (t) => (await committed(t), await elsewhere(t)),
    plan: async (ds, t) => {
      const id = await t.with((there) => Promise.resolve(there.workspace.workspaceId), { at: other(t) });
      return await ds.plan.forgetWorkspace(id);
    },
    changes: {
      "a new file is in it": (t) => Deno.writeTextFile(`${other(t)}/new.txt`, "x"),
      "a file has changes": (t) => Deno.writeTextFile(`${other(t)}/tether.toml`, "\n", { append: true }),
      "it is locked": (t) => t.repo.git(["worktree", "lock", other(t)]),
      "it is gone": (t) => t.repo.git(["worktree", "remove", "--force", other(t)]),
    },
  },
  upgrade: {
    ready: async (t) => {
      await committed(t);
      const path = `${t.root}/tether.toml`;
      await Deno.writeTextFile(path, (await Deno.readTextFile(path)).replace("version = 5", "version = 4"));
      await t.repo.commit("as version 4 left it");
    },
    plan: (ds) => ds.plan.upgrade(),
    changes: {
      "a manifest has changes": (t) =>
        Deno.writeTextFile(`${t.root}/.tether/objects/a.toml`, "\n# mine\n", { append: true }),
      "other steps are needed": async (t) => {
        await Deno.rename(`${t.root}/.tether/objects/a.toml`, `${t.root}/.tether/objects/b.toml`);
        await t.repo.commit("moved");
      },
    },
  },
};

async function failure(attempt: Promise<unknown>): Promise<TetherError | undefined> {
  try {
    await attempt;
    return undefined;
  } catch (error) {
    assert.ok(error instanceof TetherError, String(error));
    return error;
  }
}

for (const [name, c] of Object.entries(CASES)) {
  Deno.test(`[commands 3.2, 5.29] plan check of a saved ${name} says what applying it would`, async (test) => {
    for (const [what, change] of Object.entries({ nothing: async () => {}, ...c.changes } as Case["changes"])) {
      await test.step(what, async () => {
        await using t = await tempDataset();
        await c.ready(t);
        await using ds = await Dataset.open(t.root, { allowOlder: true });
        const plan = Plan.fromJSON((await c.plan(ds, t)).text());
        assert.ok(!plan.isEmpty);
        await change(t);
        const [checked, applied] = [await failure(ds.checkPlan(plan)), await failure(ds.apply(plan))];
        assert.deepEqual([checked?.code, checked?.message], [applied?.code, applied?.message]);
        assert.equal(applied === undefined, what === "nothing", String(applied));
      });
    }
  });
}

Deno.test("[L43, commands 5.22] a store that gets a holder while drop runs stays, and drop says so", async () => {
  await using t = await tempDataset();
  await withStore(t);
  const there = other(t);
  await t.repo.git(["worktree", "add", "-q", "-b", "b", there, "main"]);
  const boundary = async (step: string): Promise<void> => {
    if (step !== "dropped") return;
    await t.with((ds) => ds.add({ key: "alias", kind: "memory", locator: { system: t.system("made") } }), {
      at: there,
    });
  };
  await using ds = await Dataset.open(t.root, { env: { ...REAL_ENV, boundary } });
  await assert.rejects(ds.drop("feat", { deleteStores: true, dryRun: false }), (e) => {
    assert.ok(e instanceof MultiObjectError && e.code === "partial");
    assert.match(e.message, /named by "alias"/);
    assert.deepEqual(e.hints, ["tether gc --delete-stores"]);
    assert.deepEqual(Object.keys((e.report as DropReport).gc?.keptStores ?? {}), ["made"]);
    return true;
  });
  assert.ok(namedStore().find(t.system("made")));
});

Deno.test("[commands 5.22] a manifest nobody committed goes along when drop leaves, so its store stays", async () => {
  await using t = await tempDataset();
  await committed(t);
  await t.with((ds) => ds.new({ bookmark: "feat" }));
  await t.with((ds) => ds.add({ key: "made", kind: "memory", locator: { system: t.system("made") }, create: true }));
  const plan = await t.with((ds) => ds.plan.drop({ bookmark: "feat", deleteStores: true }));
  assert.deepEqual(plan.actions.filter((a) => a.op.endsWith("-store")).map((a) => a.op), ["keep-store"]);
  await t.with((ds) => ds.apply(plan));
  assert.ok(namedStore().find(t.system("made")));
});
