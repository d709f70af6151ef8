import { strict as assert } from "node:assert";
import {
  BackendError,
  CapabilityError,
  InvalidLocatorError,
  StateGoneError,
  StoreNotFoundError,
} from "../../engine/model/backend_errors.ts";
import type { State } from "../backend.ts";
import { lanceRows, withLanceTable } from "../../tests/helpers/lance_data.ts";
import { fork, head, PIN, REF, setting, write } from "./_test_setting.ts";
import { lanceStatics } from "./statics.ts";

Deno.test("[backends 3.5] a branch that nobody wrote to is at its parent's address, one that was written to has its own", async () => {
  await using s = await setting();
  assert.deepEqual(await head(s), { branch: "main", version: 2 });
  const ref = await fork(s);
  assert.deepEqual(await head(s, ref), { branch: "main", version: 2 });
  const written = await write(s, ref);
  assert.equal(written["branch"], ref);
  assert.equal(written["version"], 3);
  assert.match(String(written["branch_id"]), /^[0-9a-f]{32}$/);
  assert.deepEqual(await head(s), { branch: "main", version: 2 }, "the base is left alone");

  const nested = await s.backend.fork(s.locator, { on: "ref", ref }, `${REF}-nested`);
  assert.deepEqual(await head(s, nested), written, "the parent's own id is part of its address");
  const deeper = await write(s, nested);
  assert.notEqual(deeper["branch_id"], written["branch_id"]);
  assert.equal((await lanceRows(s.path, { branch: nested })).length, 5, "LanceDB reads through both parents");
});

Deno.test("[backends 3.5] `at` is a tag, else a version of the locator's branch, and is taken literally", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const written = await write(s, ref);
  await s.backend.pin(s.locator, written, PIN);
  const at = (at: string | number, branch?: string): Promise<State> =>
    s.backend.fingerprint({ ...s.locator, at, ...(branch === undefined ? {} : { branch }) }, undefined);
  assert.deepEqual(await at(`tether.${PIN}`), written);
  assert.deepEqual(await at("1"), { branch: "main", version: 1 });
  assert.deepEqual(await at(1), { branch: "main", version: 1 });
  assert.deepEqual(await at(3, ref), written);
  assert.deepEqual(
    await at(2, ref),
    { ...written, version: 2 },
    "the first version of a branch is one of its own here",
  );
  assert.deepEqual(await at(" "), { branch: "main", version: 2 }, "a blank is no position");
  for (const gone of ["0", "3", "99", "nothing", "../x", "18446744073709551616"]) {
    await assert.rejects(at(gone), StateGoneError, gone);
  }
  const history = await s.backend.history({ ...s.locator, branch: ref }, { limit: 9 });
  assert.deepEqual(history.map((h) => [h.id, h.refs]), [["3", [ref, `tether.${PIN}`]], ["2", []]]);
  assert.match(history[0]?.message ?? "", /^total_data_file_rows=4, .*total_rows=4$/);
  const detached = await s.backend.history({ ...s.locator, at: "1" }, { limit: 9 });
  assert.deepEqual(detached.map((h) => h.id), ["1"]);
});

Deno.test("[backends 3.5] what is not there is told apart: no table, no branch, no version", async () => {
  await using s = await setting();
  const nowhere = { uri: `${s.folder}/nothing.lance` };
  await assert.rejects(s.backend.fingerprint(nowhere, undefined), StoreNotFoundError);
  await assert.rejects(s.backend.fingerprint(nowhere, REF), StoreNotFoundError);
  await assert.rejects(s.backend.listPins(nowhere), StoreNotFoundError);
  await assert.rejects(s.backend.fork(nowhere, { on: "ref", ref: "main" }, REF), StoreNotFoundError);
  await assert.rejects(head(s, REF), StateGoneError);
  await assert.rejects(s.backend.history(s.locator, { ref: REF, limit: 1 }), StateGoneError);
  await assert.rejects(s.backend.validateLocator({}), InvalidLocatorError);
  await assert.rejects(s.backend.validateLocator({ uri: "s3://bucket/t.lance" }), CapabilityError);
  for (const state of [{}, { branch: "main" }, { branch: 7, version: 1 }, { branch: "", version: 1 }]) {
    await assert.rejects(s.backend.pin(s.locator, state, PIN), BackendError);
  }
  await assert.rejects(s.backend.fork(s.locator, { on: "ref", ref: "main" }, `${REF}.lock`), InvalidLocatorError);
});

Deno.test("[backends 3.5] a diff counts fragments and names columns", async () => {
  await using s = await setting();
  const [v1, v2] = [{ branch: "main", version: 1 }, await head(s)];
  const added = await s.backend.diff(s.locator, v1, v2);
  assert.deepEqual([added.unit, added.added, added.removed, added.modified], ["fragments", 1, 0, 0]);
  assert.deepEqual(added.entries, [{ path: "fragment 1", change: "added", detail: "+1 rows" }]);
  assert.deepEqual((await s.backend.diff(s.locator, v2, v1)).entries, [
    { path: "fragment 1", change: "removed", detail: "-1 rows" },
  ]);

  const [left, right] = [await fork(s, `${REF}-l`), await fork(s, `${REF}-r`)];
  await withLanceTable(s.path, (table) => table.delete("id = 1"), { branch: left });
  await withLanceTable(s.path, (table) => table.addColumns([{ name: "twice", valueSql: "id * 2" }]), { branch: left });
  await write(s, right);
  assert.deepEqual((await s.backend.diff(s.locator, v2, await head(s, left))).entries, [
    { path: "fragment 0", change: "modified", detail: "data files changed, -1 rows" },
    { path: "fragment 1", change: "modified", detail: "data files changed" },
    { path: "column twice", change: "added" },
  ]);
  await write(s, left);
  assert.deepEqual((await s.backend.diff(s.locator, await head(s, right), await head(s, left))).entries.at(-2), {
    path: "fragment 2",
    change: "modified",
    detail: "rewritten, +0 rows",
  }, "one id stands for two fragments once branches went apart");
});

Deno.test("[backends 3.5] how long a version lasts is up to the table, else to its keeper", async () => {
  await using s = await setting();
  assert.deepEqual(await s.backend.retention(s.locator, await head(s), {}), {
    rule: "kept until somebody cleans up old versions",
    enforced: "operator",
  });
  const path = `${s.folder}/kept.lance`;
  await Deno.mkdir(`${path}/_versions`, { recursive: true });
  const fixture = new URL("../../tests/fixtures/lance/nested/source.manifest", import.meta.url);
  await Deno.copyFile(fixture, `${path}/_versions/8.manifest`);
  assert.deepEqual(await s.backend.retention({ uri: path }, { branch: "main", version: 8 }, {}), {
    rule: "every 20 commits versions older than 14days are removed",
    enforced: "automatic",
  });
});

Deno.test("[backends 4] reading needs the table's path, moving refs also the right to write there, and nothing else", () => {
  const locator = { uri: "/nowhere/t.lance/" };
  const none = { net: [], env: [], run: [], ffi: [], sys: [], ambient: false };
  assert.deepEqual(lanceStatics.permissions(locator, "read"), { ...none, read: ["/nowhere/t.lance"], write: [] });
  for (const access of ["refs", "lifecycle"] as const) {
    assert.deepEqual(lanceStatics.permissions(locator, access), {
      ...none,
      read: ["/nowhere/t.lance"],
      write: ["/nowhere/t.lance"],
    });
  }
});
