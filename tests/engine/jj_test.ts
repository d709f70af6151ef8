import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { ConfigError, StaleWorkingCopyError, TetherError, VcsError } from "../../engine/model/errors.ts";
import { observeSpawns } from "../../engine/io/process.ts";
import { type TempDataset, tempJjDataset } from "../helpers/dataset.ts";
import { HAS_JJ, type TempJjRepo, type TempJjRepoOptions } from "../helpers/jj_repo.ts";

type JjDataset = TempDataset<TempJjRepo>;

function test(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test({ name, ignore: !HAS_JJ, fn });
}

async function committed(options: TempJjRepoOptions = {}): Promise<JjDataset> {
  const t = await tempJjDataset(options);
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  return t;
}

function branches(t: JjDataset): string[] {
  return [...namedStore().find(t.system("a"))?.branches.keys() ?? []];
}

function tags(t: JjDataset): string[] {
  return [...namedStore().find(t.system("a"))?.tags.keys() ?? []].sort();
}

for (const colocated of [true, false]) {
  const place = colocated ? "colocated" : "not colocated";

  test(`[commands 4, 8.3] the core loop in a jj repository, ${place}`, async () => {
    await using t = await tempJjDataset({ colocated, files: { README: "hello" } });
    await t.addMemory("a", "b");
    await t.repo.write("plots.py", "user");
    const first = await t.with((ds) => ds.commit({ message: "first" }));
    assert.equal(first.vcsCommit, await t.repo.id("main"));
    assert.deepEqual((await t.repo.jj(["file", "list", "-r", "main"])).split("\n"), [
      ".tether/.gitattributes",
      ".tether/.gitignore",
      ".tether/objects/a.toml",
      ".tether/objects/b.toml",
      "README",
      "tether.toml",
    ]);
    assert.equal(
      await t.repo.jj(["diff", "--name-only", "-r", "@"]),
      "plots.py",
      "the user's edits stay in the change",
    );

    const made = await t.with((ds) => ds.new({ bookmark: "feat/x", eager: true }));
    assert.deepEqual(Object.keys(made.workingRefs), ["a", "b"]);
    assert.equal(await t.with(async (ds) => (await ds.open("a")).ref), made.workingRefs["a"]);
    t.write("a", made.workingRefs["a"] ?? "");
    assert.equal(
      (await t.with((ds) => ds.status({ snapshot: true }))).objects.find((o) => o.key === "a")?.state,
      "modified",
    );
    const second = await t.with((ds) => ds.commit({ message: "second" }));
    assert.equal(await t.repo.id('"feat/x"'), second.vcsCommit);
    assert.equal(await t.repo.id("main"), first.vcsCommit);

    const diff = await t.with((ds) => ds.diff("main"));
    assert.deepEqual(diff.entries.filter((e) => e.change !== "unchanged").map((e) => [e.key, e.change]), [[
      "a",
      "changed",
    ]]);
    await t.with((ds) => ds.new({ rev: "main" }));
    const status = await t.with((ds) => ds.status());
    assert.deepEqual([status.bookmark, status.trunk, status.bookmarkDrift, status.vcsDrift], ["main", true, [], []]);
    assert.equal((await t.with(async (ds) => await ds.verify({ allHistory: true }))).ok, true);
    const pin = await t.with(async (ds) => (await ds.open("a", { rev: "feat/x" })).ref);
    assert.equal(pin, second.pinned["a"]);

    await t.with((ds) => ds.new({ rev: "feat/x" }));
    const promoted = await t.with((ds) => ds.promote());
    assert.deepEqual(Object.keys(promoted.fastForwarded), ["a"]);
    assert.equal(promoted.trunkMoved, second.vcsCommit);
    assert.equal(await t.repo.id("main"), second.vcsCommit);
  });
}

test("[L17] status beside edits and jj's own commands leaves no operation and no snapshot", async () => {
  await using t = await committed();
  await t.repo.write("notes", "0");
  await t.repo.jj(["describe", "-m", "begin"]);
  const before = await t.repo.operations();
  for (let i = 0; i < 5; i++) {
    await t.repo.write("notes", `edit ${i}`);
    await t.repo.write(
      ".tether/objects/a.toml",
      (await t.read(".tether/objects/a.toml")).replace(/\n*$/, `\n# ${i}\n`),
    );
    await t.with((ds) => ds.status());
    await t.with((ds) => ds.diff());
    await t.with((ds) => ds.gc());
    await t.with((ds) => ds.plan.commit({ message: "dry" }));
    await t.with(async (ds) => await ds.verify({ allHistory: true }));
  }
  assert.deepEqual(await t.repo.operations(), before);
  await Promise.all([
    t.repo.jj(["describe", "-m", "middle"]),
    ...[1, 2, 3].map(() => t.with((ds) => ds.status())),
  ]);
  // The describe and the snapshot before it.
  assert.equal((await t.repo.operations()).length, before.length + 2);
});

