import assert from "node:assert/strict";
import { join } from "node:path";
import { parseJson } from "../../engine/model/json.ts";
import { type Lab, lab } from "./_lab.ts";
import { DIRECTIONS, labels, listOf, OPTIONS, OURS, PEER, type Side } from "./_peer.ts";

for (const [maker, other] of DIRECTIONS) {
  Deno.test(
    `[formats 20] [formats 12] ${other.name} reads journal and indexes of ${maker.name}`,
    OPTIONS,
    async (t) => {
      await using l = await lab(maker);
      const { repo, root, id } = l;
      const shared = join(root, ".git");
      const pinned = join(shared, "tether-pinned.jsonl");
      const first = await l.pins();
      await maker.ok(["new", "-b", "exp", "--eager"], root);
      await l.stores.append(l.stores.all, 4, { code: `tether.ws.${id}.exp` });

      await t.step("an index of pins that is gone is seeded from the other's journal", async () => {
        await Deno.remove(pinned);
        await other.ok(["commit", "-m", "two"], root);
        assert.deepEqual(await pinsOf(pinned), [...Object.values(first), ...Object.values(await l.pins())]);
      });
      await t.step("[commands 5.6] a commit that vanished is reported by both in the same words of JSON", async () => {
        const commit = await repo.git(["rev-parse", "HEAD"]);
        const op = (await l.journal.read()).at(-1)?.id;
        await repo.git(["reset", "--quiet", "--hard", "HEAD~1"]);
        for (const side of [maker, other]) {
          const { vcs_drift: drift, stale_keys: stale } = await side.json(["status"], root);
          assert.deepEqual([drift, stale], [[{ op, commit, referenced: { code: false } }], ["code"]], side.name);
        }
        await OURS.ok(["ops", "--ack", String(op)], root);
        assert.deepEqual((await OURS.json(["status"], root))["vcs_drift"], []);
        // To the peer it is a step of the operation, which stays what it was.
        const [last] = listOf(parseJson(await PEER.ok(["ops", "--json"], root)));
        assert.deepEqual([last?.["id"], last?.["status"], last?.["undone_by"]], [op, "done", null]);
        await repo.git(["reset", "--quiet", "--hard", commit]);
      });
      await t.step("a torn last line hides itself only, whoever writes the next one", async () => {
        const journal = join(root, ".tether", "ops.jsonl");
        const files = [journal, pinned, join(shared, "tether-touched.jsonl")];
        const before = await ids(maker, l);
        for (const [turn, side] of [maker, other, maker].entries()) {
          for (const file of files) {
            const text = await Deno.readTextFile(file);
            await Deno.writeTextFile(file, text + (text.trimEnd().split("\n").at(-1) ?? "").slice(0, 40));
          }
          await l.stores.append(l.stores.all, 5 + turn, { code: `tether.ws.${id}.exp` });
          await side.ok(["commit", "-m", `after a torn line ${turn}`], root);
        }
        for (const side of [maker, other]) {
          const after = await ids(side, l);
          assert.equal(after.length, before.length + 3, side.name);
          assert.deepEqual(after.slice(3), before);
        }
        assert.equal((await pinsOf(pinned)).length, 5);
        assert.equal((await l.indexes.touched()).length, 1);
        assert.deepEqual(labels(await other.json(["status"], root)), { code: "clean" });
        assert.ok((await other.json(["verify", "--all-history"], root))[`${await head(l)}:code`]);
      });
      await t.step("the index is one: whole lines of both, one for each pin", async () => {
        const known = new Set(Object.values(await l.pins()));
        const [store] = l.stores.all;
        assert.ok(store);
        for (const pin of await l.pinsIn(store)) known.add(pin);
        assert.deepEqual((await pinsOf(pinned)).sort(), [...known].sort());
      });
    },
  );
}

/** Returns the pin ids of an index, in the order of its lines. Torn lines are skipped. */
async function pinsOf(path: string): Promise<string[]> {
  return (await Deno.readTextFile(path)).split("\n").flatMap((line) => {
    try {
      const id = (JSON.parse(line) as { pin_id?: unknown }).pin_id;
      return typeof id === "string" ? [id] : [];
    } catch {
      return [];
    }
  });
}

async function ids(side: Side, l: Lab): Promise<string[]> {
  return listOf(parseJson(await side.ok(["ops", "--json", "-n", "50"], l.root))).map((o) => String(o["id"]));
}

async function head(l: Lab): Promise<string> {
  return (await l.repo.git(["rev-parse", "HEAD"])).slice(0, 12);
}
