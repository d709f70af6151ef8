import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

/** A bookmark `x` with a commit of its own, that was taken back by hand; the branch still stands where it was. */
async function takenBack(t: TempDataset, options: { readonly pin: "native" | "record" }): Promise<string> {
  await t.addMemory("a");
  await t.with((ds) => ds.setPolicy("all", { pin: options.pin }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
  const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? assert.fail()));
  t.write("a", ref);
  await t.with((ds) => ds.commit({ message: "on x" }));
  await t.repo.git(["branch", "keep"]);
  await t.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
  return ref;
}

function headOf(t: TempDataset, ref: string): number {
  return namedStore().find(t.system("a"))?.head(ref).number ?? assert.fail();
}

const COMMANDS = {
  new: (t: TempDataset, discard: boolean) => t.with((ds) => ds.new({ eager: true, discard })),
  restore: (t: TempDataset, discard: boolean) => t.with((ds) => ds.restore(["a"], { from: "main", discard })),
};

Deno.test("[L05, L43] a branch at a state this checkout knows is reset only while something else holds that state", async (test) => {
  for (const [name, command] of Object.entries(COMMANDS)) {
    await test.step(`${name}: a pin holds it`, async () => {
      await using t = await tempDataset();
      const ref = await takenBack(t, { pin: "native" });
      await command(t, false);
      assert.equal(headOf(t, ref), 0);
    });
    await test.step(`${name}: its pin was released`, async () => {
      await using t = await tempDataset();
      const ref = await takenBack(t, { pin: "native" });
      await t.repo.git(["branch", "-q", "-D", "keep"]);
      await t.with((ds) => ds.gc({ dryRun: false }));
      await assert.rejects(command(t, false), MultiObjectError);
      assert.equal(headOf(t, ref), 1);
      await command(t, true);
      assert.equal(headOf(t, ref), 0);
    });
    await test.step(`${name}: a commit recorded it without a pin`, async () => {
      await using t = await tempDataset();
      const ref = await takenBack(t, { pin: "record" });
      await assert.rejects(command(t, false), TetherError);
      assert.equal(headOf(t, ref), 1);
    });
    await test.step(`${name}: upstream has it by now`, async () => {
      await using t = await tempDataset();
      const ref = await takenBack(t, { pin: "record" });
      const system = namedStore().find(t.system("a"));
      system?.branches.set("main", system.head(ref).id);
      t.write("a");
      await command(t, false);
      assert.equal(headOf(t, ref), 0);
    });
  }
});

Deno.test("[commands 6] what a refusal to reset names keeps the writes of a commit that is gone", async (test) => {
  for (const pin of ["native", "record"] as const) {
    for (const [name, command] of Object.entries(COMMANDS)) {
      await test.step(`${name}, pin = ${pin}`, async () => {
        await using t = await tempDataset();
        const ref = await takenBack(t, { pin });
        await t.repo.git(["branch", "-q", "-D", "keep"]);
        await t.with((ds) => ds.gc({ dryRun: false }));
        await assert.rejects(command(t, false), (error: unknown) => {
          assert.ok(error instanceof TetherError);
          assert.equal(error.hints[0], "tether new --keep");
          return true;
        });
        await t.with((ds) => ds.new({ keep: true }));
        assert.notEqual((await t.with((ds) => ds.commit({ message: "again" }))).vcsCommit, null);
        assert.equal(headOf(t, ref), 1);
        const { entries } = await t.with(async (ds) => await ds.verify({ deep: true }));
        assert.deepEqual(entries.map((e) => e.status), ["ok"]);
      });
    }
  }
});
