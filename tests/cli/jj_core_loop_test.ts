import assert from "node:assert/strict";
import { join } from "node:path";
import { createRepository, readArray, writeArray } from "../helpers/icechunk_data.ts";
import { HAS_JJ, tempJjRepo } from "../helpers/jj_repo.ts";
import { runTether } from "./_tether.ts";

const PIN = "tether\\.0a1b2c3d\\.[0-9a-f]{16}";
const BRANCH = "tether.ws.0a1b2c3d.relabel";

Deno.test({
  name: "[commands 8.1-8.9] the core loop on jj over files, git and Icechunk",
  ignore: !HAS_JJ,
  fn: coreLoop,
});

async function coreLoop(t: Deno.TestContext): Promise<void> {
  await using repo = await tempJjRepo();
  const [code, arrays, plate] = ["code", "arrays", "plate"].map((name) => join(repo.outer, name)) as [
    string,
    string,
    string,
  ];
  const run = (...args: string[]) => runTether(args, { cwd: repo.path });
  const ok = async (...args: string[]): Promise<string> => {
    const ran = await run(...args);
    assert.equal(ran.code, 0, `tether ${args.join(" ")}: ${ran.stderr}${ran.stdout}`);
    return ran.stdout;
  };
  const git = async (...args: string[]): Promise<string> => {
    const { success, stdout, stderr } = await new Deno.Command("git", { args, cwd: code }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).trim();
  };
  await Deno.mkdir(code);
  await git("init", "--quiet", "--initial-branch=main");
  await git("commit", "--quiet", "--allow-empty", "--message=first");
  await Deno.mkdir(plate);
  await Deno.writeTextFile(join(plate, "a.txt"), "hi\n");
  await createRepository(arrays);
  await writeArray(arrays, "main", { name: "scores", values: [1, 2] });

  await t.step("init, add and the first commit, on the bookmark of the empty working copy", async () => {
    assert.match(await ok("init", "--dataset-id", "0a1b2c3d"), /trunk bookmark main\n/);
    for (const [kind, path] of [["git", code], ["file", plate], ["icechunk", arrays]] as const) {
      await ok("add", kind, path, "--kind", kind);
    }
    await repo.write("plots.py", "mine");
    const said = await ok("commit", "-m", "Baseline");
    assert.match(
      said,
      new RegExp(`^  pinned git -> ${PIN}\n  pinned icechunk -> ${PIN}\n  recorded file \\(not recoverable\\)\n`),
    );
    assert.ok(said.endsWith(`committed ${(await repo.id("main")).slice(0, 12)}\n`));
    assert.equal(await ok("commit", "-m", "again"), "nothing to commit\n");
    assert.equal(await repo.jj(["diff", "--name-only", "-r", "@"]), "plots.py");
  });

  await t.step("a bookmark of its own branches, written to and committed", async () => {
    await ok("new", "-b", "relabel");
    assert.equal(await ok("open", "icechunk"), `${arrays}#${BRANCH}\n`);
    await writeArray(arrays, BRANCH, { name: "scores", values: [3, 4] });
    await ok("open", "git");
    await git("switch", "--quiet", BRANCH);
    await Deno.writeTextFile(join(code, "labels.csv"), "a,b\n");
    await git("add", "labels.csv");
    await git("commit", "--quiet", "--message=labels");
    await git("switch", "--quiet", "main");
    assert.match(await ok("status", "--snapshot"), /modified {2}git .*\n {3}modified {2}icechunk /);
    await ok("commit", "-m", "Relabel");
    assert.equal(await repo.jj(["log", "--no-graph", "-r", "relabel", "-T", "description"]), "Relabel");
    const diff = await ok("diff", "main", "relabel", "--content");
    assert.match(diff, /changed {2}git .*\n {13}\+ labels\.csv/);
    assert.match(diff, /changed {2}icechunk .*\n {13}~ \/scores/);
    assert.match(await ok("log", "icechunk", "-n", "1"), /Write scores/);
    assert.match(await ok("ops", "-n", "1"), /commit/);
  });

  await t.step("the recorded past opens by a jj revision, and verifies", async () => {
    assert.match(await ok("open", "icechunk", "--rev", "relabel-"), new RegExp(`^${arrays}#${PIN}\n$`));
    assert.match(await ok("open", "git", "--rev", "@-"), new RegExp(`^${code}@[0-9a-f]{40}\n$`));
    assert.match(await ok("verify", "--all-history"), /^\d+ ok /m);
    const nothing = await run("open", "icechunk", "--rev", "none()");
    assert.deepEqual([nothing.code, nothing.stdout], [1, ""]);
    assert.match(nothing.stderr, /^error: Cannot resolve revision "none\(\)": it is no commit\nhint: jj log\n$/);
  });

  await t.step("promote lands it on main, in the stores and in jj", async () => {
    assert.match(await ok("promote", "--dry-run"), /fast-forward {2}git /);
    await ok("promote");
    assert.equal(await repo.id("main"), await repo.id("relabel"));
    assert.deepEqual(await readArray(arrays, { on: "ref", ref: "main" }, "scores"), [3, 4]);
  });

  await t.step("restore takes a branch to an older state and back", async () => {
    await ok("restore", "icechunk", "--from", "relabel-");
    assert.deepEqual(await readArray(arrays, { on: "ref", ref: BRANCH }, "scores"), [1, 2]);
    await ok("restore", "icechunk", "--from", "relabel");
    assert.deepEqual(await readArray(arrays, { on: "ref", ref: BRANCH }, "scores"), [3, 4]);
  });

  await t.step("pull takes upstream in, and undo makes it an edit again", async () => {
    await ok("new", "main");
    await git("commit", "--quiet", "--allow-empty", "--message=upstream");
    const before = await repo.id("main");
    assert.match(await ok("pull"), /^ {2}pulled git /);
    assert.notEqual(await repo.id("main"), before);
    await ok("undo");
    assert.equal(await repo.id("main"), before);
    assert.match(await repo.jj(["diff", "--name-only", "-r", "@"]), /\.tether\/objects\/git\.toml/);
    assert.match(await ok("commit", "-m", "Upstream"), /^committed /m);
  });

  await t.step("what jj abandons gc releases, and what jj brings back repair pins again", async () => {
    await ok("new", "-b", "short", "--eager");
    await writeArray(arrays, "tether.ws.0a1b2c3d.short", { name: "scores", values: [5] });
    const [, pin = ""] = /pinned icechunk -> (\S+)/.exec(await ok("commit", "-m", "Short")) ?? [];
    await ok("new", "main");
    await repo.jj(["abandon", "short"]);
    const [operation = ""] = await repo.operations();
    const status = await run("status");
    assert.match(status.stderr, /^warning: history no longer has commit [0-9a-f]{12} of operation .*gc will release/m);
    assert.match(await ok("gc"), new RegExp(`unpin {2}icechunk {2}\\[icechunk\\] ${pin} `));
    assert.match(await ok("gc", "--no-dry-run"), /^unpinned: 1$/m);
    await repo.jj(["op", "revert", operation]);
    const red = await run("verify", "--all-history");
    assert.equal(red.code, 1);
    assert.match(red.stdout, /missing {2}[0-9a-f]{12}:icechunk/);
    await ok("repair", "--all-history");
    assert.match(await ok("verify", "--all-history"), /^\d+ ok /m);
  });

  await t.step("drop throws a bookmark away with its commits, branches and pins", async () => {
    assert.match(await ok("drop", "short"), /abandon-commit .*\n +delete-bookmark {2}.*short/);
    await ok("drop", "short", "--no-dry-run");
    assert.equal(await repo.jj(["bookmark", "list", "short"]), "");
    assert.match(await ok("gc"), /gc: nothing to do/);
    assert.equal((await run("verify")).code, 0);
    assert.equal(await Deno.readTextFile(join(repo.path, "plots.py")).catch(() => "moved away"), "moved away");
    assert.match(await repo.jj(["log", "--no-graph", "-r", "files('plots.py')", "-T", "commit_id"]), /^[0-9a-f]{40}/);
  });
}
