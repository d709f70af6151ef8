import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { ConfigError, StalePlanError, TetherError } from "../../engine/model/errors.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import type { Dataset } from "../../engine/dataset.ts";
import type { VerifyOptions } from "../../engine/commands/verify.ts";
import type { VerifyReport } from "../../engine/reports/reading.ts";
import { Plan } from "../../engine/plan/plan.ts";
import { observeSpawns } from "../../engine/io/process.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

/** A dataset with one object `a`, committed twice; returns the refs of its two pins. */
async function twice(): Promise<{ t: TempDataset; first: string; second: string }> {
  const t = await tempDataset();
  await t.addMemory("a");
  const one = await t.with((ds) => ds.commit({ message: "first" }));
  t.write("a");
  const two = await t.with((ds) => ds.commit({ message: "second" }));
  return { t, first: one.pinned["a"] ?? "", second: two.pinned["a"] ?? "" };
}

function tags(t: TempDataset): string[] {
  return [...namedStore().find(t.system("a"))?.tags.keys() ?? []].sort();
}

async function verbs(t: TempDataset, options = {}): Promise<string[]> {
  const plan = await t.with((ds) => ds.plan.gc(options));
  return plan.actions.map((a) => `${a.op} ${a.target}`);
}

Deno.test("[L02, Δ21, commands 5.23] gc counts every ref of every kind; only what nothing reaches is released", async () => {
  const { t, second } = await twice();
  await using _ = t;
  await t.repo.git(["branch", "keep"]);
  await t.repo.git(["tag", "v2"]);
  await t.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
  assert.deepEqual(await verbs(t), []);
  await t.repo.git(["branch", "-q", "-D", "keep"]);
  assert.deepEqual(await verbs(t), []);
  await t.repo.git(["tag", "-d", "v2"]);
  assert.deepEqual(await verbs(t), [`unpin ${second}`]);
  const kinds = (await t.with((ds) => ds.plan.gc())).preconditions.map((p) => p.kind);
  for (const required of ["workspace_id", "history_digest"]) {
    assert.ok(kinds.includes(required), `${required} in ${kinds}`);
  }
  assert.equal(tags(t).length, 2);
  const report = await t.with((ds) => ds.gc({ dryRun: false }));
  assert.deepEqual(report.unpinned, { memory: [second.replace("tether.", "")] });
  assert.equal(tags(t).length, 1);
  assert.equal((await t.with(async (ds) => await ds.verify({ allHistory: true }))).ok, true);
});

Deno.test("[L01] a manifest that only an index names keeps its pin", async () => {
  const { t, second } = await twice();
  await using _ = t;
  await t.repo.git(["reset", "-q", "--soft", "HEAD~1"]);
  await t.repo.git(["restore", "--worktree", "--source=HEAD", "--", ".tether"]);
  assert.deepEqual(await verbs(t), []);
  await t.repo.git(["commit", "-q", "-m", "from the index"]);
  await t.repo.git(["checkout", "-q", "HEAD", "--", "."]);
  assert.equal((await t.with(async (ds) => await ds.verify())).ok, true);
  assert.ok(tags(t).includes(second));
});

Deno.test("[L02] working trees and unfinished operations of every checkout keep their pins", async (test) => {
  await test.step("another checkout's working tree", async () => {
    const { t } = await twice();
    await using _ = t;
    const other = await t.repo.worktree("other");
    await t.repo.git(["reset", "-q", "--hard", "HEAD~1"], { cwd: other });
    await t.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
    const manifest = (await t.repo.git(["show", "HEAD@{1}:.tether/objects/a.toml"])) + "\n";
    await Deno.writeTextFile(`${other}/.tether/objects/a.toml`, manifest);
    assert.deepEqual(await verbs(t), []);
  });
  await test.step("a killed commit's pins, until its entry is closed", async () => {
    const { t } = await twice();
    await using _ = t;
    t.write("a");
    const plan = await t.with((ds) => ds.plan.commit({ message: "killed" }));
    await t.inside((ctx) => ctx.journal.start({ command: "commit", plan: plan.toJSON() }));
    const system = namedStore().find(t.system("a"));
    system?.tags.set(plan.actions[0]?.target ?? "", system.head("main").id);
    assert.deepEqual(await verbs(t, { releaseForeign: true }), []);
  });
});

