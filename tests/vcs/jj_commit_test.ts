import assert from "node:assert/strict";
import { join } from "node:path";
import { detectJj, HAS_JJ, type TempJjRepo, tempJjRepo } from "../helpers/jj_repo.ts";
import { VcsError } from "../../engine/model/errors.ts";
import type { VcsAdapter } from "../../vcs/adapter.ts";

const FILES = { "tether.toml": "1", ".tether/objects/a.toml": "a" };
const PATHS = ["tether.toml", ".tether/objects"];

function test(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test({ name, ignore: !HAS_JJ, fn });
}

/** Edits the dataset and commits it. */
async function commit(repo: TempJjRepo, adapter: VcsAdapter, text: string): Promise<string> {
  await repo.write("tether.toml", text);
  return await adapter.commit({ message: `to ${text}`, paths: PATHS, bookmark: "main" });
}

function description(repo: TempJjRepo, rev: string): Promise<string> {
  return repo.jj(["log", "--no-graph", "-T", "description", "-r", rev], { trim: false });
}

for (const colocated of [true, false]) {
  test(
    `a commit and its bookmark are one operation, which one jj undo takes back; ${
      colocated ? "" : "not "
    }colocated [formats 15.3]`,
    async () => {
      await using repo = await tempJjRepo({ colocated, files: FILES });
      const base = await repo.id("main");
      await using adapter = await detectJj(repo.path);
      await repo.write("tether.toml", "2");
      await repo.jj(["status"]);
      const before = await repo.operations();
      const id = await adapter.commit({ message: "m", paths: PATHS, bookmark: "main" });
      const after = await repo.operations();
      assert.deepEqual(after.slice(1), before, "the snapshot was taken before");
      assert.equal(await repo.id("main"), id);
      if (colocated) assert.equal(await repo.git(["rev-parse", "main"]), id);
      await repo.jj(["undo"]);
      assert.equal(await repo.id("main"), base);
      assert.equal(await repo.id("@-"), base);
      assert.equal(await Deno.readTextFile(join(repo.path, "tether.toml")), "2", "what was committed is an edit again");
      adapter.refresh();
      assert.deepEqual(await adapter.vanished([id]), [], "its change is the working copy's");
      await repo.jj(["abandon", "@"]);
      adapter.refresh();
      assert.deepEqual(await adapter.vanished([id]), [id]);
    },
  );
}

test("what the user said of the working copy stays with his edits, and tether's message is the commit's", async (t) => {
  const sayings = ["mine", 'two\n\nparagraphs, "quoted" \\ and é\x1f\x1e', "--help"];
  for (const [i, said] of sayings.entries()) {
    await t.step(JSON.stringify(said), async () => {
      await using repo = await tempJjRepo({ files: FILES });
      await repo.write("notes", "1");
      await repo.jj(["describe", `--message=${said}`]);
      const before = await description(repo, "@");
      await using adapter = await detectJj(repo.path);
      const id = await commit(repo, adapter, `${i}+`);
      assert.equal(await description(repo, "@"), before);
      assert.equal(await description(repo, id), `to ${i}+\n`);
      assert.equal(await repo.jj(["diff", "--name-only", "-r", "@"]), "notes");
      await adapter.uncommit(id, PATHS);
      assert.equal(await description(repo, "@"), before);
    });
  }
});

test("the dataset's files have no size limit, the user's keep theirs, and so do his rules for new files [formats 15.3]", async (t) => {
  const big = "#".repeat(3 << 20);
  await t.step("jj's own limit and rules", async () => {
    await using repo = await tempJjRepo({ files: FILES });
    await using adapter = await detectJj(repo.path);
    await repo.write(".tether/listings/l.jsonl", big);
    await repo.write("model.bin", big);
    await repo.write("small", "");
    const paths = [...PATHS, ".tether/listings"];
    assert.deepEqual(await adapter.dirty(paths), [".tether/listings/l.jsonl"]);
    const id = await adapter.commit({ message: "m", paths, bookmark: "main" });
    assert.equal((await adapter.fileAt(id, ".tether/listings/l.jsonl"))?.length, big.length);
    assert.deepEqual(await adapter.dirty(paths), []);
    assert.equal(await repo.jj(["file", "list", "-r", "@", "--ignore-working-copy", "model.bin"]), "");
    assert.equal((await Deno.stat(join(repo.path, "model.bin"))).size, big.length);
    // Another commit leaves it be.
    await repo.write(".tether/listings/l.jsonl", big + "more");
    await commit(repo, adapter, "2");
    assert.deepEqual(await adapter.dirty(paths), [".tether/listings/l.jsonl"]);
  });
  await t.step("a user who tracks nothing by himself", async () => {
    await using repo = await tempJjRepo({ files: FILES });
    await repo.jj(["config", "set", "--repo", "snapshot.auto-track", "none()"]);
    await using adapter = await detectJj(repo.path);
    await repo.write("notes", "");
    await repo.write(".tether/objects/b.toml", "b");
    const id = await commit(repo, adapter, "2");
    assert.equal(new TextDecoder().decode(await adapter.fileAt(id, ".tether/objects/b.toml")), "b");
    assert.equal(await repo.jj(["file", "list", "-r", "@", "--ignore-working-copy", "notes"]), "");
  });
});

