import assert from "node:assert/strict";
import { TetherError } from "../../engine/model/errors.ts";
import { endOf, type Scene, scene, victim } from "./_scene.ts";
import type { Call } from "./_call.ts";

/** Runs a call that dies at a boundary. */
async function killed(s: Scene, call: Call, boundary: string): Promise<void> {
  assert.equal((await endOf(victim(s.root, call, boundary))).signal, "SIGKILL");
}

async function newest(s: Scene) {
  const [op] = await s.with(async (ds) => (await ds.ops()).ops);
  assert.ok(op);
  return op;
}

Deno.test("[L37, L43] a new that was killed goes on where it was, and one undo takes all of it back", async (t) => {
  await using s = await scene(["code", "img"]);
  const refs = await s.refs();
  await s.remember();
  const call: Call = { command: "new", options: { bookmark: "k", eager: true } };
  for (const boundary of ["journal", "vcs", "workspace", "fork code", "fork img", "done"]) {
    await t.step(`killed at "${boundary}"`, async () => {
      await s.rewind();
      await killed(s, call, boundary);
      const { id } = await newest(s);
      await s.with(async (ds) => {
        await ds.new({ bookmark: "k", eager: true });
        const { ops } = await ds.ops();
        assert.deepEqual(ops.map((o) => o.status), ops.map(() => "done"));
        assert.deepEqual([ops[1]?.id, ops[1]?.summary], [id, `interrupted, then finished by ${ops[0]?.id}`]);
        const { created_bookmark, created, reused } = ops[0]?.result ?? {};
        assert.deepEqual([created_bookmark, (created as string[]).sort(), reused], ["k", ["code", "img"], []]);
        await assert.rejects(ds.undo({ op: id }), { hints: [`tether undo ${ops[0]?.id}`] });
        await ds.undo();
        assert.equal(ds.workspace.bookmark, "main");
        assert.deepEqual(ds.workspace.workingRefs, {});
      });
      assert.deepEqual(await s.refs(), refs, "branches that the killed run made were left behind");
      assert.equal(await s.repo.git(["branch", "--list", "k"]), "");
    });
  }
  await t.step("the entries of both runs are out of the way of the next undo", async () => {
    await s.with(async (ds) => assert.equal((await ds.undo()).command, "commit"));
  });
});

Deno.test("[L37] a commit that takes in what a killed one had written says so, and an entry nobody finishes can be closed", async (t) => {
  await using s = await scene(["code"]);
  await s.write();
  await s.remember();
  const call: Call = { command: "commit", options: { message: "Second" } };
  await t.step("finished by the same command", async () => {
    await killed(s, call, "manifests");
    const { id } = await newest(s);
    await s.with(async (ds) => {
      const status = await ds.status();
      assert.deepEqual(status.objects.map((o) => o.state), ["clean"]);
      assert.match(status.warnings.join("\n"), new RegExp(`^commit ${id} was interrupted .*"tether commit -m Second"`));
      const done = await ds.commit({ message: "Second" });
      assert.deepEqual([Object.keys(done.pinned), done.unchanged], [["code"], []]);
      assert.match(done.warnings.join("\n"), new RegExp(`interrupted operation ${id} had recorded`));
    });
  });
  await t.step("given up", async () => {
    await s.rewind();
    await killed(s, call, "pin code");
    const { id } = await newest(s);
    await s.with(async (ds) => {
      await assert.rejects(ds.undo(), { hints: ["tether commit -m Second", `tether repair --close ${id}`] });
      assert.ok((await ds.repair()).notes.some((n) => n.startsWith(`interrupted: commit ${id}`)));
      const closed = await ds.closeOperation(id);
      assert.deepEqual([closed.closed, closed.landed], [id, false]);
      await assert.rejects(ds.closeOperation(id), TetherError);
      assert.deepEqual((await ds.status()).warnings, []);
      assert.equal((await ds.undo()).command, "commit", "it stands in the way of undo");
    });
  });
  await t.step("given up with its manifests written: they are edits like any other", async () => {
    await s.rewind();
    await s.with((ds) => ds.new({ bookmark: "x", eager: true, discard: true }));
    await s.write();
    await killed(s, call, "manifests");
    const { id } = await newest(s);
    await s.with(async (ds) => {
      await ds.closeOperation(id);
      assert.deepEqual((await ds.status()).staleKeys, []);
      assert.notEqual((await ds.commit({ message: "Edits" })).vcsCommit, null);
      const { entries } = await ds.verify({ allHistory: true, deep: true });
      assert.deepEqual(entries.filter((e) => e.status !== "ok"), []);
    });
  });
});

Deno.test("[commands 5.16] a new that changes nothing leaves no entry, and undo goes to what came before it", async () => {
  await using s = await scene(["code"]);
  await s.with((ds) => ds.new({ bookmark: "x", eager: true }));
  await s.with(async (ds) => {
    const before = await ds.ops();
    for (const options of [{}, { rev: "x" }, { keep: true }]) await ds.new(options);
    assert.deepEqual(await ds.ops(), before);
    const undone = await ds.undo();
    assert.equal(undone.command, "new");
    const { ops } = await ds.ops();
    assert.match(ops[0]?.summary ?? "", /^took back [0-9a-f]{12} \(on x; created code\)$/);
  });
});
