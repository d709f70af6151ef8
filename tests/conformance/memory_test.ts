import { strict as assert } from "node:assert";
import { runConformance } from "../../backends/conformance/mod.ts";
import { memoryHarness } from "./memory_harness.ts";

Deno.test("[backends 7] the memory backend meets the contract", async (t) => {
  await using harness = await memoryHarness();
  const report = await runConformance(harness, { t });
  const skipped = report.checks.flatMap((c) => c.status === "skipped" ? [c.id] : []);
  assert.deepEqual(skipped, ["C28", "C31"], "only what memory does not declare is skipped");
});