test("a file that jj ignores fails the commit by its name, and nothing is committed [commands 5.9]", async () => {
  await using repo = await tempJjRepo({ files: { ...FILES, ".gitignore": "b.toml\n" } });
  const base = await repo.id("main");
  await using adapter = await detectJj(repo.path);
  await repo.write(".tether/objects/b.toml", "b");
  await repo.write(".tether/objects/c.toml", "c");
  await assert.rejects(adapter.commit({ message: "m", paths: PATHS, bookmark: "main" }), (error) => {
    assert.ok(error instanceof VcsError);
    assert.equal(error.code, "ignored");
    assert.match(error.message, /"\.tether\/objects\/b\.toml"/);
    assert.deepEqual(error.hints, [
      `jj file track --include-ignored 'root:".tether/objects/b.toml"'`,
      "Or, in a sparse workspace: jj sparse set --add .tether/objects/b.toml",
    ]);
    return true;
  });
  assert.equal(await repo.id("main"), base);
  await repo.jj(["file", "track", "--include-ignored", 'root:".tether/objects/b.toml"']);
  adapter.refresh();
  const id = await adapter.commit({ message: "m", paths: PATHS, bookmark: "main" });
  assert.equal(new TextDecoder().decode(await adapter.fileAt(id, ".tether/objects/b.toml")), "b");
});

test("line ends that jj converts in the checkout are no edits [L15]", async () => {
  await using repo = await tempJjRepo({ files: { ...FILES, "tether.toml": "a = 1\nb = 2\n" } });
  await repo.jj(["config", "set", "--repo", "working-copy.eol-conversion", "input-output"]);
  await repo.jj(["new", "root()"]);
  await repo.jj(["new", "main"]);
  assert.equal(await Deno.readTextFile(join(repo.path, "tether.toml")), "a = 1\r\nb = 2\r\n");
  await using adapter = await detectJj(repo.path);
  assert.deepEqual(await adapter.dirty(PATHS), []);
  await repo.write("tether.toml", "a = 1\r\nb = 3\r\n");
  assert.deepEqual(await adapter.dirty(PATHS), ["tether.toml"]);
  const id = await adapter.commit({ message: "m", paths: PATHS, bookmark: "main" });
  assert.equal(new TextDecoder().decode(await adapter.fileAt(id, "tether.toml")), "a = 1\nb = 3\n");
});

test("the commit is signed as the user configured it [formats 15.6]", async () => {
  await using repo = await tempJjRepo({ files: FILES });
  const key = join(repo.outer, "key");
  await new Deno.Command("ssh-keygen", { args: ["-q", "-t", "ed25519", "-N", "", "-f", key] }).output();
  for (const [name, value] of [["behavior", "own"], ["backend", "ssh"], ["key", key]] as const) {
    await repo.jj(["config", "set", "--user", `signing.${name}`, value]);
  }
  await using adapter = await detectJj(repo.path);
  const id = await commit(repo, adapter, "2");
  assert.match(await repo.git(["cat-file", "commit", id]), /^gpgsig -----BEGIN SSH SIGNATURE-----/m);
});

test("a working copy that merges, or that bears the bookmark itself, is committed as it stands", async (t) => {
  await t.step("a merge", async () => {
    await using repo = await tempJjRepo({ files: FILES });
    await repo.jj(["new", "main", "-m", "side"]);
    await repo.write("side", "1");
    await repo.jj(["bookmark", "create", "side", "-r", "@"]);
    await repo.jj(["new", "main", "-m", "other"]);
    await repo.write("other", "1");
    await repo.jj(["bookmark", "set", "main", "-r", "@"]);
    await repo.jj(["new", "main", "side"]);
    const parents = [await repo.id("main"), await repo.id("side")];
    await using adapter = await detectJj(repo.path);
    const id = await commit(repo, adapter, "merged");
    assert.deepEqual((await adapter.commitInfos([id]))[0]?.parents, parents);
    assert.equal(await repo.id("side"), parents[1]);
    assert.equal(await repo.id("main"), id);
  });
  await t.step("the bookmark at the working copy", async () => {
    await using repo = await tempJjRepo({ files: FILES });
    await repo.jj(["new", "main"]);
    await repo.write("mine", "1");
    await repo.jj(["bookmark", "set", "main", "-r", "@"]);
    await using adapter = await detectJj(repo.path);
    assert.deepEqual((await adapter.position()).bookmarks, ["main"]);
    const id = await commit(repo, adapter, "2");
    assert.equal(await repo.id("main"), id);
    assert.equal(await repo.jj(["diff", "--name-only", "-r", "@"]), "mine");
  });
});

test("immutable commits are refused in words, and nothing moves [commands 5.22]", async () => {
  await using repo = await tempJjRepo({ files: FILES });
  const base = await repo.id("main");
  await using adapter = await detectJj(repo.path);
  await adapter.createBookmark("b");
  const id = await repo.commit("next", { a: "2" }, "b");
  await repo.jj(["config", "set", "--user", 'revset-aliases."immutable_heads()"', "mine()"]);
  await repo.jj(["config", "set", "--user", 'revset-aliases."mine()"', `${id}`]);
  await using later = await detectJj(repo.path);
  const before = await repo.operations();
  for (
    const refused of [
      () => later.dropCommits([id], { bookmark: "b", at: id }),
      () => later.uncommit(id, PATHS),
    ]
  ) {
    await assert.rejects(refused(), (error) => {
      assert.ok(error instanceof VcsError);
      assert.equal(error.code, "immutable-commit", error.message);
      return true;
    });
  }
  assert.deepEqual(await repo.operations(), before);
  assert.equal(await repo.id("b"), id);
  // A commit on top of it is made.
  await repo.write("tether.toml", "3");
  await later.commit({ message: "m", paths: PATHS, bookmark: "b" });
  assert.equal(await repo.id("b--"), base);
});
