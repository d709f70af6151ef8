import { strict as assert } from "node:assert";
import { ConformanceFailure, runConformance } from "../../backends/conformance/mod.ts";
import { memoryHarness } from "./memory_harness.ts";
import { MODULE_MUTATIONS } from "./mutations/modules.ts";
import { broken, type Mutation } from "./mutations/mutation.ts";
import { READING } from "./mutations/reading.ts";
import { REFS } from "./mutations/refs.ts";
import { STORES } from "./mutations/stores.ts";

async function failureOf(mutation: Mutation): Promise<{ id: string; message: string } | undefined> {
  await using made = await memoryHarness((backend) => broken(backend, mutation));
  const harness = { ...made, ...mutation.harness };
  try {
    await runConformance(harness, { only: [mutation.check] });
    return undefined;
  } catch (error) {
    if (!(error instanceof ConformanceFailure)) throw error;
    const [failed] = error.report.checks.filter((c) => c.status === "failed");
    return failed && { id: failed.id, message: failed.error.message };
  } finally {
    mutation.cleanUp?.();
  }
}

Deno.test("[backends 7] each break of the contract fails the check that is about it", async (t) => {
  const modules: readonly Mutation[] = Object.entries(MODULE_MUTATIONS).map(([name, mutation]) => ({
    ...mutation,
    harness: { module: { url: new URL("./mutations/modules.ts", import.meta.url), name } },
  }));
  for (const mutation of [...READING, ...REFS, ...STORES, ...modules]) {
    await t.step(`[${mutation.check}] ${mutation.what}`, async () => {
      const failure = await failureOf(mutation);
      assert.equal(failure?.id, mutation.check, "the check must fail");
      assert.ok(failure.message.includes(mutation.says), `it must fail for the right reason, not: ${failure.message}`);
    });
  }
});
