import assert from "node:assert/strict";
import { join } from "node:path";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";
import { VcsError } from "../../engine/model/errors.ts";
import { observeSpawns } from "../../engine/io/process.ts";
import type { VcsAdapter } from "../../vcs/adapter.ts";
import { detectVcs } from "../../vcs/detect.ts";

/** Writes a git that claims a version, logs each subcommand and is the real one otherwise. */
async function fakeGit(repo: TempRepo, banner: string, name = "fake-git"): Promise<string> {
  const program = join(repo.outer, name);
  const script =
    `#!/bin/sh\nfor a; do case "$a" in --version) echo version >> '${repo.outer}/log'; echo '${banner}'; exit;; esac; done\nexec git "$@"\n`;
  await Deno.writeTextFile(program, script, { mode: 0o755 });
  return program;
}

async function versionCalls(repo: TempRepo): Promise<number> {
  const text = await Deno.readTextFile(join(repo.outer, "log")).catch(() => "");
  return text.split("\n").filter((line) => line === "version").length;
}

/** Opens and closes an adapter in a new process. */
async function openElsewhere(
  folder: string,
  options: { readonly git: string; readonly scripts: string },
): Promise<void> {
  const code = `import { detectVcs } from ${JSON.stringify(import.meta.resolve("../../vcs/detect.ts"))};
    const a = await detectVcs(Deno.args[0], { programs: { git: Deno.args[1] }, remember: true });
    await a.position(); await a[Symbol.asyncDispose]();`;
  const file = join(options.scripts, "open.ts");
  await Deno.writeTextFile(file, code);
  const args = ["run", "-A", "--no-lock", file, folder, options.git];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

Deno.test("a git older than 2.38.0 is refused by its version, and a banner without one passes [formats 15.1]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const table: [banner: string, passes: boolean][] = [
    ["git version 2.37.9", false],
    ["git version 1.99.0", false],
    ["git version 2.38.0", true],
    ["git version 2.38.0.windows.1", true],
    ["git version 2.100.1 (Apple Git-1)", true],
    ["git version 3.0", true],
    ["git version unknown", true],
  ];
  for (const [i, [banner, passes]] of table.entries()) {
    const git = await fakeGit(repo, banner, `git-${i}`);
    const opening = detectVcs(repo.path, { programs: { git } });
    if (passes) await (await opening)[Symbol.asyncDispose]();
    else {
      await assert.rejects(opening, (error) => {
        assert.ok(error instanceof VcsError);
        assert.equal(error.code, "vcs-too-old");
        assert.ok(error.message.includes(banner.replace("git version ", "")) && error.message.includes("2.38.0"));
        return true;
      });
    }
  }
});

Deno.test("the version is asked once for a program's file: in memory, and across processes where the repository can be written", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const git = await fakeGit(repo, "git version 2.99.0");
  const elsewhere = () => openElsewhere(repo.path, { git, scripts: repo.outer });
  for (let i = 0; i < 2; i++) await elsewhere();
  assert.equal(await versionCalls(repo), 1);
  await fakeGit(repo, "git version 2.99.0 again");
  await elsewhere();
  assert.equal(await versionCalls(repo), 2, "another file, asked again");
  await Deno.writeTextFile(join(repo.path, ".git/tether-cache/git-version.json"), '{"file":');
  await elsewhere();
  assert.equal(await versionCalls(repo), 3, "a torn cache counts as none");
  await Deno.remove(join(repo.path, ".git/tether-cache"), { recursive: true });
  await Deno.writeTextFile(join(repo.path, ".git/tether-cache"), "");
  for (let i = 0; i < 3; i++) {
    await using _adapter = await detectVcs(repo.path, { programs: { git }, remember: true });
  }
  assert.equal(await versionCalls(repo), 4, "once in this process, though nothing can be written");
});

