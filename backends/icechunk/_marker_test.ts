import assert from "node:assert/strict";
import fc from "fast-check";
import { DEFAULT_SETTINGS } from "../backend.ts";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { createRepository, writeArray } from "../../tests/helpers/icechunk_data.ts";
import { readMarker, withMarker } from "./_marker.ts";
import { IcechunkBackend } from "./icechunk.ts";

/** Calls `fn` with a new repository's `repo` object. */
async function withObject(fn: (bytes: Uint8Array) => void): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await createRepository(`${folder}/r`);
    fn(await Deno.readFile(`${folder}/r/repo`));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("[backends 3.4] a marker is read back as it was written; without one there is no owner", async () => {
  await withObject((bytes) => {
    assert.equal(readMarker(bytes), undefined);
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 40, unit: "grapheme" }), (owner) => {
        assert.equal(readMarker(withMarker(bytes, owner)), owner);
      }),
    );
    const marked = withMarker(bytes, "0a1b2c3d");
    assert.throws(() => withMarker(marked, "ffffffff"), BackendError, "an owner is never replaced");
  });
});

Deno.test("[backends 3.4] what is not known is an error, never another owner", async () => {
  await withObject((bytes) => {
    const marked = withMarker(bytes, "0a1b2c3d");
    const changed = (at: number, value: number): Uint8Array => marked.with(at, value);
    for (const broken of [changed(0, 0), changed(36, 3), changed(37, 1), changed(38, 0), marked.subarray(0, 20)]) {
      assert.throws(() => readMarker(broken), BackendError);
    }
    fc.assert(
      fc.property(fc.nat(marked.length - 1), fc.nat(255), (at, value) => {
        try {
          assert.ok([undefined, "0a1b2c3d"].includes(readMarker(changed(at, value))) || at >= 39);
        } catch (error) {
          assert.ok(error instanceof BackendError, String(error));
        }
      }),
    );
  });
});

Deno.test("[backends 3.4] the library keeps the marker through every move, and opens what it is in", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  await using backend = new IcechunkBackend(DEFAULT_SETTINGS);
  const locator = { uri: `${folder}/deep/made.icechunk` };
  try {
    const state = await backend.create(locator, { owner: "0a1b2c3d" });
    assert.deepEqual(state, { snapshot_id: "1CECHNKREP0F1RSTCMT0" });
    assert.deepEqual((await Array.fromAsync(Deno.readDir(`${folder}/deep`))).map((e) => e.name), ["made.icechunk"]);
    const pin = await backend.pin(locator, state, "0a1b2c3d.0123456789abcdef");
    await backend.fork(locator, { on: "state", state }, "tether.ws.0a1b2c3d.x");
    await writeArray(locator.uri, "tether.ws.0a1b2c3d.x", { name: "a", values: [1, 2, 3] });
    assert.equal(await backend.owner(locator), "0a1b2c3d");
    const ignoring = new Set([pin.ref, "tether.ws.0a1b2c3d.x"]);
    assert.equal(await backend.isRefEmpty(locator, { ignoring }), true);
    await Deno.writeTextFile(`${locator.uri}/notes.txt`, "x");
    assert.equal(await backend.isRefEmpty(locator, { ignoring }), false);
    await Deno.remove(`${locator.uri}/notes.txt`);
    await backend.unpin(locator, pin);
    await backend.deleteWorkingRef(locator, "tether.ws.0a1b2c3d.x");
    await backend.deleteStore(locator, { owner: "0a1b2c3d" });
    assert.deepEqual(await Array.fromAsync(Deno.readDir(`${folder}/deep`)), []);
    await createRepository(`${folder}/one`, { format: 1 });
    assert.equal(await backend.owner({ uri: `${folder}/one` }), undefined);
    await assert.rejects(backend.create({ uri: `${folder}/two`, branch: "trunk" }, { owner: "0a1b2c3d" }));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
