import assert from "node:assert/strict";
import { join } from "node:path";
import { tempRepo } from "../helpers/repo.ts";
import { VcsError } from "../../engine/model/errors.ts";
import { detectVcs } from "../../vcs/detect.ts";

Deno.test("history counts every kind of ref and every worktree's HEAD [L02, formats 15.4]", async () => {
  await using repo = await tempRepo({ files: { a: "0" } });
  const expected = [await repo.git(["rev-parse", "HEAD"])];
  const refs = [
    "refs/tags/t",
    "refs/remotes/o/x",
    "refs/notes/n",
    "refs/heads/tether/0123456789ab",
    "refs/original/refs/heads/m",
  ];
  for (const [i, ref] of refs.entries()) {
    await repo.git(["switch", "-q", "--detach", "main"]);
    expected.push(await repo.commit(ref, { a: `ref ${i}` }));
    await repo.git(["update-ref", ref, "HEAD"]);
  }
  await repo.git(["switch", "-q", "main"]);
  await repo.write("a", "stashed");
  await repo.git(["stash", "-q"]);
  expected.push(...(await repo.git(["rev-parse", "stash@{0}", "stash@{0}^2"])).split("\n"));
  const other = join(repo.outer, "w");
  await repo.git(["worktree", "add", "-q", "--detach", other]);
  await Deno.writeTextFile(join(other, "a"), "other");
  await repo.git(["commit", "-q", "-a", "-m", "other"], { cwd: other });
  expected.push(await repo.git(["rev-parse", "HEAD"], { cwd: other }));
  await repo.git(["pack-refs", "--all"]);
  for (const folder of [repo.path, other]) {
    await using adapter = await detectVcs(folder);
    assert.deepEqual((await adapter.history()).map((c) => c.id).toSorted(), expected.toSorted());
    assert.deepEqual(await adapter.vanished(expected), []);
  }
});

Deno.test("history counts what a merge in progress is about to take in, in any worktree [L02]", async () => {
  await using repo = await tempRepo({ files: { a: "0" } });
  const other = await repo.worktree("w");
  await Deno.writeTextFile(join(other, "a"), "ours");
  await repo.git(["commit", "-q", "-a", "-m", "ours"], { cwd: other });
  await repo.git(["switch", "-q", "--detach"]);
  const theirs = await repo.commit("theirs", { a: "theirs" });
  await repo.git(["switch", "-q", "main"]);
  await using adapter = await detectVcs(repo.path);
  assert.equal((await adapter.history()).some((c) => c.id === theirs), false);
  await repo.git(["merge", theirs], { cwd: other, mayFail: true });
  assert.equal((await adapter.history()).some((c) => c.id === theirs), true);
});

Deno.test("history sees replaced commits as they are, and their replacements [L03]", async () => {
  await using repo = await tempRepo({ files: { a: "0" } });
  const original = await repo.commit("original", { a: "1" });
  await repo.git(["switch", "-q", "-c", "tmp", "main~1"]);
  const replacement = await repo.commit("replacement", { a: "2" });
  const tree = await repo.git(["rev-parse", `${original}^{tree}`]);
  await repo.git(["switch", "-q", "main"]);
  await repo.git(["branch", "-q", "-D", "tmp"]);
  await repo.git(["replace", original, replacement]);
  await using adapter = await detectVcs(repo.path);
  const history = await adapter.history();
  assert.equal(history.find((c) => c.id === original)?.tree, tree);
  assert.ok(history.some((c) => c.id === replacement));
  assert.equal(await adapter.treeOf(original), tree);
});

Deno.test("staged() reads the index of every worktree, conflict stages included [L01]", async () => {
  await using repo = await tempRepo({ files: { ".tether/objects/a.toml": "base", "tether.toml": "" } });
  const other = await repo.worktree("w");
  await repo.write(".tether/objects/a.toml", "staged");
  await repo.write("sub/.tether/objects/é/b.toml", "staged too");
  await repo.write(".tether/objects/no.txt", "");
  await repo.write("objects/c.toml", "");
  await repo.git(["add", "--all"]);
  await repo.git(["restore", "--worktree", "--source=HEAD", ".tether/objects/a.toml"]);
  for (const [name, text] of [["one", "1"], ["two", "2"]] as const) {
    await repo.git(["switch", "-q", "-c", name, "w"], { cwd: other });
    await Deno.writeTextFile(join(other, ".tether/objects/a.toml"), text);
    await repo.git(["commit", "-q", "-a", "-m", name], { cwd: other });
  }
  await repo.git(["merge", "one"], { cwd: other, mayFail: true });
  await using adapter = await detectVcs(repo.path);
  const texts = await Promise.all((await adapter.staged()).map(async ({ checkout, path, blob }) => {
    const bytes = await adapter.objects().blob(blob);
    return [
      checkout === repo.path ? "here" : checkout === other ? "there" : "?",
      path,
      new TextDecoder().decode(bytes),
    ];
  }));
  assert.deepEqual(texts.map((t) => t.join(" ")).toSorted(), [
    "here .tether/objects/a.toml staged",
    "here sub/.tether/objects/é/b.toml staged too",
    "there .tether/objects/a.toml 1",
    "there .tether/objects/a.toml 2",
    "there .tether/objects/a.toml base",
  ]);
});

Deno.test("staged() fails rather than leave out a checkout it cannot read [L03, architecture: not known is not no]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const other = await repo.worktree("other");
  const index = await repo.git(["rev-parse", "--absolute-git-dir"], { cwd: other });
  await Deno.writeTextFile(join(index, "index"), "no index");
  await using adapter = await detectVcs(repo.path);
  await assert.rejects(adapter.staged(), VcsError);
});

Deno.test("history fails on a ref whose commit is missing, and never skips it", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const base = await repo.git(["rev-parse", "HEAD"]);
  const lost = await repo.commit("lost", { a: "2" });
  await repo.git(["branch", "broken"]);
  await repo.git(["reset", "-q", "--hard", base]);
  await Deno.remove(join(repo.path, ".git/objects", lost.slice(0, 2), lost.slice(2)));
  await using adapter = await detectVcs(repo.path);
  await assert.rejects(adapter.history(), VcsError);
  await assert.rejects(adapter.resolve("broken"), VcsError);
});

Deno.test("vanished() answers right beyond the commits it looks at by itself", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const base = await repo.git(["rev-parse", "HEAD"]);
  const stream = Array.from(
    { length: 1200 },
    (_, i) =>
      `commit refs/heads/long\ncommitter A <a@b> ${1_700_000_000 + i} +0000\ndata 1\nx${
        i === 0 ? `\nfrom ${base}` : ""
      }\n\n`,
  );
  const file = join(repo.outer, "stream");
  await Deno.writeTextFile(file, stream.join(""));
  await repo.git(["-c", `alias.import=!git fast-import --quiet < ${file}`, "import"]);
  await repo.git(["switch", "-q", "--detach"]);
  const loose = await repo.commit("loose", { a: "2" });
  await repo.git(["switch", "-q", "long"]);
  await using adapter = await detectVcs(repo.path);
  const missing = "0123456789abcdef0123456789abcdef01234567";
  assert.deepEqual(await adapter.vanished([base, loose, missing]), [loose, missing]);
  assert.deepEqual(await adapter.vanished([base]), []);
});
