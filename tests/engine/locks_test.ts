import assert from "node:assert/strict";
import type { Dataset } from "../../engine/dataset.ts";
import { acquireLock } from "../../engine/files/lock.ts";
import { LockError } from "../../engine/model/errors.ts";
import { namedStore } from "../../backends/memory/store.ts";
import { tempDataset } from "../helpers/dataset.ts";

/** What plans and applies in one call. */
const CALLS: Readonly<Record<string, (ds: Dataset) => Promise<unknown>>> = {
  new: (ds) => ds.new({ bookmark: "x", eager: true }),
  restore: (ds) => ds.restore(["a"], { from: "main" }),
  promote: (ds) => ds.promote(),
  repair: (ds) => ds.repair(),
  gc: (ds) => ds.gc({ dryRun: false }),
  drop: (ds) => ds.drop("other", { dryRun: false }),
  commit: (ds) => ds.commit({ message: "x" }),
};

Deno.test("[Δ12, Δ30] what plans and applies in one call holds its locks from before it plans", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "other", eager: true }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const system = namedStore().find(t.system("a"));
  const refs = () => JSON.stringify([...system?.tags ?? [], ...system?.branches ?? []]);
  for (const path of [".tether/lock", ".git/tether.lock"]) {
    const held = { hintPath: `${t.repo.outer}/hint`, command: "a test", timeoutMs: 1000 };
    await using _ = await acquireLock(`${t.root}/${path}`, held);
    for (const [name, call] of Object.entries(CALLS)) {
      await test.step(`${name} waits for ${path}`, async () => {
        const before = refs();
        await using ds = await t.open({ lockTimeoutMs: 0 });
        await assert.rejects(call(ds), LockError);
        assert.equal(refs(), before);
      });
    }
  }
});
