import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import type { Dataset } from "../../engine/dataset.ts";
import { REAL_ENV } from "../../engine/env.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { UnavailableError } from "../../engine/model/backend_errors.ts";
import { onBoth } from "../helpers/both.ts";

const RELEASES: Readonly<Record<string, (ds: Dataset) => Promise<unknown>>> = {
  drop: (ds) => ds.drop("x", { dryRun: false }),
  "drop --delete-stores": (ds) => ds.drop("x", { dryRun: false, deleteStores: true }),
};

for (const [command, release] of Object.entries(RELEASES)) {
  onBoth(
    `[commands 5.23] a branch of a removed object that ${command} deleted is no working ref any more`,
    async (t) => {
      await t.addMemory("a");
      await t.with((ds) => ds.commit({ message: "first" }));
      await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
      const create = command !== "drop";
      await t.with((ds) => ds.add({ key: "b", kind: "memory", locator: { system: t.system("b") }, create }));
      await t.with((ds) => ds.commit({ message: "b on x" }));
      await t.with((ds) => ds.new({ eager: true }));
      const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["b"] ?? assert.fail()));
      await t.with((ds) => ds.new({ rev: "main" }));
      await t.with(release);
      assert.equal(namedStore().find(t.system("b"))?.branches.has(ref) ?? false, false);
      const { actions } = await t.with((ds) => ds.plan.gc({ pruneBookmarks: true }));
      assert.deepEqual(actions.filter((a) => a.op === "forget-working-ref"), []);
    },
  );
}

onBoth("[Δ11] a drop that could not delete a store names the command that does", async (t) => {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
  await t.with((ds) => ds.add({ key: "b", kind: "memory", locator: { system: t.system("b") }, create: true }));
  await t.with((ds) => ds.commit({ message: "b on x" }));
  await t.with((ds) => ds.new({ rev: "main" }));
  const boundary = (step: string): void => {
    if (step.startsWith("judged ")) throw new UnavailableError("Cannot delete: no answer", { kind: "memory" });
  };
  const dropping = t.with((ds) => ds.drop("x", { dryRun: false, deleteStores: true }), {
    env: { ...REAL_ENV, boundary },
  });
  await assert.rejects(dropping, (e) => {
    assert.ok(e instanceof MultiObjectError);
    assert.deepEqual(e.hints, ["tether gc --prune-bookmarks --delete-stores --no-dry-run"]);
    return true;
  });
  assert.ok(namedStore().find(t.system("b")));
  await t.with((ds) => ds.gc({ dryRun: false, pruneBookmarks: true, deleteStores: true }));
  assert.equal(namedStore().find(t.system("b")), undefined);
});
