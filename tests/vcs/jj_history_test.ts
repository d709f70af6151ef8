import assert from "node:assert/strict";
import { join } from "node:path";
import { detectJj, HAS_JJ, type TempJjRepo, tempJjRepo } from "../helpers/jj_repo.ts";
import { typed } from "../helpers/typed.ts";
import { observeSpawns } from "../../engine/io/process.ts";
import { VcsError } from "../../engine/model/errors.ts";
import type { Blocked } from "../../vcs/adapter.ts";

const MANIFEST = ".tether/objects/a.toml";

function test(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test({ name, ignore: !HAS_JJ, fn });
}

async function historyOf(root: string): Promise<Set<string>> {
  await using adapter = await detectJj(root);
  return new Set((await adapter.history()).map(({ id }) => id));
}

/** Makes a commit on `main` that no bookmark is at, and returns its id. */
async function loose(repo: TempJjRepo, files: Readonly<Record<string, string>>, onto = "main"): Promise<string> {
  await repo.jj(["new", onto]);
  for (const [path, text] of Object.entries(files)) await repo.write(path, text);
  await repo.jj(["commit", "--message=loose"]);
  return await repo.id("@-");
}

test("history is every visible commit, whatever makes it so, and no hidden one [L02, formats 15.4]", async (t) => {
  await using repo = await tempJjRepo({ files: { a: "1" } });
  const base = await repo.id("main");
  const kept: Record<string, string> = {};
  await t.step("a head without a name", async () => {
    kept["loose"] = await loose(repo, { a: "loose" });
  });
  await t.step("a tag", async () => {
    kept["tag"] = await loose(repo, { a: "tag" });
    await repo.git(["tag", "v1", kept["tag"]]);
    await repo.jj(["git", "import"]);
  });
  await t.step("a remote bookmark", async () => {
    await new Deno.Command("git", { args: ["init", "-q", "--bare", join(repo.outer, "remote.git")] }).output();
    await repo.jj(["git", "remote", "add", "origin", join(repo.outer, "remote.git")]);
    kept["remote"] = await loose(repo, { a: "remote" });
    await repo.jj(["bookmark", "create", "theirs", "-r", kept["remote"]]);
    await repo.jj(["git", "push", "--bookmark", "theirs"]);
    await repo.jj(["new", "main"]);
    await repo.jj(["bookmark", "forget", "theirs"]);
    await using adapter = await detectJj(repo.path);
    assert.deepEqual(await adapter.remoteBookmarks("theirs"), ["origin/theirs"]);
    assert.equal((await adapter.bookmarks()).has("theirs"), false);
  });
  await t.step("the working copy of another workspace", async () => {
    const other = await repo.workspace("side");
    await Deno.writeTextFile(join(other, "a"), "side");
    await repo.jj(["status"], { cwd: other });
    kept["workspace"] = await repo.id("workspace-side@");
  });
  await t.step("none of them is missing, and one that was abandoned or rewritten is", async () => {
    const hidden = await loose(repo, { a: "hidden" });
    await repo.jj(["abandon", hidden]);
    const rewritten = await loose(repo, { a: "before" });
    await repo.jj(["describe", rewritten, "--message=after"]);
    const history = await historyOf(repo.path);
    for (const [name, id] of Object.entries({ ...kept, base })) assert.ok(history.has(id), name);
    for (const id of [hidden, rewritten]) assert.equal(history.has(id), false);
    await using adapter = await detectJj(repo.path);
    assert.deepEqual(await adapter.vanished([hidden, rewritten, ...Object.values(kept)]), [hidden]);
  });
  await t.step("nothing that another ref or workspace reaches belongs to one bookmark alone", async () => {
    await repo.jj(["bookmark", "create", "one", "-r", kept["tag"] ?? ""]);
    await repo.jj(["bookmark", "create", "two", "-r", kept["workspace"] ?? ""]);
    await repo.jj(["bookmark", "create", "three", "-r", kept["loose"] ?? ""]);
    await using adapter = await detectJj(repo.path);
    for (const name of ["one", "two"]) assert.deepEqual(await adapter.exclusiveCommits(name), [], name);
    assert.deepEqual(await adapter.exclusiveCommits("three"), [kept["loose"]]);
  });
});

test("a commit without a change id in it is still known by its change [commands 5.6]", async () => {
  await using repo = await tempJjRepo({ files: { a: "1" } });
  await repo.jj(["config", "set", "--repo", "git.write-change-id-header", "false"]);
  const gone = await loose(repo, { a: "2" });
  const rewritten = await loose(repo, { a: "3" });
  assert.doesNotMatch(await repo.git(["cat-file", "commit", gone]), /^change-id /m);
  await repo.jj(["describe", rewritten, "--message=after"]);
  await repo.jj(["abandon", gone]);
  await using adapter = await detectJj(repo.path);
  assert.deepEqual(await adapter.vanished([gone, rewritten]), [gone]);
});

