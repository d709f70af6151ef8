import assert from "node:assert/strict";
import { join } from "node:path";
import { tempRepo } from "../helpers/repo.ts";
import { lab, labAt } from "./_lab.ts";
import { actions, DIRECTIONS, labels, objectOf, OPTIONS } from "./_peer.ts";
import { makeStores } from "./_stores.ts";

for (const [maker, other] of DIRECTIONS) {
  Deno.test(
    `[formats 20] [L12] linked worktrees: ${maker.name} in one, ${other.name} in the other`,
    OPTIONS,
    async (t) => {
      await using l = await lab(maker);
      const worktree = await l.repo.worktree("side");
      const there = await labAt(l.repo, worktree, l.stores);
      const ref = `tether.ws.${l.id}.side`;
      await other.ok(["new", "--eager"], worktree);
      await l.stores.append(l.stores.all, 4, { code: ref });

      await t.step("each has its journal and working state; the indexes are one", async () => {
        await other.ok(["commit", "-m", "two"], worktree);
        assert.deepEqual((await there.journal.read()).map((e) => e.command), ["new", "commit"]);
        assert.deepEqual((await l.journal.read()).map((e) => e.command), ["add", "commit"]);
        assert.deepEqual([...await l.indexes.pinned()], [
          ...Object.values(await l.pins()),
          ...Object.values(await there.pins()),
        ]);
      });
      await t.step("a bookmark is held by one of them", async () => {
        const { code, stdout, stderr } = await maker.run(["new", "side"], l.root);
        assert.deepEqual([code, stdout], [1, ""], stderr);
        assert.deepEqual(labels(await maker.json(["status"], l.root)), { code: "clean" });
      });
      await t.step("a manifest that only the other's working tree has keeps its pin", async () => {
        await l.stores.append(l.stores.all, 5, { code: ref });
        await other.ok(["commit", "-m", "three", "--no-vcs"], worktree);
        const pin = (await there.pins())["code"];
        assert.deepEqual(actions(await maker.gc(l.root)), []);
        await l.repo.git(["checkout", "--quiet", "HEAD", "--", "."], { cwd: worktree });
        assert.deepEqual(actions(await maker.gc(l.root)), [`unpin code tether.${pin}`]);
      });
    },
  );

  Deno.test(
    `[formats 20] [L14] in a folder of a submodule: ${other.name} works on the dataset of ${maker.name}`,
    OPTIONS,
    async () => {
      await using repo = await tempRepo({ files: { "README.md": "inner\n" } });
      const outer = join(repo.outer, "outer");
      await repo.git(["init", "--quiet", "--initial-branch=main", outer]);
      await repo.git(["submodule", "--quiet", "add", repo.path, "sub"], { cwd: outer });
      await repo.git(["commit", "--quiet", "-m", "outer"], { cwd: outer });
      const stores = await makeStores(repo, maker, ["git", "file"]);
      const root = join(outer, "sub", "data");
      await Deno.mkdir(root);
      await maker.ok(["init"], root);
      for (const { key, uri, kind } of stores.all) await maker.ok(["add", key, uri, "--kind", kind], root);
      await maker.ok(["commit", "-m", "one"], root);
      const l = await labAt(repo, root, stores);

      const [mine, yours] = [await other.json(["status", "--snapshot"], root), await maker.json(["status"], root)];
      assert.deepEqual(labels(mine), { code: "clean", "raw/plate é😀": "clean" });
      assert.equal(mine["manifest_hash"], yours["manifest_hash"]);
      await other.ok(["new", "-b", "exp", "--eager"], root);
      await stores.append(stores.forkable, 4, { code: `tether.ws.${l.id}.exp` });
      const commit = objectOf(await other.json(["commit", "-m", "two"], root));
      assert.equal(commit["vcs_commit"], await repo.git(["rev-parse", "exp"], { cwd: root }));
      assert.equal((await maker.json(["commit", "-m", "nothing"], root))["vcs_commit"], null);
      assert.deepEqual(actions(await maker.gc(root)), []);
      assert.equal((await l.indexes.pinned()).size, 2);
      assert.ok(await Deno.stat(join(outer, ".git", "modules", "sub", "tether.lock")));
      // The repository around sees new commits of its submodule, and nothing else.
      assert.equal(await repo.git(["status", "--porcelain"], { cwd: outer }), "M sub");
      assert.equal(await repo.git(["diff", "--cached", "--name-only"], { cwd: outer }), "");
    },
  );
}
