import assert from "node:assert/strict";
import { join } from "node:path";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";
import { VcsError } from "../../engine/model/errors.ts";
import type { VcsAdapter } from "../../vcs/adapter.ts";
import { detectVcs } from "../../vcs/detect.ts";

/** Writes a program that leaves a mark when it runs; `path` names the mark. */
async function trap(repo: TempRepo): Promise<{ readonly program: string; readonly sprung: () => Promise<boolean> }> {
  const mark = join(repo.outer, "sprung");
  const program = await repo.write(".git/trap", `#!/bin/sh\ntouch '${mark}'\n`);
  await Deno.chmod(program, 0o755);
  return { program, sprung: () => Deno.stat(mark).then(() => true, () => false) };
}

/** Makes every kind of call but the commit. */
async function callEverything(adapter: VcsAdapter): Promise<void> {
  const commit = await adapter.resolve("HEAD");
  await adapter.tracked(["tether.toml"]);
  await adapter.tracked(["tether.toml"]);
  await adapter.position();
  await adapter.dirty(["tether.toml", ".tether"]);
  await adapter.history();
  await adapter.staged();
  await adapter.completeness();
  await adapter.checkouts();
  await adapter.bookmarks();
  await adapter.commitInfos([commit]);
  await adapter.manifestsAt(commit);
  await adapter.vanished([commit]);
  await adapter.exclusiveCommits("main");
  await adapter.createBookmark("b");
  await adapter.switchTo("main");
}

Deno.test("a repository's configuration starts no program [L40, formats 15.1]", async (t) => {
  for (
    const setting of ["core.fsmonitor", "core.hooksPath", "core.pager", "core.editor", "diff.external", "core.askPass"]
  ) {
    await t.step(setting, async () => {
      await using repo = await tempRepo({ files: { "tether.toml": "1" } });
      const { program, sprung } = await trap(repo);
      if (setting === "core.hooksPath") {
        for (const name of ["post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"]) {
          await Deno.copyFile(program, await repo.write(`.git/trap.d/${name}`, ""));
          await Deno.chmod(join(repo.path, ".git/trap.d", name), 0o755);
        }
      }
      await repo.git(["config", setting, setting === "core.hooksPath" ? join(repo.path, ".git/trap.d") : program]);
      await repo.write("tether.toml", "2");
      await using adapter = await detectVcs(repo.path);
      await callEverything(adapter);
      assert.equal(await sprung(), false);
      if (setting === "core.hooksPath") return;
      await adapter.commit({ message: "m", paths: ["tether.toml"], bookmark: "main" });
      assert.equal(await sprung(), false, "the commit runs hooks and signing, and nothing else");
    });
  }
});

Deno.test("an object that is missing is fetched through no external transport [L40]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": "1" } });
  const { program, sprung } = await trap(repo);
  const blob = await repo.git(["rev-parse", "HEAD:tether.toml"]);
  await Deno.remove(join(repo.path, ".git/objects", blob.slice(0, 2), blob.slice(2)));
  const settings = {
    url: `ext::${program}`,
    promisor: "true",
    partialclonefilter: "blob:none",
    fetch: "+refs/heads/*:refs/remotes/o/*",
  };
  for (const [name, value] of Object.entries(settings)) await repo.git(["config", `remote.o.${name}`, value]);
  await repo.git(["config", "core.repositoryFormatVersion", "1"]);
  await repo.git(["config", "extensions.partialClone", "o"]);
  await repo.git(["config", "protocol.ext.allow", "always"]);
  // It would beat any configuration.
  Deno.env.delete("GIT_ALLOW_PROTOCOL");
  await using adapter = await detectVcs(repo.path);
  // With the object gone either answer is right, but not a transport's.
  const bytes = await adapter.objects().blob(blob).catch((error) => {
    assert.ok(error instanceof VcsError);
    return undefined;
  });
  assert.equal(bytes, undefined);
  assert.equal(await sprung(), false);
  assert.equal((await adapter.completeness()).complete, false);
});

