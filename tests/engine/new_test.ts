import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import type { NewRequest } from "../../engine/commands/new_target.ts";
import { ConfigError, StalePlanError, StaleWorkingCopyError } from "../../engine/model/errors.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { Plan } from "../../engine/plan/plan.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

/** A dataset with one committed object `a`. */
async function committed(): Promise<TempDataset> {
  const t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  return t;
}

async function refOf(t: TempDataset, bookmark: string): Promise<string> {
  return await t.with((ds) => Promise.resolve(`tether.ws.${ds.config.datasetId}.${bookmark}`));
}

Deno.test("[commands 5.10] new -b is lazy: no store is written until the first writable open", async () => {
  await using t = await committed();
  const report = await t.with((ds) => ds.new({ bookmark: "feat" }));
  const ref = await refOf(t, "feat");
  assert.deepEqual(report.pendingForks, { a: ref });
  assert.deepEqual([...namedStore().find(t.system("a"))?.branches.keys() ?? []], ["main"]);
  const handle = await t.with((ds) => ds.open("a"));
  assert.equal(handle.ref, ref);
  assert.equal(handle.readOnly, false);
  assert.ok(namedStore().find(t.system("a"))?.branches.has(ref));
  const entry = (await t.with((ds) => ds.ops())).ops[0];
  assert.equal(entry?.command, "fork");
  assert.deepEqual(entry?.progress.map((p) => p["action"]), ["fork"]);
});

Deno.test("[commands 5.10] writes on a bookmark leave the upstream alone and are pinned by its commits", async () => {
  await using t = await committed();
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const ref = await refOf(t, "feat");
  const written = t.write("a", ref);
  assert.equal((await t.with((ds) => ds.status({ snapshot: true }))).objects[0]?.state, "modified");
  const report = await t.with((ds) => ds.commit({ message: "on feat" }));
  assert.equal(namedStore().find(t.system("a"))?.tags.get(report.pinned["a"] ?? ""), written.id);
  assert.equal(namedStore().find(t.system("a"))?.head("main").id, `${t.system("a")}:s0`);
  const old = await t.with((ds) => ds.open("a", { rev: "main" }));
  assert.deepEqual(old.state, { snapshot_id: `${t.system("a")}:s0` });
  assert.equal(old.readOnly, true);
  await t.with((ds) => ds.new({ rev: "main" }));
  assert.deepEqual(await t.with((ds) => Promise.resolve(ds.workspace.workingRefs)), { a: "main" });
});

interface Case {
  /** What happens to the branch of `feat` before `new` is called again from `main`. */
  readonly before: (t: TempDataset, ref: string) => Promise<void> | void;
  readonly request: NewRequest;
  /** The verb planned for `a`. */
  readonly verb: string;
  readonly detail?: RegExp;
}

const DECISIONS: Readonly<Record<string, Case>> = {
  "absent, lazy": { before: () => {}, request: {}, verb: "defer-fork" },
  "absent, eager": { before: () => {}, request: { eager: true }, verb: "fork" },
  "at the pinned state": { before: (t, ref) => void makeBranch(t, ref), request: {}, verb: "reuse" },
  "somebody's unpinned writes": {
    before: (t, ref) => {
      makeBranch(t, ref);
      t.write("a", ref);
    },
    request: {},
    verb: "refuse",
    detail: /--shared.*--discard/,
  },
  "somebody's unpinned writes, shared": {
    before: (t, ref) => {
      makeBranch(t, ref);
      t.write("a", ref);
    },
    request: { shared: true },
    verb: "adopt",
  },
  "somebody's unpinned writes, discard": {
    before: (t, ref) => {
      makeBranch(t, ref);
      t.write("a", ref);
    },
    request: { discard: true, eager: true },
    verb: "fork",
    detail: /throws away/,
  },
  "on another line": {
    before: (t, ref) => strayBranch(t, ref),
    request: { shared: true },
    verb: "refuse",
    detail: /only --discard/,
  },
  "adopt takes it as it is": {
    before: (t, ref) => {
      makeBranch(t, ref);
      t.write("a", ref);
    },
    request: { adopt: true },
    verb: "adopt",
  },
  "adopt with nothing there": { before: () => {}, request: { adopt: true }, verb: "defer-fork" },
  "a name that differs in case": {
    before: (t, ref) => makeBranch(t, ref.replace(/feat$/, "FEAT")),
    request: {},
    verb: "refuse",
    detail: /letter case/,
  },
};

function makeBranch(t: TempDataset, ref: string): void {
  const system = namedStore().find(t.system("a"));
  system?.branches.set(ref, `${t.system("a")}:s0`);
}

function strayBranch(t: TempDataset, ref: string): void {
  const system = namedStore().find(t.system("a"));
  const id = system?.append({ parents: [], payload: { other: 1 }, message: "other", when: new Date() }).id;
  system?.branches.set(ref, id ?? "");
}

