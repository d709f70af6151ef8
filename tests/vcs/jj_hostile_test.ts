import assert from "node:assert/strict";
import { join } from "node:path";
import { detectJj, HAS_JJ, type TempJjRepo, tempJjRepo } from "../helpers/jj_repo.ts";
import { jjPath } from "../../scripts/jj.ts";
import { VcsError } from "../../engine/model/errors.ts";
import type { VcsAdapter } from "../../vcs/adapter.ts";
import { detectVcs } from "../../vcs/detect.ts";

const FILES = { "tether.toml": "1", ".tether/objects/a.toml": "a" };
const PATHS = ["tether.toml", ".tether/objects"];

function test(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test({ name, ignore: !HAS_JJ, fn });
}

/** Makes an executable that leaves a file behind when it runs. */
async function trap(repo: TempJjRepo): Promise<{ program: string; sprung(): Promise<boolean> }> {
  const [program, mark] = [join(repo.outer, "trap"), join(repo.outer, "sprung")];
  await Deno.writeTextFile(program, `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 });
  return { program, sprung: () => Deno.stat(mark).then(() => true, () => false) };
}

/** Returns what every reading call answers. */
async function readEverything(adapter: VcsAdapter): Promise<unknown[]> {
  const commit = await adapter.resolve("main");
  const files = await adapter.manifestsAt(commit);
  return [
    commit,
    await adapter.resolve("@-"),
    await adapter.position(),
    [...await adapter.bookmarks()],
    await adapter.checkouts(),
    await adapter.dirty([".tether", "tether.toml"]),
    await adapter.tracked(["tether.toml", ".tether/workspace.toml"]),
    await adapter.history(),
    await adapter.staged(),
    await adapter.conflicts(),
    await adapter.completeness(),
    [...files.keys()],
    await adapter.fileAt(commit, "tether.toml"),
    await adapter.commitInfos([commit]),
    await adapter.exclusiveCommits("main"),
    await adapter.remoteBookmarks("main"),
    await adapter.isAncestor(commit, commit),
    await adapter.vanished([commit, "1".repeat(40)]),
    await adapter.bookmarkProblem("feat/x"),
  ];
}

/** Settings that change what jj prints, what names mean, and which programs run. */
function hostileSettings(program: string): string {
  return `
user.name = "Mallory"
[ui]
color = "always"
paginate = "auto"
pager = "${program}"
editor = "${program}"
diff-editor = "${program}"
merge-editor = "${program}"
diff-formatter = ["${program}", "$left", "$right"]
default-command = ["abandon", "@"]
quiet = true
graph.style = "ascii"
log-word-wrap = true
[aliases]
log = ["abandon"]
commit = ["abandon"]
bookmark = ["abandon"]
[revset-aliases]
"all()" = "none()"
"heads(x)" = "none()"
"ancestors(x)" = "none()"
"trunk()" = "root()"
main = "root()"
[template-aliases]
commit_id = '"hostile"'
change_id = '"hostile"'
"format_short_id(id)" = '"hostile"'
"builtin_log_compact" = '"hostile"'
[fileset-aliases]
tether_files = "none()"
"root(x)" = "none()"
[templates]
log = '"hostile"'
bookmark_list = '"hostile"'
workspace_list = '"hostile"'
commit_summary = '"hostile"'
config_list = '"hostile"'
draft_commit_description = '"hostile"'
new_description = '"hostile"'
[revsets]
log = "none()"
short-prefixes = "none()"
[snapshot]
auto-track = "none()"
max-new-file-size = 1
[experimental-advance-branches]
enabled-branches = ["glob:*"]
disabled-branches = ["main"]
[git]
private-commits = "all()"
abandon-unreachable-commits = true
[operation]
hostname = "\\u001b[31m"
[merge]
hunk-level = "word"
[diff.color-words]
context = 0
`;
}

for (const place of ["user", "repository"] as const) {
  test(`settings of the ${place} change no answer, start no program and do not stray a commit [L40, formats 15.1]`, async () => {
    await using repo = await tempJjRepo({ files: FILES });
    const { program, sprung } = await trap(repo);
    await repo.jj(["bookmark", "create", "other", "-r", "main"]);
    await repo.write("notes", "mine");
    await repo.jj(["status"]);
    await using plain = await detectJj(repo.path);
    const expected = await readEverything(plain);
    const config = place === "user"
      ? join(Deno.env.get("XDG_CONFIG_HOME") ?? "", "jj/config.toml")
      : await repo.jj(["config", "path", "--repo"]);
    await Deno.mkdir(join(config, ".."), { recursive: true });
    await Deno.writeTextFile(config, hostileSettings(program));
    try {
      const before = await repo.operations();
      await using adapter = await detectJj(repo.path);
      assert.deepEqual(await readEverything(adapter), expected);
      assert.deepEqual(await repo.operations(), before);
      await repo.write("tether.toml", "2");
      await repo.write(".tether/objects/b.toml", "b");
      const id = await adapter.commit({ message: "ours", paths: PATHS, bookmark: "main" });
      assert.equal((await adapter.bookmarks()).get("main"), id);
      assert.equal((await adapter.bookmarks()).get("other"), expected[0], "no other bookmark goes along");
      const [info] = await adapter.commitInfos([id]);
      assert.deepEqual([info?.message, info?.parents], ["ours", [expected[0]]]);
      const names = await repo.git(["diff", "--name-only", String(expected[0]), id]);
      assert.equal(names, ".tether/objects/b.toml\ntether.toml");
      await adapter.createBookmark("next");
      await adapter.moveBookmark("next", { from: id, to: String(expected[0]) });
      await adapter.switchTo("main");
      assert.equal((await adapter.position()).commit, id);
      await adapter.uncommit(id, PATHS);
      assert.equal((await adapter.bookmarks()).get("main"), expected[0]);
      assert.equal(await sprung(), false);
    } finally {
      await Deno.remove(config);
    }
  });
}

test("settings that jj itself cannot read are said so, and nothing is written", async () => {
  await using repo = await tempJjRepo({ files: FILES });
  const base = await repo.id("main");
  const config = join(Deno.env.get("XDG_CONFIG_HOME") ?? "", "jj/config.toml");
  await Deno.mkdir(join(config, ".."), { recursive: true });
  await Deno.writeTextFile(config, "[ui\n");
  try {
    await using adapter = await detectJj(repo.path);
    assert.equal((await adapter.bookmarks()).get("main"), base, "reads need no settings");
    await repo.write("tether.toml", "2");
    await assert.rejects(adapter.commit({ message: "m", paths: PATHS, bookmark: "main" }), (error) => {
      assert.ok(error instanceof VcsError);
      assert.match(error.message, /^Cannot read the settings of jj: /);
      return true;
    });
  } finally {
    await Deno.remove(config);
  }
  assert.equal(await repo.id("main"), base);
});

test("variables that name another repository, operation or author's tool change nothing [L16]", async () => {
  await using victim = await tempJjRepo({ files: { v: "1" } });
  await using repo = await tempJjRepo({ files: FILES });
  const { program, sprung } = await trap(repo);
  const before = [await victim.id("main"), await victim.operations()];
  const variables: Record<string, string> = {
    GIT_DIR: join(victim.path, ".git"),
    GIT_WORK_TREE: victim.path,
    GIT_INDEX_FILE: join(victim.path, ".git/index"),
    GIT_OBJECT_DIRECTORY: join(victim.path, ".git/objects"),
    GIT_CONFIG_PARAMETERS: `'core.fsmonitor'='${program}'`,
    JJ_EDITOR: program,
    EDITOR: program,
    PAGER: program,
  };
  const saved = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  let id;
  try {
    await using adapter = await detectJj(repo.path);
    assert.equal(adapter.location.root, repo.path);
    await readEverything(adapter);
    await repo.write("tether.toml", "2");
    id = await adapter.commit({ message: "ours", paths: PATHS, bookmark: "main" });
  } finally {
    for (const [name, value] of saved) value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  }
  assert.equal(await sprung(), false);
  assert.equal(await repo.id("main"), id);
  assert.deepEqual([await victim.id("main"), await victim.operations()], before);
});

test("reads change no file of the repository or the checkout, and leave no operation [L17, L26]", async (t) => {
  for (const colocated of [true, false]) {
    await t.step(colocated ? "colocated" : "not colocated", async () => {
      await using repo = await tempJjRepo({ colocated, files: FILES });
      await repo.workspace("side");
      await repo.write("tether.toml", "2");
      await repo.write("untracked", "1");
      const before = await everyFile(repo.outer);
      await using adapter = await detectJj(repo.path);
      await readEverything(adapter);
      adapter.refresh();
      await readEverything(adapter);
      assert.deepEqual(await everyFile(repo.outer), before);
    });
  }
});

async function everyFile(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = join(folder, entry.name);
    const { mtime, size } = await Deno.lstat(path);
    if (entry.isDirectory) found.push(...await everyFile(path));
    else found.push(`${path} ${size} ${mtime?.getTime()}`);
  }
  return found.toSorted();
}

test("a jj that is too old, missing or not executable is refused by what is wrong [formats 15.1]", async (t) => {
  await using repo = await tempJjRepo({ files: FILES });
  const table: [banner: string, passes: boolean][] = [
    ["jj 0.42.9", false],
    ["jj 0.9.0-abcdef", false],
    ["jj 0.43.0", true],
    ["jj 0.100.0-0123456789abcdef", true],
    ["jj 1.0.0", true],
    ["jj built by hand", true],
  ];
  for (const [i, [banner, passes]] of table.entries()) {
    await t.step(banner, async () => {
      const program = join(repo.outer, `jj-${i}`);
      const script =
        `#!/bin/sh\nfor a; do case "$a" in --version) echo '${banner}'; exit;; esac; done\nexec '${jjPath()}' "$@"\n`;
      await Deno.writeTextFile(program, script, { mode: 0o755 });
      const opening = detectVcs(repo.path, { programs: { jj: program } });
      if (passes) {
        await using adapter = await opening;
        assert.deepEqual((await adapter.position()).bookmarks, ["main"]);
      } else {
        await assert.rejects(opening, (error) => {
          assert.ok(error instanceof VcsError);
          assert.equal(error.code, "vcs-too-old");
          assert.match(error.message, /^Cannot use jj 0\.\d+\.\d at ".*": tether needs 0\.43\.0 or newer$/);
          return true;
        });
      }
    });
  }
  await repo.write("plain", "text");
  for (const program of ["/nonexistent/jj", join(repo.path, "plain")]) {
    await assert.rejects(detectVcs(repo.path, { programs: { jj: program } }), (error) => {
      assert.ok(error instanceof VcsError);
      assert.equal(error.code, "vcs-program");
      assert.ok(error.hints.some((hint) => hint.includes("TETHER_JJ")), String(error.hints));
      return true;
    });
  }
});

