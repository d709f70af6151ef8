import assert from "node:assert/strict";
import { type Json, type JsonObject, parseJson } from "../../engine/model/json.ts";
import { parseToml } from "../../engine/files/toml.ts";
import { type Lab, lab } from "./_lab.ts";
import { DIRECTIONS, listOf, OPTIONS, type Side } from "./_peer.ts";

/** What `undo` of each command must bring back: operations in the order in which one does and the other undoes them. */
const OPERATIONS: readonly (readonly [name: string, args: readonly string[]])[] = [
  ["add", ["add", "raw", "../code", "--kind", "file"]],
  ["set", ["set", "code", "--pin", "record"]],
  ["remove", ["remove", "code"]],
  ["new", ["new", "-b", "lazy"]],
  ["new", ["new", "-b", "eager", "--eager"]],
];

for (const [maker, other] of DIRECTIONS) {
  Deno.test(`[formats 20] [formats 11] ${other.name} undoes what ${maker.name} did`, OPTIONS, async (t) => {
    await using l = await lab(maker);
    const { repo, root, id } = l;
    for (const [command, args] of OPERATIONS) {
      await t.step(args.join(" "), async () => {
        const before = await everything(l);
        await maker.ok(args, root);
        const done = (await l.journal.read()).at(-1);
        assert.equal(done?.command, command);
        assert.notDeepEqual(await everything(l), before);
        const undone = await other.json(["undo"], root);
        assert.deepEqual([undone["undone"], undone["command"], undone["skipped"]], [done?.id, command, []]);
        assert.deepEqual(await everything(l), before);
      });
    }
    await t.step("open, which made a branch", async () => {
      await maker.ok(["new", "-b", "exp"], root);
      const before = await everything(l);
      await maker.ok(["open", "code"], root);
      await other.ok(["undo"], root);
      assert.deepEqual(await everything(l), before);
      await maker.ok(["open", "code"], root);
    });
    await l.stores.append(l.stores.all, 4, { code: `tether.ws.${id}.exp` });
    await t.step("commit: the manifests are changes again, and the pins stay", async () => {
      const head = await repo.git(["rev-parse", "HEAD"]);
      await maker.ok(["commit", "-m", "two"], root);
      const pins = await l.pinsIn(store(l));
      await other.ok(["undo"], root);
      assert.equal(await repo.git(["rev-parse", "HEAD"]), head);
      // The peer leaves them staged.
      assert.match(await repo.git(["status", "--porcelain"]), /^M +\.tether\/objects\/code\.toml$/);
      assert.deepEqual(await l.pinsIn(store(l)), pins);
      const [mine, yours] = [await maker.json(["status"], root), await other.json(["status"], root)];
      assert.deepEqual([mine["vcs_drift"], yours["vcs_drift"]], [[], []], "undone is not lost");
      assert.equal(mine["manifest_hash"], yours["manifest_hash"]);
    });
    await t.step("both list one journal", async () => {
      const facts = (list: readonly JsonObject[]) =>
        list.map((o) => [o["id"], o["command"], o["status"], o["undoes"], o["undone_by"], o["result"], o["progress"]]);
      assert.deepEqual(facts(await ops(maker, l)), facts(await ops(other, l)));
    });
  });
}

async function ops(side: Side, l: Lab): Promise<JsonObject[]> {
  return listOf(parseJson(await side.ok(["ops", "--json", "-n", "50"], l.root)));
}

function store(l: Lab): Lab["stores"]["all"][number] {
  const [first] = l.stores.all;
  assert.ok(first);
  return first;
}

/** Whatever an operation may change: files of the dataset, where the repository stands, and refs of the store. */
async function everything(l: Lab): Promise<Json> {
  const workspace = parseToml(await Deno.readTextFile(`${l.root}/.tether/workspace.toml`), "workspace.toml");
  return {
    manifests: Object.fromEntries([...await l.manifests()].map(([key, m]) => [key, { ...m } as unknown as Json])),
    workspace: { ...workspace, last_snapshot_at: null, last_snapshot: null },
    bookmark: await l.repo.git(["symbolic-ref", "HEAD"]),
    bookmarks: await l.repo.git(["for-each-ref", "refs/heads"]),
    branches: await l.repo.git(["for-each-ref", "refs"], { cwd: store(l).uri }),
  };
}
