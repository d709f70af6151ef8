import { strict as assert } from "node:assert";
import fc from "fast-check";
import { CapabilityError, InvalidLocatorError, StoreNotFoundError } from "../../engine/model/backend_errors.ts";
import { computePinId } from "../../engine/model/hash.ts";
import { jsonEqual, type JsonObject } from "../../engine/model/json.ts";
import { diffPayloads, mergePayloads } from "./_merge.ts";
import { MemoryHandle } from "./handle.ts";
import { MemoryBackend } from "./memory.ts";
import { memoryStatics } from "./statics.ts";
import { MemoryStore, namedStore } from "./store.ts";

const payload: fc.Arbitrary<JsonObject> = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.nat(2), {
  noNullPrototype: true,
});

Deno.test("[backends 3.11] a merge takes what one side changed and reports what both changed differently", () => {
  fc.assert(fc.property(payload, payload, payload, (base, ours, theirs) => {
    const merged = mergePayloads(base, ours, theirs);
    const mirrored = mergePayloads(base, theirs, ours);
    assert.equal(merged.type, mirrored.type, "sides are equal");
    for (const key of ["a", "b", "c"]) {
      const [left, right] = [jsonEqual(base[key], ours[key]), jsonEqual(base[key], theirs[key])];
      const conflict = !left && !right && !jsonEqual(ours[key], theirs[key]);
      if (merged.type === "conflict") assert.equal(merged.keys.includes(key), conflict);
      else assert.ok(jsonEqual(merged.payload[key], left ? theirs[key] : ours[key]));
    }
    assert.deepEqual(mergePayloads(base, ours, base), { type: "merged", payload: ours });
  }));
});

Deno.test("[backends 3.11] a diff read backwards swaps added and removed", () => {
  fc.assert(fc.property(payload, payload, (a, b) => {
    const [there, back] = [diffPayloads(a, b), diffPayloads(b, a)];
    assert.deepEqual([there.added, there.removed, there.modified], [back.removed, back.added, back.modified]);
    assert.equal(there.unit, "keys");
    assert.equal(there.entries.length === 0, jsonEqual(a, b));
  }));
});

Deno.test("[backends 1.2] the first state of a system and its pin id are the peer's", async () => {
  const backend = new MemoryBackend({ store: new MemoryStore() });
  const state = await backend.fingerprint({ uri: "s" }, undefined);
  assert.deepEqual(state, { snapshot_id: "s:s0" });
  const identity = backend.identity({ uri: "s", branch: "other" });
  assert.deepEqual(identity, { system: "s" });
  assert.equal(computePinId("0a1b2c3d", { kind: "memory", identity, content: state }), "0a1b2c3d.8779ac4b16a6722a");
});

Deno.test("[backends 3.11] a deleted system stays away until it is created again", async () => {
  const store = new MemoryStore();
  const backend = new MemoryBackend({ store });
  const owner = "c0fe5a1e";
  await backend.create({ system: "s" }, { owner });
  await backend.deleteStore({ system: "s" }, { owner });
  await assert.rejects(() => backend.fingerprint({ system: "s" }, undefined), StoreNotFoundError);
  await assert.rejects(() => backend.history({ system: "s" }, { limit: 1 }), StoreNotFoundError);
  assert.deepEqual(await backend.create({ system: "s" }, { owner }), { snapshot_id: "s:s0" });
});

Deno.test("[backends 2] a writable handle writes on its ref; a pin's handle reads what was pinned, for ever", async () => {
  const backend = new MemoryBackend({ store: new MemoryStore() });
  const locator = { system: "s" };
  const head = await backend.openHandle(locator, { on: "base" }, { readOnly: false });
  assert.ok(head instanceof MemoryHandle);
  head.write({ plate: 1, gone: 2 });
  const state = await backend.fingerprint(locator, undefined);
  const pin = await backend.pin(locator, state, "c0fe5a1e.0123456789abcdef");
  head.write({ plate: 2, gone: null });
  assert.deepEqual(head.read(), { plate: 2 });
  const pinned = await backend.openHandle(locator, { on: "pin", pin }, { readOnly: false });
  assert.ok(pinned instanceof MemoryHandle);
  assert.deepEqual(pinned.read(), { plate: 1, gone: 2 });
  assert.throws(() => pinned.write({ plate: 3 }), CapabilityError);
  assert.deepEqual(pinned.toJSON().native, { system: "s", ref: "tether.c0fe5a1e.0123456789abcdef" });
});

Deno.test("[backends 1.5] stores are shared by name; a locator without a system is refused", async () => {
  const named = await memoryStatics.open({ config: { store: "shared" }, rules: [] });
  namedStore("shared").write("s", { plate: 1 });
  assert.deepEqual(await named.fingerprint({ system: "s" }, undefined), { snapshot_id: "s:s1" });
  const other = await memoryStatics.open({ config: {}, rules: [] });
  assert.deepEqual(await other.fingerprint({ system: "s" }, undefined), { snapshot_id: "s:s0" });
  await assert.rejects(async () => await named.validateLocator?.({ branch: "main" }), InvalidLocatorError);
});