test("[L17] a working copy that another workspace made stale is reported, and nothing is written", async () => {
  await using t = await committed();
  const other = await t.repo.workspace("other");
  await t.repo.write("notes", "kept");
  await t.repo.jj(["status"]);
  await t.repo.jj(["rebase", "-r", "default@", "-o", "root()"], { cwd: other });
  t.write("a");
  const before = tags(t);
  await assert.rejects(t.with((ds) => ds.commit({ message: "m" })), (error) => {
    assert.ok(error instanceof StaleWorkingCopyError, String(error));
    assert.deepEqual(error.hints, ["jj workspace update-stale"]);
    return true;
  });
  assert.deepEqual(tags(t), before);
  await t.with((ds) => ds.status());
});

test("[L17] concurrent operations are reported with the way out, and left to jj", async () => {
  await using t = await committed();
  const [operation = ""] = await t.repo.operations();
  for (const message of ["one", "two"]) await t.repo.jj(["describe", "-m", message, `--at-op=${operation}`]);
  await assert.rejects(t.with((ds) => ds.status()), (error) => {
    assert.ok(error instanceof VcsError);
    assert.equal(error.code, "divergent-operations");
    assert.deepEqual(error.hints, ["jj status"]);
    return true;
  });
  await t.repo.jj(["status"]);
  await t.with((ds) => ds.status());
});

test("[commands 5.6] bookmarks that were moved, renamed or deleted by jj show as drift; a rewritten commit does not", async (step) => {
  await using t = await committed();
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? ""));
  t.write("a", ref);
  await t.with((ds) => ds.commit({ message: "second" }));
  t.write("a", ref);
  await t.with((ds) => ds.commit({ message: "third" }));
  const drift = async (): Promise<readonly string[]> => (await t.with((ds) => ds.status())).bookmarkDrift;

  await step.step("rewritten", async () => {
    await t.repo.jj(["describe", "-r", "feat-", "-m", "said better"]);
    const status = await t.with((ds) => ds.status());
    assert.deepEqual([status.bookmarkDrift, status.vcsDrift], [[], []]);
  });
  await step.step("left", async () => {
    await t.repo.jj(["new", "main"]);
    assert.match((await drift())[0] ?? "", /left bookmark "feat" for "main"/);
    await assert.rejects(t.with((ds) => ds.commit({ message: "m" })), StaleWorkingCopyError);
    await t.repo.jj(["new", "feat"]);
    assert.deepEqual(await drift(), []);
  });
  await step.step("moved on without the bookmark", async () => {
    await t.repo.jj(["new", "feat", "-m", "one"]);
    await t.repo.write("x", "1");
    await t.repo.jj(["new"]);
    await assert.rejects(t.with((ds) => ds.commit({ message: "m" })), (error) => {
      assert.ok(error instanceof StaleWorkingCopyError);
      assert.deepEqual(error.hints, ["tether new --keep -- feat"]);
      return true;
    });
    await t.with((ds) => ds.new({ rev: "feat", keep: true }));
    assert.deepEqual(await drift(), []);
  });
  await step.step("conflicted", async () => {
    const before = await t.repo.id("feat");
    const [operation = ""] = await t.repo.operations();
    await t.repo.jj(["bookmark", "set", "feat", "-r", "main", "-B", `--at-op=${operation}`]);
    await t.repo.jj(["bookmark", "set", "feat", "-r", "feat-", "-B", `--at-op=${operation}`]);
    await t.repo.jj(["status"]);
    assert.match((await drift())[0] ?? "", /"feat" is conflicted/);
    const commit = () => t.with((ds) => ds.commit({ message: "m" }));
    for (const refused of [commit, () => t.with((ds) => ds.gc({ dryRun: false }))]) {
      await assert.rejects(refused(), (error) => {
        assert.ok(error instanceof TetherError && /conflicted/.test(error.message), String(error));
        assert.deepEqual(error.hints, ["jj bookmark set feat -r REV"]);
        return true;
      });
    }
    await t.repo.jj(["bookmark", "set", "feat", "-r", before, "-B"]);
  });
  await step.step("gone", async () => {
    await t.repo.jj(["bookmark", "rename", "feat", "other"]);
    await t.repo.jj(["new", "other"]);
    assert.match((await drift())[0] ?? "", /"feat" is gone, and the working copy is on "other"/);
  });
  await step.step("abandoned", async () => {
    await t.repo.jj(["new", "main"]);
    await t.repo.jj(["abandon", "main..other"]);
    const { vcsDrift } = await t.with((ds) => ds.status());
    assert.equal(vcsDrift.length, 2);
  });
});

