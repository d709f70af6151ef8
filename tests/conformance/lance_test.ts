import { strict as assert } from "node:assert";
import { runConformance } from "../../backends/conformance/mod.ts";
import { lanceHarness } from "./lance_harness.ts";

Deno.test("[backends 7] the lance backend meets the contract", async (t) => {
  await using harness = await lanceHarness();
  const report = await runConformance(harness, { t });
  const skipped = report.checks.flatMap((c) => c.status === "skipped" ? [c.id] : []);
  assert.deepEqual(skipped, ["C20", "C22", "C23", "C24", "C26", "C27", "C28", "C31"]);
});
