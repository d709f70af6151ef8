import { strict as assert } from "node:assert";
import type { BackendHarness } from "../../backends/conformance/mod.ts";
import { deltaHarness } from "./delta_harness.ts";
import { fileHarness } from "./file_harness.ts";
import { gitHarness } from "./git_harness.ts";
import { icechunkHarness } from "./icechunk_harness.ts";
import { lanceHarness } from "./lance_harness.ts";
import { memoryHarness } from "./memory_harness.ts";

const HARNESSES: Readonly<Record<string, () => Promise<BackendHarness>>> = {
  delta: () => deltaHarness(),
  git: () => gitHarness({ objectFormat: "sha1", base: "bare" }),
  icechunk: () => icechunkHarness({ format: 2 }),
  lance: () => lanceHarness(),
  memory: () => memoryHarness(),
};

Deno.test("[C05] a store that is not there has not said that a state is gone: unknown, as on an unmounted disk", async (t) => {
  for (const [kind, make] of Object.entries(HARNESSES)) {
    await t.step(kind, async () => {
      await using harness = await make();
      const { backend } = harness;
      const locator = await harness.newObject();
      await harness.mutate(locator, undefined);
      const state = await backend.fingerprint(locator, undefined);
      const pin = await backend.pin?.(locator, state, "0a1b2c3d.0123456789abcdef");
      assert.equal((await backend.verify(locator, state, pin, { deep: true })).status, "ok");
      {
        await using away = await harness.breakStore?.(locator, "absent");
        assert.ok(away);
        for (const deep of [false, true]) {
          for (const with_ of pin ? [pin, undefined] : [undefined]) {
            const verdict = await backend.verify(locator, state, with_, { deep });
            assert.deepEqual([verdict.status, verdict.cause?.code], ["unknown", "store-not-found"]);
          }
        }
        if (pin) {
          const verdicts = await backend.verifyPins?.(locator, [{ state, pin }]).catch((error) => [
            { status: "unknown", cause: error },
          ]);
          assert.deepEqual(verdicts?.map((v) => v.status) ?? ["unknown"], ["unknown"]);
        }
      }
    });
  }
});

Deno.test("[C05, backends 3.1] a file is its own store: where its path leads to nothing it is missing", async () => {
  await using harness = await fileHarness();
  const locator = await harness.newObject();
  await harness.mutate(locator, undefined);
  const state = await harness.backend.fingerprint(locator, undefined);
  await using _away = await harness.breakStore?.(locator, "absent");
  const verdict = await harness.backend.verify(locator, state, undefined, { deep: false });
  assert.deepEqual([verdict.status, verdict.cause?.code], ["missing", "store-not-found"]);
});