test("[commands 5.16] undo takes a commit into the working copy, and a new bookmark back", async () => {
  await using t = await committed();
  t.write("a");
  await t.repo.write("notes", "mine");
  const second = await t.with((ds) => ds.commit({ message: "second" }));
  await t.with((ds) => ds.new({ bookmark: "oops", eager: true }));
  await t.repo.write("notes", "edited after new");
  await t.with((ds) => ds.undo());
  assert.equal(await t.repo.jj(["bookmark", "list", "-T", "name"]), "main");
  assert.deepEqual(branches(t), ["main"]);
  const manifest = await t.read(".tether/objects/a.toml");
  await t.with((ds) => ds.undo());
  assert.equal(await t.repo.jj(["log", "--no-graph", "-r", "main", "-T", "description"]), "first");
  assert.equal(await t.read(".tether/objects/a.toml"), manifest);
  assert.equal(await t.read("notes"), "edited after new");
  const status = await t.with((ds) => ds.status());
  assert.deepEqual([status.vcsDrift, status.bookmarkDrift], [[], []]);
  assert.ok(tags(t).includes(second.pinned["a"] ?? ""), "its pin stays");
  assert.ok((await t.with((ds) => ds.commit({ message: "again" }))).vcsCommit);
});

test("[commands 5.16] undo of new goes back to where the working copy was", async () => {
  await using t = await committed();
  const first = await t.repo.id("main");
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  t.write("a", await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? "")));
  await t.with((ds) => ds.commit({ message: "second" }));
  await t.repo.write("notes", "of feat");
  await t.with((ds) => ds.new({ rev: "main" }));
  assert.equal(await t.repo.id("@-"), first);
  await t.with((ds) => ds.undo());
  assert.equal(await t.repo.id("@-"), await t.repo.id("feat"));
  assert.equal(await t.read("notes"), "of feat", "the edited change is edited again");
  assert.equal((await t.with((ds) => ds.status())).bookmark, "feat");
});

test("[formats 15.2] a secondary workspace works on the same dataset, and its holder counts", async () => {
  await using t = await committed();
  const other = await t.repo.workspace("side");
  await t.with((ds) => ds.new({ rev: "side" }), { at: other });
  await assert.rejects(t.with((ds) => ds.new({ rev: "side" })), (error) => {
    assert.ok(error instanceof StaleWorkingCopyError);
    assert.equal(error.code, "bookmark-held");
    assert.equal(error.hints[0], "tether new --shared -- side");
    return true;
  });
  t.write("a");
  const there = await t.with((ds) => ds.commit({ message: "from main" }));
  assert.ok(there.vcsCommit);
  await t.with(async (ds) => {
    assert.equal((await ds.verify({ allHistory: true })).ok, true);
    assert.deepEqual((await ds.gc()).actions, []);
  }, { at: other });
});

for (const [depth, edited] of [[1, true], [2, false]] as const) {
  const name = `${depth} commit(s) above${edited ? ", and edits not snapshotted yet" : ""}`;
  test(`[commands 5.21] one jj undo takes an abandon back, dataset and all: ${name}`, async () => {
    await using t = await tempJjDataset({ colocated: edited });
    await t.addMemory("a");
    const ids: string[] = [];
    for (let i = 0; i < depth + 2; i++) {
      t.write("a");
      ids.push((await t.with((ds) => ds.commit({ message: `commit ${i}` }))).vcsCommit ?? "");
    }
    if (edited) await t.repo.write("notes.txt", "mine");
    const manifest = await t.read(".tether/objects/a.toml");
    const before = await t.repo.operations();
    const report = await t.with((ds) => ds.abandon([ids[1] ?? ""]));
    assert.equal(report.bookmarksMoved["main"], await t.repo.id("main"));
    const after = await t.repo.operations();
    assert.equal(after.length, before.length + (edited ? 2 : 1), "one operation, and the snapshot before it");
    assert.equal(await t.read(".tether/objects/a.toml"), manifest);

    await t.repo.jj(["undo"]);
    assert.equal(await t.repo.id("main"), ids.at(-1));
    assert.equal(await t.read(".tether/objects/a.toml"), manifest);
    assert.equal(await t.repo.jj(["log", "--no-graph", "-r", "conflicts()", "-T", "commit_id"]), "");
    if (edited) assert.equal(await Deno.readTextFile(`${t.root}/notes.txt`), "mine");
    const verified = await t.with(async (ds) => await ds.verify({ allHistory: true }));
    assert.ok(verified.ok && new Set(verified.entries.map((e) => e.label)).size >= ids.length);
    await t.with((ds) => ds.abandon([ids[1] ?? ""]));
    assert.equal(await t.read(".tether/objects/a.toml"), manifest, "and it can be done again");
  });
}