Deno.test("a git that is not there or not executable is said so, with the ways to name one", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  await repo.write("plain", "text");
  for (const git of ["/nonexistent/git", join(repo.path, "plain")]) {
    await assert.rejects(detectVcs(repo.path, { programs: { git } }), (error) => {
      assert.ok(error instanceof VcsError);
      assert.equal(error.code, "vcs-program");
      assert.ok(error.message.includes(git));
      return true;
    });
  }
});

Deno.test("a folder that no repository encloses is refused; a broken .jj stops only who prefers it [formats 15.2]", async (t) => {
  const outer = await Deno.makeTempDir();
  await t.step("none", () => assert.rejects(detectVcs(outer), (e) => e instanceof VcsError && e.code === "no-vcs"));
  await Deno.remove(outer, { recursive: true });
  await using repo = await tempRepo({ files: { "ds/tether.toml": "" } });
  await Deno.mkdir(join(repo.path, ".jj"));
  await t.step("jj preferred by default", () =>
    assert.rejects(detectVcs(join(repo.path, "ds")), (error) => {
      assert.ok(error instanceof VcsError);
      return error.hints.some((hint) => hint.includes('prefer = "git"'));
    }));
  await t.step("prefer = git takes git", async () => {
    await using adapter = await detectVcs(join(repo.path, "ds"), { prefer: "git" });
    assert.equal(adapter.kind, "git");
  });
});

/** Counts the children of one command's worth of calls, the version being known. */
async function childrenOf(repo: TempRepo, calls: (adapter: VcsAdapter) => Promise<void>): Promise<string[]> {
  await using _warm = await detectVcs(repo.path);
  const children: string[] = [];
  const stop = observeSpawns((_, args) =>
    children.push(args.find((a, i) => !a.startsWith("-") && args[i - 1] !== "-c") ?? "")
  );
  try {
    await using adapter = await detectVcs(repo.path);
    await calls(adapter);
  } finally {
    stop();
  }
  return children;
}

const PER_CHECKOUT = [".tether/secrets.toml", ".tether/workspace.toml", ".tether/ops.jsonl"];

Deno.test("status costs at most three children, commit at most six [architecture: the VCS is asked little]", async (t) => {
  await using repo = await tempRepo({
    files: { "tether.toml": "1", ".tether/objects/a.toml": "a", ".tether/objects/b.toml": "b" },
  });
  const base = await repo.git(["rev-parse", "HEAD"]);
  const commits = [base];
  for (let i = 0; i < 5; i++) commits.push(await repo.commit(`c${i}`, { "tether.toml": `v${i}` }));
  const status = async (adapter: VcsAdapter): Promise<void> => {
    await adapter.tracked(PER_CHECKOUT);
    await adapter.position();
    assert.deepEqual(await adapter.vanished(commits), []);
  };
  await t.step("status on the bookmark", async () => {
    assert.deepEqual(await childrenOf(repo, status), ["rev-parse", "cat-file"]);
  });
  await t.step("status elsewhere, which lists the bookmarks", async () => {
    await repo.git(["switch", "-q", "-c", "other", base]);
    const children = await childrenOf(repo, async (adapter) => {
      await adapter.bookmarks();
      await status(adapter);
    });
    assert.deepEqual(children, ["rev-parse", "cat-file"]);
    await repo.git(["switch", "-q", "main"]);
  });
  await t.step("commit of new, changed and removed files", async () => {
    await repo.write(".tether/objects/a.toml", "changed");
    await repo.write(".tether/objects/new.toml", "new");
    await Deno.remove(join(repo.path, ".tether/objects/b.toml"));
    const paths = ["tether.toml", ".tether/objects/a.toml", ".tether/objects/b.toml", ".tether/objects/new.toml"];
    const children = await childrenOf(repo, async (adapter) => {
      await adapter.tracked(PER_CHECKOUT);
      adapter.refresh();
      await adapter.position();
      await adapter.dirty(paths);
      const id = await adapter.commit({ message: "m", paths, bookmark: "main" });
      assert.equal((await adapter.manifestsAt(id)).size, 2);
    });
    assert.deepEqual(children, ["rev-parse", "cat-file", "status", "add", "commit"]);
  });
});