test("[L02, formats 15.4] a workspace that is not where jj keeps it, or of which jj keeps no place, is told apart", async () => {
  await using repo = await tempJjRepo({ files: { a: "1" } });
  const [moved, taken, unknown] = [await repo.workspace("m"), await repo.workspace("t"), await repo.workspace("u")];
  await repo.jj(["workspace", "forget", "workspace-u"]);
  await repo.jj(["undo"]);
  for (const root of [moved, taken]) await Deno.rename(root, `${root}-away`);
  await repo.jj(["workspace", "add", "--name", "new", taken]);
  const operations = await repo.operations();
  await using adapter = await detectJj(repo.path);
  assert.deepEqual((await adapter.checkouts()).map((c) => [c.name, c.root]), [["default", repo.path], ["new", taken]]);
  const absent = (await adapter.absentCheckouts()).map(({ name, bookmarks, hints }) => [name, bookmarks, hints.at(-1)]);
  const expected = ["workspace-m", "workspace-t", "workspace-u"].map((name) => [
    name,
    ["m", "main", "t", "u"],
    `jj workspace forget ${name}, if it is gone for good; "jj workspace add" makes another one`,
  ]);
  assert.deepEqual(absent, expected);
  await using there = await detectJj(unknown);
  assert.deepEqual((await there.checkouts()).find((c) => c.current)?.root, unknown);
  assert.deepEqual(await repo.operations(), operations);
});
