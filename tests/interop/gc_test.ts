import assert from "node:assert/strict";
import { join } from "node:path";
import { lab } from "./_lab.ts";
import { actions, DIRECTIONS, objectOf, OPTIONS } from "./_peer.ts";

for (const [maker, other] of DIRECTIONS) {
  Deno.test(
    `[formats 20] [backends 8] pins and branches of ${maker.name} are released and kept by ${other.name}`,
    OPTIONS,
    async (t) => {
      await using l = await lab(maker, { kinds: ["git", "icechunk"] });
      const { repo, root, stores } = l;
      const [code, image] = ["code", "zarr/img"] as const;
      const ref = `tether.ws.${l.id}.exp`;
      const pinned = async () =>
        (await Promise.all(stores.all.map((s) => l.pinsIn(s)))).flat().map((id) => `tether.${id}`).sort();
      const base = await pinned();

      await maker.ok(["new", "-b", "exp", "--eager"], root);
      await stores.append(stores.all, 4, { [code]: ref, [image]: ref });
      const first = objectOf((await maker.json(["commit", "-m", "two"], root))["pinned"]);
      const clone = join(repo.outer, "clone");
      await repo.git(["clone", "--quiet", root, clone]);

      await t.step("a fresh clone keeps what it did not pin itself", async () => {
        await repo.git(["update-ref", "-d", "refs/remotes/origin/exp"], { cwd: clone });
        await repo.git(["switch", "--quiet", "-c", "main", "HEAD~1"], { cwd: clone });
        await repo.git(["branch", "--quiet", "-D", "exp"], { cwd: clone });
        await repo.git(["remote", "remove", "origin"], { cwd: clone });
        const plan = await other.gc(clone);
        assert.deepEqual(actions(plan), [`keep-pin code ${first[code]}`, `keep-pin zarr/img ${first[image]}`]);
      });
      await t.step("the clone that pinned it releases it, and its index forgets", async () => {
        await repo.git(["reset", "--quiet", "--hard", "HEAD~1"]);
        await other.gc(root, { apply: true });
        assert.deepEqual(await pinned(), base);
        assert.deepEqual([...await l.indexes.pinned()].map((id) => `tether.${id}`).sort(), base);
      });
      await t.step(
        "[backends 8] 4: a state whose tag was used up gets the next generation, which both read",
        async () => {
          await maker.ok(["new", "--keep"], root);
          const again = await maker.json(["commit", "-m", "two again"], root);
          assert.deepEqual(again["pinned"], { ...first, [image]: `${first[image]}.2` });
          assert.equal((await l.manifests()).get(image)?.pin?.ref, `${first[image]}.2`);
          const verdicts = await other.json(["verify", "--deep"], root);
          assert.deepEqual(Object.values(verdicts).map((v) => objectOf(v)["status"]), ["ok", "ok"]);
          const opened = await other.json(["open", image, "--rev", "HEAD"], root);
          assert.equal(opened["address"], `${stores.all.find((s) => s.key === image)?.uri}#${first[image]}.2`);
          assert.deepEqual(actions(await other.gc(root)), []);
        },
      );
      await t.step("branches of a bookmark that is gone are judged alike", async () => {
        await other.ok(["new", "main"], root);
        // Its commit, reached by a tag, keeps the pins, and a pinned head is no loss.
        await repo.git(["tag", "kept", "exp"]);
        await repo.git(["branch", "--quiet", "-D", "exp"]);
        const plan = await other.gc(root, { prune: true });
        assert.deepEqual(actions(plan), [`delete-branch code ${ref}`, `delete-branch zarr/img ${ref}`]);
        assert.deepEqual(actions(await maker.gc(root, { prune: true })), actions(plan));
        await other.gc(root, { apply: true, prune: true });
        assert.deepEqual((await l.journal.read()).at(-1)?.result["deleted_working_refs"], {
          [code]: [ref],
          [image]: [ref],
        });
      });
    },
  );
}
