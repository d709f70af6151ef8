/**
 * Backends that misbehave on purpose, for tests of whatever uses a backend: slow ones, ones that fail at the Nth call,
 * lose an answer, refuse an access, or only count.
 *
 * @module
 */

import { accessOf } from "../../engine/host/worker_backend.ts";
import { PermissionDeniedError, UnavailableError } from "../../engine/model/backend_errors.ts";
import type { Access, ObjectBackend } from "../backend.ts";

/**
 * One call of a backend.
 *
 * @example Write down what is called
 * ```ts
 * import type { BackendCall } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const line = (call: BackendCall): string => `${call.method} #${call.nth}`;
 * assert.equal(line({ method: "fork", args: [], nth: 2 }), "fork #2");
 * ```
 */
export interface BackendCall {
  /** Such as `fork`. */
  readonly method: string;
  /** What the method was called with. */
  readonly args: readonly unknown[];
  /** Which call of this method it is, from 1. */
  readonly nth: number;
}

/**
 * Which calls a fault strikes: those of a method, of these only the Nth when given.
 *
 * @example Strike the second fork
 * ```ts
 * import type { FaultSite } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const site: FaultSite = { method: "fork", nth: 2 };
 * assert.equal(site.nth, 2);
 * ```
 */
export interface FaultSite {
  /** Such as `fork`. */
  readonly method: string;
  /**
   * From 1.
   * @default every call
   */
  readonly nth?: number;
}

// The synchronous members: pure, so no fault can lie between a call and its answer.
const PURE: ReadonlySet<string | symbol> = new Set([
  "identity",
  "branchScope",
  "refNamespace",
  "baseBranch",
  "stateAddressable",
]);

/**
 * Returns a backend whose calls pass through `around`, which decides whether and when to run them.
 *
 * @example Record every call
 * ```ts
 * import { intercept, memoryStatics } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const methods: string[] = [];
 * await using backend = intercept(await memoryStatics.open({ config: {}, rules: [] }), (call, run) => {
 *   methods.push(call.method);
 *   return run();
 * });
 * await backend.fingerprint({ system: "lab" }, undefined);
 * assert.deepEqual(methods, ["fingerprint"]);
 * ```
 */
export function intercept(
  backend: ObjectBackend,
  around: (call: BackendCall, run: () => Promise<unknown>) => Promise<unknown>,
): ObjectBackend {
  const counts = new Map<string, number>();
  return new Proxy(backend, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      if (typeof name === "symbol" || PURE.has(name)) return member.bind(target);
      return async (...args: unknown[]) => {
        const nth = (counts.get(name) ?? 0) + 1;
        counts.set(name, nth);
        return await around({ method: name, args, nth }, () => Reflect.apply(member, target, args));
      };
    },
  });
}

/**
 * Returns a backend that lets the event loop turn some times before and after each call.
 *
 * @example Make a store slow
 * ```ts
 * import { memoryStatics, withLatency } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * await using backend = withLatency(await memoryStatics.open({ config: {}, rules: [] }), 3);
 * assert.deepEqual(await backend.fingerprint({ system: "lab" }, undefined), { snapshot_id: "lab:s0" });
 * ```
 */
export function withLatency(backend: ObjectBackend, turns: number): ObjectBackend {
  return intercept(backend, async (_, run) => {
    await pause(turns);
    const result = await run();
    await pause(turns);
    return result;
  });
}

/**
 * Returns a backend that fails some calls before they reach the store.
 *
 * @example Let the first read fail
 * ```ts
 * import { UnavailableError } from "@tether/tether";
 * import { memoryStatics, withFailure } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const error = new UnavailableError("Cannot reach the store", { kind: "memory" });
 * const site = { method: "fingerprint", nth: 1 };
 * await using backend = withFailure(await memoryStatics.open({ config: {}, rules: [] }), site, error);
 * await assert.rejects(backend.fingerprint({ system: "lab" }, undefined), UnavailableError);
 * await backend.fingerprint({ system: "lab" }, undefined);
 * ```
 */
export function withFailure(backend: ObjectBackend, site: FaultSite, error: Error): ObjectBackend {
  return intercept(backend, (call, run) => strikes(site, call) ? Promise.reject(error) : run());
}

/**
 * Returns a backend that carries some calls out and then reports that the store did not answer.
 *
 * @example Lose the answer to a pin that was made
 * ```ts
 * import { UnavailableError } from "@tether/tether";
 * import { memoryStatics, withLostAnswer } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const id = "c0fe5a1e.0123456789abcdef";
 * await using backend = withLostAnswer(await memoryStatics.open({ config: {}, rules: [] }), { method: "pin" });
 * const state = await backend.fingerprint({ system: "lab" }, undefined);
 * await assert.rejects(async () => await backend.pin?.({ system: "lab" }, state, id), UnavailableError);
 * assert((await backend.listPins?.({ system: "lab" }))?.has(id));
 * ```
 */
export function withLostAnswer(backend: ObjectBackend, site: FaultSite): ObjectBackend {
  return intercept(backend, async (call, run) => {
    const result = await run();
    if (!strikes(site, call)) return result;
    throw new UnavailableError(`Cannot tell what became of ${call.method}(): the connection was lost`, {
      kind: backend.statics.kind,
    });
  });
}

/**
 * Returns a backend whose store denies calls that do more than an access allows.
 *
 * @example Take the right to write away
 * ```ts
 * import { PermissionDeniedError } from "@tether/tether";
 * import { memoryStatics, withAccess } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * await using backend = withAccess(await memoryStatics.open({ config: {}, rules: [] }), "read");
 * const state = await backend.fingerprint({ system: "lab" }, undefined);
 * const pin = async () => await backend.pin?.({ system: "lab" }, state, "c0fe5a1e.0123456789abcdef");
 * await assert.rejects(pin, PermissionDeniedError);
 * ```
 */
export function withAccess(backend: ObjectBackend, allowed: Access): ObjectBackend {
  const levels: readonly Access[] = ["read", "refs", "lifecycle"];
  return intercept(backend, (call, run) => {
    if (levels.indexOf(accessOf(call.method, call.args)) <= levels.indexOf(allowed)) return run();
    return Promise.reject(
      new PermissionDeniedError(`Cannot ${call.method}: access denied`, { kind: backend.statics.kind }),
    );
  });
}

/**
 * Returns a backend that counts its calls by method, and the counts.
 *
 * @example Show that a call asks the store once
 * ```ts
 * import { memoryStatics, withCounts } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const { backend, counts } = withCounts(await memoryStatics.open({ config: {}, rules: [] }));
 * await backend.fingerprint({ system: "lab" }, undefined);
 * assert.equal(counts.get("fingerprint"), 1);
 * ```
 */
export function withCounts(
  backend: ObjectBackend,
): { readonly backend: ObjectBackend; readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const counting = intercept(backend, (call, run) => {
    counts.set(call.method, call.nth);
    return run();
  });
  return { backend: counting, counts };
}

function strikes(site: FaultSite, call: BackendCall): boolean {
  return site.method === call.method && (site.nth === undefined || site.nth === call.nth);
}

async function pause(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((done) => setTimeout(done, 0));
}
