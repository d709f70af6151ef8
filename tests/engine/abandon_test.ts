import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { abandonLines } from "../../cli/abandon.ts";
import type { JsonObject } from "../../engine/model/json.ts";
import { ConfigError, TetherError, VcsError } from "../../engine/model/errors.ts";
import { type BothDataset, gitDataset, onBoth } from "../helpers/both.ts";
import { tempDataset } from "../helpers/dataset.ts";

/** Three dataset commits on `main`, each with a state of `a` of its own; their ids, oldest first. */
async function threeStates(t: BothDataset): Promise<string[]> {
  await t.commitFiles("base", { "code.txt": "1\n" });
  await t.addMemory("a");
  const ids: string[] = [];
  for (const message of ["first", "second", "third"]) {
    t.write("a");
    ids.push((await t.with((ds) => ds.commit({ message }))).vcsCommit ?? "");
  }
  return ids;
}

const manifestsIn = (files: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).filter(([name]) => name.startsWith(".tether/objects/")));

onBoth(
  "[commands 5.21, Δ34] abandon takes a commit out, later manifests stay byte for byte, its pin is freed",
  async (t) => {
    const [, second = "", third = ""] = await threeStates(t);
    const before = await t.filesOf(third);
    const pins = new Set(namedStore().find(t.system("a"))?.tags.keys());
    const report = await t.with((ds) => ds.abandon([second]));
    assert.deepEqual(report.abandoned, [second]);
    assert.deepEqual(report.gcPlan.actions.map((a) => a.op), ["unpin"]);
    assert.equal(report.gc, null);
    const now = await t.id("here");
    assert.deepEqual(report.rewritten, { [third]: now });
    assert.deepEqual(report.bookmarksMoved, { main: now });
    assert.deepEqual(manifestsIn(await t.filesOf(now)), manifestsIn(before));
    assert.ok(!(await t.line("main")).includes(second));
    assert.equal(namedStore().find(t.system("a"))?.tags.size, pins.size, "nothing is released without gc");
    const status = await t.with((ds) => ds.status());
    assert.deepEqual([status.vcsDrift, status.objects.map((o) => o.state)], [[], ["clean"]]);
    const [entry] = (await t.with((ds) => ds.ops())).ops;
    assert.deepEqual([entry?.command, entry?.status], ["abandon", "done"]);
    assert.equal(entry?.summary, `abandoned ${second.slice(0, 12)}; 1 commit(s) above made again`);
    await assert.rejects(t.with((ds) => ds.undo()), (e) => e instanceof TetherError && e.code === "not-undoable");
    const gc = await t.with((ds) => ds.gc({ dryRun: false }));
    assert.deepEqual(gc.unpinned, { memory: report.gcPlan.actions.map((a) => String(a.params["pin_id"])) });
    assert.ok((await t.with(async (ds) => await ds.verify({ allHistory: true }))).ok);
  },
);

onBoth("[commands 5.21] --gc releases at once; the last commit goes to the one before it", async (t) => {
  const [first = "", second = "", third = ""] = await threeStates(t);
  const report = await t.with((ds) => ds.abandon([third, second], { gc: true }));
  assert.equal(report.gc?.unpinned["memory"]?.length, 2);
  assert.equal(await t.id("here"), first);
  assert.deepEqual(report.bookmarksMoved, { main: first });
  assert.ok((await t.with(async (ds) => await ds.verify({ allHistory: true }))).ok);
});

