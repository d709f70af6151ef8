import assert from "node:assert/strict";
import { jjPath } from "../../scripts/jj.ts";
import { commitTo, git, gitStore, walk } from "./_walk.ts";

async function jj(cwd: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(jjPath(), { args: ["--quiet", ...args], cwd, stdin: "null" })
    .output();
  assert.ok(success, `jj ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

walk("[commands 8.10] two clones on one bookmark", async ({ t, ok, ends, branch, beside }) => {
  const onGit = t.kind === "git";
  const code = await gitStore(beside("code"));
  const [a, b, origin] = [t.root, beside("clone-b"), beside("origin.git")];
  await ok(`add code ${code} --kind git`);
  await ok("commit -m Baseline");
  await ok("new -b w --eager");
  await commitTo(code, await branch("code"), "from-a");
  await ok("commit -m A");
  await git(beside(""), "init", "-q", "--bare", "--initial-branch=main", origin);
  if (onGit) {
    await git(a, "remote", "add", "origin", origin);
    await git(a, "push", "-q", "origin", "main", "w");
    await git(beside(""), "clone", "-q", "-b", "w", origin, b);
  } else {
    // jj's own remotes need a newer git than tether does.
    await git(a, "remote", "add", "origin", origin);
    await git(a, "push", "-q", "origin", "main", "w");
    await git(beside(""), "clone", "-q", "-b", "w", origin, b);
    await jj(b, "git", "init", "--colocate");
    await jj(b, "bookmark", "track", "main", "--remote=origin");
    for (const root of [a, b]) await git(root, "fetch", "-q", "origin");
    await jj(a, "git", "import");
    await jj(a, "bookmark", "track", "w", "--remote=origin");
  }
  await ok("new w", { at: b });
  await commitTo(code, await branch("code", { at: b }), "from-b");
  await ok("commit -m B", { at: b });
  if (onGit) {
    await git(b, "push", "-q", "origin", "w");
    // Before A has fetched, its gc sees a pin that it did not make.
    assert.match(await ok("gc"), /keep-pin/);
    await git(a, "pull", "-q", "--ff-only", "origin", "w");
  } else {
    await git(b, "push", "-q", "origin", "w");
    assert.match(await ok("gc"), /keep-pin/);
    await git(a, "fetch", "-q", "origin");
    await jj(a, "git", "import");
    await jj(a, "new", "w");
  }
  assert.match(await ok("status"), /stale/i);
  assert.match(await ends(1, "open code --writable"), /tether new/);
  assert.match(await ok("open code --read-only"), /code/);
  await ok("new --shared");
  await ok("open code --writable");
  assert.doesNotMatch(await ok("status"), /stale/i);
  assert.match(await ok("verify --all-history"), /ok/);
});
