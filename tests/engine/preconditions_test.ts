import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import type { Dataset } from "../../engine/dataset.ts";
import { StalePlanError } from "../../engine/model/errors.ts";
import { Plan } from "../../engine/plan/plan.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

/** A dataset at some point of its life, a plan made there, and ways in which what the plan saw can change. */
interface Scene {
  readonly name: string;
  /** Brings a fresh dataset there. */
  readonly ready: (t: TempDataset) => Promise<void>;
  readonly plan: (ds: Dataset, t: TempDataset) => Promise<Plan>;
  /** What each precondition of the plan is broken by, so that no earlier one breaks. */
  readonly breakers: Readonly<Record<string, (t: TempDataset) => Promise<unknown>>>;
}

const store = namedStore();
const FEAT = (id: string): string => `tether.ws.${id}.feat`;

async function ref(t: TempDataset): Promise<string> {
  return FEAT(await t.with((ds) => Promise.resolve(ds.config.datasetId)));
}

/** `a` committed on the trunk. */
async function committed(t: TempDataset): Promise<void> {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
}

/** On `feat`, which has a branch of `a`, and a commit that recorded a write there. */
async function onFeat(t: TempDataset): Promise<void> {
  await committed(t);
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  t.write("a", await ref(t));
  await t.with((ds) => ds.commit({ message: "second" }));
}

const commitElsewhere = async (t: TempDataset): Promise<void> => {
  const id = await t.repo.git(["commit-tree", "-p", "HEAD", "-m", "elsewhere", "HEAD^{tree}"]);
  await t.repo.git(["update-ref", "refs/heads/elsewhere", id]);
};
const edit = (t: TempDataset): Promise<unknown> => t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
const leave = (t: TempDataset): Promise<unknown> => t.repo.git(["switch", "-q", "-c", "away"]);
const emptyCommit = (t: TempDataset): Promise<unknown> => t.repo.git(["commit", "-q", "--allow-empty", "-m", "more"]);
/** Gives this checkout another id. */
const elsewhere = async (t: TempDataset): Promise<void> => {
  const path = `${t.root}/.tether/workspace.toml`;
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, text.replace(/^(workspace_id = )".*"$/m, `$1"${"0".repeat(32)}"`));
};
const writeBranch = async (t: TempDataset): Promise<unknown> => t.write("a", await ref(t));
const deleteBranch = async (t: TempDataset): Promise<unknown> =>
  store.find(t.system("a"))?.branches.delete(await ref(t));
const makeBranch = async (t: TempDataset): Promise<unknown> =>
  store.find(t.system("a"))?.branches.set(await ref(t), store.find(t.system("a"))?.head("main").id ?? "");
/** Puts the branch where the pinned state is not among its ancestors. */
const otherLine = async (t: TempDataset): Promise<unknown> => {
  const system = store.find(t.system("a"));
  const [root] = system?.snapshots.keys() ?? [];
  return system?.branches.set(await ref(t), root ?? "");
};
const writeBase = (t: TempDataset): Promise<unknown> => Promise.resolve(t.write("a"));
const deletePins = (t: TempDataset): Promise<unknown> => Promise.resolve(store.find(t.system("a"))?.tags.clear());

