/** Runs checks and reports on each. */

import { AssertionError, strict as assert } from "node:assert";
import { asError } from "../../engine/model/errors.ts";
import { assertDeclared, type Capability } from "../backend.ts";
import { Bench, capabilitiesOf, type Check } from "./_bench.ts";
import type { BackendHarness } from "./harness.ts";

/**
 * What became of one check.
 *
 * @example Name the checks that were not for this backend
 * ```ts
 * import type { CheckOutcome } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const outcomes: readonly CheckOutcome[] = [
 *   { id: "C01", name: "fingerprint-stable", status: "passed" },
 *   { id: "C12", name: "pin", status: "skipped", reason: "does not declare pin" },
 * ];
 * assert.deepEqual(outcomes.filter((o) => o.status === "skipped").map((o) => o.id), ["C12"]);
 * ```
 */
export type CheckOutcome =
  | { readonly id: string; readonly name: string; readonly status: "passed" }
  /** Not for this backend; `reason` says why. */
  | { readonly id: string; readonly name: string; readonly status: "skipped"; readonly reason: string }
  | { readonly id: string; readonly name: string; readonly status: "failed"; readonly error: Error };

/**
 * What a run of the suite found.
 *
 * @example Sum up a run
 * ```ts
 * import type { ConformanceReport } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const report: ConformanceReport = {
 *   kind: "note",
 *   capabilities: ["fingerprint"],
 *   checks: [{ id: "C01", name: "fingerprint-stable", status: "passed" }],
 * };
 * assert(report.checks.every((c) => c.status !== "failed"));
 * ```
 */
export interface ConformanceReport {
  /** The kind of the backend. */
  readonly kind: string;
  /** The capabilities that were under test. */
  readonly capabilities: readonly Capability[];
  /** One outcome per check, in order. */
  readonly checks: readonly CheckOutcome[];
}

/**
 * Options of a run.
 *
 * @example Work on one check
 * ```ts
 * import type { ConformanceOptions } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const options: ConformanceOptions = { only: ["C20"], racers: 16 };
 * assert.equal(options.only?.length, 1);
 * ```
 */
export interface ConformanceOptions {
  /** Each check becomes a step of this test. */
  readonly t?: Deno.TestContext;
  /** Ends the run between two checks. */
  readonly signal?: AbortSignal;
  /**
   * Contenders of a race.
   * @default {8}
   */
  readonly racers?: number;
  /**
   * Ids of the only checks to run, for work on one of them.
   * @default all
   */
  readonly only?: readonly string[];
}

/**
 * A backend broke the contract; `report` has every check.
 *
 * @example See which checks a backend fails
 * ```ts
 * import { ConformanceFailure } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const failure = new ConformanceFailure({
 *   kind: "note",
 *   capabilities: ["fingerprint"],
 *   checks: [{ id: "C01", name: "fingerprint-stable", status: "failed", error: new Error("two reads differ") }],
 * });
 * assert.match(failure.message, /^Backend "note" fails 1 checks:\nC01 fingerprint-stable: two reads differ$/);
 * ```
 */
export class ConformanceFailure extends AssertionError {
  /** Every check of the run. */
  readonly report: ConformanceReport;

  /** Creates the failure of a run, naming each check that failed. */
  constructor(report: ConformanceReport) {
    const failed = report.checks.flatMap((c) => c.status === "failed" ? [`${c.id} ${c.name}: ${c.error.message}`] : []);
    super({ message: `Backend "${report.kind}" fails ${failed.length} checks:\n${failed.join("\n")}` });
    this.report = report;
  }
}

/** Runs checks one after another, each in a step when there is a test. Never rejects because a check failed. */
export async function runChecks(
  harness: BackendHarness,
  checks: readonly Check[],
  options: ConformanceOptions,
): Promise<ConformanceReport> {
  assertDeclared(harness.backend);
  const capabilities = capabilitiesOf(harness, await harness.newObject());
  const bench = new Bench(harness, {
    capabilities,
    racers: options.racers ?? 8,
    ...(options.signal ? { signal: options.signal } : {}),
  });
  const outcomes: CheckOutcome[] = [];
  for (const check of checks) {
    if (options.only && !options.only.includes(check.id)) continue;
    options.signal?.throwIfAborted();
    const outcome = await runCheck(check, bench, options.t);
    outcomes.push(outcome);
  }
  return { kind: harness.backend.statics.kind, capabilities: [...capabilities], checks: outcomes };
}

async function runCheck(check: Check, bench: Bench, t: Deno.TestContext | undefined): Promise<CheckOutcome> {
  const { id, name } = check;
  const skipped = skipReason(check, bench);
  if (skipped !== undefined) return { id, name, status: "skipped", reason: skipped };
  let error: Error | undefined;
  async function attempt(step?: Deno.TestContext): Promise<void> {
    try {
      if (check.hook && bench.harness[check.hook.member] === undefined) {
        assert.fail(`the harness must have ${String(check.hook.member)} to prove what the backend declares`);
      }
      await check.run(bench, step);
    } catch (thrown) {
      error = asError(thrown);
      throw error;
    }
  }
  if (t) await t.step(`[${id}] ${name}`, attempt);
  else await attempt().catch(() => {});
  return error ? { id, name, status: "failed", error } : { id, name, status: "passed" };
}

function skipReason(check: Check, bench: Bench): string | undefined {
  if (check.when && !check.when.some((c) => bench.has(c))) return `does not declare ${check.when.join(" or ")}`;
  if (check.hook?.optional && bench.harness[check.hook.member] === undefined) {
    return `the harness has no ${String(check.hook.member)}`;
  }
  return check.skip?.(bench);
}
