import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { REAL_ENV } from "../../engine/env.ts";
import type { GcRequest } from "../../engine/commands/gc_input.ts";
import { initDataset } from "../../engine/commands/init.ts";
import { ConfigError, StalePlanError, TetherError } from "../../engine/model/errors.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { Plan } from "../../engine/plan/plan.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";
import { tempRepo } from "../helpers/repo.ts";

const ALL: GcRequest = { pruneBookmarks: true, deleteStores: true };

/** A dataset whose bookmark `probe` made store `made`, wrote to it and committed. Returns the ids of what it left there. */
async function probed(): Promise<{ t: TempDataset; id: string; ref: string; pin: string; commit: string }> {
  const t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "baseline" }));
  await t.with((ds) => ds.new({ bookmark: "probe" }));
  await t.with((ds) => ds.add({ key: "made", kind: "memory", locator: { system: t.system("made") }, create: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["made"] ?? ""));
  t.write("made", ref);
  const { pinned, vcsCommit } = await t.with((ds) => ds.commit({ message: "probed" }));
  const id = await t.with((ds) => Promise.resolve(ds.config.datasetId));
  return { t, id, ref, pin: pinned["made"] ?? "", commit: vcsCommit ?? "" };
}

/** As {@link probed}, with the bookmark gone: all five rules hold. */
async function garbage(): ReturnType<typeof probed> {
  const made = await probed();
  await made.t.with((ds) => ds.new({ rev: "main" }));
  await made.t.repo.git(["branch", "-q", "-D", "probe"]);
  return made;
}

const store = (t: TempDataset) => namedStore().find(t.system("made"));
const refsOf = (t: TempDataset) => [...store(t)?.branches.keys() ?? [], ...store(t)?.tags.keys() ?? []].sort();
const planOf = (t: TempDataset, request: GcRequest = ALL) => t.with((ds) => ds.plan.gc(request));
const verbs = (plan: Plan) => plan.actions.map((a) => `${a.op} ${a.target}`);
const created = (t: TempDataset) => t.inside(async (ctx) => (await ctx.indexes.created()).map((c) => c.key));

Deno.test("[seed: stores tether created] a store that is plainly garbage goes, after everything in it and last", async () => {
  const { t, ref, pin } = await garbage();
  await using _ = t;
  const plan = await planOf(t);
  assert.deepEqual(verbs(plan), [
    `forget-working-ref ${ref}`,
    `unpin ${pin}`,
    `delete-branch ${ref}`,
    `delete-store ${t.system("made")}`,
  ]);
  const [empty] = plan.preconditions.filter((p) => p.kind === "store_empty");
  assert.deepEqual(empty?.params, {
    backend: "memory",
    locator: { system: t.system("made") },
    ignoring: [pin, ref].sort(),
  });
  assert.equal(refsOf(t).length, 3, "a dry run writes nothing");
  const report = await t.with((ds) => ds.gc({ ...ALL, dryRun: false }));
  assert.deepEqual(report.deletedStores, { made: t.system("made") });
  assert.equal(store(t), undefined);
  await t.inside(async (ctx) => {
    assert.deepEqual(await ctx.indexes.created(), []);
    assert.deepEqual((await ctx.indexes.touched()).map((e) => e.key), ["a"]);
    const last = (await ctx.journal.read()).at(-1);
    assert.deepEqual(last?.result["deleted_stores"], { made: t.system("made") });
    assert.deepEqual(last?.progress.at(-1), { action: "delete-store", key: "made", target: t.system("made") });
  });
  assert.deepEqual(verbs(await planOf(t)), []);
  const undone = await t.with((ds) => ds.undo());
  assert.match(undone.irreversible.join(), /the store of "made" was deleted/);
});

/** One way to break exactly one rule, and what the plan then says of the store. */
interface Break {
  readonly change: (made: Awaited<ReturnType<typeof probed>>) => unknown;
  /** The reason in the plan; `undefined` when the plan says nothing of the store. */
  readonly why?: RegExp;
  readonly request?: GcRequest;
  readonly op?: "keep-store" | "forget-store" | "none";
  /** Whether this dataset's dead refs in it go all the same; those of a store that is named are judged as ever. */
  readonly releases?: boolean | "as ever";
  /** Whether `--force-prune` deletes it. */
  readonly forceable?: boolean;
}

