import assert from "node:assert/strict";
import { join } from "node:path";
import { parseJson } from "../../engine/model/json.ts";
import { type Lab, lab } from "./_lab.ts";
import { actions, DIRECTIONS, labels, listOf, objectOf, OPTIONS, OURS, PEER, python } from "./_peer.ts";
import { backendOf, type Store } from "./_stores.ts";

/** Kinds that both make stores of. */
const CREATED = ["git", "file"];

for (const [maker, other] of DIRECTIONS) {
  Deno.test(
    `[backends 8] 5: siblings and lives of a Lance branch: ${maker.name} makes them, ${other.name} goes on`,
    OPTIONS,
    async (t) => {
      await using l = await lab(maker, { kinds: ["lance"] });
      const { root, stores } = l;
      const ref = `tether.ws.${l.id}.exp`;
      await maker.ok(["new", "-b", "exp", "--eager"], root);
      await stores.append(stores.all, 4, { features: ref });
      await maker.ok(["commit", "-m", "two"], root);
      await t.step("a branch that a pin hangs from is not reset: a sibling takes its place", async () => {
        await l.repo.git(["reset", "--quiet", "--hard", "HEAD~1"]);
        const went = await maker.json(["new", "--discard", "--eager"], root);
        assert.deepEqual(went["working_refs"], { features: `${ref}.2` });
        assert.deepEqual(labels(await other.json(["status", "--snapshot"], root)), { features: "clean" });
      });
      await t.step("the other commits on it, and the newest sibling is adopted by both", async () => {
        await stores.append(stores.all, 5, { features: `${ref}.2` });
        await other.ok(["commit", "-m", "three"], root);
        const state = (await l.manifests()).get("features")?.state;
        assert.equal(state?.["branch"], `${ref}.2`);
        assert.ok(state?.["branch_id"]);
        assert.equal(objectOf((await maker.json(["verify", "--deep"], root))["features"])["status"], "ok");
        await other.ok(["new", "main"], root);
        for (const side of [maker, other]) {
          const plan = await side.json(["new", "exp", "--adopt", "--dry-run"], root);
          assert.deepEqual(actions(plan), [`adopt features ${ref}.2`], side.name);
        }
        await other.ok(["new", "exp", "--adopt"], root);
      });
      await t.step("a state of a branch that was made again is gone, though its number is there", async () => {
        await other.ok(["set", "features", "--pin", "record"], root);
        await stores.append(stores.all, 6, { features: `${ref}.2` });
        await other.ok(["commit", "-m", "recorded"], root);
        const version = Number((await l.manifests()).get("features")?.state?.["version"]);
        const uri = storeOf(l).uri;
        await python("stores.py", [
          ...(await l.pinsIn(storeOf(l))).map((id) => ["untag", "lance", uri, `tether.${id}`]),
          ["unbranch", "lance", uri, `${ref}.2`],
          ["branch", "lance", uri, `${ref}.2`, null],
          ...Array.from({ length: version }, (_, i) => ["append", "lance", uri, i, `${ref}.2`]),
        ]);
        for (const side of [maker, other]) {
          const { code, stdout } = await side.run(["verify", "--deep", "--json"], root);
          const status = objectOf(objectOf(parseJson(stdout))["features"])["status"];
          assert.deepEqual([code, status], [1, "missing"], side.name);
          const opened = await side.run(["open", "features", "--rev", "HEAD"], root);
          assert.deepEqual([opened.code, opened.stdout], [1, ""], side.name);
        }
      });
    },
  );

  Deno.test(
    `[backends 8] 9: pins pushed to a remote: ${other.name} checks and releases those of ${maker.name}`,
    OPTIONS,
    async () => {
      await using l = await lab(maker, { commit: false });
      const { repo, root } = l;
      const store = storeOf(l);
      const remote = join(repo.outer, "remote.git");
      const pushed = async () => (await repo.git(["tag"], { cwd: remote })).split("\n").filter((tag) => tag !== "");
      await repo.git(["init", "--quiet", "--bare", remote]);
      await repo.git(["remote", "add", "hub", remote], { cwd: store.uri });
      await maker.ok(["remove", "code"], root);
      await maker.ok(["add", "code", store.uri, "--kind", "git", "--remote", "hub"], root);
      await maker.ok(["commit", "-m", "one"], root);
      const base = Object.values(await l.pins()).map((id) => `tether.${id}`);
      assert.deepEqual(await pushed(), base);

      await maker.ok(["new"], root);
      await l.stores.append(l.stores.all, 4);
      await other.ok(["commit", "-m", "two"], root);
      assert.deepEqual((await pushed()).length, 2);
      assert.equal(objectOf((await maker.json(["verify", "--deep"], root))["code"])["status"], "ok");
      await repo.git(["reset", "--quiet", "--hard", "HEAD~1"]);
      await other.gc(root, { apply: true });
      assert.deepEqual(await pushed(), base);
      assert.deepEqual((await l.pinsIn(store)).map((id) => `tether.${id}`), base);
    },
  );
}

