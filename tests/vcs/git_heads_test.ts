import assert from "node:assert/strict";
import { join } from "node:path";
import { tempRepo } from "../helpers/repo.ts";
import { VcsError } from "../../engine/model/errors.ts";
import { detectVcs } from "../../vcs/detect.ts";

Deno.test("position() names what is in progress and the way out, and reads go on [L18]", async (t) => {
  await using repo = await tempRepo({ files: { a: "1", "tether.toml": "" } });
  const base = await repo.git(["rev-parse", "HEAD"]);
  await repo.git(["switch", "-q", "-c", "other"]);
  const theirs = await repo.commit("theirs", { a: "2" });
  await repo.git(["switch", "-q", "main"]);
  const ours = await repo.commit("ours", { a: "3" });
  const states: [name: string, start: string[], end: string[], reason: RegExp][] = [
    ["merge", ["merge", "other"], ["merge", "--abort"], /merge/],
    ["rebase", ["rebase", "other"], ["rebase", "--abort"], /rebase/],
    ["rebase --apply", ["rebase", "--apply", "other"], ["rebase", "--abort"], /rebase/],
    ["cherry-pick", ["cherry-pick", "other"], ["cherry-pick", "--abort"], /cherry-pick/],
    ["revert", ["revert", "--no-edit", base], ["revert", "--abort"], /revert/],
    ["bisect", ["bisect", "start", "main", base], ["bisect", "reset"], /bisect/],
  ];
  for (const [name, start, end, reason] of states) {
    await t.step(name, async () => {
      await repo.git(start, { mayFail: true });
      await using adapter = await detectVcs(repo.path);
      const { blocked } = await adapter.position();
      assert.match(blocked?.reason ?? "", reason);
      assert.equal(blocked?.detachedOnly, false);
      assert.ok(blocked?.hints.includes(`git ${end.join(" ")}`), String(blocked?.hints));
      const ids = (await adapter.history()).map((c) => c.id);
      assert.deepEqual(ids.toSorted(), [base, theirs, ours].toSorted());
      assert.equal((await adapter.bookmarks()).get("main"), ours);
      await repo.git(end);
      assert.equal((await adapter.position()).blocked, undefined);
    });
  }
});

Deno.test("a detached HEAD is no bookmark, its commits count as history until HEAD leaves them [L18, formats 15.4]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  await repo.git(["switch", "-q", "--detach"]);
  const loose = await repo.commit("loose", { a: "2" });
  await using adapter = await detectVcs(repo.path);
  const position = await adapter.position();
  assert.deepEqual([position.commit, position.bookmarks, position.blocked?.detachedOnly], [loose, [], true]);
  assert.deepEqual(position.record, { kind: "git", id: loose, commit: loose, branch: null });
  assert.deepEqual(await adapter.vanished([loose]), []);
  await assert.rejects(adapter.commit({ message: "m", paths: ["a"], bookmark: "main" }), /HEAD is on no branch/);
  await adapter.switchTo("main");
  assert.deepEqual(await adapter.vanished([loose]), [loose]);
  await adapter.returnTo(position.record);
  assert.equal((await adapter.position()).commit, loose);
});

Deno.test("moveTo() parks on a branch that is no bookmark, takes it again, and numbers a moved one [formats 15.3]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const base = await repo.git(["rev-parse", "HEAD"]);
  const next = await repo.commit("next", { a: "2" });
  await using adapter = await detectVcs(repo.path);
  const name = `tether/${base.slice(0, 12)}`;
  const branch = () => repo.git(["symbolic-ref", "--short", "HEAD"]);
  await adapter.moveTo(base);
  assert.equal(await branch(), name);
  assert.deepEqual((await adapter.position()).bookmarks, []);
  assert.deepEqual([...(await adapter.bookmarks()).keys()], ["main"]);
  await adapter.switchTo("main");
  await adapter.moveTo(base);
  assert.equal(await branch(), name, "the one that sits there is taken again");
  await repo.commit("on the parking branch", { a: "3" });
  await adapter.moveTo(base);
  assert.equal(await branch(), `${name}-2`);
  const other = join(repo.outer, "w");
  await adapter.switchTo("main");
  await repo.git(["worktree", "add", "-q", other, `${name}-2`]);
  adapter.refresh();
  await adapter.moveTo(base);
  assert.equal(await branch(), `${name}-3`, "one that another checkout is on is left alone");
  assert.equal(await adapter.resolve("main"), next);
  assert.match(await adapter.bookmarkProblem("tether/x") ?? "", /parking/);
});