test("a divergent change is no revision, each of its commits is, and both are history", async () => {
  await using repo = await tempJjRepo({ files: { a: "1" } });
  const id = await loose(repo, { a: "2" });
  const change = await repo.jj(["log", "--no-graph", "-T", "change_id", "-r", id]);
  const [operation = ""] = await repo.operations();
  for (const message of ["one", "two"]) await repo.jj(["describe", id, `--message=${message}`, `--at-op=${operation}`]);
  await repo.jj(["status"]);
  const both = (await repo.jj(["log", "--no-graph", "-T", 'commit_id ++ "\n"', "-r", `change_id(${change})`])).split(
    "\n",
  );
  assert.equal(both.length, 2);
  await using adapter = await detectJj(repo.path);
  await assert.rejects(adapter.resolve(change), (error) => error instanceof VcsError && error.code === "no-revision");
  assert.deepEqual(await Promise.all(both.map((commit) => adapter.resolve(commit))), both);
  const history = new Set((await adapter.history()).map((commit) => commit.id));
  assert.ok(both.every((commit) => history.has(commit)));
  assert.deepEqual(await adapter.vanished([id]), []);
});

test("a conflicted bookmark has no commit, is no revision, and all its targets are history [formats 15.4, 15.5]", async () => {
  await using repo = await tempJjRepo({ files: { a: "1" } });
  const targets = [await loose(repo, { a: "2" }), await loose(repo, { a: "3" })];
  const [operation = ""] = await repo.operations();
  for (const target of targets) await repo.jj(["bookmark", "set", "main", "-r", target, `--at-op=${operation}`]);
  await repo.jj(["status"]);
  await using adapter = await detectJj(repo.path);
  assert.equal((await adapter.bookmarks()).get("main"), null);
  await assert.rejects(adapter.resolve("main"), (error) => {
    assert.ok(error instanceof VcsError && error.code === "no-revision");
    return targets.every((target) => error.message.includes(target.slice(0, 12)));
  });
  const [conflict, ...others] = await adapter.conflicts();
  assert.deepEqual(others, []);
  assert.match(conflict?.reason ?? "", /bookmark "main" is conflicted: it has 2 targets/);
  assert.deepEqual(conflict?.hints, ["jj bookmark set main -r REV"]);
  const history = await historyOf(repo.path);
  assert.ok(targets.every((target) => history.has(target)));
  for (
    const refused of [
      () => adapter.switchTo("main"),
      () => adapter.moveBookmark("main", { from: targets[0] ?? "", to: targets[1] ?? "" }),
      () => adapter.deleteBookmark("main", targets[0] ?? ""),
    ]
  ) await assert.rejects(refused(), /conflicted/);
});

for (const colocated of [true, false]) {
  test(
    `all sides of a conflict are read from the store, in any workspace; ${
      colocated ? "" : "not "
    }colocated [formats 15.4, 19.3]`,
    async () => {
      await using repo = await tempJjRepo({ colocated, files: { [MANIFEST]: "base\n", "tether.toml": "" } });
      const sides = ["one\n", "two\n", "three\n"];
      const ids: string[] = [];
      for (const text of sides) ids.push(await loose(repo, { [MANIFEST]: text }));
      await repo.jj(["new", "--message=merge", ...ids]);
      const conflicted = await repo.id("@");
      await repo.jj(["new", "main"]);
      const other = await repo.workspace("side");
      for (const root of [repo.path, other]) {
        await using adapter = await detectJj(root);
        const children: string[] = [];
        const stop = observeSpawns((program, args) => children.push(`${program} ${args.join(" ")}`));
        try {
          const shown = new TextDecoder().decode(await adapter.fileAt(conflicted, MANIFEST));
          for (const side of sides) assert.ok(shown.includes(side), shown);
          assert.ok(!shown.includes("base"));
          assert.equal((await adapter.manifestsAt(conflicted)).size, 1);
          assert.ok((await adapter.history()).some(({ id }) => id === conflicted));
        } finally {
          stop();
        }
        assert.deepEqual(children.filter((c) => / file (show|list)| resolve /.test(c)), []);
        assert.ok(children.length <= 2, children.join("\n"));
        const [conflict] = await adapter.conflicts();
        assert.match(
          conflict?.reason ?? "",
          /1 conflicted file\(s\) of the dataset, such as "\.tether\/objects\/a\.toml"/,
        );
      }
      // A conflict elsewhere, or one that was resolved on top, is no trouble.
      await repo.jj(["new", conflicted]);
      await repo.jj(["restore", "--from", "main", ".tether"]);
      await repo.jj(["new", "main"]);
      await using adapter = await detectJj(repo.path);
      assert.deepEqual(await adapter.conflicts(), []);
    },
  );
}

