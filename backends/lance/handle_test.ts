import { strict as assert } from "node:assert";
import { CapabilityError, StateGoneError } from "../../engine/model/backend_errors.ts";
import { createLanceTable, lanceRows } from "../../tests/helpers/lance_data.ts";
import { fork, head, PIN, type Setting, setting, write } from "./_test_setting.ts";
import type { LanceHandle } from "./handle.ts";
import type { Target } from "../backend.ts";

async function open(s: Setting, target: Target, readOnly: boolean): Promise<LanceHandle> {
  return await s.backend.openHandle(s.locator, target, { readOnly });
}

Deno.test("[DIV-9] a handle's address names what it is on, and its version only when that stays", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const state = await write(s, ref);
  const pin = await s.backend.pin(s.locator, state, PIN);
  const cases: readonly [Target, boolean, string, boolean][] = [
    [{ on: "base" }, false, "main", false],
    [{ on: "base" }, true, "main@v2", true],
    [{ on: "ref", ref }, false, ref, false],
    [{ on: "ref", ref }, true, `${ref}@v3`, true],
    [{ on: "pin", pin }, false, pin.ref, true],
    [{ on: "state", state }, false, `${ref}@v3`, true],
  ];
  for (const [target, readOnly, address, expected] of cases) {
    await using handle = await open(s, target, readOnly);
    assert.equal(handle.address(), `${s.path}#${address}`);
    assert.equal(handle.readOnly, expected, address);
  }
  await using handle = await open(s, { on: "pin", pin }, true);
  assert.deepEqual(handle.toJSON(), {
    key: s.path,
    read_only: true,
    address: `${s.path}#${pin.ref}`,
    type: "LanceHandle",
    kind: "lance",
    native: { uri: s.path, version: 3, branch: ref, tag: pin.ref },
  });
  await using detached = await s.backend.openHandle({ ...s.locator, at: 1 }, { on: "base" }, { readOnly: false });
  assert.equal(detached.address(), `${s.path}#main@v1`);
  await assert.rejects(open(s, { on: "pin", pin: { id: "", ref: "tether.none" } }, true), StateGoneError);
});

Deno.test("[backends 2] a handle's table is LanceDB's, on the branch or at the version", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const state = await head(s);
  {
    await using handle = await open(s, { on: "ref", ref }, false);
    const table = await handle.table();
    assert.equal(table, await handle.table(), "it is opened once");
    await table.add([{ id: 4, name: "elm" }]);
    assert.equal(await table.version(), 3);
  }
  assert.equal((await lanceRows(s.path, { branch: ref })).length, 4);
  assert.equal((await lanceRows(s.path)).length, 3);
  const written = await head(s, ref);
  await write(s, ref);
  for (const [target, rows] of [[{ on: "state", state: written }, 4], [{ on: "state", state }, 3]] as const) {
    await using handle = await open(s, target, true);
    const table = await handle.table();
    assert.equal(await table.countRows(), rows);
    await assert.rejects(table.add([{ id: 5, name: "no" }]), "a version is not written to");
  }
  const entries = await Array.fromAsync(Deno.readDir(s.folder));
  assert.deepEqual(entries.map((e) => e.name), ["plants.lance"], "nothing appears beside the table");
});

Deno.test("[backends 3.5] what needs LanceDB says so where LanceDB cannot go; all else works there", async () => {
  await using s = await setting();
  const path = `${s.folder}/plain-name`;
  await createLanceTable(`${path}.lance`);
  await Deno.rename(`${path}.lance`, path);
  const locator = { uri: path };
  const ref = await s.backend.fork(locator, { on: "ref", ref: "main" }, "tether.ws.0a1b2c3d.x");
  assert.deepEqual(await s.backend.fingerprint(locator, ref), { branch: "main", version: 1 });
  await using handle = await s.backend.openHandle(locator, { on: "ref", ref }, { readOnly: false });
  await assert.rejects(handle.table(), CapabilityError);
});

Deno.test("[L33] native code says nothing on standard output", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const program = new URL("../../tests/helpers/lance_write.ts", import.meta.url).pathname;
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", program, s.path, ref],
    env: { LANCE_LOG: "trace", RUST_LOG: "trace", LANCEDB_LOG: "trace" },
    stderr: "null",
  }).output();
  assert.equal(code, 0);
  const said = JSON.parse(new TextDecoder().decode(stdout));
  assert.equal(said.rows, 4);
  assert.notEqual(said.complaint, "none");
});
