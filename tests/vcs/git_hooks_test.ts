import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";
import type { VcsError } from "../../engine/model/errors.ts";
import { detectVcs } from "../../vcs/detect.ts";

async function hook(repo: TempRepo, name: string, script: string): Promise<void> {
  const path = await repo.write(`.git/hooks/${name}`, `#!/bin/sh\n${script}\n`);
  await Deno.chmod(path, 0o755);
}

Deno.test("the commit runs the user's hooks, and no other call does [L40, formats 15.6]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": "1" } });
  const log = join(repo.outer, "log");
  for (
    const name of [
      "pre-commit",
      "prepare-commit-msg",
      "commit-msg",
      "post-commit",
      "post-checkout",
      "reference-transaction",
      "post-index-change",
    ]
  ) {
    await hook(repo, name, `echo ${name} >> '${log}'`);
  }
  const read = async () => {
    const text = await Deno.readTextFile(log).catch(() => "");
    await Deno.writeTextFile(log, "");
    return new Set(text.split("\n").filter((line) => line !== ""));
  };
  await using adapter = await detectVcs(repo.path);
  const base = await adapter.resolve("HEAD");
  await repo.write("tether.toml", "2");
  await adapter.dirty(["tether.toml"]);
  const id = await adapter.commit({ message: "m", paths: ["tether.toml"], bookmark: "main" });
  const run = await read();
  for (const name of ["pre-commit", "commit-msg", "post-commit"]) assert.ok(run.has(name), name);
  await adapter.moveTo(base);
  await adapter.switchTo("main");
  await adapter.createBookmark("b");
  await adapter.moveBookmark("main", { from: id, to: base });
  await adapter.uncommit(id, ["tether.toml"]);
  await adapter.staged();
  assert.deepEqual(await read(), new Set());
});

Deno.test("a hook that refuses leaves no commit and nothing staged [formats 15.3]", async (t) => {
  for (const name of ["pre-commit", "commit-msg"]) {
    await t.step(name, async () => {
      await using repo = await tempRepo({ files: { "tether.toml": "1", u: "1" } });
      await hook(repo, name, "echo 'not on a Friday' >&2; exit 1");
      await repo.write("tether.toml", "2");
      await repo.write(".tether/objects/new.toml", "new");
      await repo.write("u", "staged by the user");
      await repo.git(["add", "u"]);
      await using adapter = await detectVcs(repo.path);
      const before = await adapter.position();
      const request = { message: "m", paths: ["tether.toml", ".tether/objects"], bookmark: "main" };
      await assert.rejects(adapter.commit(request), /not on a Friday/);
      assert.deepEqual(await adapter.position(), before);
      assert.equal(await repo.git(["diff", "--cached", "--name-only"]), "u");
      assert.equal(
        await repo.git(["status", "--porcelain", "-uall"]),
        "M tether.toml\nM  u\n?? .tether/objects/new.toml",
      );
    });
  }
});

Deno.test("a refused first commit leaves nothing staged and the branch unborn [L18]", async () => {
  await using repo = await tempRepo();
  await hook(repo, "pre-commit", "exit 1");
  await repo.write("tether.toml", "1");
  await using adapter = await detectVcs(repo.path);
  await assert.rejects(adapter.commit({ message: "m", paths: ["tether.toml"], bookmark: "main" }));
  assert.equal(await repo.git(["status", "--porcelain"]), "?? tether.toml");
});

Deno.test("a failure after the commit exists, as of a post-rewrite or signing helper, keeps it [formats 17]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": "1" } });
  // Ends git itself once the commit is there.
  await hook(repo, "post-commit", "kill -9 $PPID");
  await repo.write("tether.toml", "2");
  await using adapter = await detectVcs(repo.path);
  const before = await adapter.position();
  await assert.rejects(adapter.commit({ message: "m", paths: ["tether.toml"], bookmark: "main" }));
  const after = await adapter.position();
  assert.notEqual(after.commit, before.commit);
  assert.deepEqual((await adapter.commitInfos([after.commit ?? ""]))[0]?.parents, [before.commit]);
});