onBoth("[commands 5.21] pins that were new with a commit and stay are named, with what holds each", async (t, test) => {
  await t.addMemory("a", "b", "c");
  await t.with((ds) => ds.commit({ message: "first" }));
  const written = async (key: string) => {
    t.write(key);
    const { vcsCommit, pinned } = await t.with((ds) => ds.commit({ message: key }));
    return { commit: vcsCommit ?? "", pin: pinned[key] ?? "" };
  };
  const a = await written("a");
  await written("b");
  await test.step("by the commits after it", async () => {
    const report = await t.with((ds) => ds.abandon([a.commit]));
    assert.deepEqual(Object.keys(report.held), [a.pin]);
    const holder = report.held[a.pin] ?? "";
    // Under jj the working copy is a commit as well.
    const now = t.kind === "git" ? (await t.id("here")).slice(0, 12) : "[0-9a-f]{12}";
    assert.match(holder, new RegExp(`^"a" as ${now} has it$`));
    assert.deepEqual((report.toJSON() as { held: unknown }).held, report.held);
    assert.ok(report.gcPlan.isEmpty);
    assert.deepEqual(abandonLines(report).slice(-2).map((line) => line.text), [
      `  ${a.pin} stays: named by ${holder}`,
      "nothing was freed",
    ]);
  });
  await test.step("by nothing: then they are freed", async () => {
    const c = await written("c");
    const report = await t.with((ds) => ds.abandon([c.commit]));
    assert.deepEqual(report.held, {});
    assert.deepEqual(report.gcPlan.actions.map((action) => action.target), [c.pin]);
  });
  await test.step("by an operation that did not finish", async () => {
    const c = await written("c");
    const plan: JsonObject = {
      format: 3,
      command: "commit",
      actions: [{ op: "pin", params: { pin_id: c.pin.slice(7) } }],
    };
    await t.inside((ctx) => ctx.journal.start({ command: "commit", plan }));
    const report = await t.with((ds) => ds.abandon([c.commit]));
    assert.deepEqual(report.held, { [c.pin]: `an operation that "${t.root}" has not finished` });
  });
});

onBoth("[commands 5.21] what the commit changed beside the dataset goes, what came later stays", async (t) => {
  await t.addMemory("a");
  await t.commitFiles("base", { "code.txt": "1\n", "other.txt": "1\n" });
  await t.with((ds) => ds.commit({ message: "first" }));
  const code = await t.commitFiles("code", { "code.txt": "2\n" });
  t.write("a");
  await t.with((ds) => ds.commit({ message: "second" }));
  await t.commitFiles("more", { "other.txt": "2\n" });
  const before = manifestsIn(await t.filesOf(await t.id("here")));
  await t.with((ds) => ds.abandon([code]));
  const files = await t.filesOf(await t.id("here"));
  assert.deepEqual([files["code.txt"], files["other.txt"]], ["1\n", "2\n"]);
  assert.deepEqual(manifestsIn(files), before);
  assert.equal(await t.read("code.txt"), "1\n");
});

onBoth("[L05] a state recorded without a pin that loses its last holder stops abandon unless forced", async (t) => {
  await t.commitFiles("base", { "code.txt": "1\n" });
  await t.with((ds) =>
    ds.add({ key: "a", kind: "memory", locator: { system: t.system("a") }, policy: { pin: "record" } })
  );
  await t.with((ds) => ds.commit({ message: "first" }));
  t.write("a");
  const second = (await t.with((ds) => ds.commit({ message: "second" }))).vcsCommit ?? "";
  const refused = (e: unknown): boolean => e instanceof TetherError && e.code === "last-holder";
  await assert.rejects(t.with((ds) => ds.abandon([second], { gc: true })), refused);
  assert.equal(await t.id("here"), second);
  t.write("a");
  await t.with((ds) => ds.commit({ message: "third" }));
  await assert.rejects(t.with((ds) => ds.abandon([second])), refused);
  assert.deepEqual((await t.with((ds) => ds.abandon([second], { force: true }))).abandoned, [second]);
});

onBoth("[commands 5.21] what abandon refuses, with nothing moved", async (t, test) => {
  const ids = await threeStates(t);
  const base = await t.id("here~3");
  const head = await t.id("here");
  const cases: readonly (readonly [string, string[], new (...args: never[]) => Error])[] = [
    ["no commit", [], ConfigError],
    ["an unknown one", ["nosuch"], VcsError],
    ["a blank one", [" "], VcsError],
    ["the first one", [ids[0] ?? "", base], ConfigError],
  ];
  for (const [name, revs, type] of cases) {
    await test.step(name, async () => {
      await assert.rejects(t.with((ds) => ds.abandon(revs)), type);
      assert.equal(await t.id("here"), head);
    });
  }
  await test.step("edits of the dataset are not lost", async () => {
    await t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
    const edited = await t.read(".tether/objects/a.toml");
    if (t.kind === "git") await assert.rejects(t.with((ds) => ds.abandon([ids[1] ?? ""])), VcsError);
    else await t.with((ds) => ds.abandon([ids[1] ?? ""]));
    assert.equal(await t.read(".tether/objects/a.toml"), edited);
  });
});

onBoth("[commands 5.21] bookmarks on the commit move to the nearest one that stays", async (t) => {
  const [first = "", second = "", third = ""] = await threeStates(t);
  await t.bookmark("side", second);
  await t.bookmark("top", third);
  const report = await t.with((ds) => ds.abandon([second]));
  const now = await t.id("here");
  assert.deepEqual(report.bookmarksMoved, { main: now, side: first, top: now });
  assert.equal(report.gcPlan.actions.length, 1);
});

