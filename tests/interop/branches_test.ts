import assert from "node:assert/strict";
import { parseWorkingRef, type WorkingRefName } from "../../engine/model/names.ts";
import type { Json, JsonObject } from "../../engine/model/json.ts";
import { type Lab, lab } from "./_lab.ts";
import { actions, DIRECTIONS, labels, listOf, OPTIONS, OURS, PEER } from "./_peer.ts";

for (const [maker, other] of DIRECTIONS) {
  Deno.test(`[formats 20] working refs of ${maker.name} are used by ${other.name}`, OPTIONS, async (t) => {
    await using l = await lab(maker);
    const { repo, root, id } = l;
    // A bookmark of digits alone looks like a generation; the peer makes branches for it all the same.
    await repo.git(["branch", "2024"]);
    const ref = `tether.ws.${id}.2024`;
    await maker.ok(["new", "2024"], root);

    await t.step("a fork that one left pending is made by the other's writable open", async () => {
      await other.ok(["open", "code"], root);
      assert.equal(
        await repo.git(["branch", "--list", "--format=%(refname:short)", "tether.*"], { cwd: code(l) }),
        ref,
      );
      assert.deepEqual(labels(await maker.json(["status", "--snapshot"], root)), { code: "clean" });
      assert.deepEqual((await l.journal.read()).map((e) => e.command).slice(-2), ["new", "fork"]);
    });
    await l.stores.append(l.stores.all, 4, { code: ref });
    await t.step("[formats 8] the working state of one is the other's: leaving, sharing and adopting", async () => {
      await other.ok(["new", "main"], root);
      const refused = await maker.run(["new", "2024"], root);
      assert.deepEqual([refused.code, refused.stdout], [1, ""], "the branch has writes that no commit pins");
      for (const [by, flag] of [[maker, "--shared"], [other, "--adopt"]] as const) {
        const went = await by.json(["new", "2024", flag], root);
        assert.deepEqual([went["working_refs"], went["pending_forks"]], [{ code: ref }, {}]);
      }
      assert.deepEqual(labels(await maker.json(["status", "--snapshot"], root)), { code: "modified" });
    });
    await t.step("a branch at the recorded state is taken as it is", async () => {
      await maker.ok(["commit", "-m", "two"], root);
      assert.deepEqual(actions(await other.json(["new", "2024", "--dry-run"], root)), [`reuse code ${ref}`]);
      assert.equal((await other.json(["commit", "-m", "nothing"], root))["vcs_commit"], null);
    });
    await t.step("a head that one agreed to reset is reset by the other's open, and no other head", async () => {
      await maker.ok(["new", "main"], root);
      await l.stores.append(l.stores.all, 5, { code: ref });
      await maker.ok(["new", "2024", "--discard"], root);
      await other.ok(["open", "code"], root);
      const state = (await l.manifests()).get("code")?.state;
      assert.equal(await repo.git(["rev-parse", ref], { cwd: code(l) }), state?.["sha"]);
      await maker.ok(["new", "main"], root);
      await l.stores.append(l.stores.all, 6, { code: ref });
      await maker.ok(["new", "2024", "--discard"], root);
      await l.stores.append(l.stores.all, 7, { code: ref });
      const { code: exit, stderr } = await other.run(["open", "code"], root);
      assert.deepEqual([exit, /--shared/.test(stderr)], [1, true], stderr);
    });
  });
}

Deno.test("[formats 3] both read the same out of every name of a working ref", OPTIONS, async () => {
  await using l = await lab(OURS);
  const names = ["exp", "exp.2", "exp.10", "2024", "2024.3", "feat-x-cdd300", "deadbeef", "deadbeef.2"];
  const legacy = ["deadbeef.foo-123456", "deadbeef.foo-123456.2"];
  const strange = ["tether.ws.ffffffff.other", "tether.ws.FFFFFFFF.other", "tether.ws.0badcafe"];
  const refs = [...names, ...legacy].map((name) => `tether.ws.${l.id}.${name}`).concat(strange).sort();
  for (const ref of refs) await l.repo.git(["branch", ref, "main"], { cwd: code(l) });
  const [object] = listOf((await PEER.json(["recover"], l.root))["objects"]);
  assert.ok(object);
  assert.deepEqual(refs.map((ref) => [ref, ours(ref)]), refs.map((ref) => [ref, theirs(object, ref)]));

  const adopted = async (side: typeof OURS) =>
    actions(await side.json(["new", "-b", "exp", "--adopt", "--dry-run"], l.root));
  assert.deepEqual(await adopted(OURS), [`adopt code tether.ws.${l.id}.exp.10`]);
  assert.deepEqual(await adopted(PEER), await adopted(OURS));
});

function code(l: Lab): string {
  return l.stores.all[0]?.uri ?? "";
}

/** What a name says, as one line: whose it is, and which bookmark or workspace. */
function ours(ref: string): string {
  const name: WorkingRefName | undefined = parseWorkingRef(ref);
  if (!name) return "unrecognized";
  return name.type === "legacy"
    ? `${name.dataset} workspace ${name.workspace}`
    : `${name.dataset} bookmark ${name.slug}`;
}

function theirs(object: JsonObject, ref: string): string {
  const has = (group: JsonObject): boolean => (group["branches"] as Json[]).includes(ref);
  for (const dataset of listOf(object["datasets"])) {
    const bookmark = listOf(dataset["bookmarks"]).find(has);
    if (bookmark) return `${dataset["dataset_id"]} bookmark ${bookmark["bookmark"]}`;
    const legacy = listOf(dataset["legacy"]).find(has);
    if (legacy) return `${dataset["dataset_id"]} workspace ${legacy["workspace"]}`;
  }
  return (object["unrecognized"] as Json[]).includes(ref) ? "unrecognized" : "not listed";
}