Deno.test("[commands 5.10, L19] what new decides for a branch, by what the store holds", async (test) => {
  for (const [name, c] of Object.entries(DECISIONS)) {
    await test.step(name, async () => {
      await using t = await committed();
      await c.before(t, await refOf(t, "feat"));
      const plan = await t.with((ds) => ds.plan.new({ bookmark: "feat", ...c.request }));
      const action = plan.actions.find((a) => a.key === "a");
      assert.equal(action?.op, c.verb);
      if (c.detail) assert.match(action?.detail ?? "", c.detail);
      if (c.verb !== "refuse") {
        await t.with((ds) => ds.apply(plan));
        assert.equal(await t.repo.git(["branch", "--show-current"]), "feat");
        return;
      }
      await assert.rejects(t.with((ds) => ds.new({ bookmark: "feat", ...c.request })), MultiObjectError);
      assert.equal(await t.repo.git(["branch", "--show-current"]), "main");
    });
  }
});

Deno.test("[commands 5.10] own unpinned writes are refused, and thrown away only by --discard", async () => {
  await using t = await committed();
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  t.write("a", await refOf(t, "feat"));
  await assert.rejects(
    t.with((ds) => ds.new()),
    (e) => e instanceof MultiObjectError && e.hints.includes("tether new --discard"),
  );
  await assert.rejects(
    t.with((ds) => ds.restore(["a"], { from: "main" })),
    (e) => e instanceof MultiObjectError && e.hints.includes("tether restore --from main --discard -- a"),
  );
  // From elsewhere the hint names the bookmark: the flag alone would reset the branches of the one underfoot.
  await t.with((ds) => ds.new({ rev: "main" }));
  await assert.rejects(
    t.with((ds) => ds.new({ rev: "feat" })),
    (e) => e instanceof MultiObjectError && e.hints.includes("tether new --discard -- feat"),
  );
  await t.with((ds) => ds.new({ rev: "feat", discard: true, eager: true }));
  assert.equal(namedStore().find(t.system("a"))?.head(await refOf(t, "feat")).id, `${t.system("a")}:s0`);
});

Deno.test("[commands 5.10] a deferred reset happens only onto the head that was reviewed", async () => {
  await using t = await committed();
  const ref = await refOf(t, "feat");
  makeBranch(t, ref);
  const reviewed = t.write("a", ref);
  await t.with((ds) => ds.new({ bookmark: "feat", discard: true }));
  assert.deepEqual(await t.with((ds) => Promise.resolve(ds.workspace.pendingResets["a"])), {
    snapshot_id: reviewed.id,
  });
  t.write("a", ref);
  await assert.rejects(t.with((ds) => ds.open("a")), StaleWorkingCopyError);
  namedStore().find(t.system("a"))?.branches.set(ref, reviewed.id);
  await t.with((ds) => ds.open("a"));
  assert.equal(namedStore().find(t.system("a"))?.head(ref).id, `${t.system("a")}:s0`);
});

Deno.test("[commands 5.10] objects recorded without a pin are forked at once, unless told otherwise", async (test) => {
  for (const [request, verb] of [[{}, "fork"], [{ deferRecord: true }, "defer-fork"]] as const) {
    await test.step(verb, async () => {
      await using t = await tempDataset();
      await t.with((ds) =>
        ds.add({ key: "a", kind: "memory", locator: { system: t.system("a") }, policy: { pin: "record" } })
      );
      await t.with((ds) => ds.commit({ message: "first" }));
      const plan = await t.with((ds) => ds.plan.new({ bookmark: "feat", ...request }));
      assert.equal(plan.actions[0]?.op, verb);
    });
  }
  await using t = await committed();
  await assert.rejects(t.with((ds) => ds.new({ bookmark: "x", eager: true, deferRecord: true })), ConfigError);
});

Deno.test("[L19, backends 1.3] bookmark names that would share a branch, or that a system cannot hold, are refused", async (test) => {
  await using t = await committed();
  await t.with((ds) => ds.new({ bookmark: "a/b" }));
  const slug =
    (await t.with((ds) => Promise.resolve(Object.values(ds.workspace.pendingForks)[0] ?? ""))).split(".").at(-1) ?? "";
  for (const name of [slug, slug.toUpperCase(), "lock", "x".repeat(250), "a/b", "-x", "tether/abc", ""]) {
    await test.step(JSON.stringify(name), async () => {
      await assert.rejects(t.with((ds) => ds.new({ bookmark: name })), ConfigError);
    });
  }
  await test.step("[Δ19] all digits", async () => {
    await t.with((ds) => ds.new({ bookmark: "2024" }));
    assert.match(await t.with((ds) => Promise.resolve(ds.workspace.pendingForks["a"] ?? "")), /\.2024$/);
  });
});

