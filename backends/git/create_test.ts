import assert from "node:assert/strict";
import { DEFAULT_SETTINGS } from "../backend.ts";
import { BackendError, InvalidLocatorError, RefConflictError } from "../../engine/model/backend_errors.ts";
import { tempRepo } from "../../tests/helpers/repo.ts";
import { GitBackend } from "./git.ts";

const OWNER = { owner: "0a1b2c3d" } as const;

Deno.test("[backends 3.3, formats 6.3] a created repository has the one root commit, whatever the user's settings", async () => {
  await using repo = await tempRepo();
  const config = `${repo.outer}/config`;
  const template = `${repo.outer}/template/hooks`;
  await Deno.mkdir(template, { recursive: true });
  await Deno.writeTextFile(`${template}/pre-commit`, "exit 1", { mode: 0o755 });
  await Deno.writeTextFile(
    config,
    `[init]\ndefaultBranch = other\ntemplateDir = ${repo.outer}/template\ndefaultObjectFormat = sha256\n[tether]\nowner = ffffffff\n`,
  );
  const env = { PATH: Deno.env.get("PATH") ?? "", HOME: repo.outer, GIT_CONFIG_GLOBAL: config };
  await using backend = new GitBackend({ ...DEFAULT_SETTINGS, env });
  const path = `${repo.outer}/deep/er/made`;
  const state = await backend.create({ path }, OWNER);
  assert.deepEqual(state, { sha: "5a2cfa770badaceb6c6de5171fdf82c871fa40de", dirty: false });
  assert.equal(
    await repo.git(["log", "--format=%an %ae %aI|%cn %ce %cI|%B", "main"], { cwd: path }),
    [
      "tether tether@localhost 2000-01-01T00:00:00+00:00",
      "tether tether@localhost 2000-01-01T00:00:00+00:00",
      "tether: created store",
    ].join("|"),
  );
  assert.deepEqual((await Array.fromAsync(Deno.readDir(path))).map((e) => e.name), [".git"]);
  assert.equal(await backend.owner({ path }), OWNER.owner);
  assert.equal(await backend.owner({ path: repo.path }), undefined, "a user's own setting claims no repository");
  await backend.create({ path: `${repo.outer}/branch`, ref: "trunk" }, OWNER);
  assert.equal(await repo.git(["symbolic-ref", "HEAD"], { cwd: `${repo.outer}/branch` }), "refs/heads/trunk");
});

Deno.test("[backends 3.3] create refuses a path where anything is, and leaves it alone", async (test) => {
  await using repo = await tempRepo({ files: { f: "x" } });
  await using backend = new GitBackend(DEFAULT_SETTINGS);
  const at = (name: string): string => `${repo.outer}/${name}`;
  const there: Record<string, () => Promise<unknown>> = {
    "a file": () => Deno.writeTextFile(at("a file"), "x"),
    "an empty folder": () => Deno.mkdir(at("an empty folder")),
    "a dangling link": () => Deno.symlink(at("nowhere"), at("a dangling link")),
    "a repository": () => repo.git(["clone", "-q", repo.path, at("a repository")]),
  };
  for (const [name, put] of Object.entries(there)) {
    await test.step(name, async () => {
      await put();
      await assert.rejects(backend.create({ path: at(name) }, OWNER), InvalidLocatorError);
      await assert.rejects(backend.create({ path: `${at(name)}/` }, OWNER), InvalidLocatorError);
      assert.ok(await Deno.lstat(at(name)));
      await assert.rejects(Deno.lstat(at("nowhere")), Deno.errors.NotFound);
    });
  }
});

Deno.test("[L43] a creation that fails removes what it made, and nothing else", async () => {
  await using repo = await tempRepo();
  const shim = await fakeGit(
    repo.outer,
    `case "$*" in *tether.owner*) echo "no more" >&2; echo x >"${repo.outer}/made/theirs"; exit 9;; esac`,
  );
  await using backend = new GitBackend({ ...DEFAULT_SETTINGS, programs: { git: shim } });
  await assert.rejects(backend.create({ path: `${repo.outer}/made` }, OWNER), BackendError);
  assert.deepEqual((await Array.fromAsync(Deno.readDir(`${repo.outer}/made`))).map((e) => e.name), ["theirs"]);
});

Deno.test("[backends 3.3] a linked checkout of a created repository is not the store", async () => {
  await using repo = await tempRepo();
  await using backend = new GitBackend(DEFAULT_SETTINGS);
  const path = `${repo.outer}/made`;
  await backend.create({ path }, OWNER);
  await repo.git(["worktree", "add", "-q", "-b", "side", `${repo.outer}/side`], { cwd: path });
  for (const place of [path, `${repo.outer}/side`]) {
    assert.equal(await backend.isRefEmpty({ path: place }), false);
    await assert.rejects(backend.deleteStore({ path: place }, OWNER), RefConflictError);
  }
  assert.ok(await Deno.stat(`${repo.outer}/side/.git`));
});

Deno.test("[backends 3.3] work that appears while the store is deleted brings it back", async (test) => {
  // Each acts once the last question of the first look was answered.
  const acts: Record<string, string> = {
    "a tag": `git -C "$store" tag v1`,
    "a commit": `git -C "$store" commit -q --allow-empty -m late`,
    "a file": `echo data >"$store/late"`,
    "another owner": `git -C "$store" config tether.owner ffffffff`,
  };
  for (const [what, act] of Object.entries(acts)) {
    await test.step(what, async () => {
      await using repo = await tempRepo();
      const path = `${repo.outer}/made`;
      await using maker = new GitBackend(DEFAULT_SETTINGS);
      await maker.create({ path }, OWNER);
      const shim = await fakeGit(
        repo.outer,
        `store="${path}"; case "$*" in *ls-files*) [ -e "$store" ] && { git "$@"; ${act}; exit 0; };; esac`,
      );
      await using backend = new GitBackend({ ...DEFAULT_SETTINGS, programs: { git: shim } });
      await assert.rejects(backend.deleteStore({ path }, OWNER), RefConflictError);
      assert.ok(await Deno.stat(`${path}/.git`));
      assert.deepEqual(
        (await Array.fromAsync(Deno.readDir(repo.outer))).filter((e) => e.name.includes("tether-deleted")),
        [],
      );
    });
  }
});

/** Writes a git that does something of its own first. */
async function fakeGit(folder: string, first: string): Promise<string> {
  const path = `${folder}/fake-git`;
  await Deno.writeTextFile(path, `#!/bin/sh\n${first}\nexec git "$@"\n`, { mode: 0o755 });
  return path;
}
