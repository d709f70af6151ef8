import assert from "node:assert/strict";
import { actions, DIRECTIONS, labels, listOf, objectOf, type Side } from "./_peer.ts";
import { SYSTEMS, type Work } from "./_work.ts";

const CODE = "code";
const IMAGE = "zarr/img";

for (const { name, options, work } of SYSTEMS) {
  for (const [maker, other] of DIRECTIONS) {
    const title = `[formats 20] on ${name} ${other.name} repairs, undoes, reclaims and drops what ${maker.name} made`;
    Deno.test(title, options, async (t) => {
      // Icechunk too where that costs less.
      const keys = name === "git" ? [CODE, IMAGE] : [CODE];
      await using w = await work(maker, { kinds: name === "git" ? ["git", "icechunk"] : ["git"] });
      const { root, id, stores } = w.lab;
      const ref = `tether.ws.${id}.exp`;
      const write = (number: number) => stores.append(stores.all, number, { [CODE]: ref, [IMAGE]: ref });
      const ok = async () => {
        const verdicts = await maker.json(["verify", "--all-history"], root);
        const all = Object.values(verdicts).map((v) => objectOf(v)["status"]);
        assert.ok(all.length > 0 && all.every((status) => status === "ok"), String(all));
      };

      await t.step("repair: a pin that is gone from a store, under its own name", async () => {
        const { [CODE]: pin = "" } = await w.lab.pins();
        const code = storeOf(w, CODE);
        await w.lab.repo.git(["tag", "-d", `tether.${pin}`], { cwd: code.uri });
        assert.equal((await other.run(["verify"], root)).code, 1);
        const repaired = await other.json(["repair"], root);
        assert.deepEqual(repaired["repinned"], { [CODE]: pin });
        assert.deepEqual(await w.lab.pinsIn(code), [pin]);
        await ok();
      });

      await t.step("undo: a commit becomes changes, which the other commits to the same pins", async () => {
        await maker.ok(["new", "-b", "exp", "--eager"], root);
        await write(4);
        const before = await w.head();
        await maker.ok(["commit", "-m", "two"], root);
        const pins = await w.lab.pins();
        await other.ok(["undo"], root);
        assert.equal(await w.head(), before);
        assert.deepEqual(await w.changed(), keys.map((key) => `.tether/objects/${key}.toml`));
        for (const side of [maker, other]) assert.deepEqual((await side.json(["status"], root))["vcs_drift"], []);
        await other.ok(["commit", "-m", "two again"], root);
        assert.deepEqual(await w.lab.pins(), pins);
        assert.deepEqual(await w.changed(), []);
      });

      await t.step("undo: going to another bookmark, and back", async () => {
        const here = await w.head();
        await maker.ok(["new", "main"], root);
        assert.notEqual(await w.head(), here);
        await other.ok(["undo"], root);
        assert.equal(await w.head(), here);
        for (const side of [maker, other]) {
          const status = await side.json(["status"], root);
          assert.deepEqual([status["bookmark"], status["bookmark_drift"]], ["exp", []], side.name);
          assert.deepEqual(labels(status), Object.fromEntries(keys.map((key) => [key, "clean"])));
        }
      });

      await t.step("gc: what a commit that was thrown away held, and nothing else", async () => {
        const kept = await allPins(w);
        await write(5);
        const { pinned } = await maker.json(["commit", "-m", "bad"], root);
        await w.rewind();
        const expected = keys.map((key) => `unpin ${key} ${objectOf(pinned)[key]}`);
        for (const side of [maker, other]) assert.deepEqual(actions(await side.gc(root)), expected, side.name);
        for (const side of [maker, other]) {
          assert.equal(listOf((await side.json(["status"], root))["vcs_drift"]).length, 1, side.name);
        }
        await other.gc(root, { apply: true });
        assert.deepEqual(await allPins(w), kept);
        assert.deepEqual(actions(await maker.gc(root)), []);
        await ok();
      });

      await t.step("drop: the bookmark with its commits, pins and branches, as both plan it", async () => {
        await maker.ok(["new", "main"], root);
        const plan = async (side: Side, ...args: string[]) => actions(await side.json(["drop", "exp", ...args], root));
        const careful = await plan(other);
        // What was written after the commit is pinned by nothing any more.
        assert.ok(careful.includes(`keep-branch ${keys.at(-1)} ${ref}`), String(careful));
        assert.deepEqual(await plan(maker), careful);
        const forced = careful.map((action) => action.replace("keep-branch", "delete-branch")).sort();
        for (const side of [maker, other]) assert.deepEqual(await plan(side, "--force-prune"), forced, side.name);
        await other.ok(["drop", "exp", "--force-prune", "--no-dry-run"], root);
        assert.deepEqual(await w.bookmarks(), ["main"]);
        assert.deepEqual(await allPins(w), Object.values(await w.lab.pins()).sort());
        for (const side of [maker, other]) {
          assert.deepEqual(actions(await side.gc(root, { prune: true })), [], side.name);
          const status = await side.json(["status"], root);
          assert.deepEqual([status["bookmark"], status["bookmark_drift"]], ["main", []]);
        }
        assert.deepEqual((await w.lab.journal.read()).at(-1)?.status, "done");
        await ok();
      });
    });
  }
}

function storeOf(w: Work, key: string): Work["lab"]["stores"]["all"][number] {
  const store = w.lab.stores.all.find((s) => s.key === key);
  assert.ok(store);
  return store;
}

async function allPins(w: Work): Promise<string[]> {
  return (await Promise.all(w.lab.stores.all.map((s) => w.lab.pinsIn(s)))).flat().sort();
}