Deno.test("[formats 19.4] git: a merge above stays a merge, and a tag keeps what it is on", async () => {
  await using t = await tempDataset();
  const git = (...args: string[]): Promise<string> => t.repo.git(args);
  await t.repo.commit("base", { "code.txt": "1\n" });
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  t.write("a");
  const second = (await t.with((ds) => ds.commit({ message: "second" }))).vcsCommit ?? "";
  t.write("a");
  await t.with((ds) => ds.commit({ message: "third" }));
  await git("switch", "-q", "-c", "side");
  await t.repo.commit("aside", { "side.txt": "x\n" });
  await git("switch", "-q", "main");
  t.write("a");
  await t.with((ds) => ds.commit({ message: "fourth" }));
  await git("merge", "-q", "--no-edit", "side");
  const before = await git("ls-tree", "-r", "HEAD");
  await git("branch", "-D", "side");
  await git("tag", "kept", second);
  const report = await t.with((ds) => ds.abandon([second]));
  assert.match(report.notes.join(), /still reached/);
  assert.ok(report.gcPlan.isEmpty);
  assert.equal(await git("ls-tree", "-r", "HEAD"), before);
  assert.equal((await git("rev-list", "--parents", "-1", "HEAD")).split(" ").length, 3);
  assert.equal(await git("rev-list", "--count", "HEAD"), "6");
  await git("tag", "-d", "kept");
  assert.deepEqual((await t.with((ds) => ds.gc())).actions.map((a) => a.op), ["unpin"]);
});

Deno.test("[formats 19.4] git: a conflict beside the dataset, a merge or another line stop it with nothing moved", async (test) => {
  await using t = await tempDataset();
  const git = (...args: string[]): Promise<string> => t.repo.git(args);
  await t.repo.commit("base", { "code.txt": "1\n" });
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const edit = await t.repo.commit("edit", { "code.txt": "2\n" });
  await t.repo.commit("edit again", { "code.txt": "3\n" });
  const head = await git("rev-parse", "HEAD");
  await test.step("a conflict", async () => {
    await assert.rejects(t.with((ds) => ds.abandon([edit])), (e) => e instanceof VcsError && e.code === "conflict");
  });
  await test.step("another line", async () => {
    const other = await git("commit-tree", "-p", edit, "-m", "other", "HEAD^{tree}");
    await git("branch", "other", other);
    await assert.rejects(t.with((ds) => ds.abandon([other])), (e) => e instanceof VcsError && e.code === "elsewhere");
  });
  assert.equal(await git("rev-parse", "HEAD"), head);
  assert.equal(await git("status", "--porcelain"), "");
});

Deno.test("[L18, commands 6] git: what is in the way of abandon is named with a command that helps", async (test) => {
  const hintsOf = async (t: BothDataset, rev: string): Promise<readonly string[]> => {
    const error = await t.with((ds) => ds.abandon([rev])).then(() => undefined, (e) => e);
    assert.ok(error instanceof TetherError, "refused");
    return error.hints;
  };
  await test.step("a bisect", async () => {
    await using t = await gitDataset();
    const [, second = ""] = await threeStates(t);
    await t.vcs(["bisect", "start", "HEAD", "HEAD~1"]);
    assert.deepEqual(await hintsOf(t, second), ["git bisect reset"]);
    await t.vcs(["bisect", "reset"]);
    assert.deepEqual((await t.with((ds) => ds.abandon([second]))).abandoned, [second]);
  });
  for (const [path, hint] of [["notes", "git commit --all"], [".tether/objects/a.toml", "tether commit -m MESSAGE"]]) {
    await test.step(`edits of ${path}`, async () => {
      await using t = await gitDataset();
      const [, second = ""] = await threeStates(t);
      await t.commitFiles("notes", { notes: "1" });
      if (path === "notes") await Deno.writeTextFile(`${t.root}/notes`, "2");
      else await t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
      assert.deepEqual(await hintsOf(t, second), ["git stash", hint]);
      if (path === "notes") await t.vcs(["commit", "--quiet", "--all", "--message=edits"]);
      else await t.with((ds) => ds.commit({ message: "edits" }));
      assert.deepEqual((await t.with((ds) => ds.abandon([second]))).abandoned, [second]);
    });
  }
});