const BREAKS: Record<string, Break> = {
  "1: another dataset's marker": {
    change: ({ t }) => Object.assign(store(t) ?? {}, { owner: "ffffffff" }),
    op: "none",
  },
  "1: no marker": { change: ({ t }) => Object.assign(store(t) ?? {}, { owner: undefined }), op: "forget-store" },
  "2: another branch of history names it": {
    change: ({ t, commit }) => t.repo.git(["branch", "other", commit]),
    why: /named by "made" (as [0-9a-f]{12} has it|of a working tree)/,
    releases: "as ever",
  },
  "2: a tag of history names it": {
    change: ({ t, commit }) => t.repo.git(["tag", "v1", commit]),
    why: /named by "made" (as [0-9a-f]{12} has it|of a working tree)/,
    releases: "as ever",
  },
  "2: a staged manifest names it": {
    change: async ({ t, commit }) => {
      await t.repo.git(["restore", "--staged", `--source=${commit}`, "--", ".tether/objects/made.toml"]);
    },
    why: /named by "made" (as [0-9a-f]{12} has it|of a working tree)/,
    releases: "as ever",
  },
  "2: this working tree names it, in another spelling": {
    change: ({ t }) =>
      t.with((ds) => ds.add({ key: "alias", kind: "memory", locator: { uri: ` ${t.system("made")} ` } })),
    why: /named by "alias" of a working tree/,
    releases: "as ever",
  },
  "2: another checkout's working tree names it": {
    change: async ({ t, commit }) => {
      const other = await t.repo.worktree("other");
      const manifest = await t.repo.git(["show", `${commit}:.tether/objects/made.toml`]);
      await Deno.writeTextFile(`${other}/.tether/objects/made.toml`, manifest + "\n");
    },
    why: /named by "made" (as [0-9a-f]{12} has it|of a working tree)/,
    releases: "as ever",
  },
  "2: another dataset of the repository names it": {
    change: async ({ t }) => {
      // Beside this one, then moved into it: init makes none in another.
      const apart = await tempRepo();
      await initDataset(`${apart.path}/second`);
      await Deno.rename(`${apart.path}/second`, `${t.root}/second`);
      await apart[Symbol.asyncDispose]();
      await t.with((ds) => ds.add({ key: "theirs", kind: "memory", locator: { system: t.system("made") } }), {
        at: `${t.root}/second`,
      });
      await t.repo.git(["add", "second"]);
      await t.repo.git(["commit", "-q", "-m", "second"]);
    },
    why: /named by "theirs"/,
    releases: "as ever",
  },
  "2: a manifest does not parse": {
    change: ({ t }) => t.repo.write(".tether/objects/broken.toml", "key = [\n"),
    why: /cannot be told what .*broken.toml" names/,
  },
  "3: a pin this clone did not make": {
    change: ({ t, id }) => store(t)?.tags.set(`tether.${id}.0123456789abcdef`, `${t.system("made")}:s0`),
    why: /this one did not make tether\.[0-9a-f]{8}\.0123456789abcdef/,
    forceable: true,
  },
  "3: a branch of a bookmark this clone never had": {
    change: ({ t, id }) => store(t)?.branches.set(`tether.ws.${id}.theirs`, `${t.system("made")}:s0`),
    why: /this one did not make tether\.ws\.[0-9a-f]{8}\.theirs/,
    forceable: true,
  },
  "4: branches are not judged": {
    change: () => {},
    request: { deleteStores: true },
    why: /--prune-bookmarks judges it/,
    releases: true,
  },
  "4: a branch has writes that no commit pinned": {
    change: ({ t, ref }) => t.write("made", ref),
    why: /has writes no commit pinned/,
    releases: true,
    forceable: true,
  },
  "4: a branch of a live bookmark": {
    change: ({ t }) => t.repo.git(["branch", "probe", "main"]),
    why: /belongs to a live bookmark/,
    releases: true,
  },
  "4: a bookmark that lives elsewhere": {
    change: () => {},
    request: { ...ALL, keepBookmarks: ["probe"] },
    why: /belongs to a live bookmark/,
    releases: true,
  },
  "5: the base was written to": {
    change: ({ t }) => t.write("made"),
    why: /something else than tether's own refs/,
    releases: true,
  },
  "5: somebody's branch": {
    change: ({ t }) => store(t)?.branches.set("theirs", `${t.system("made")}:s0`),
    why: /something else than tether's own refs/,
    releases: true,
  },
  "5: somebody's tag": {
    change: ({ t }) => store(t)?.tags.set("v1", `${t.system("made")}:s0`),
    why: /something else than tether's own refs/,
    releases: true,
  },
  "5: another dataset's pin": {
    change: ({ t }) => store(t)?.tags.set("tether.ffffffff.0123456789abcdef", `${t.system("made")}:s0`),
    why: /something else than tether's own refs/,
    releases: true,
  },
  "5: another dataset's branch": {
    change: ({ t }) => store(t)?.branches.set("tether.ws.ffffffff.x", `${t.system("made")}:s0`),
    why: /something else than tether's own refs/,
    releases: true,
  },
};

