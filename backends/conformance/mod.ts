/**
 * The conformance suite: what every backend must prove, by capability (backends §7).
 *
 * @example Make each check a step of a test
 * ```ts
 * import { type BackendHarness, runConformance } from "@tether/tether/testing";
 *
 * function testConformance(name: string, makeHarness: () => Promise<BackendHarness>): void {
 *   Deno.test(name, async (t) => {
 *     await using harness = await makeHarness();
 *     await runConformance(harness, { t });
 *   });
 * }
 * ```
 *
 * @module
 */

import { ALWAYS } from "./_always.ts";
import type { Check } from "./_bench.ts";
import { CREATE } from "./_create.ts";
import { FAILURES } from "./_failures.ts";
import { FORKS } from "./_forks.ts";
import { permissionChecks } from "./_permissions.ts";
import { PINS } from "./_pins.ts";
import { PROMOTE } from "./_promote.ts";
import { RACES } from "./_races.ts";
import { READING } from "./_reading.ts";
import { ConformanceFailure, type ConformanceOptions, type ConformanceReport, runChecks } from "./_run.ts";
import type { BackendHarness } from "./harness.ts";

export type { BackendModule } from "../../engine/host/client.ts";
export {
  type BackendCall,
  type FaultSite,
  intercept,
  withAccess,
  withCounts,
  withFailure,
  withLatency,
  withLostAnswer,
} from "./faults.ts";
export { memoryStatics } from "../memory/statics.ts";
export { type BackendHarness, type Breakage, localSpellings, type Obstruction } from "./harness.ts";
export { type CheckOutcome, ConformanceFailure, type ConformanceOptions, type ConformanceReport } from "./_run.ts";

// Redaction comes last: it looks at the errors all others provoked.
const OTHERS: readonly Check[] = [ALWAYS, FAILURES, READING, PINS, FORKS, RACES, PROMOTE, CREATE].flat().sort((a, b) =>
  order(a) - order(b)
);
const CHECKS: readonly Check[] = [...OTHERS, ...permissionChecks(OTHERS)].sort((a, b) => order(a) - order(b));

function order(check: Check): number {
  return check.id === "C29" ? Infinity : Number(check.id.slice(1));
}

/**
 * Runs every check that the backend's capabilities call for, against stores the harness makes. With `t` each check is a
 * step. A declared capability whose check cannot run is a failure.
 *
 * @throws {ConformanceFailure} if any check failed; it carries the report.
 * @throws {TypeError} if the backend's members do not match its capabilities.
 *
 * @example Run two checks on systems that live in this process
 * ```ts
 * import type { Handle, JsonObject } from "@tether/tether";
 * import { type BackendHarness, memoryStatics, runConformance } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const backend = await memoryStatics.open({ config: {}, rules: [] });
 * let count = 0;
 * await using harness: BackendHarness = {
 *   backend,
 *   newObject: () => Promise.resolve({ system: `lab-${count++}` }),
 *   async mutate(locator, ref) {
 *     const target = ref === undefined ? { on: "base" } as const : { on: "ref", ref } as const;
 *     await using handle = await backend.openHandle(locator, target, { readOnly: false });
 *     (handle as Handle & { write(changes: JsonObject): void }).write({ [`key-${count++}`]: 1 });
 *   },
 *   [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
 * };
 *
 * const report = await runConformance(harness, { only: ["C01", "C02"] });
 * assert.deepEqual(report.checks.map((c) => `${c.id} ${c.status}`), ["C01 passed", "C02 passed"]);
 * ```
 */
export async function runConformance(
  harness: BackendHarness,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const report = await runChecks(harness, CHECKS, options);
  if (report.checks.some((c) => c.status === "failed")) throw new ConformanceFailure(report);
  return report;
}
