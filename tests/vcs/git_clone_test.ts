import assert from "node:assert/strict";
import { join } from "node:path";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";
import { typed } from "../helpers/typed.ts";
import { detectVcs } from "../../vcs/detect.ts";
import { bringsEveryBranch } from "../../vcs/_git_clone.ts";
import type { Completeness } from "../../vcs/adapter.ts";

async function source(): Promise<TempRepo> {
  const repo = await tempRepo({ files: { a: "1" } });
  await repo.commit("two", { a: "2" });
  await repo.git(["branch", "side"]);
  await repo.git(["config", "uploadpack.allowFilter", "true"]);
  return repo;
}

async function completenessOf(folder: string): Promise<Completeness> {
  await using adapter = await detectVcs(folder);
  return await adapter.completeness();
}

/** Runs the hints as a user would, one by one. */
async function follow(completeness: Completeness, cwd: string): Promise<void> {
  assert.equal(completeness.complete, false);
  for (const hint of completeness.complete ? [] : completeness.hints) await typed(hint, cwd);
}

Deno.test("completeness() sees what cuts history short, and its hints complete the clone [L03]", async (t) => {
  const cases: [title: string, args: string[], reason: RegExp | undefined][] = [
    ["a plain clone", [], undefined],
    ["--depth 1", ["--depth", "1"], /shallow/],
    ["--depth 1 of all branches", ["--depth", "1", "--no-single-branch"], /shallow/],
    ["--single-branch", ["--single-branch"], /only some branches of remote "origin"/],
    ["--filter=blob:none", ["--filter=blob:none"], /filter "blob:none"/],
    ["--mirror", ["--mirror"], undefined],
  ];
  for (const [title, args, reason] of cases) {
    await t.step(title, async () => {
      await using repo = await source();
      let clone = join(repo.outer, "clone");
      await repo.git(["clone", "-q", ...args, `file://${repo.path}`, clone]);
      if (title === "--mirror") {
        await repo.git(["worktree", "add", "-q", join(repo.outer, "w"), "main"], { cwd: clone });
        clone = join(repo.outer, "w");
      }
      const first = await completenessOf(clone);
      if (reason === undefined) {
        assert.deepEqual(first, { complete: true });
        return;
      }
      assert.match(first.complete ? "" : first.reason, reason);
      await follow(first, clone);
      assert.deepEqual(await completenessOf(clone), { complete: true });
      await using adapter = await detectVcs(clone);
      assert.equal((await adapter.history()).length, 2);
      assert.equal(
        await repo.git(["rev-parse", "--verify", "-q", "origin/side"], { cwd: clone }),
        await adapter.resolve("main"),
      );
    });
  }
});

Deno.test("completeness() sees grafts, and every gap at once [L03]", async () => {
  await using repo = await source();
  await repo.git(["remote", "add", "-t", "main", "origin", repo.path]);
  await repo.write(".git/info/grafts", `${await repo.git(["rev-parse", "HEAD"])}\n`);
  const found = await completenessOf(repo.path);
  assert.match(found.complete ? "" : found.reason, /only some branches.*; grafts/);
  await follow(found, repo.path);
  assert.deepEqual(await completenessOf(repo.path), { complete: true });
});

Deno.test("a remote that is only pushed to leaves history complete [L03]", async () => {
  await using repo = await source();
  await repo.git(["remote", "add", "--mirror=push", "backup", join(repo.outer, "backup.git")]);
  assert.deepEqual(await completenessOf(repo.path), { complete: true });
});

Deno.test("bringsEveryBranch() judges refspecs [L03]", () => {
  const table: [refspecs: string[], expected: boolean][] = [
    [["+refs/heads/*:refs/remotes/origin/*"], true],
    [["refs/heads/*:refs/remotes/o/*", "+refs/tags/*:refs/tags/*"], true],
    [["+refs/*:refs/*"], true],
    [["+refs/heads/main:refs/remotes/origin/main"], false],
    [["+refs/heads/main:refs/remotes/origin/main", "+refs/heads/*:refs/remotes/origin/*"], true],
    [["+refs/heads/release/*:refs/remotes/origin/release/*"], false],
    [["+refs/heads/*:refs/remotes/origin/*", "^refs/heads/dependabot/*"], false],
    [["+refs/heads/*:refs/remotes/origin/*", "^refs/tags/x"], true],
  ];
  for (const [refspecs, expected] of table) assert.equal(bringsEveryBranch(refspecs), expected, refspecs.join(" "));
});
