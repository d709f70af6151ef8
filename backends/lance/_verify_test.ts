import { strict as assert } from "node:assert";
import { StateGoneError } from "../../engine/model/backend_errors.ts";
import { withLanceTable } from "../../tests/helpers/lance_data.ts";
import { fork, head, PIN, REF, setting, write } from "./_test_setting.ts";

Deno.test("[backends 3.5] a state is of one life of its branch", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const before = await write(s, ref);
  await withLanceTable(s.path, async (table) => {
    const branches = await table.branches();
    await branches.delete(ref);
    await branches.create(ref);
  });
  const after = await write(s, ref);
  assert.equal(after["version"], before["version"]);
  assert.notEqual(after["branch_id"], before["branch_id"]);
  for (const deep of [false, true]) {
    assert.equal((await s.backend.verify(s.locator, before, undefined, { deep })).status, "missing");
  }
  await assert.rejects(s.backend.pin(s.locator, before, PIN), StateGoneError);
  await assert.rejects(s.backend.fork(s.locator, { on: "state", state: before }, `${REF}-b`), StateGoneError);
  await assert.rejects(
    s.backend.openHandle(s.locator, { on: "state", state: before }, { readOnly: true }),
    StateGoneError,
  );

  const pin = await s.backend.pin(s.locator, after, PIN);
  const verdicts = await s.backend.verifyPins(s.locator, [{ state: before, pin }, { state: after, pin }]);
  assert.deepEqual(verdicts.map((v) => v.status), ["drifted", "ok"]);
  // A tag may survive its branch: not every Lance refuses to delete one.
  await Deno.remove(`${s.path}/_refs/branches/${ref}.json`);
  assert.equal((await s.backend.verify(s.locator, after, pin, { deep: false })).status, "missing");
  const { branch_id: _, ...old } = await write(s, await fork(s, `${REF}-c`));
  assert.equal(
    (await s.backend.verify(s.locator, old, undefined, { deep: true })).status,
    "ok",
    "states once had no id",
  );
});

Deno.test("[L06] a deep look finds lost data, and says how much it looked at", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const state = await write(s, ref);
  const pin = await s.backend.pin(s.locator, state, PIN);
  const look = async (deep: boolean) => await s.backend.verify(s.locator, state, pin, { deep });
  assert.deepEqual(await look(true), { status: "ok", message: "files of 3 of 3 fragments looked for" });

  const [own] = await Array.fromAsync(Deno.readDir(`${s.path}/tree/${ref}/data`));
  const file = `${s.path}/tree/${ref}/data/${own?.name}`;
  const bytes = await Deno.readFile(file);
  await Deno.writeFile(file, bytes.subarray(1));
  assert.match((await look(true)).message ?? "", /has [0-9]+ bytes instead of [0-9]+/);
  await Deno.remove(file);
  assert.equal((await look(true)).status, "missing");
  assert.equal((await look(false)).status, "ok", "a shallow look claims only that the pin names the state");
  await Deno.writeFile(file, bytes);
  assert.equal((await look(true)).status, "ok");

  await Deno.rename(`${s.path}/data`, `${s.path}/elsewhere`);
  assert.equal((await look(true)).status, "missing", "a fork needs the files of its parent");
  await Deno.rename(`${s.path}/elsewhere`, `${s.path}/data`);

  await withLanceTable(s.path, (table) => table.delete("id = 9"), { branch: ref });
  const deleted = await head(s, ref);
  assert.equal((await s.backend.verify(s.locator, deleted, undefined, { deep: true })).status, "ok");
});

Deno.test("[L06] a table that was moved breaks its forks, and verify says so", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const state = await write(s, ref);
  const moved = `${s.folder}/moved.lance`;
  await Deno.rename(s.path, moved);
  const verdict = await s.backend.verify({ uri: moved }, state, undefined, { deep: true });
  assert.equal(verdict.status, "missing");
  const base = await s.backend.fingerprint({ uri: moved }, undefined);
  assert.equal((await s.backend.verify({ uri: moved }, base, undefined, { deep: true })).status, "ok");
});