Deno.test("[seed: stores tether created] each rule alone, broken, keeps the store", async (test) => {
  for (const [rule, b] of Object.entries(BREAKS)) {
    await test.step(rule, async () => {
      const made = await garbage();
      const { t } = made;
      await using _ = t;
      await b.change(made);
      const before = refsOf(t);
      const request = b.request ?? ALL;
      const plan = await planOf(t, request);
      const about = plan.actions.filter((a) => a.op.endsWith("-store"));
      assert.deepEqual(about.map((a) => a.op), b.op === "none" ? [] : [b.op ?? "keep-store"]);
      if (b.why) assert.match(about[0]?.detail ?? "", b.why);
      const releases = plan.actions.filter((a) => a.op === "unpin" || a.op === "delete-branch");
      if (b.releases !== "as ever") assert.equal(releases.length > 0, b.releases === true, verbs(plan).join());
      const report = await t.with((ds) => ds.gc({ ...request, dryRun: false }));
      assert.deepEqual(report.deletedStores, {});
      assert.ok(store(t), "the store is there");
      if (!b.releases) assert.deepEqual(refsOf(t), before, "nothing in it was touched");
      if (b.op === "none") assert.match(plan.notes.join("\n"), /belongs to dataset ffffffff; left alone/);
      assert.deepEqual(await created(t), b.op === "forget-store" ? [] : ["made"]);
      if (request.pruneBookmarks !== true) return;
      await t.with((ds) => ds.gc({ ...request, forcePrune: true, dryRun: false }));
      assert.equal(store(t) === undefined, b.forceable === true, "with --force-prune");
    });
  }
});

Deno.test("[seed: stores tether created] what appears between the plan and the deletion keeps the store", async (test) => {
  const late = {
    "somebody's tag": (t: TempDataset) => void store(t)?.tags.set("v1", `${t.system("made")}:s0`),
    "a write to the base": (t: TempDataset) => void t.write("made"),
    "another dataset's pin": (t: TempDataset) =>
      void store(t)?.tags.set("tether.ffffffff.0123456789abcdef", `${t.system("made")}:s0`),
    "another owner": (t: TempDataset) => void Object.assign(store(t) ?? {}, { owner: "ffffffff" }),
  };
  for (const [what, appear] of Object.entries(late)) {
    await test.step(`${what}, before a saved plan is applied`, async () => {
      const { t } = await garbage();
      await using _ = t;
      const plan = Plan.fromJSON((await planOf(t)).text());
      appear(t);
      const before = refsOf(t);
      if (what === "another owner") {
        await assert.rejects(t.with((ds) => ds.apply(plan)), (e) => e instanceof MultiObjectError);
      } else {
        await assert.rejects(t.with((ds) => ds.apply(plan)), StalePlanError);
        assert.deepEqual(refsOf(t), before, "a stale plan does nothing at all");
      }
      assert.ok(store(t));
    });
    for (const at of ["delete-branch", "judged"]) {
      await test.step(`${what}, while it is applied: ${at}`, async () => {
        const { t } = await garbage();
        await using _ = t;
        const boundary = (step: string): void => {
          if (step.startsWith(at)) appear(t);
        };
        const run = t.with((ds) => ds.gc({ ...ALL, dryRun: false }), { env: { ...REAL_ENV, boundary } });
        await assert.rejects(run, (e) => e instanceof MultiObjectError && e.code === "partial");
        assert.ok(store(t));
        assert.deepEqual(await created(t), ["made"]);
      });
    }
  }
  await test.step("another checkout begins to name it", async () => {
    const { t } = await garbage();
    await using _ = t;
    const other = await t.repo.worktree("other");
    const plan = Plan.fromJSON((await planOf(t)).text());
    await t.with((ds) => ds.add({ key: "late", kind: "memory", locator: { system: t.system("made") } }), { at: other });
    await assert.rejects(t.with((ds) => ds.apply(plan)), MultiObjectError);
    assert.ok(store(t));
  });
  await test.step("a plan that lost its check", async () => {
    const { t } = await garbage();
    await using _ = t;
    const json = (await planOf(t)).toJSON() as unknown as { preconditions: { kind: string }[]; digest: string };
    json.preconditions = json.preconditions.filter((p) => p.kind !== "store_empty");
    const plan = Plan.fromJSON(JSON.stringify(json));
    await assert.rejects(t.with((ds) => ds.apply(plan)), StalePlanError);
    assert.ok(store(t));
  });
});