test("[commands 5.22] drop abandons what only the bookmark reaches, and its branches and pins go", async () => {
  await using t = await committed();
  const made = await t.with((ds) => ds.new({ bookmark: "gone", eager: true }));
  t.write("a", made.workingRefs["a"] ?? "");
  const second = await t.with((ds) => ds.commit({ message: "second" }));
  const plan = await t.with((ds) => ds.drop("gone"));
  const pin = second.pinned["a"] ?? "";
  assert.deepEqual(plan.actions.map((a) => `${a.op} ${a.target}`), [
    "leave-bookmark main",
    `abandon-commit ${second.vcsCommit?.slice(0, 12)}`,
    "delete-bookmark gone",
    `unpin ${pin}`,
    `delete-branch ${made.workingRefs["a"]}`,
  ]);
  await t.with((ds) => ds.drop("gone", { dryRun: false }));
  assert.equal(await t.repo.jj(["bookmark", "list", "-T", "name"]), "main");
  assert.deepEqual(branches(t), ["main"]);
  assert.ok(!tags(t).includes(pin));
  assert.deepEqual((await t.with((ds) => ds.status())).vcsDrift, []);
  await assert.rejects(t.with((ds) => ds.undo()), (error) => {
    assert.ok(error instanceof TetherError);
    assert.deepEqual(error.hints, ["jj undo", "tether repair --all-history", "tether new NAME"]);
    return true;
  });
});

test("[formats 15.4] gc keeps what any side of a conflicted commit names, and refuses an unresolved conflict", async () => {
  await using t = await committed();
  const pins: string[] = [];
  for (const side of ["left", "right"]) {
    await t.with((ds) => ds.new({ rev: "main" }));
    await t.repo.jj(["new", "main"]);
    t.write("a");
    pins.push((await t.with((ds) => ds.commit({ message: side }))).pinned["a"] ?? "");
    await t.repo.jj(["bookmark", "set", side, "-r", "@-"]);
    await t.repo.jj(["bookmark", "set", "main", "-r", "main-", "-B"]);
  }
  await t.repo.jj(["rebase", "-r", "right", "-o", "left"]);
  await t.repo.jj(["new", "main"]);
  await t.repo.jj(["bookmark", "delete", "left"]);
  await assert.rejects(t.with((ds) => ds.gc({ dryRun: false })), (error) => {
    assert.ok(error instanceof ConfigError);
    assert.match(error.message, /conflicted file\(s\) of the dataset, such as "\.tether\/objects\/a\.toml"/);
    return true;
  });
  // Resolved by a later commit: the conflicted one is history, and both its sides hold their pins.
  await t.repo.jj(["new", "right"]);
  await t.repo.jj(["restore", "--from", "main", ".tether"]);
  await t.repo.jj(["new", "main"]);
  assert.deepEqual((await t.with((ds) => ds.gc())).actions.map((a) => a.op), []);
  for (const pin of pins) assert.ok(tags(t).includes(pin));
});

