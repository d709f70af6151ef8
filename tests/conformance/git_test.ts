import { strict as assert } from "node:assert";
import { runConformance } from "../../backends/conformance/mod.ts";
import { gitHarness, type GitHarnessOptions } from "./git_harness.ts";

const VARIANTS: readonly GitHarnessOptions[] = [
  { objectFormat: "sha1", base: "here" },
  { objectFormat: "sha1", base: "bare" },
  { objectFormat: "sha256", base: "nowhere" },
];

for (const variant of VARIANTS) {
  Deno.test(`[backends 7] the git backend meets the contract: ${variant.objectFormat}, base ${variant.base}`, async (t) => {
    await using harness = await gitHarness(variant);
    const report = await runConformance(harness, { t });
    const skipped = report.checks.flatMap((c) => c.status === "skipped" ? [c.id] : []);
    assert.deepEqual(skipped, ["C28", "C31"], "only what git does not declare is skipped");
  });
}