Deno.test("[L02] a checkout that is not there may name any store: nothing is judged", async () => {
  const { t } = await garbage();
  await using _ = t;
  const other = await t.repo.worktree("other");
  await t.repo.git(["worktree", "lock", other]);
  await Deno.remove(other, { recursive: true });
  await assert.rejects(
    t.with((ds) => ds.gc({ ...ALL, dryRun: false })),
    /Cannot tell what the checkout at ".*other" refers to: /,
  );
  assert.ok(store(t));
});

Deno.test("[L03] a truncated clone deletes no store", async () => {
  const { t, id } = await garbage();
  await using _ = t;
  await t.repo.git(["branch", "other"]);
  const clone = `${t.repo.outer}/clone`;
  await t.repo.git(["clone", "-q", "--single-branch", `file://${t.repo.path}`, clone]);
  await t.with((ds) => ds.new(), { at: clone });
  const request = {
    pruneBookmarks: true,
    forcePrune: true,
    stores: [{ kind: "memory", locator: { uri: t.system("made") } }],
  };
  await assert.rejects(
    t.with((ds) => ds.gc({ ...request, dryRun: false }), { at: clone }),
    (e) => e instanceof TetherError && e.code === "truncated-history",
  );
  assert.equal(store(t)?.owner, id);
});

Deno.test("[Δ5, seed: stores tether created] --store: any clone may reclaim a store, by its marker", async (test) => {
  await test.step("a clone whose history does not name it", async () => {
    const { t } = await garbage();
    await using _ = t;
    const clone = { at: `${t.repo.outer}/clone` };
    await t.repo.git(["clone", "-q", `file://${t.repo.path}`, clone.at]);
    await t.with((ds) => ds.new(), clone);
    const request = { pruneBookmarks: true, stores: [{ kind: "memory", locator: { uri: t.system("made") } }] };
    const plan = await t.with((ds) => ds.plan.gc(request), clone);
    const [keep] = plan.actions.filter((a) => a.op === "keep-store");
    assert.match(keep?.detail ?? "", /this one did not make/, "its refs are the other clone's");
    const forced = await t.with((ds) => ds.gc({ ...request, forcePrune: true, dryRun: false }), clone);
    assert.deepEqual(Object.values(forced.deletedStores), [t.system("made")]);
    assert.equal(store(t), undefined);
    const forgotten = await t.with((ds) => ds.gc({ ...ALL, dryRun: false }));
    assert.deepEqual(forgotten.forgottenStores, ["made"]);
  });
  await test.step("no marker is a refusal, another dataset's is a note", async () => {
    const { t } = await garbage();
    await using _ = t;
    const named = { stores: [{ kind: "memory", locator: { uri: t.system("a") } }] };
    await assert.rejects(planOf(t, named), (e) => e instanceof ConfigError && e.code === "no-owner");
    Object.assign(namedStore().find(t.system("a")) ?? {}, { owner: "ffffffff" });
    const plan = await planOf(t, named);
    assert.equal(plan.actions.some((a) => a.op.endsWith("-store") && a.target === t.system("a")), false);
    assert.match(plan.notes.join("\n"), /belongs to dataset ffffffff/);
    const blank = { stores: [{ kind: "memory", locator: { uri: " " } }] };
    await assert.rejects(planOf(t, blank), ConfigError);
    await assert.rejects(planOf(t, { stores: [{ kind: "delta", locator: { uri: "/t" } }] }), ConfigError);
  });
});

Deno.test("[L37] a store whose add --create was killed before the index knew is found and taken away", async () => {
  await using t = await tempDataset();
  await t.inside(async (ctx) => {
    const made = { kind: "memory", identity: { system: t.system("made") }, locator: { system: t.system("made") } };
    await ctx.journal.start({ command: "add", pre: { objects: { made: null }, store: made } });
    const backend = await ctx.backends.get("memory");
    await backend.create?.(made.locator, { owner: ctx.config.datasetId });
  });
  assert.deepEqual(verbs(await planOf(t, { deleteStores: true })), [`delete-store ${t.system("made")}`]);
  await t.with((ds) => ds.gc({ deleteStores: true, dryRun: false }));
  assert.equal(store(t), undefined);
  assert.deepEqual(verbs(await planOf(t, { deleteStores: true })), []);
});

