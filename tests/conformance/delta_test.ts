import { strict as assert } from "node:assert";
import { runConformance } from "../../backends/conformance/mod.ts";
import { deltaHarness } from "./delta_harness.ts";

Deno.test("[backends 7] the delta backend meets the contract", async (t) => {
  await using harness = await deltaHarness();
  const report = await runConformance(harness, { t });
  const passed = report.checks.flatMap((c) => c.status === "passed" ? [c.id] : []);
  assert.deepEqual(passed, ["C01", "C02", "C03", "C05", "C06", "C07", "C08", "C09", "C10", "C11", "C31", "C29"]);
});