Deno.test("[backends 8] 9: created stores are known by their marker to both", OPTIONS, async (t) => {
  await using l = await lab(PEER);
  const { repo, root } = l;
  const made = (kind: Store["kind"], name: string): Store => ({ kind, key: name, uri: join(repo.outer, name) });
  await t.step(
    "a repository that the peer made has the one root commit, and stays created through our commit",
    async () => {
      await PEER.ok(["add", "made", join(repo.outer, "made"), "--kind", "git", "--create"], root);
      const shown = await OURS.json(["status", "--snapshot"], root);
      assert.deepEqual(listOf(shown["objects"]).map((o) => [o["key"], o["origin"]]), [["code", "adopted"], [
        "made",
        "created",
      ]]);
      await OURS.ok(["commit", "-m", "two"], root);
      const manifest = (await l.manifests()).get("made");
      assert.equal(manifest?.origin, "created");
      assert.equal(manifest?.state?.["sha"], "5a2cfa770badaceb6c6de5171fdf82c871fa40de");
      assert.equal((await PEER.json(["commit", "-m", "nothing"], root))["vcs_commit"], null);
      assert.deepEqual((await l.indexes.created()).map((c) => [c.kind, c.key, c.bookmark]), [["git", "made", "main"]]);
    },
  );
  await t.step("a folder's marker names the dataset, whoever wrote it", async () => {
    const [theirs, ours] = [made("file", "theirs"), made("file", "ours")];
    await PEER.ok(["add", "theirs", theirs.uri, "--kind", "file", "--create"], root);
    await using backend = await backendOf(theirs);
    assert.equal(await backend.owner?.({ uri: theirs.uri }), l.id);
    assert.equal(await backend.isRefEmpty?.({ uri: theirs.uri }), true);
    await backend.create?.({ uri: ours.uri }, { owner: l.id });
    const plan = await PEER.json(["gc", "--store", `file=${ours.uri}`], root);
    assert.deepEqual(actions(plan), [`delete-store ${ours.uri} ${ours.uri}`]);
  });
});

for (const [maker, other] of DIRECTIONS) {
  Deno.test(
    `[seed: stores tether created] a store that ${maker.name} made: ${other.name} judges and deletes it`,
    OPTIONS,
    async (t) => {
      for (const kind of CREATED) {
        await t.step(kind, async () => {
          await using l = await lab(maker);
          const { repo, root } = l;
          const path = join(repo.outer, "made");
          await maker.ok(["new", "-b", "probe"], root);
          await maker.ok(["add", "made", path, "--kind", kind, "--create"], root);
          await maker.ok(["commit", "-m", "probed"], root);
          const index = async () => (await l.indexes.created()).map((c) => [c.kind, c.key, c.bookmark]);
          assert.deepEqual(await index(), [[kind, "made", "probe"]]);
          const about = async (side: typeof maker, ...flags: string[]) =>
            actions(await side.json(["gc", "--prune-bookmarks", "--delete-stores", ...flags], root))
              .filter((a) => a.includes(" made ") && !a.startsWith("forget-working-ref"));
          assert.deepEqual((await about(OURS)).map((a) => a.split(" ")[0]), ["keep-store"], "history names it");
          await maker.ok(["new", "main"], root);
          await repo.git(["branch", "--quiet", "-D", "probe"]);
          const planned = await about(other);
          assert.deepEqual(planned, await about(maker), "both come to the same verdicts");
          assert.ok(planned.includes(`delete-store made ${path}`));
          await other.ok(["gc", "--prune-bookmarks", "--delete-stores", "--no-dry-run"], root);
          await assert.rejects(Deno.lstat(path), Deno.errors.NotFound);
          assert.deepEqual(await index(), []);
        });
      }
    },
  );

  Deno.test(
    `[seed: stores tether created] what ${maker.name} made and somebody uses: ${other.name} keeps it, and undoes nothing`,
    OPTIONS,
    async () => {
      await using l = await lab(maker);
      const { repo, root } = l;
      const path = join(repo.outer, "made");
      await maker.ok(["new", "-b", "probe"], root);
      await maker.ok(["add", "made", path, "--kind", "git", "--create"], root);
      await repo.git(["tag", "v1"], { cwd: path });
      await maker.ok(["remove", "made"], root);
      await maker.ok(["new", "main"], root);
      await repo.git(["branch", "--quiet", "-D", "probe"]);
      for (const side of [other, maker]) {
        const flags = ["--prune-bookmarks", "--force-prune", "--store", `git=${path}`];
        const plan = await side.json(["gc", ...flags], root);
        assert.ok(actions(plan).includes(`keep-store made ${path}`), side.name);
        await side.ok(["gc", ...flags, "--no-dry-run"], root);
      }
      assert.equal(await repo.git(["tag"], { cwd: path }), "v1");
    },
  );
}

function storeOf(l: Lab): Store {
  const [store] = l.stores.all;
  assert.ok(store);
  return store;
}