Deno.test("[commands 8.12] drop --delete-stores: the bookmark, its refs, then the store; others are left alone", async (test) => {
  await test.step("thrown away", async () => {
    const { t, ref, pin } = await probed();
    await using _ = t;
    const plan = await t.with((ds) => ds.plan.drop({ bookmark: "probe", deleteStores: true }));
    assert.deepEqual(verbs(plan).slice(-3), [
      `unpin ${pin}`,
      `delete-branch ${ref}`,
      `delete-store ${t.system("made")}`,
    ]);
    const report = await t.with((ds) => ds.drop("probe", { deleteStores: true, dryRun: false }));
    assert.deepEqual(report.gc?.deletedStores, { made: t.system("made") });
    assert.equal(store(t), undefined);
  });
  await test.step("without the flag the store stays", async () => {
    const { t } = await probed();
    await using _ = t;
    await t.with((ds) => ds.drop("probe", { dryRun: false }));
    assert.ok(store(t));
    assert.deepEqual(await created(t), ["made"]);
  });
  await test.step("with unpinned writes it stays, and what else is in it too", async () => {
    const { t, ref } = await probed();
    await using _ = t;
    t.write("made", ref);
    const report = await t.with((ds) => ds.drop("probe", { deleteStores: true, dryRun: false }));
    assert.match(report.gc?.keptStores["made"] ?? "", /has writes no commit pinned/);
    assert.ok(store(t)?.branches.has(ref));
  });
  await test.step("a store of another bookmark is not looked at", async () => {
    const { t } = await garbage();
    await using _ = t;
    await t.with((ds) => ds.new({ bookmark: "other" }));
    await t.with((ds) => ds.new({ rev: "main" }));
    const report = await t.with((ds) => ds.drop("other", { deleteStores: true, dryRun: false }));
    assert.deepEqual([report.gc?.deletedStores, report.gc?.keptStores], [{}, {}]);
    assert.ok(store(t));
  });
});

Deno.test("[seed: stores tether created] dead refs in stores this clone wrote to go, then the store is forgotten", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "baseline" }));
  await t.with((ds) => ds.new({ bookmark: "probe" }));
  await t.addMemory("made");
  await t.with((ds) => ds.commit({ message: "adopted" }));
  await t.with((ds) => ds.new({ bookmark: "deeper", eager: true }));
  await t.with((ds) => ds.new({ rev: "main" }));
  for (const name of ["probe", "deeper"]) await t.repo.git(["branch", "-q", "-D", name]);
  const plain = await planOf(t, { pruneBookmarks: true });
  assert.deepEqual(plain.actions.filter((a) => a.key === "made" && a.op !== "forget-working-ref"), []);
  const before = refsOf(t);
  const plan = await planOf(t);
  const about = plan.actions.filter((a) => a.key === "made" && a.op !== "forget-working-ref").map((a) => a.op);
  assert.deepEqual(about, ["unpin", "delete-branch", "forget-touched"]);
  assert.deepEqual(refsOf(t), before);
  const report = await t.with((ds) => ds.gc({ ...ALL, dryRun: false }));
  assert.deepEqual(report.forgottenStores, ["made"]);
  assert.deepEqual(refsOf(t), ["main"], "the store itself is not tether's to delete");
  await t.inside(async (ctx) => assert.deepEqual((await ctx.indexes.touched()).map((e) => e.key), ["a"]));
});

Deno.test("[C27, seed: stores tether created] a link where the store was keeps it, and the plan says so already", async (test) => {
  for (const kind of ["file", "git", "icechunk"]) {
    await test.step(kind, async () => {
      await using t = await tempDataset({ files: { README: "hello" } });
      const uri = `${t.repo.outer}/made`;
      await t.with((ds) => ds.add({ key: "made", kind, locator: { uri }, create: true }));
      await t.with((ds) => ds.remove("made"));
      assert.deepEqual(verbs(await planOf(t)), [`delete-store ${uri}`]);
      await Deno.rename(uri, `${uri}-moved`);
      await Deno.symlink(`${uri}-moved`, uri);
      const plan = await planOf(t);
      assert.deepEqual(verbs(plan), [`keep-store ${uri}`]);
      assert.match(plan.actions[0]?.detail ?? "", /^kept: its place is a symbolic link/);
      const report = await t.with((ds) => ds.gc({ ...ALL, forcePrune: true, dryRun: false }));
      assert.deepEqual([report.deletedStores, report.failed], [{}, {}]);
      assert.ok((await Deno.lstat(uri)).isSymlink);
      assert.ok((await Deno.stat(`${uri}-moved`)).isDirectory);
      assert.deepEqual(await created(t), ["made"]);
    });
  }
});