Deno.test("variables that name another repository change nothing [L16]", async () => {
  await using victim = await tempRepo({ files: { v: "1" } });
  await using repo = await tempRepo({ files: { "tether.toml": "1" } });
  const before = await victim.git(["rev-parse", "HEAD"]);
  const { program, sprung } = await trap(repo);
  const variables: Record<string, string> = {
    GIT_DIR: join(victim.path, ".git"),
    GIT_WORK_TREE: victim.path,
    GIT_INDEX_FILE: join(victim.path, ".git/index"),
    GIT_OBJECT_DIRECTORY: join(victim.path, ".git/objects"),
    GIT_COMMON_DIR: join(victim.path, ".git"),
    GIT_PREFIX: "x/",
    GIT_CONFIG_COUNT: "2",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: program,
    GIT_CONFIG_KEY_1: "core.worktree",
    GIT_CONFIG_VALUE_1: victim.path,
    GIT_CONFIG_PARAMETERS: `'core.fsmonitor'='${program}'`,
  };
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  try {
    await using adapter = await detectVcs(repo.path);
    assert.equal(adapter.location.sharedDir, join(repo.path, ".git"));
    await callEverything(adapter);
    await repo.write("tether.toml", "2");
    await adapter.commit({ message: "ours", paths: ["tether.toml"], bookmark: "main" });
  } finally {
    for (const name of Object.keys(variables)) Deno.env.delete(name);
  }
  assert.equal(await sprung(), false);
  assert.equal(await repo.git(["log", "-1", "--format=%s"]), "ours");
  assert.equal(await victim.git(["rev-parse", "HEAD"]), before);
  assert.equal(await victim.git(["status", "--porcelain"]), "");
});

Deno.test("every variable git calls local is kept from it, the user's configuration is not [L16, formats 15.1]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const local = (await repo.git(["rev-parse", "--local-env-vars"])).split("\n");
  assert.ok(local.length > 10);
  const names = [...local, "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_17", "GIT_CONFIG"];
  const dump = join(repo.outer, "dump");
  const program = await repo.write(
    ".git/fake",
    `#!/bin/sh\nenv > '${dump}'\nprintf '%s\\n' "$@" > '${dump}.args'\nexec git "$@"\n`,
  );
  await Deno.chmod(program, 0o755);
  for (const name of names) Deno.env.set(name, "hostile");
  Deno.env.set("GIT_CONFIG_SYSTEM", "/dev/null");
  try {
    await using adapter = await detectVcs(repo.path, { programs: { git: program } });
    assert.equal(adapter.kind, "git");
  } finally {
    for (const name of [...names, "GIT_CONFIG_SYSTEM"]) Deno.env.delete(name);
  }
  const seen = new Map(
    (await Deno.readTextFile(dump)).split("\n").map((line) => line.split("=", 2) as [string, string]),
  );
  for (const name of names) assert.equal(seen.has(name), false, name);
  assert.equal(seen.get("GIT_CONFIG_SYSTEM"), "/dev/null");
  assert.equal(seen.get("GIT_CONFIG_GLOBAL"), "/dev/null");
  assert.equal(seen.get("GIT_TERMINAL_PROMPT"), "0");
  const args = (await Deno.readTextFile(`${dump}.args`)).split("\n");
  const settings = args.slice(0, args.indexOf("--version")).filter((arg) => arg !== "-c");
  assert.deepEqual(settings, [
    "color.ui=never",
    "log.showSignature=false",
    "core.quotePath=false",
    "status.showUntrackedFiles=all",
    "core.fsmonitor=",
    "safe.bareRepository=explicit",
    "protocol.ext.allow=never",
    "core.hooksPath=/dev/null",
  ]);
});

Deno.test("a working tree that is not exactly where .git lies is refused [L12]", async (t) => {
  await t.step("a broken .git inside another repository", async () => {
    await using repo = await tempRepo({ files: { "sub/tether.toml": "" } });
    await Deno.mkdir(join(repo.path, "sub/.git"));
    await assert.rejects(
      detectVcs(join(repo.path, "sub")),
      (e) => e instanceof VcsError && /working tree is/.test(e.message),
    );
  });
  await t.step("core.worktree points elsewhere", async () => {
    await using repo = await tempRepo({ files: { "tether.toml": "" } });
    await repo.git(["config", "core.worktree", repo.outer]);
    await assert.rejects(detectVcs(repo.path), VcsError);
  });
  await t.step("a folder that was made to look like a bare repository", async () => {
    await using repo = await tempRepo({ files: { "tether.toml": "1" } });
    const { program, sprung } = await trap(repo);
    await repo.git(["init", "-q", "--bare", "bare"]);
    await repo.git(["config", "core.fsmonitor", program], { cwd: join(repo.path, "bare") });
    await using adapter = await detectVcs(join(repo.path, "bare"));
    assert.equal(adapter.location.root, repo.path);
    await callEverything(adapter);
    assert.equal(await sprung(), false);
  });
});