Deno.test("[commands 8.5, Δ18, Δ29] a bookmark another live checkout holds is refused with the real reason", async () => {
  await using t = await committed();
  const other = await t.repo.worktree("b");
  await t.with((ds) => ds.new(), { at: other });
  await assert.rejects(
    t.with((ds) => ds.new({ rev: "b" })),
    (e) => e instanceof StaleWorkingCopyError && /held by [0-9a-f]{8}/.test(e.message),
  );
  assert.notEqual(
    await t.with((ds) => Promise.resolve(ds.workspace.workspaceId), { at: other }),
    await t.with((ds) => Promise.resolve(ds.workspace.workspaceId)),
  );
});

Deno.test("[commands 5.10] a plan of new applies, and is refused once a branch appeared", async () => {
  await using t = await committed();
  const plan = Plan.fromJSON((await t.with((ds) => ds.plan.new({ bookmark: "feat", eager: true }))).text());
  makeBranch(t, await refOf(t, "feat"));
  await assert.rejects(t.with((ds) => ds.apply(plan)), StalePlanError);
  assert.equal(await t.repo.git(["branch", "--show-current"]), "main");
  namedStore().find(t.system("a"))?.branches.delete(await refOf(t, "feat"));
  await t.with((ds) => ds.apply(plan));
  assert.ok(namedStore().find(t.system("a"))?.branches.has(await refOf(t, "feat")));
});

Deno.test("[formats 8, L37] a process killed while forking leaves exactly a lazy new, which new finishes", async () => {
  await using t = await committed();
  const ds = await t.open({
    env: {
      now: () => new Date(),
      randomHex: () => crypto.randomUUID().replaceAll("-", ""),
      variable: () => undefined,
      boundary: (step) => {
        if (step === "workspace") throw new Error("killed");
      },
    },
  });
  await assert.rejects(ds.new({ bookmark: "feat", eager: true }), /killed/);
  const pending = await t.with((d) => Promise.resolve(d.workspace.pendingForks));
  assert.deepEqual(Object.keys(pending), ["a"]);
  await t.with((d) => d.new({ eager: true }));
  assert.deepEqual(await t.with((d) => Promise.resolve(d.workspace.pendingForks)), {});
});

Deno.test("[commands 5.10] a revision without a bookmark parks the checkout, read-only", async () => {
  await using t = await committed();
  t.write("a");
  await t.with((ds) => ds.commit({ message: "second" }));
  const report = await t.with((ds) => ds.new({ rev: "main~1" }));
  assert.equal(report.bookmark, null);
  assert.match(await t.repo.git(["branch", "--show-current"]), /^tether\//);
  await assert.rejects(t.with((ds) => ds.commit({ message: "no" })), StaleWorkingCopyError);
  assert.equal((await t.with((ds) => ds.new({ rev: "main" }))).bookmark, "main");
});

Deno.test("[commands 5.10] --keep refreshes what the branches stand for and leaves them", async () => {
  await using t = await committed();
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const ref = await refOf(t, "feat");
  const head = t.write("a", ref);
  await t.with((ds) => ds.new({ keep: true }));
  assert.equal(namedStore().find(t.system("a"))?.head(ref).id, head.id);
  assert.deepEqual(await t.with((ds) => Promise.resolve(ds.workspace.workingRefs)), { a: ref });
});

Deno.test("[commands 5.10] --keep from the trunk says that the upstream branches themselves are written to", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "Baseline" }));
  await t.with((ds) => ds.new());
  const said = 'a: bookmark "y" keeps the upstream branch "main": writing here writes to it';
  await t.repo.git(["branch", "y"]);
  await t.with(async (ds) => {
    assert.deepEqual(Object.values(ds.workspace.workingRefs), ["main"]);
    assert.deepEqual((await ds.plan.new({ keep: true })).notes, [], "the trunk stands for upstream anyway");
    assert.deepEqual((await ds.plan.new({ rev: "y", keep: true })).notes, [said]);
    assert.deepEqual((await ds.new({ rev: "y", keep: true })).warnings, [said]);
    assert.deepEqual([ds.workspace.bookmark, Object.values(ds.workspace.workingRefs)], ["y", ["main"]]);
    assert.deepEqual((await ds.plan.new({ keep: true })).notes, [said], "and every further time");
  });
});

Deno.test("[L42, commands 5.10] what contradicts itself is refused before anything is read", async () => {
  await using t = await tempDataset();
  const contradictions: readonly NewRequest[] = [
    { keep: true, discard: true },
    { keep: true, adopt: true },
    { keep: true, bookmark: "x" },
    { adopt: true, discard: true },
    { deferRecord: true, eager: true },
  ];
  for (const options of contradictions) {
    await assert.rejects(t.with((ds) => ds.new(options)), { code: "flags" }, Deno.inspect(options));
    await assert.rejects(t.with((ds) => ds.plan.new(options)), { code: "flags" });
  }
});