const SCENES: readonly Scene[] = [
  {
    name: "commit",
    ready: async (t) => (await committed(t), void t.write("a")),
    plan: (ds) => ds.plan.commit({ message: "x" }),
    breakers: { workspace_id: elsewhere, workspace_bookmark: leave, manifest_hash: edit },
  },
  {
    name: "new, making branches",
    ready: committed,
    plan: (ds) => ds.plan.new({ bookmark: "feat", eager: true }),
    breakers: { workspace_id: elsewhere, manifest_hash: edit, ref_absent: makeBranch },
  },
  {
    name: "new, taking branches again",
    ready: async (t) => (await onFeat(t), void await t.with((ds) => ds.new({ rev: "main" }))),
    plan: (ds) => ds.plan.new({ rev: "feat" }),
    breakers: { workspace_id: elsewhere, ref_head: writeBranch },
  },
  {
    name: "new, adopting",
    ready: async (
      t,
    ) => (await onFeat(t), void await t.with((ds) => ds.new({ rev: "main" })), void t.write("a", await ref(t))),
    plan: (ds) => ds.plan.new({ rev: "feat", adopt: true }),
    breakers: { workspace_id: elsewhere, ref_present: deleteBranch },
  },
  {
    name: "new, sharing what somebody else wrote",
    ready: async (t) => {
      await onFeat(t);
      await t.with((ds) => ds.new({ rev: "main" }));
      t.write("a", await ref(t));
    },
    plan: (ds) => ds.plan.new({ rev: "feat", shared: true }),
    breakers: { workspace_id: elsewhere, ref_present: deleteBranch, ref_descends: otherLine },
  },
  {
    name: "restore",
    ready: onFeat,
    plan: (ds) => ds.plan.restore({ keys: ["a"], from: "main" }),
    breakers: { workspace_id: elsewhere, workspace_bookmark: leave, manifest_hash: edit, ref_head: writeBranch },
  },
  {
    name: "promote",
    ready: onFeat,
    plan: (ds) => ds.plan.promote(),
    breakers: {
      workspace_id: elsewhere,
      workspace_bookmark: leave,
      bookmark_head: emptyCommit,
      manifest_hash: edit,
      base_state: writeBase,
      ref_head: writeBranch,
    },
  },
  {
    name: "promote of a commit",
    ready: onFeat,
    plan: (ds) => ds.plan.promote({ rev: "feat" }),
    breakers: { workspace_id: elsewhere, bookmark_head: emptyCommit, base_state: writeBase, pin_state: deletePins },
  },
  {
    name: "drop",
    ready: async (t) => (await onFeat(t), void await t.with((ds) => ds.new({ rev: "main" }))),
    plan: (ds) => ds.plan.drop({ bookmark: "feat" }),
    breakers: {
      workspace_id: elsewhere,
      workspace_bookmark: leave,
      bookmark_head: (t) => t.repo.git(["branch", "-f", "feat", "main"]),
      history_digest: commitElsewhere,
      vcs_head: async (t) => {
        await t.repo.git(["branch", "other", "feat"]);
        await t.repo.git(["update-ref", "refs/heads/main", "feat"]);
        await t.repo.git(["update-ref", "-d", "refs/heads/other"]);
      },
      no_new_holders: async (t) => {
        const other = `${t.repo.outer}/holder`;
        await t.repo.git(["worktree", "add", "-q", other, "feat"]);
        await t.with((ds) => ds.new(), { at: other });
      },
    },
  },
  {
    name: "gc",
    ready: async (t) => {
      await onFeat(t);
      await t.with((ds) => ds.new({ rev: "main" }));
      await t.repo.git(["branch", "-D", "feat"]);
    },
    plan: (ds) => ds.plan.gc({ pruneBookmarks: true }),
    breakers: { workspace_id: elsewhere, history_digest: commitElsewhere, manifest_hash: edit },
  },
  {
    name: "repair",
    ready: async (t) => (await onFeat(t), void await deletePins(t), void await deleteBranch(t)),
    plan: (ds) => ds.plan.repair(),
    breakers: { workspace_id: elsewhere, history_digest: commitElsewhere, ref_absent: makeBranch },
  },
];

/** Everything that a command could write: refs, files of the checkout, and the store. */
async function everything(t: TempDataset): Promise<unknown> {
  const refs = await t.repo.git(["for-each-ref"]);
  const files: [string, string][] = [];
  const walk = async (folder: string): Promise<void> => {
    for await (const entry of Deno.readDir(folder)) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory && entry.name !== "cache") await walk(path);
      else if (entry.isFile && entry.name !== "lock") files.push([path, await Deno.readTextFile(path)]);
    }
  };
  await walk(`${t.root}/.tether`);
  const system = store.find(t.system("a"));
  const head = await t.repo.git(["rev-parse", "--symbolic-full-name", "HEAD"]);
  return [refs, head, files.sort(), [...system?.branches ?? []].sort(), [...system?.tags ?? []].sort()];
}

for (const scene of SCENES) {
  Deno.test(`[commands 3.3] ${scene.name}: what the plan saw changed, and nothing is written`, async (test) => {
    for (const [kind, breakIt] of Object.entries(scene.breakers)) {
      await test.step(kind, async () => {
        await using t = await tempDataset();
        await scene.ready(t);
        const plan = Plan.fromJSON((await t.with((ds) => scene.plan(ds, t))).text());
        assert.ok(plan.actions.length > 0, "there is something to be done");
        assert.ok(plan.preconditions.some((p) => p.kind === kind), `the plan has ${kind}`);
        await breakIt(t);
        const before = await everything(t);
        await assert.rejects(t.with((ds) => ds.checkPlan(plan)), stale(kind));
        await assert.rejects(t.with((ds) => ds.apply(plan)), stale(kind));
        assert.deepEqual(await everything(t), before);
      });
    }
  });
}

function stale(kind: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StalePlanError, String(error));
    assert.equal(error.details["precondition"], kind, error.message);
    assert.match(error.hints.join(), /--dry-run/);
    return true;
  };
}

Deno.test("[commands 3.2, 3.3] a plan that lost a precondition its command needs is not applied", async (test) => {
  for (const scene of SCENES) {
    await test.step(scene.name, async () => {
      await using t = await tempDataset();
      await scene.ready(t);
      const plan = await t.with((ds) => scene.plan(ds, t));
      const before = await everything(t);
      let needed = 0;
      for (const gone of new Set(plan.preconditions.map((p) => p.kind))) {
        const less = new Plan({ ...plan, preconditions: plan.preconditions.filter((p) => p.kind !== gone) });
        try {
          await t.with((ds) => ds.checkPlan(Plan.fromJSON(less.text())));
        } catch (error) {
          assert.match(String(error), /it lacks the precondition/);
          await assert.rejects(t.with((ds) => ds.apply(Plan.fromJSON(less.text()))), StalePlanError);
          needed++;
        }
      }
      assert.ok(needed >= 2, `${needed} are needed`);
      assert.deepEqual(await everything(t), before);
    });
  }
});