Deno.test("[commands 5.23] pins this clone did not make are kept; another dataset's are never looked at", async () => {
  const { t, second } = await twice();
  await using _ = t;
  const system = namedStore().find(t.system("a"));
  system?.tags.set("tether.ffffffff.0123456789abcdef", `${t.system("a")}:s0`);
  const foreign = second.replace(/[0-9a-f]{16}$/, "0123456789abcdef");
  system?.tags.set(foreign, `${t.system("a")}:s0`);
  assert.deepEqual(await verbs(t), [`keep-pin ${foreign}`]);
  assert.equal((await t.with((ds) => ds.plan.gc())).isEmpty, true);
  assert.deepEqual(await verbs(t, { releaseForeign: true }), [`unpin ${foreign}`]);
  await t.with((ds) => ds.gc({ dryRun: false, releaseForeign: true }));
  assert.ok(tags(t).includes("tether.ffffffff.0123456789abcdef"));
});

Deno.test("[commands 5.23] branches of bookmarks that are gone: the verdicts on a store", async (test) => {
  const cases: Record<string, { write: boolean; force?: boolean; op: string }> = {
    "nothing written": { write: false, op: "delete-branch" },
    "unpinned writes": { write: true, op: "keep-branch" },
    "unpinned writes, forced": { write: true, force: true, op: "delete-branch" },
  };
  for (const [name, c] of Object.entries(cases)) {
    await test.step(name, async () => {
      const { t } = await twice();
      await using _ = t;
      await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
      const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
      if (c.write) t.write("a", ref);
      await t.with((ds) => ds.new({ rev: "main" }));
      assert.deepEqual(await verbs(t, { pruneBookmarks: true }), []);
      await t.repo.git(["branch", "-q", "-D", "feat"]);
      assert.deepEqual(await verbs(t), []);
      assert.deepEqual(await verbs(t, { pruneBookmarks: true, keepBookmarks: ["feat"] }), []);
      const request = { pruneBookmarks: true, ...(c.force ? { forcePrune: true } : {}) };
      assert.deepEqual(await verbs(t, request), [`${c.op} ${ref}`]);
      await t.with((ds) => ds.gc({ dryRun: false, ...request }));
      assert.equal(namedStore().find(t.system("a"))?.branches.has(ref), c.op === "keep-branch");
    });
  }
  const { t } = await twice();
  await using _ = t;
  await assert.rejects(t.with((ds) => ds.plan.gc({ forcePrune: true })), ConfigError);
});

Deno.test("[L43] a branch that moves while gc runs is kept and reported, and the rest goes on", async () => {
  const { t, second } = await twice();
  await using _ = t;
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
  await t.with((ds) => ds.new({ rev: "main" }));
  await t.repo.git(["branch", "-q", "-D", "feat"]);
  await t.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
  const ds = await t.open({
    env: {
      now: () => new Date(),
      randomHex: () => crypto.randomUUID().replaceAll("-", ""),
      variable: () => undefined,
      boundary: (step) => void (step.startsWith("unpin") && t.write("a", ref)),
    },
  });
  await assert.rejects(
    ds.gc({ dryRun: false, pruneBookmarks: true, forcePrune: true }),
    (e) => e instanceof MultiObjectError && e.code === "partial",
  );
  assert.ok(namedStore().find(t.system("a"))?.branches.has(ref));
  assert.ok(!tags(t).includes(second));
});

Deno.test("[commands 3.2] a gc plan is stale after any commit in the clone, and after a branch moved", async (test) => {
  await test.step("a commit elsewhere", async () => {
    const { t } = await twice();
    await using _ = t;
    await t.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
    const plan = Plan.fromJSON((await t.with((ds) => ds.plan.gc())).text());
    await t.repo.git(["commit-tree", "-m", "x", "HEAD^{tree}"]).then((c) => t.repo.git(["branch", "new", c]));
    await assert.rejects(t.with((ds) => ds.apply(plan)), StalePlanError);
    assert.equal(tags(t).length, 2);
  });
  await test.step("a moved branch", async () => {
    const { t } = await twice();
    await using _ = t;
    await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
    const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
    await t.with((ds) => ds.new({ rev: "main" }));
    await t.repo.git(["branch", "-q", "-D", "feat"]);
    const plan = await t.with((ds) => ds.plan.gc({ pruneBookmarks: true }));
    t.write("a", ref);
    await assert.rejects(t.with((ds) => ds.apply(plan)), StalePlanError);
    assert.ok(namedStore().find(t.system("a"))?.branches.has(ref));
  });
});

Deno.test("[L03] a truncated clone refuses to release anything", async (test) => {
  for (const flags of [["--depth", "1"], ["--single-branch"]]) {
    await test.step(flags.join(" "), async () => {
      const { t } = await twice();
      await using _ = t;
      await t.repo.git(["branch", "other"]);
      const clone = `${t.repo.outer}/clone`;
      await t.repo.git(["clone", "-q", ...flags, `file://${t.repo.path}`, clone]);
      await t.with((ds) => ds.new(), { at: clone });
      await assert.rejects(
        t.with((ds) => ds.gc({ dryRun: false, releaseForeign: true }), { at: clone }),
        (e) => e instanceof TetherError && e.code === "truncated-history" && e.hints.length > 0,
      );
      assert.equal(tags(t).length, 2);
    });
  }
});

