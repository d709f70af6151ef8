import { strict as assert } from "node:assert";
import { runConformance } from "../../backends/conformance/mod.ts";
import { fileHarness } from "./file_harness.ts";

Deno.test("[backends 7] the file backend meets the contract", async (t) => {
  await using harness = await fileHarness();
  const report = await runConformance(harness, { t });
  const skipped = report.checks.flatMap((c) => c.status === "skipped" ? [c.id] : []);
  const forRefsAndHistory = [..."9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24".split(" "), "28", "31"];
  assert.deepEqual(
    skipped,
    forRefsAndHistory.map((n) => `C${n.padStart(2, "0")}`),
    "only what a folder without history and refs cannot do is skipped",
  );
});