Deno.test("the commit is signed as the user configured it [formats 15.6]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": "1" } });
  const program = await repo.write(
    ".git/sign",
    `#!/bin/sh\ncat > '${repo.outer}/signed'\necho '[GNUPG:] SIG_CREATED ' >&2\necho SIGNATURE\n`,
  );
  await Deno.chmod(program, 0o755);
  await repo.git(["config", "gpg.program", program]);
  await repo.git(["config", "commit.gpgSign", "true"]);
  await repo.write("tether.toml", "2");
  await using adapter = await detectVcs(repo.path);
  const id = await adapter.commit({ message: "m", paths: ["tether.toml"], bookmark: "main" });
  assert.match(await repo.git(["cat-file", "commit", id]), /gpgsig SIGNATURE/);
  assert.equal((await adapter.history())[0]?.id, id);
  assert.ok(await adapter.treeOf(id));
});

Deno.test("commit() returns its own commit although a hook made another on top", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": "1", log: "0" } });
  await hook(
    repo,
    "post-commit",
    'test -e .git/once && exit; touch .git/once; echo 1 > log; git commit -q -a -m "on top"',
  );
  await repo.write("tether.toml", "2");
  await using adapter = await detectVcs(repo.path);
  const id = await adapter.commit({ message: "ours", paths: ["tether.toml"], bookmark: "main" });
  const [info] = await adapter.commitInfos([id]);
  assert.equal(info?.message, "ours");
  assert.notEqual((await adapter.position()).commit, id);
});

Deno.test("called from a post-commit hook in a linked worktree, every index stays intact [L16]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": "1", a: "1" } });
  const other = await repo.worktree("w");
  await Deno.writeTextFile(join(other, "tether.toml"), "from the hook");
  await Deno.writeTextFile(join(other, "a"), "2");
  const script = fileURLToPath(import.meta.resolve("./hook_command.ts"));
  const out = join(repo.outer, "out");
  await hook(
    repo,
    "post-commit",
    `test -e '${out}' && exit 0\necho started > '${out}'\n'${Deno.execPath()}' run -A '${script}' "$PWD" tether.toml >> '${out}' 2>&1`,
  );
  await repo.git(["commit", "-q", "-m", "the user's", "a"], { cwd: other });
  const [, result = ""] = (await Deno.readTextFile(out)).split("\n");
  const [root, commit] = result.split(" ");
  assert.equal(root, other, result);
  assert.equal(await repo.git(["log", "--format=%s", "main..w"]), "from the hook\nthe user's");
  assert.equal(await repo.git(["rev-parse", "w"]), commit);
  for (const folder of [repo.path, other]) {
    assert.equal(await repo.git(["status", "--porcelain"], { cwd: folder }), "");
    assert.equal(await repo.git(["fsck", "--no-dangling"], { cwd: folder }), "");
  }
});

Deno.test("files git ignores fail the commit and are named [commands 5.9]", async (t) => {
  const cases: [ignore: string, named: string][] = [
    [".tether/\n", ".tether/objects/a.toml"],
    ["objects\n", ".tether/objects/a.toml"],
    ["/tether.toml\n", "tether.toml"],
    [".tether/objects/*\n", ".tether/objects/a.toml"],
    ["*.toml\n!tether.toml\n", ".tether/objects/a.toml"],
  ];
  for (const [ignore, named] of cases) {
    await t.step(ignore.trim(), async () => {
      await using repo = await tempRepo({ files: { ".gitignore": ignore } });
      await repo.write("tether.toml", "");
      await repo.write(".tether/objects/a.toml", "");
      await using adapter = await detectVcs(repo.path);
      const request = { message: "m", paths: ["tether.toml", ".tether/objects"], bookmark: "main" };
      await assert.rejects(adapter.commit(request), (error: VcsError) => {
        assert.match(error.message, /^Cannot commit the dataset: an ignore rule of git hides "[^"]+"( and \d+ more)?$/);
        assert.ok(error.hints.includes(`git check-ignore -v -- ${named}`), String(error.hints));
        return true;
      });
      assert.equal(await repo.git(["diff", "--cached", "--name-only"]), "");
    });
  }
});

Deno.test("a commit that cannot even unstage says both what failed and how to unstage", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": "1" } });
  await repo.write("tether.toml", "2");
  const git = await repo.write(
    ".git/fake",
    "#!/bin/sh\ncase \"$*\" in *' commit '*) touch .git/index.lock; echo 'no luck' >&2; exit 1;; esac\nexec git \"$@\"\n",
  );
  await Deno.chmod(git, 0o755);
  await using adapter = await detectVcs(repo.path, { programs: { git } });
  await assert.rejects(
    adapter.commit({ message: "m", paths: ["tether.toml"], bookmark: "main" }),
    (error: VcsError) => {
      assert.match(error.message, /no luck/);
      assert.deepEqual(error.hints, ["git reset -q -- tether.toml"]);
      return true;
    },
  );
});