Deno.test("[L03] verify of all history says in its answer that a clone lacks some of it", async (test) => {
  for (const [flags, partial] of [[["--depth", "1"], true], [["--single-branch"], true], [[], false]] as const) {
    await test.step(flags.join(" ") || "a whole clone", async () => {
      const { t } = await twice();
      await using _ = t;
      await t.repo.git(["branch", "other"]);
      const clone = `${t.repo.outer}/clone`;
      await t.repo.git(["clone", "-q", ...flags, `file://${t.repo.path}`, clone]);
      const verified = (options: VerifyOptions): Promise<VerifyReport> =>
        t.with(async (ds) => await ds.verify(options), { at: clone });
      const report = await verified({ allHistory: true });
      const marks = report.entries.filter((e) => e.label === "history");
      assert.deepEqual(marks.map((e) => e.status), partial ? ["unknown"] : []);
      if (partial) assert.match(marks[0]?.message ?? "", /^partial, .+: git (fetch|config) /);
      assert.equal(report.ok, !partial);
      assert.equal("history" in JSON.parse(JSON.stringify(report)), partial);
      assert.ok((await verified({ allHistory: true, allowUnknown: true })).ok);
      assert.ok((await verified({})).ok, "what is here needs no history");
    });
  }
});

Deno.test("[formats 19.1, 19.2] a moved dataset keeps its history, and so does a manifest that does not parse", async () => {
  const { t, first } = await twice();
  await using _ = t;
  await Deno.mkdir(`${t.root}/moved`);
  await t.repo.git(["mv", "tether.toml", ".tether/objects", ".tether/.gitignore", ".tether/.gitattributes", "moved/"]);
  await Deno.mkdir(`${t.root}/moved/.tether`);
  for (const name of ["objects", ".gitignore", ".gitattributes"]) {
    await Deno.rename(`${t.root}/moved/${name}`, `${t.root}/moved/.tether/${name}`);
  }
  await t.repo.git(["add", "-A"]);
  await t.repo.git(["commit", "-q", "-m", "moved"]);
  const moved = { at: `${t.root}/moved` };
  assert.deepEqual((await t.with((ds) => ds.plan.gc({ releaseForeign: true }), moved)).actions, []);
  const text = await Deno.readTextFile(`${t.root}/moved/.tether/objects/a.toml`);
  await Deno.writeTextFile(`${t.root}/moved/.tether/objects/a.toml`, text.replace("[state]", "[state"));
  await t.repo.git(["commit", "-q", "-a", "-m", "broken"]);
  await t.repo.git(["checkout", "-q", "HEAD~1", "--", "."]);
  assert.deepEqual((await t.with((ds) => ds.plan.gc({ releaseForeign: true }), moved)).actions, []);
  assert.ok(tags(t).includes(first));
});

Deno.test("[speed] gc starts at most 4 children on git whatever the history's length, and one more for all further checkouts", async () => {
  const { t, second } = await twice();
  await using _ = t;
  const children = async (run: (ds: Dataset) => Promise<unknown>): Promise<string[]> => {
    const started: string[] = [];
    const stop = observeSpawns((_, args) =>
      started.push(args.find((a, i) => !a.startsWith("-") && args[i - 1] !== "-c") ?? "")
    );
    try {
      await t.with(run);
    } finally {
      stop();
    }
    return started;
  };
  const dry = (): Promise<string[]> => children((ds) => ds.plan.gc());
  const real = (): Promise<string[]> => children((ds) => ds.gc({ dryRun: false }));
  const pruning = (): Promise<string[]> => children((ds) => ds.gc({ dryRun: false, pruneBookmarks: true }));
  const least = ["rev-parse", "cat-file", "rev-list", "config"];
  assert.deepEqual([await dry(), await real(), await pruning()], [least, least, least]);
  for (let i = 0; i < 8; i++) {
    t.write("a");
    await t.with((ds) => ds.commit({ message: `more ${i}` }));
  }
  assert.deepEqual([await dry(), await real(), await pruning()], [least, least, least]);
  // Right before something goes it is looked whether history is as it was: without a child.
  await t.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
  const before = tags(t).length;
  assert.deepEqual(await pruning(), least);
  assert.deepEqual([tags(t).length, tags(t).includes(second)], [before - 1, true]);
  for (const name of ["other", "third"]) {
    await t.repo.worktree(name);
    const more = [...least.slice(0, 2), "worktree", ...least.slice(2)];
    assert.deepEqual([await dry(), await real()], [more, more]);
  }
});
