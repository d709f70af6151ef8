import assert from "node:assert/strict";
import type { JsonObject } from "../../engine/model/json.ts";
import { type Lab, lab } from "./_lab.ts";
import { actions, DIRECTIONS, labels, objectOf, OPTIONS, type Side } from "./_peer.ts";
import { KINDS, type Opened, readOpened, type Store } from "./_stores.ts";

for (const [maker, other] of DIRECTIONS) {
  Deno.test(
    `[C30] [backends 8] [formats 20] every kind: ${other.name} works on what ${maker.name} made`,
    OPTIONS,
    async (t) => {
      await using l = await lab(maker, { kinds: KINDS });
      const { root, stores } = l;
      const keys = stores.all.map((s) => s.key).sort();
      const forkable = stores.forkable.map((s) => s.key).sort();
      const all = (label: string, some: readonly string[] = keys) => Object.fromEntries(some.map((k) => [k, label]));

      const first = await l.pins();
      const refs = objectOf((await maker.json(["new", "-b", "exp", "--eager"], root))["working_refs"]);
      await stores.append(stores.forkable, 4, refs);
      await maker.ok(["commit", "-m", "two"], root);

      await t.step("[formats 20] all is clean, unchanged and of one hash", async () => {
        const [mine, yours] = [await other.json(["status", "--snapshot"], root), await maker.json(["status"], root)];
        assert.deepEqual(labels(mine), all("clean"));
        assert.equal(mine["manifest_hash"], yours["manifest_hash"]);
        const commit = await other.json(["commit", "-m", "nothing"], root);
        assert.deepEqual([commit["vcs_commit"], commit["unchanged"]], [null, keys]);
      });
      await t.step(
        "[backends 8] 1, 2: pin ids come out the same, and the stores have those pins and no other",
        async () => {
          const pins = await l.pins();
          assert.deepEqual(Object.keys(pins).sort(), forkable);
          for (const store of stores.forkable) {
            assert.equal(await l.pinIdOf(store), pins[store.key], store.key);
            assert.deepEqual(await l.pinsIn(store), [first[store.key], pins[store.key]].sort(), store.key);
          }
        },
      );
      await t.step("[backends 8] 1, 2: every recorded state passes verify --deep", async () => {
        const verdicts = await other.json(["verify", "--deep", "--all-history"], root);
        assert.equal(Object.keys(verdicts).length, 2 * (keys.length - 1), "all but the folder, which keeps no history");
        for (const [name, verdict] of Object.entries(verdicts)) assert.equal(objectOf(verdict)["status"], "ok", name);
      });
      await t.step("[backends 8] 1, 2: what a revision recorded opens and reads", async () => {
        const kept = stores.all.filter((s) => s.kind !== "file");
        assert.deepEqual(await readAt(l, other, kept, "HEAD~1"), numbers(kept, [1, 2, 3]));
        // Of the branches, Lance's are the ones whose tags name a branch.
        const branched = stores.all.filter((s) => s.kind === "lance");
        assert.deepEqual(await readAt(l, other, branched, "HEAD"), numbers(branched, [1, 2, 3, 4]));
        const folder = stores.all.filter((s) => s.kind === "file");
        assert.deepEqual(await readAt(l, other, folder), numbers(folder, [1, 2, 3]));
      });

      const orphans: string[] = [];
      await t.step("[backends 8] 1: a branch forked from a pin is the other's to write and commit on", async () => {
        const forked = objectOf((await other.json(["new", "-b", "again", "HEAD~1", "--eager"], root))["working_refs"]);
        assert.deepEqual(forked, all(`tether.ws.${l.id}.again`, forkable));
        assert.deepEqual(labels(await maker.json(["status", "--snapshot"], root)), all("clean"));
        await stores.append(stores.forkable, 5, forked);
        const commit = await maker.json(["commit", "-m", "three"], root);
        assert.deepEqual(Object.keys(objectOf(commit["pinned"])).sort(), forkable);
        orphans.push(...Object.values(await l.pins()).sort());
      });
      await l.repo.git(["reset", "--quiet", "--hard", "HEAD~1"]);
      await t.step("[backends 8] 2: gc lists exactly the pins that the lost commit named", async () => {
        assert.deepEqual(released(await other.gc(root)), orphans);
      });
      await t.step("[backends 8] 3: a state that is pinned already gets no second ref", async () => {
        const before = await Promise.all(stores.forkable.map((s) => l.pinsIn(s)));
        await other.ok(["new", "--keep"], root);
        await other.ok(["commit", "-m", "three again"], root);
        assert.deepEqual(Object.values(await l.pins()).sort(), orphans);
        assert.deepEqual(await Promise.all(stores.forkable.map((s) => l.pinsIn(s))), before);
        const last = (await l.journal.read()).at(-1);
        assert.equal(last?.command, "commit");
        assert.deepEqual(last?.progress.filter((step) => step["action"] === "pin"), [], "it made none");
      });
    },
  );
}

/** Opens objects for reading, at a revision or as they are now, and reads their numbers. */
async function readAt(l: Lab, by: Side, stores: readonly Store[], rev?: string): Promise<Record<string, number[]>> {
  const opened: Opened[] = [];
  for (const store of stores) {
    const args = ["open", store.key, "--read-only", ...(rev === undefined ? [] : ["--rev", rev])];
    opened.push({ store, by, json: await by.json(args, l.root) });
  }
  return await readOpened(l.repo, opened);
}

function numbers(stores: readonly Store[], list: readonly number[]): Record<string, readonly number[]> {
  return Object.fromEntries(stores.map((s) => [s.key, list]));
}

/** Returns the ids of the pins a gc plan releases, sorted; anything else it does shows too. */
function released(plan: JsonObject): string[] {
  return actions(plan).map((a) => a.replace(/^unpin .* tether\./, "")).sort();
}