test("[formats 15.7] a merge that conflicts in a manifest stops writes, reads name it, and one side chosen is committed", async () => {
  await using t = await committed();
  const sides: string[] = [];
  for (const message of ["left", "right"]) {
    t.write("a");
    const { vcsCommit, pinned } = await t.with((ds) => ds.commit({ message }));
    sides.push(vcsCommit ?? "");
    assert.ok(tags(t).includes(pinned["a"] ?? ""));
    if (message === "right") continue;
    await t.repo.jj(["bookmark", "set", "main", "-r", "main-", "--allow-backwards"]);
    await t.repo.jj(["new", "main"]);
  }
  const before = tags(t);
  await t.repo.jj(["new", ...sides.toReversed()]);
  const { objects } = await t.with((ds) => ds.status());
  assert.deepEqual(objects.map((o) => [o.key, o.state]), [["a", "conflicted"]]);
  for (
    const refused of [
      () => t.with((ds) => ds.commit({ message: "m" })),
      () => t.with((ds) => ds.gc({ dryRun: false })),
      () => t.with((ds) => ds.pull()),
    ]
  ) await assert.rejects(refused(), /conflict/);
  assert.deepEqual(tags(t), before);
  await t.repo.jj(["restore", "--from", sides[0] ?? "", ".tether"]);
  const merged = await t.with((ds) => ds.commit({ message: "merged" }));
  assert.equal(await t.repo.id("main"), merged.vcsCommit);
  assert.deepEqual((await t.with((ds) => ds.gc())).actions, []);
  assert.equal((await t.with(async (ds) => await ds.verify({ allHistory: true }))).ok, true);
});

test("[architecture] commit and gc start at most six children, whatever the history's length; status a few", async (step) => {
  await using t = await committed();
  for (let i = 0; i < 5; i++) {
    t.write("a");
    await t.with((ds) => ds.commit({ message: `c${i}` }));
  }
  const children = async (act: () => Promise<unknown>): Promise<string[]> => {
    const started: string[] = [];
    const stop = observeSpawns((program, args) => {
      const command = args.find((a, i) => !a.startsWith("-") && !["-c", "--config"].includes(args[i - 1] ?? ""));
      started.push(`${program.split("/").at(-1)} ${command}`);
    });
    try {
      await act();
    } finally {
      stop();
    }
    return started;
  };
  await step.step("status", async () => {
    assert.deepEqual(await children(() => t.with((ds) => ds.status())), ["jj log", "git cat-file"]);
  });
  await step.step("commit", async () => {
    t.write("a");
    const started = await children(() => t.with((ds) => ds.commit({ message: "m" })));
    assert.deepEqual(started, ["jj log", "git cat-file", "jj config", "jj log", "jj commit"]);
  });
  await step.step("commit of a new file that needs no pin", async () => {
    await t.addMemory("b");
    await t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
    await t.with((ds) => ds.commit({ message: "m" }));
    await t.with((ds) => ds.remove("b"));
    const started = await children(() => t.with((ds) => ds.commit({ message: "m" })));
    assert.ok(started.length <= 6, started.join(", "));
  });
  await step.step("gc that releases a pin", async () => {
    t.write("a");
    const gone = await t.with((ds) => ds.commit({ message: "gone" }));
    await t.repo.jj(["bookmark", "set", "main", "-r", "main-", "--allow-backwards"]);
    await t.repo.jj(["new", "main"]);
    await t.repo.jj(["abandon", gone.vcsCommit ?? ""]);
    const before = tags(t).length;
    const started = await children(() => t.with((ds) => ds.gc({ dryRun: false, pruneBookmarks: true })));
    assert.equal(tags(t).length, before - 1);
    assert.ok(started.length <= 6, started.join(", "));
  });
  await step.step("new", async () => {
    const started = await children(() => t.with((ds) => ds.new({ bookmark: "feat" })));
    assert.ok(started.length <= 8, started.join(", "));
  });
});

for (const order of [["x", "y"], ["y", "x"]] as const) {
  test(`[commands 4] a merge of ${order.join(" and ")} is committed whatever its manifests take, and undone to where the bookmark was`, async (step) => {
    /** On x at a merge with y; both have a commit of their own. */
    async function merged(keys: { readonly x: string; readonly y: string }): Promise<{ t: JjDataset; head: string }> {
      const t = await tempJjDataset();
      await t.addMemory("a", "b");
      await t.with((ds) => ds.commit({ message: "first" }));
      for (const name of ["y", "x"] as const) {
        const made = await t.with((ds) => ds.new({ bookmark: name, rev: "main", eager: true }));
        t.write(keys[name], made.workingRefs[keys[name]]);
        await t.with((ds) => ds.commit({ message: `on ${name}` }));
      }
      const head = await t.repo.id("x");
      await t.repo.jj(["new", ...order]);
      return { t, head };
    }
    const takes: Readonly<Record<string, (t: JjDataset) => Promise<unknown>>> = {
      "one manifest of each side": () => Promise.resolve(),
      "everything of x": (t) => t.repo.jj(["restore", "--from=x", "."]),
      "everything of y": (t) => t.repo.jj(["restore", "--from=y", "."]),
    };
    for (const [take, resolve] of Object.entries(takes)) {
      // A bookmark at the second parent of a change with edits is not underfoot (formats 13.2).
      if (order[0] === "y" && take !== "one manifest of each side") continue;
      await step.step(take, async () => {
        const { t, head } = await merged({ x: "a", y: "b" });
        await using _ = t;
        await resolve(t);
        await t.with((ds) => ds.new({ discard: true }));
        const { vcsCommit } = await t.with((ds) => ds.commit({ message: "merge" }));
        assert.equal(await t.repo.id("x"), vcsCommit);
        assert.equal(
          (await t.repo.jj(["log", "--no-graph", "-r", "x-", "-T", 'commit_id ++ "\\n"'])).split("\n").length,
          2,
        );
        await t.with((ds) => ds.undo());
        assert.equal(await t.repo.id("x"), head, "the bookmark is where it was");
        await t.with((ds) => ds.gc({ dryRun: false }));
        const again = await t.with((ds) => ds.commit({ message: "merge again" }));
        assert.equal(await t.repo.id("x"), again.vcsCommit);
      });
    }
  });
}

