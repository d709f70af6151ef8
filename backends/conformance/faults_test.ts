import { strict as assert } from "node:assert";
import { memoryHarness } from "../../tests/conformance/memory_harness.ts";
import { DEFAULT_SETTINGS, type ObjectBackend, type Source } from "../backend.ts";
import { PermissionDeniedError, UnavailableError } from "../../engine/model/backend_errors.ts";
import { memoryStatics } from "../memory/statics.ts";
import { runConformance, withAccess, withCounts, withFailure, withLatency, withLostAnswer } from "./mod.ts";

const OBJECT = { system: "faults" };
const REF = "tether.ws.c0fe5a1e.faults";

async function store(): Promise<{ readonly backend: ObjectBackend; readonly from: Source }> {
  const backend = await memoryStatics.open(DEFAULT_SETTINGS);
  const state = await backend.fingerprint(OBJECT, undefined);
  await backend.deleteWorkingRef?.(OBJECT, REF);
  return { backend, from: { on: "state", state } };
}

Deno.test("[style 11] a slow backend still meets the contract", async () => {
  await using harness = await memoryHarness((backend) => withLatency(backend, 1));
  const report = await runConformance(harness, {
    only: ["C01", "C17", "C20", "C21"],
  });
  assert.equal(report.checks.filter((c) => c.status === "passed").length, 4);
});

Deno.test("[style 11] a failing call does not reach the store, and only the Nth of its method fails", async () => {
  const { backend, from } = await store();
  const error = new UnavailableError("Cannot reach the store", { kind: "memory" });
  const failing = withFailure(backend, { method: "fork", nth: 2 }, error);
  await failing.fork?.(OBJECT, from, REF);
  await assert.rejects(async () => await failing.fork?.(OBJECT, from, `${REF}2`), error);
  await failing.fork?.(OBJECT, from, REF);
  assert.deepEqual(await backend.listWorkingRefs?.(OBJECT), [REF]);
});

Deno.test("[L08] a lost answer leaves what the call did", async () => {
  const { backend, from } = await store();
  const lossy = withLostAnswer(backend, { method: "fork" });
  await assert.rejects(async () => await lossy.fork?.(OBJECT, from, REF), UnavailableError);
  assert.deepEqual(await backend.listWorkingRefs?.(OBJECT), [REF]);
});

Deno.test("[style 11] a backend with less access refuses what needs more, before it happens", async () => {
  const { backend, from } = await store();
  const reading = withAccess(backend, "read");
  await reading.fingerprint(OBJECT, undefined);
  await reading.openHandle(OBJECT, { on: "base" }, { readOnly: true });
  await assert.rejects(() => reading.openHandle(OBJECT, { on: "base" }, { readOnly: false }), PermissionDeniedError);
  await assert.rejects(async () => await reading.fork?.(OBJECT, from, REF), PermissionDeniedError);
  assert.deepEqual(await backend.listWorkingRefs?.(OBJECT), []);
  const writing = withAccess(backend, "refs");
  await writing.fork?.(OBJECT, from, REF);
  await assert.rejects(async () => await writing.create?.(OBJECT, { owner: "c0fe5a1e" }), PermissionDeniedError);
});

Deno.test("[style 11] calls are counted by method, addresses are not calls", async () => {
  const { backend } = await store();
  const counted = withCounts(backend);
  counted.backend.identity(OBJECT);
  await counted.backend.baseBranch(OBJECT);
  await counted.backend.fingerprint(OBJECT, undefined);
  await counted.backend.fingerprint(OBJECT, undefined);
  await counted.backend.listPins?.(OBJECT);
  assert.deepEqual([...counted.counts], [["fingerprint", 2], ["listPins", 1]]);
});