Deno.test("a dataset in a submodule commits there and only there [L14]", async () => {
  await using inner = await tempRepo({ files: { "tether.toml": "inner" } });
  await using repo = await tempRepo({ files: { "tether.toml": "outer", ".tether/objects/a.toml": "a" } });
  await repo.git([
    "-c",
    "protocol.file.allow=always",
    "submodule",
    "--quiet",
    "add",
    inner.path,
    ".tether/objects/sub",
  ]);
  await repo.git(["commit", "-q", "-m", "with a submodule"]);
  const sub = join(repo.path, ".tether/objects/sub");
  await Deno.writeTextFile(join(sub, "tether.toml"), "changed");
  await Deno.writeTextFile(join(sub, "new.toml"), "new");
  const index = await repo.git(["ls-files", "--stage"]);

  await using within = await detectVcs(sub);
  assert.deepEqual([within.location.root, within.location.rel], [sub, "."]);
  assert.equal(within.location.sharedDir, join(repo.path, ".git/modules/.tether/objects/sub"));
  assert.deepEqual((await within.checkouts()).map((c) => [c.root, c.current, c.bookmark]), [[sub, true, "main"]]);
  const id = await within.commit({ message: "inside", paths: ["tether.toml"], bookmark: "main" });
  assert.equal(await repo.git(["ls-files", "--stage"]), index);
  assert.equal(await repo.git(["rev-parse", "HEAD"], { cwd: sub }), id);

  await using around = await detectVcs(repo.path);
  assert.deepEqual(await around.dirty([".tether/objects"]), []);
  const commit = await around.resolve("HEAD");
  assert.deepEqual([...(await around.manifestsAt(commit)).keys()], [".tether/objects/a.toml"]);
  await repo.write(".tether/objects/a.toml", "changed");
  const outer = await around.commit({ message: "outside", paths: [".tether/objects/a.toml"], bookmark: "main" });
  assert.equal(await repo.git(["diff", "--name-only", "HEAD~1", outer]), ".tether/objects/a.toml");

  const linked = join(repo.outer, "linked");
  await repo.git(["worktree", "add", "-q", "-b", "w", linked], { cwd: sub });
  await using other = await detectVcs(linked);
  assert.deepEqual((await other.checkouts()).map((c) => c.root), [sub, linked], "the main one is named by its folder");
});

Deno.test("the core loop works in a linked worktree, with refs packed and the main one moved [L12]", async () => {
  await using repo = await tempRepo({ files: { "ds/tether.toml": "1", "ds/.tether/objects/a.toml": "a" } });
  const other = await repo.worktree("feat/x");
  await repo.git(["pack-refs", "--all"]);
  await repo.git(["gc", "-q"]);
  await using adapter = await detectVcs(join(other, "ds"));
  assert.deepEqual([adapter.location.root, adapter.location.rel], [other, "ds"]);
  assert.equal(adapter.location.sharedDir, join(repo.path, ".git"));
  assert.deepEqual((await adapter.position()).bookmarks, ["feat/x"]);
  await Deno.writeTextFile(join(other, "ds/.tether/objects/a.toml"), "b");
  const id = await adapter.commit({ message: "m", paths: ["ds/.tether/objects"], bookmark: "feat/x" });
  assert.equal(await repo.git(["rev-parse", "feat/x"]), id);
  assert.equal(await repo.git(["status", "--porcelain"]), "");
  assert.equal(new TextDecoder().decode(await adapter.fileAt(id, "ds/.tether/objects/a.toml")), "b");
  await adapter.createBookmark("next");
  assert.equal(await adapter.resolve("next"), id);
});

