import { strict as assert } from "node:assert";
import { jjPath } from "../../scripts/jj.ts";
import { observeSpawns } from "../../engine/io/process.ts";
import { tempRepo } from "../../tests/helpers/repo.ts";
import { type BackendSettings, DEFAULT_SETTINGS } from "../backend.ts";
import { GitBackend } from "./git.ts";

const JJ = Deno.env.get("TETHER_JJ") ?? jjPath();
const ignore = !Deno.env.get("CI") && !await Deno.stat(JJ).then((info) => info.isFile, () => false);

function open(jj: string): GitBackend {
  const settings: BackendSettings = { ...DEFAULT_SETTINGS, programs: { jj } };
  return new GitBackend(settings);
}

Deno.test(
  "[backends 3.3] a repository that jj shares has change ids, which say nothing of equality",
  { ignore },
  async () => {
    await using repo = await tempRepo({ files: { a: "a" } });
    const { path } = repo;
    const run = async (...args: string[]) => {
      const { stdout, success, stderr } = await new Deno.Command(JJ, { args, cwd: path }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
      return new TextDecoder().decode(stdout).trim();
    };
    await run("git", "init", "--colocate");
    await repo.write("a", "b");
    await run("--config", "user.name=n", "--config", "user.email=e@example.org", "commit", "-m", "two");
    const sha = await repo.git(["rev-parse", "HEAD"]);
    const id = await run("log", "--no-graph", "-r", "@-", "-T", "change_id");
    const operations = () => run("op", "log", "--ignore-working-copy", "--no-graph", "-T", "id.short() ++ '\\n'");
    const before = await operations();
    await repo.write("a", "c");

    const state = await open(JJ).fingerprint({ path }, undefined);
    assert.deepEqual(state, { sha, dirty: true, change_id: id });
    assert.match(id, /^[k-z]{32}$/);
    assert.equal(await operations(), before, "[L17] reading takes no snapshot");
    // jj keeps HEAD detached, so the base branch has to be named.
    await assert.rejects(open(JJ).baseBranch({ path }), /HEAD is detached/);
    await run("bookmark", "create", "main-line", "-r", "@-");
    const locator = { path, ref: "main-line" };
    assert.deepEqual(await open(JJ).fingerprint(locator, undefined), { sha, dirty: false, change_id: id });
    const pin = await open(JJ).pin(locator, { sha, dirty: false, change_id: id }, "0a1b2c3d.0123456789abcdef");
    assert.deepEqual(await open(JJ).verify(locator, { sha }, pin, { deep: true }), { status: "ok" });
    await run("new", "main-line");
    await repo.write("d", "d");
    await run("--config", "user.name=n", "--config", "user.email=e@example.org", "commit", "-m", "three");
    const tip = { sha: await repo.git(["rev-parse", "HEAD"]), dirty: false };
    assert.deepEqual(await open(JJ).promote(locator, { on: "state", state: tip }), tip);
    assert.equal(await run("log", "--no-graph", "-r", "main-line", "-T", "commit_id"), tip.sha);
  },
);

Deno.test("[backends 3.3] without an answer from jj a commit has no change id", async () => {
  await using repo = await tempRepo({ files: { a: "a" } });
  const { path } = repo;
  const failing = await repo.write("../jj", "#!/bin/sh\necho trouble >&2\nexit 1\n");
  await Deno.chmod(failing, 0o755);
  const state = await open(failing).fingerprint({ path }, undefined);
  let started = 0;
  const stop = observeSpawns((program) => {
    if (program !== "git") started++;
  });
  try {
    assert.deepEqual(await open(failing).fingerprint({ path }, undefined), state);
    assert.equal(started, 0, "jj is asked only about what it shares");
    await Deno.mkdir(`${path}/.jj`);
    await Deno.writeTextFile(`${path}/.git/info/exclude`, ".jj\n");
    for (const jj of [failing, "/nowhere/jj"]) assert.deepEqual(await open(jj).fingerprint({ path }, undefined), state);
    assert.equal(started, 2);
  } finally {
    stop();
  }
});
