import { strict as assert } from "node:assert";
import { runConformance } from "../../backends/conformance/mod.ts";
import { icechunkStatics } from "../../backends/icechunk/statics.ts";
import { icechunkHarness } from "./icechunk_harness.ts";

for (const format of [1, 2] as const) {
  Deno.test(`[backends 7] the icechunk backend meets the contract on local repositories of format ${format}`, async (t) => {
    await using harness = await icechunkHarness({ format });
    const report = await runConformance(harness, { t });
    const skipped = report.checks.flatMap((c) => c.status === "skipped" ? [c.id] : []);
    assert.deepEqual(skipped, ["C20", "C24", "C28", "C31"]);
  });

  // Not declared for local folders, because other programs know nothing of the lock; among our own it holds (L32).
  Deno.test(`[C20] [L32] moves in a local repository of format ${format} are conditional among tether's own`, async (t) => {
    await using harness = await icechunkHarness({ format });
    const capabilities = new Set([...icechunkStatics.capabilities, "conditional_ref"] as const);
    const report = await runConformance({ ...harness, capabilities }, { t, only: ["C20"] });
    assert.deepEqual(report.checks.map((c) => c.status), ["passed"]);
  });
}