Deno.test("[L42] a bookmark's name is never another word for something git has", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  await repo.git(["branch", "x/y"]);
  await using adapter = await detectVcs(repo.path);
  const refused: Readonly<Record<string, RegExp>> = {
    "@": /reserves/,
    HEAD: /reserves/,
    "refs/heads/main": /full names/,
    "refs/x": /full names/,
    "-x": /hyphen/,
    "a..b": /allows no/,
    "@{1}": /allows no/,
    x: /beside the branch "x\/y"/,
    "x/y/z": /beside the branch "x\/y"/,
  };
  for (const [name, problem] of Object.entries(refused)) {
    assert.match(await adapter.bookmarkProblem(name) ?? "", problem, name);
  }
  for (const name of ["a@b", "@x", "refs", "heads/x", "x/z"]) {
    assert.equal(await adapter.bookmarkProblem(name), undefined, name);
  }
});

Deno.test("a branch another checkout is on is refused in words, with a way out [Δ29]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const other = await repo.worktree("held");
  await using adapter = await detectVcs(repo.path);
  await assert.rejects(adapter.switchTo("held"), (error: VcsError) => {
    assert.equal(error.code, "bookmark-held");
    assert.ok(error.message.includes(other));
    return error.hints.some((hint) => hint.startsWith("tether new -b"));
  });
  assert.deepEqual((await adapter.position()).bookmarks, ["main"]);
});

Deno.test("resolve() prefers a bookmark to a tag of its name, and takes no expression for a bookmark [formats 19.9]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const base = await repo.git(["rev-parse", "HEAD"]);
  await repo.git(["tag", "main"]);
  await repo.git(["tag", "-a", "v1", "-m", "annotated"]);
  await repo.commit("next", { a: "2" });
  const branch = await repo.git(["rev-parse", "refs/heads/main"]);
  await using adapter = await detectVcs(repo.path);
  assert.equal(await adapter.resolve("main"), branch);
  await repo.git(["tag", "-d", "main"]);
  assert.equal(await adapter.resolve("main~1"), base);
  assert.equal(await adapter.resolve("v1"), base);
  assert.equal(await adapter.resolve("@"), branch);
  await assert.rejects(adapter.resolve("HEAD:a"), VcsError);
  assert.equal((await adapter.bookmarks()).has("main~1"), false);
});

Deno.test("adoptTrunk() puts a detached HEAD on a new trunk and refuses one that is elsewhere [formats 4]", async () => {
  await using repo = await tempRepo({ branch: "master", files: { a: "1" } });
  await using adapter = await detectVcs(repo.path);
  assert.equal(await adapter.adoptTrunk("main"), "master");
  await repo.git(["switch", "-q", "--detach"]);
  adapter.refresh();
  assert.equal(await adapter.adoptTrunk("main"), "main");
  assert.deepEqual((await adapter.position()).bookmarks, ["main"]);
  await repo.commit("next", { a: "2" });
  await repo.git(["switch", "-q", "--detach", "master"]);
  adapter.refresh();
  await assert.rejects(adapter.adoptTrunk("main"), VcsError);
  await repo.git(["branch", "-q", "-f", "main"]);
  adapter.refresh();
  assert.equal(await adapter.adoptTrunk("main"), "main");
});

Deno.test("an orphan branch is a bookmark before its first commit, beside others that have some [L18]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": "x" } });
  const base = await repo.git(["rev-parse", "HEAD"]);
  await repo.git(["switch", "-q", "--orphan", "fresh"]);
  await repo.write("tether.toml", "y");
  await using adapter = await detectVcs(repo.path);
  const position = await adapter.position();
  assert.deepEqual([position.commit, position.bookmarks], [null, ["fresh"]]);
  assert.deepEqual(position.record, { kind: "git", id: null, commit: null, branch: "fresh" });
  assert.deepEqual((await adapter.history()).map((c) => c.id), [base]);
  const id = await adapter.commit({ message: "first", paths: ["tether.toml"], bookmark: "fresh" });
  assert.deepEqual((await adapter.commitInfos([id]))[0]?.parents, []);
});

