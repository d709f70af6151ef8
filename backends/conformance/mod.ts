/**
 * The conformance suite: what every backend must prove, by capability (backends §7).
 *
 * ```ts ignore
 * Deno.test("mysys meets the contract", async (t) => {
 *   await using harness = await makeHarness();
 *   await runConformance(harness, { t });
 * });
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
 */
export async function runConformance(
  harness: BackendHarness,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const report = await runChecks(harness, CHECKS, options);
  if (report.checks.some((c) => c.status === "failed")) throw new ConformanceFailure(report);
  return report;
}