test("a working copy is stale only when what it stands on changed, in every workspace [L17]", async () => {
  await using repo = await tempJjRepo({ files: { a: "1" } });
  const other = await repo.workspace("side");
  await using here = await detectJj(repo.path);
  await using there = await detectJj(other);
  const blocked = async (): Promise<readonly (string | undefined)[]> => {
    const found = [];
    for (const adapter of [here, there]) {
      adapter.refresh();
      found.push((await adapter.position()).blocked?.reason);
    }
    return found;
  };
  assert.deepEqual(await blocked(), [undefined, undefined]);
  await repo.jj(["describe", "--message=elsewhere"], { cwd: other });
  assert.deepEqual(await blocked(), [undefined, undefined], "an operation of the other one is none of ours");
  await repo.jj(["rebase", "-r", "workspace-side@", "-o", "root()"]);
  const [own, theirs] = await blocked();
  assert.equal(own, undefined);
  assert.match(theirs ?? "", /stale/);
  await repo.jj(["workspace", "update-stale"], { cwd: other });
  assert.deepEqual(await blocked(), [undefined, undefined]);
  // jj undo in one workspace takes a commit from under the other.
  await repo.jj(["new", "main"], { cwd: other });
  await repo.jj(["undo"]);
  assert.match((await blocked())[1] ?? "", /stale/);
});

test("a working copy whose operation was abandoned or is gone blocks writes, and the hint ends that [L17, L18]", async (t) => {
  for (const lost of [false, true]) {
    await t.step(lost ? "gone" : "abandoned", async () => {
      await using repo = await tempJjRepo({ files: { a: "1" } });
      await using adapter = await detectJj(repo.path);
      await repo.workspace("side");
      await repo.jj(["op", "abandon", "..@-"]);
      const blocked = async (): Promise<Blocked | undefined> => {
        adapter.refresh();
        return (await adapter.position()).blocked;
      };
      const [hint = ""] = (await blocked())?.hints ?? [];
      const operation = /^jj op integrate (\w+)$/.exec(hint)?.[1] ?? assert.fail(hint);
      await assert.rejects(repo.jj(["status"]), new RegExp(operation));
      if (lost) {
        const folder = join(repo.path, ".jj/repo/op_store/operations");
        const files = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
        await Deno.remove(join(folder, files.find((name) => name.startsWith(operation)) ?? assert.fail()));
        assert.deepEqual((await blocked())?.hints, ["jj workspace update-stale"]);
      }
      await typed((await blocked())?.hints[0] ?? "", repo.path);
      assert.equal(await blocked(), undefined);
      await repo.jj(["status"]);
    });
  }
});

test("workspaces: one whose folder is gone is none, one that jj forgot is refused by name [L26]", async () => {
  await using repo = await tempJjRepo({ files: { a: "1" } });
  const [kept, gone] = [await repo.workspace("kept"), await repo.workspace("gone")];
  await Deno.remove(gone, { recursive: true });
  await using adapter = await detectJj(repo.path);
  assert.deepEqual((await adapter.checkouts()).map((c) => c.root).toSorted(), [repo.path, kept].toSorted());
  await adapter.forgetCheckout(kept);
  assert.deepEqual((await adapter.checkouts()).map((c) => c.root), [repo.path]);
  assert.ok((await Deno.stat(kept)).isDirectory, "its folder stays");
  await assert.rejects(adapter.forgetCheckout(kept), /jj knows none there/);
  await assert.rejects(adapter.tracked(["a"], kept), VcsError);
  await assert.rejects(async () => {
    await using forgotten = await detectJj(kept);
    await forgotten.position();
  }, VcsError);
});

test("a repository over a truncated clone says so, with commands that work on its store [L03]", async (t) => {
  await using repo = await tempJjRepo({ files: { a: "1" } });
  await repo.commit("second", { a: "2" });
  for (const colocated of [true, false]) {
    await t.step(colocated ? "colocated" : "not colocated", async () => {
      const [clone, store] = [join(repo.outer, `clone-${colocated}`), join(repo.outer, "store.git")];
      const url = `file://${repo.path}/.git`;
      const git = ["clone", "-q", "--depth=1", ...colocated ? [url, clone] : ["--bare", url, store]];
      assert.ok((await new Deno.Command("git", { args: git }).output()).success);
      const init = ["git", "init", ...colocated ? ["--colocate"] : [`--git-repo=${store}`], clone];
      await repo.jj(init, { cwd: repo.outer });
      await using adapter = await detectJj(clone);
      const found = await adapter.completeness();
      assert.ok(!found.complete);
      assert.match(found.reason, /shallow/);
      for (const hint of found.hints) {
        const { success, stderr } = await new Deno.Command("sh", {
          args: ["-c", hint.replace(/^jj /, `${Deno.env.get("TETHER_JJ")} `)],
          cwd: clone,
        }).output();
        assert.ok(success, new TextDecoder().decode(stderr));
      }
      adapter.refresh();
      assert.deepEqual(await adapter.completeness(), { complete: true });
    });
  }
});