Deno.test("remoteBookmarks() finds the counterparts a fetch brought [formats 15.3]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  for (const ref of ["origin/feat/x", "up/feat/x", "origin/x", "origin/main"]) {
    await repo.git(["update-ref", `refs/remotes/${ref}`, "HEAD"]);
  }
  await using adapter = await detectVcs(repo.path);
  assert.deepEqual(await adapter.remoteBookmarks("feat/x"), ["origin/feat/x", "up/feat/x"]);
  assert.deepEqual(await adapter.remoteBookmarks("nope"), []);
});

Deno.test("exclusiveCommits() leaves out what a tag, a remote, a stash or another HEAD reaches [commands 4]", async (t) => {
  for (const keeper of ["tag", "remote", "detached checkout", "none"]) {
    await t.step(keeper, async () => {
      await using repo = await tempRepo({ files: { a: "1" } });
      await repo.git(["switch", "-q", "-c", "b"]);
      const one = await repo.commit("one", { a: "2" });
      if (keeper === "tag") await repo.git(["tag", "t"]);
      if (keeper === "remote") await repo.git(["update-ref", "refs/remotes/origin/b", "HEAD"]);
      if (keeper === "detached checkout") await repo.git(["worktree", "add", "-q", "--detach", join(repo.outer, "w")]);
      const two = await repo.commit("two", { a: "3" });
      await using adapter = await detectVcs(repo.path);
      assert.deepEqual(await adapter.exclusiveCommits("b"), keeper === "none" ? [one, two] : [two]);
    });
  }
});

Deno.test("forgetCheckout() removes a linked worktree and refuses one with changes [commands 4]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const other = await repo.worktree("w");
  await using adapter = await detectVcs(repo.path);
  await Deno.writeTextFile(join(other, "a"), "2");
  await assert.rejects(adapter.forgetCheckout(other), VcsError);
  await repo.git(["checkout", "-q", "."], { cwd: other });
  await adapter.forgetCheckout(other);
  assert.deepEqual((await adapter.checkouts()).map((c) => c.root), [repo.path]);
  assert.equal((await adapter.bookmarks()).has("w"), true, "its branch stays");
});

Deno.test("checkouts that git keeps and whose folder is away are told apart from those that can be read [L02]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const gone = await repo.worktree("gone");
  const away = await repo.worktree("away");
  await repo.git(["worktree", "lock", away]);
  await Deno.remove(gone, { recursive: true });
  await Deno.remove(away, { recursive: true });
  const taken = await repo.worktree("taken");
  await Deno.rename(taken, `${taken}-moved`);
  await repo.git(["init", "-q", taken]);
  const unlisted = await repo.git(["rev-parse", "--absolute-git-dir"], { cwd: await repo.worktree("unlisted") });
  await Deno.remove(join(unlisted, "gitdir"));
  await using adapter = await detectVcs(repo.path);
  assert.deepEqual((await adapter.checkouts()).map((c) => c.root), [repo.path]);
  const absent = await adapter.absentCheckouts();
  assert.deepEqual(
    absent.map(({ root, bookmarks, hints }) => [root, bookmarks, hints.at(-1)]).sort(),
    [
      [away, ["away"], `git worktree unlock ${away} && git worktree prune, if it is gone for good`],
      [gone, ["gone"], "git worktree prune, if it is gone for good"],
      [taken, ["taken"], "git worktree prune, if it is gone for good"],
      [unlisted, ["unlisted"], "git worktree prune, if it is gone for good"],
    ].sort(),
  );
  await using moved = await detectVcs(`${taken}-moved`);
  assert.deepEqual((await moved.checkouts()).map((c) => [c.root, c.current]), [[repo.path, false], [
    `${taken}-moved`,
    true,
  ]]);
});

Deno.test("[commands 1.3] edits that going elsewhere would overwrite are named, and how to keep them", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  await using adapter = await detectVcs(repo.path);
  await adapter.createBookmark("feat");
  await repo.commit("feat", { a: "2", "b c": "new" });
  adapter.refresh();
  const on = async (edits: Record<string, string>): Promise<VcsError> => {
    for (const [path, text] of Object.entries(edits)) await Deno.writeTextFile(`${repo.path}/${path}`, text);
    const error = await adapter.switchTo("main").then(() => undefined, (e) => e);
    assert.ok(error instanceof VcsError);
    return error;
  };
  const edited = await on({ a: "3" });
  assert.match(edited.message, /^Cannot go to bookmark "main": changes without a commit would be overwritten: "a"$/);
  assert.deepEqual([edited.code, edited.hints[0]], ["dirty", "tether commit -m MESSAGE"]);
  assert.equal(await Deno.readTextFile(`${repo.path}/a`), "3");
});
