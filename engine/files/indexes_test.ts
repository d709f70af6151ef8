import assert from "node:assert/strict";
import { join } from "node:path";
import type { JsonObject } from "../model/json.ts";
import { filesBelow, inTempDir } from "./_test_dirs.ts";
import { CloneIndexes } from "./indexes.ts";

const FIXTURES = new URL("../../tests/fixtures/peer/", import.meta.url);
const NOW = () => new Date("2026-11-30T01:44:36.286Z");
const PIN = { pinId: "e274367c.37352f99e78f1ed9", kind: "git", key: "code" };
const STORE = { kind: "git", identity: { path: "/é" }, locator: { uri: "/é", ref: "main" }, key: "code" };

Deno.test("[formats 12] records are written as the contract shows them", async () => {
  await inTempDir(async (folder) => {
    const indexes = new CloneIndexes(folder, "e274367c", { now: NOW });
    await indexes.seed([PIN]);
    await indexes.addTouched(STORE);
    await indexes.addCreated({ ...STORE, bookmark: null });
    const read = (name: string) => Deno.readTextFile(join(folder, `tether-${name}.jsonl`));
    assert.equal(
      await read("pinned"),
      `{"dataset_id": "e274367c", "pin_id": "e274367c.37352f99e78f1ed9", "kind": "git", "key": "code", ` +
        `"at": "2026-11-30T01:44:36+00:00"}\n`,
    );
    const store = `{"dataset_id": "e274367c", "kind": "git", "identity": {"path": "/\\u00e9"}, "locator": ` +
      `{"uri": "/\\u00e9", "ref": "main"}, "key": "code", "at": "2026-11-30T01:44:36.286000+00:00"`;
    assert.equal(await read("touched"), store + "}\n");
    assert.equal(await read("created"), store + `, "bookmark": null}\n`);
    assert.equal((await filesBelow(folder)).length, 3);
  });
});

Deno.test("[formats 12] the peer's indexes read in full", async () => {
  const indexes = new CloneIndexes(FIXTURES.pathname, "92e3c212");
  assert.equal((await indexes.pinned()).size, 5);
  assert.deepEqual((await indexes.touched()).map((entry) => entry.key).sort(), [
    "code",
    "features",
    "made",
    "zarr/img",
  ]);
  assert.deepEqual(await indexes.created(), [{
    kind: "git",
    identity: { path: "/data/lab/made" },
    locator: { uri: "/data/lab/made" },
    key: "made",
    at: "2026-11-30T03:54:05.729241+00:00",
    bookmark: "feat/x",
  }]);
  assert.equal((await new CloneIndexes(FIXTURES.pathname, "00000000").pinned()).size, 0);
});

Deno.test("[formats 12] the index of pins exists only once it is seeded", async () => {
  await inTempDir(async (folder) => {
    const indexes = new CloneIndexes(folder, "e274367c", { now: NOW });
    assert.equal(await indexes.isSeeded(), false);
    await assert.rejects(indexes.addPin(PIN), TypeError);
    await indexes.removePins([PIN.pinId]);
    assert.equal(await indexes.isSeeded(), false, "removing makes no index");
    await indexes.seed([]);
    assert.equal(await indexes.isSeeded(), true, "an empty one counts");
    await indexes.seed([PIN]);
    assert.deepEqual([...await indexes.pinned()], [], "a second seeding does nothing");
    await indexes.addPin(PIN);
    await indexes.addPin(PIN);
    assert.equal((await Deno.readTextFile(join(folder, "tether-pinned.jsonl"))).split("\n").length, 2);
    await indexes.removePins([PIN.pinId]);
    assert.deepEqual([[...await indexes.pinned()], await indexes.isSeeded()], [[], true]);
  });
});

Deno.test("[formats 12] entries of other datasets, and lines that are none, outlive every change", async () => {
  await inTempDir(async (folder) => {
    const ours = new CloneIndexes(folder, "e274367c", { now: NOW });
    const theirs = new CloneIndexes(folder, "0a1b2c3d", { now: NOW });
    await ours.seed([PIN]);
    await theirs.addPin(PIN);
    await Deno.writeTextFile(join(folder, "tether-pinned.jsonl"), '{"dataset_id": "e27', { append: true });
    await ours.addPin({ ...PIN, pinId: "e274367c.0000000000000000" });
    await ours.removePins([PIN.pinId, "e274367c.0000000000000000"]);
    assert.deepEqual([...await ours.pinned()], []);
    assert.deepEqual([...await theirs.pinned()], [PIN.pinId]);
    assert.match(await Deno.readTextFile(join(folder, "tether-pinned.jsonl")), /^{"dataset_id": "e27$/m);
    await ours.addTouched(STORE);
    await theirs.addTouched(STORE);
    await ours.removeTouched([{ path: "/other" }]);
    assert.equal((await ours.touched()).length, 1);
    await ours.removeTouched([STORE.identity]);
    assert.deepEqual([(await ours.touched()).length, (await theirs.touched()).length], [0, 1]);
  });
});

Deno.test("[formats 12] touched stores are unique by identity, created ones are not", async () => {
  await inTempDir(async (folder) => {
    const indexes = new CloneIndexes(folder, "e274367c");
    await indexes.addTouched(STORE);
    await indexes.addTouched({ ...STORE, kind: "other", key: "again" });
    await indexes.addTouched({ ...STORE, identity: { path: "/é", n: 9007199254740993n } });
    await indexes.addTouched({ ...STORE, identity: { n: 9007199254740993n, path: "/é" } });
    await indexes.addTouched({ ...STORE, identity: { n: 9007199254740992n, path: "/é" } });
    assert.deepEqual((await indexes.touched()).map((entry) => entry.identity["n"]), [
      undefined,
      9007199254740993n,
      9007199254740992n,
    ]);
    for (const bookmark of ["a", "b"]) await indexes.addCreated({ ...STORE, bookmark });
    assert.deepEqual((await indexes.created()).map((entry) => entry.bookmark), ["a", "b"]);
    await indexes.removeCreated([STORE.identity]);
    assert.deepEqual(await indexes.created(), []);
  });
});

Deno.test("[formats 16] reidentify() renames stores and merges what becomes one", async () => {
  await inTempDir(async (folder) => {
    const indexes = new CloneIndexes(folder, "e274367c", { now: NOW });
    for (const path of ["/a", "/a/", "/b"]) await indexes.addTouched({ ...STORE, identity: { path } });
    await indexes.addCreated({ ...STORE, identity: { path: "/b/" }, bookmark: "x" });
    const identityOf = ({ identity }: { identity: JsonObject }) =>
      identity["path"] === "/b" ? undefined : { path: String(identity["path"]).replace(/\/$/, "") };
    assert.equal(await indexes.reidentify(identityOf), 2);
    assert.deepEqual((await indexes.touched()).map((entry) => entry.identity["path"]), ["/a", "/b"]);
    assert.deepEqual((await indexes.created()).map((entry) => [entry.identity["path"], entry.bookmark]), [["/b", "x"]]);
    assert.equal(await indexes.reidentify(identityOf), 0);
  });
});