test("[commands 5.16] undo never advises to take back another operation of jj than the one that failed", async (step) => {
  const attempts = {
    abandon: (t: JjDataset) => t.with((ds) => ds.abandon(["x"])),
    drop: (t: JjDataset) => t.with((ds) => ds.drop("x", { dryRun: false })),
  };
  for (const [command, attempt] of Object.entries(attempts)) {
    await step.step(`${command} of a commit that is immutable`, async () => {
      await using t = await committed();
      const made = await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
      t.write("a", made.workingRefs["a"]);
      const { vcsCommit } = await t.with((ds) => ds.commit({ message: "on x" }));
      await t.repo.jj(["config", "set", "--repo", 'revset-aliases."immutable_heads()"', 'bookmarks(exact:"x")']);
      await assert.rejects(attempt(t), (error: unknown) => {
        assert.ok(error instanceof VcsError);
        assert.deepEqual([error.code, error.hints[0]?.slice(0, 13)], ["immutable-commit", "jj config get"]);
        return true;
      });
      assert.equal(await t.repo.id("x"), vcsCommit);
      await assert.rejects(t.with((ds) => ds.undo()), (error: unknown) => {
        assert.ok(error instanceof TetherError);
        assert.match(error.message, /it failed, and every commit is still there/);
        assert.deepEqual(error.hints.filter((hint) => !hint.startsWith("tether undo ")), []);
        return true;
      });
    });
  }
  await step.step("abandon in a stale working copy is refused before anything is journaled", async () => {
    await using t = await committed();
    await t.with((ds) => ds.new({ bookmark: "x" }));
    await t.repo.write("README", "1");
    await t.repo.jj(["commit", "-m", "notes"]);
    const other = `${t.repo.outer}/other`;
    await t.repo.jj(["workspace", "add", other, "-r", "@-"]);
    await t.repo.jj(["edit", "@-"], { cwd: other });
    await Deno.writeTextFile(`${other}/README`, "2");
    await t.repo.jj(["status"], { cwd: other });
    const before = await t.with((ds) => ds.ops());
    await assert.rejects(t.with((ds) => ds.abandon(["main"])), (error: unknown) => {
      assert.ok(error instanceof StaleWorkingCopyError);
      assert.deepEqual(error.hints, ["jj workspace update-stale"]);
      return true;
    });
    assert.deepEqual(await t.with((ds) => ds.ops()), before);
  });
});

test("[commands 5.10, 6] what a held bookmark's refusal names is the same request, joining its holder", async () => {
  await using t = await committed();
  await t.with((ds) => ds.new({ bookmark: "x" }));
  const other = `${t.repo.outer}/other`;
  await t.repo.jj(["workspace", "add", other, "-r", "main"]);
  const inOther = { at: other };
  for (
    const [request, hint] of [
      [{ rev: "x", keep: true }, "tether new --keep --shared -- x"],
      [{ rev: "x" }, "tether new --shared -- x"],
      [{ rev: "x", discard: true, eager: true }, "tether new --discard --eager --shared -- x"],
    ] as const
  ) {
    await assert.rejects(t.with((ds) => ds.new(request), inOther), (error: unknown) => {
      assert.ok(error instanceof StaleWorkingCopyError);
      assert.equal(error.hints[0], hint);
      return true;
    });
    assert.equal((await t.with((ds) => ds.new({ ...request, shared: true }), inOther)).bookmark, "x");
    await t.with((ds) => ds.new({ rev: "main" }), inOther);
  }
});