Deno.test("per-checkout files that came with a clone by a detour count as tracked [L40, formats 1]", async (t) => {
  const files = [".tether/secrets.toml", ".tether/workspace.toml", ".tether/ops.jsonl"];
  const clone = async (repo: TempRepo): Promise<string> => {
    const target = join(repo.outer, "clone");
    await repo.git(["-c", "protocol.file.allow=always", "clone", "-q", "--recurse-submodules", repo.path, target]);
    return target;
  };
  await t.step("a folder that is a link to tracked files", async () => {
    await using repo = await tempRepo({ files: { "tether.toml": "", "evil/secrets.toml": "" } });
    await Deno.symlink("evil", join(repo.path, ".tether"));
    await repo.commit("evil");
    await using adapter = await detectVcs(await clone(repo));
    assert.deepEqual(await adapter.tracked([...files, "tether.toml", "no/such"]), [...files, "tether.toml"]);
  });
  await t.step("a submodule", async () => {
    await using evil = await tempRepo({ files: { "secrets.toml": "", "sub/x": "" } });
    await using repo = await tempRepo({ files: { "tether.toml": "" } });
    await repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", evil.path, ".tether"]);
    await repo.commit("evil");
    await using adapter = await detectVcs(await clone(repo));
    assert.deepEqual(await adapter.tracked([".tether/secrets.toml", ".tether/sub/x"]), [
      ".tether/secrets.toml",
      ".tether/sub/x",
    ]);
  });
  await t.step("a file that is a tracked link to somewhere else", async () => {
    await using repo = await tempRepo({ files: { "tether.toml": "", ".tether/x": "" } });
    await Deno.symlink("/etc/passwd", join(repo.path, ".tether/secrets.toml"));
    await repo.commit("evil");
    await using adapter = await detectVcs(await clone(repo));
    assert.deepEqual(await adapter.tracked(files), [".tether/secrets.toml"]);
  });
  await t.step("the user's own, untracked link is the user's", async () => {
    await using repo = await tempRepo({ files: { "tether.toml": "", ".tether/x": "" } });
    await Deno.writeTextFile(join(repo.outer, "secrets"), "");
    await Deno.symlink(join(repo.outer, "secrets"), join(repo.path, ".tether/secrets.toml"));
    await using adapter = await detectVcs(repo.path);
    assert.deepEqual(await adapter.tracked(files), []);
  });
  await t.step("a file that is conflicted in the index", async () => {
    await using repo = await tempRepo({ files: { a: "" } });
    await repo.git(["switch", "-q", "-c", "theirs"]);
    await repo.commit("theirs", { ".tether/ops.jsonl": "1" });
    await repo.git(["switch", "-q", "main"]);
    await repo.commit("ours", { ".tether/ops.jsonl": "2" });
    await repo.git(["merge", "theirs"], { mayFail: true });
    await using adapter = await detectVcs(repo.path);
    assert.deepEqual(await adapter.tracked(files), [".tether/ops.jsonl"]);
  });
  await t.step("a file that became tracked while the dataset was open", async () => {
    await using repo = await tempRepo({ files: { a: "" } });
    await repo.write(".tether/workspace.toml", "");
    await using adapter = await detectVcs(repo.path);
    assert.deepEqual(await adapter.tracked(files), []);
    await repo.git(["add", "-f", ".tether/workspace.toml"]);
    assert.deepEqual(await adapter.tracked(files), [".tether/workspace.toml"]);
  });
});

Deno.test("reads change no file of the repository, and work where nothing can be written [L17, L26]", async () => {
  await using repo = await tempRepo({ files: { "tether.toml": "1", ".tether/objects/a.toml": "a" } });
  // Makes every entry of the index racy, which a status would like to write down.
  await repo.write("tether.toml", "2");
  await repo.write("tether.toml", "1");
  const snapshot = async () => {
    const found: string[] = [];
    const visit = async (folder: string): Promise<void> => {
      for await (const entry of Deno.readDir(folder)) {
        const path = join(folder, entry.name);
        const { mtime, size } = await Deno.lstat(path);
        if (entry.isDirectory) await visit(path);
        else found.push(`${path} ${size} ${mtime?.getTime()}`);
      }
    };
    await visit(repo.path);
    return found.toSorted();
  };
  const before = await snapshot();
  await using adapter = await detectVcs(repo.path);
  const commit = await adapter.resolve("HEAD");
  await adapter.tracked(["tether.toml"]);
  await adapter.position();
  await adapter.dirty([".tether", "tether.toml"]);
  await adapter.history();
  await adapter.staged();
  await adapter.checkouts();
  await adapter.completeness();
  await adapter.manifestsAt(commit);
  await adapter.vanished([commit, "0".repeat(40)]);
  await adapter.exclusiveCommits("main");
  assert.deepEqual(await snapshot(), before);
});
