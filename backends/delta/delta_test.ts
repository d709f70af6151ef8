import { strict as assert } from "node:assert";
import { join } from "node:path";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { type CheckpointLayout, createDelta, type DeltaData } from "../../tests/helpers/delta_data.ts";
import { DEFAULT_SETTINGS, type ObjectBackend, type State, type Verdict } from "../backend.ts";
import { DeltaBackend } from "./delta.ts";
import { DeltaHandle } from "./handle.ts";

const backend: ObjectBackend = new DeltaBackend(DEFAULT_SETTINGS);

async function withFolder(fn: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-delta-" }));
  try {
    await fn(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function stateOf(table: DeltaData, at?: number): Promise<State> {
  return await backend.fingerprint({ uri: table.path, ...(at === undefined ? {} : { at: String(at) }) }, undefined);
}

async function deep(table: DeltaData, state: State): Promise<Verdict> {
  return await backend.verify({ uri: table.path }, state, undefined, { deep: true });
}

async function filesOf(table: DeltaData, state: State): Promise<string[]> {
  const handle = await backend.openHandle({ uri: table.path }, { on: "state", state }, { readOnly: true });
  assert.ok(handle instanceof DeltaHandle);
  return (await Array.fromAsync(handle.files())).map((f) => f.uri).sort();
}

async function fails(call: Promise<unknown>, code: string, text?: RegExp): Promise<void> {
  const error = await call.then(() => assert.fail(`must fail with ${code}`), (e) => e);
  assert.ok(error instanceof BackendError, String(error));
  assert.equal(error.code, code, error.message);
  if (text) assert.match(error.message, text);
}

Deno.test("[backends 3.6] every layout of a checkpoint gives the same table once the log behind it is gone", async (t) => {
  const layouts: CheckpointLayout[] = ["classic", "parts", "v2-parquet", "v2-json", "sidecars", "classic-sidecars"];
  for (const layout of layouts) {
    for (const codec of ["UNCOMPRESSED", "SNAPPY", "GZIP"] as const) {
      await t.step(`${layout} ${codec}`, () =>
        withFolder(async (folder) => {
          const table = await createDelta(`${folder}/t`, { id: "the-id", readerFeatures: ["v2Checkpoint"] });
          await table.append([1, 2]);
          await table.overwrite([3]);
          for (let i = 4; i < 9; i++) await table.append([i]);
          await table.checkpoint({ layout, codec, rowGroupSize: 2 });
          const kept = table.version;
          await table.append([9], { name: "sub%20dir/50%25.parquet" });
          await table.cleanLog(kept + 1 - 1);
          const state = await stateOf(table);
          assert.deepEqual(state, { version: kept + 1, table_id: "the-id" });
          assert.deepEqual(
            await filesOf(table, state),
            table.files.map((f) => join(table.path, decodeURIComponent(f))).sort(),
          );
          assert.deepEqual(await deep(table, state), { status: "ok" });
          assert.deepEqual(await stateOf(table, kept), { version: kept, table_id: "the-id" });
          await fails(stateOf(table, kept - 1), "state-gone", /version 0 is gone from the log/);
          assert.equal((await deep(table, { version: kept - 1, table_id: "the-id" })).status, "missing");
        }));
    }
  }
});

Deno.test("[backends 3.6] _last_checkpoint is only a hint", async (t) => {
  for (
    const hint of [undefined, "not JSON", "[]", '{"version":1}', '{"version":2}', '{"version":99}', '{"version":-1}']
  ) {
    await t.step(String(hint), () =>
      withFolder(async (folder) => {
        const table = await createDelta(`${folder}/t`, { id: "the-id" });
        await table.append([1]);
        await table.append([2]);
        await table.checkpoint({ hint: false });
        await table.append([3]);
        await table.append([4]);
        await table.checkpoint({ hint: false });
        await table.append([5]);
        if (hint !== undefined) await Deno.writeTextFile(`${table.path}/_delta_log/_last_checkpoint`, hint);
        assert.deepEqual(await stateOf(table), { version: 5, table_id: "the-id" });
        assert.deepEqual(await stateOf(table, 1), { version: 1, table_id: "the-id" });
        assert.equal((await filesOf(table, await stateOf(table))).length, 5);
      }));
  }
});

Deno.test("[backends 3.6] a gap after the newest checkpoint is an error, not an older head", () =>
  withFolder(async (folder) => {
    const table = await createDelta(`${folder}/t`);
    await table.append([1]);
    await table.append([2]);
    await table.append([3]);
    await Deno.remove(table.logFile(2));
    await fails(stateOf(table), "library", /version 2 is missing from its log, which goes to 3/);
    assert.equal((await deep(table, { version: 1, table_id: "x" })).status, "unknown");
    await Deno.remove(table.logFile(3));
    assert.equal((await stateOf(table))["version"], 1);
  }));

Deno.test("[backends 3.6] other files of the log decide nothing", () =>
  withFolder(async (folder) => {
    const table = await createDelta(`${folder}/t`);
    await table.append([1]);
    for (
      const name of [
        "00000000000000000002.crc",
        "00000000000000000000.00000000000000000009.compacted.json",
        "00000000000000000002.json.tmp",
        "00000000000000000009.checkpoint.0000000001.0000000002.parquet",
        "00000000000000000008.checkpoint.json",
        "_commits",
      ]
    ) await Deno.writeTextFile(`${table.path}/_delta_log/${name}`, "{}");
    assert.equal((await stateOf(table))["version"], 1);
  }));

Deno.test("[L06] deep verify looks for every file under its decoded or absolute path", () =>
  withFolder(async (folder) => {
    const table = await createDelta(`${folder}/t`);
    await Deno.writeTextFile(`${folder}/out side.parquet`, "abc");
    await Deno.writeTextFile(`${folder}/other`, "abcd");
    await table.append([1], { name: "p=a%2520b/x%23.parquet" });
    await table.commit([
      { add: { path: `file://${folder}/out%20side.parquet`, size: 3, partitionValues: { p: null } } },
      { add: { path: `${folder}/other`, size: 4, partitionValues: {} } },
    ]);
    const state = await stateOf(table);
    assert.deepEqual(await deep(table, state), { status: "ok" });
    await Deno.writeTextFile(`${folder}/other`, "abc");
    assert.deepEqual(await deep(table, state), {
      status: "drifted",
      message: `"${folder}/other" has 3 bytes, the log says 4`,
    });
    await Deno.remove(`${folder}/other`);
    assert.deepEqual(await deep(table, state), { status: "missing", message: `"${folder}/other" is gone` });
    await Deno.writeTextFile(`${folder}/other`, "abcd");
    await Deno.remove(`${table.path}/p=a%20b/x#.parquet`);
    assert.match((await deep(table, state)).message ?? "", /x#.parquet" is gone/);
    await table.commit([{ add: { path: "s3://bucket/a.parquet", size: 1, partitionValues: {} } }]);
    await fails(deep(table, await stateOf(table)), "capability", /s3:\/\/bucket\/a.parquet/);
  }));

Deno.test("[backends 3.6] a file and its deletion vector are one entry, and vectors on disk must exist", () =>
  withFolder(async (folder) => {
    const table = await createDelta(`${folder}/t`, { readerFeatures: ["deletionVectors"] });
    const path = await table.append([1, 2, 3]);
    const add = { path, size: (await Deno.stat(`${table.path}/${path}`)).size, partitionValues: {}, dataChange: true };
    // "ab" is a prefix folder; the 20 characters after it spell the UUID.
    const relative = {
      storageType: "u",
      pathOrInlineDv: "ab^-aqEH.-t@S}K{vb[*k^",
      offset: 4,
      sizeInBytes: 40,
      cardinality: 1,
    };
    const absolute = { ...relative, storageType: "p", pathOrInlineDv: `${folder}/dv%201.bin` };
    const inline = {
      ...relative,
      storageType: "i",
      pathOrInlineDv: "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    };
    await table.commit([{ remove: { path, dataChange: true } }, { add: { ...add, deletionVector: relative } }]);
    const first = await stateOf(table);
    const file = `${table.path}/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin`;
    assert.deepEqual(await deep(table, first), { status: "missing", message: `"${file}" is gone` });
    await Deno.mkdir(`${table.path}/ab`);
    await Deno.writeTextFile(file, "x");
    assert.deepEqual(await deep(table, first), { status: "ok" });
    await table.commit([
      { remove: { path, dataChange: true, deletionVector: relative } },
      { add: { ...add, deletionVector: absolute } },
    ]);
    const second = await stateOf(table);
    assert.deepEqual(await deep(table, second), { status: "missing", message: `"${folder}/dv 1.bin" is gone` });
    await table.commit([
      { remove: { path, dataChange: true, deletionVector: absolute } },
      { add: { ...add, deletionVector: inline } },
    ]);
    await table.checkpoint();
    const third = await stateOf(table);
    assert.deepEqual(await deep(table, third), { status: "ok" });
    assert.deepEqual(await filesOf(table, third), [`${table.path}/${path}`]);
    await table.commit([{ remove: { path, dataChange: true, deletionVector: inline } }]);
    assert.deepEqual(await filesOf(table, await stateOf(table)), []);
  }));

Deno.test("[backends 3.6] an unknown reader feature stops what needs the files, and nothing else", () =>
  withFolder(async (folder) => {
    const table = await createDelta(`${folder}/t`, { readerFeatures: ["columnMapping", "quantumRows"] });
    await table.append([1]);
    const state = await stateOf(table);
    assert.equal((await backend.verify({ uri: table.path }, state, undefined, { deep: false })).status, "unknown");
    await fails(deep(table, state), "capability", /"quantumRows"/);
    await fails(filesOf(table, state), "capability", /"quantumRows"/);
    const later = await createDelta(`${folder}/later`);
    await later.commit([{ protocol: { minReaderVersion: 4, minWriterVersion: 8 } }]);
    await fails(deep(later, await stateOf(later)), "capability", /reader version 4/);
  }));

Deno.test("[backends 3.6] a table made anew in the same place is another table", () =>
  withFolder(async (folder) => {
    const old = await createDelta(`${folder}/t`, { id: "old" });
    await old.append([1]);
    const states = [await stateOf(old, 0), await stateOf(old)];
    await Deno.remove(old.path, { recursive: true });
    const table = await createDelta(`${folder}/t`, { id: "new" });
    for (const state of states) {
      assert.equal((await deep(table, state)).status, "drifted");
      const target = { on: "state", state } as const;
      await fails(backend.openHandle({ uri: table.path }, target, { readOnly: true }), "state-gone");
    }
    assert.equal((await deep(table, { version: 7, table_id: "new" })).status, "missing");
    const [before, after] = [states[1] ?? {}, await stateOf(table)];
    const diff = await backend.diff?.({ uri: table.path }, before, after);
    assert.equal(diff?.modified, 1);
    assert.match(diff?.note ?? "", /another table/);
  }));

Deno.test("[backends 3.6] a table id is the one in force at the version", () =>
  withFolder(async (folder) => {
    const table = await createDelta(`${folder}/t`, { id: "first" });
    await table.append([1]);
    await table.commit([{ metaData: { id: "second", configuration: {} } }], { operation: "REPLACE" });
    for (let i = 0; i < 40; i++) await table.append([i]);
    assert.deepEqual(await stateOf(table), { version: 42, table_id: "second" });
    assert.deepEqual(await stateOf(table, 1), { version: 1, table_id: "first" });
    assert.deepEqual(await stateOf(table, 2), { version: 2, table_id: "second" });
  }));

Deno.test("[backends 3.6] history tells the time and rows of each writer's spelling", () =>
  withFolder(async (folder) => {
    const table = await createDelta(`${folder}/t`);
    const second = Date.UTC(2024, 0, 2, 3, 4, 5, 678);
    await table.append([1, 2], { timestamp: second });
    await table.commit([], {
      operation: "WRITE",
      timestamp: second,
      info: { inCommitTimestamp: second + 1000 },
      metrics: { numOutputRows: "7", numFiles: "2" },
    });
    await table.commit([], {
      operation: "MERGE",
      timestamp: second,
      metrics: { numOutputRows: "9", numTargetRowsInserted: "1", numTargetRowsUpdated: "2", numTargetRowsDeleted: "0" },
    });
    await table.commit([], {
      operation: "OPTIMIZE",
      timestamp: second,
      metrics: { numFilesAdded: 1, numFilesRemoved: 2 },
    });
    await Deno.writeTextFile(table.logFile(5), '{"txn":{"appId":"a","version":9007199254740993}}\n');
    await Deno.utime(table.logFile(5), second / 1000, second / 1000);
    const entries = await backend.history?.({ uri: table.path }, { limit: 5 }) ?? [];
    assert.deepEqual(entries.map((e) => [e.id, e.when, e.message]), [
      ["5", "2024-01-02T03:04:05.678Z", "commit"],
      ["4", "2024-01-02T03:04:05.678Z", "OPTIMIZE"],
      ["3", "2024-01-02T03:04:05.678Z", "MERGE: +1 rows, ~2 rows"],
      ["2", "2024-01-02T03:04:06.678Z", "WRITE: +7 rows"],
      ["1", "2024-01-02T03:04:05.678Z", "WRITE: +2 rows"],
    ]);
    const [a, b] = [await stateOf(table, 1), await stateOf(table, 4)];
    const diff = await backend.diff?.({ uri: table.path }, a, b);
    assert.deepEqual(diff, {
      unit: "commits",
      added: 0,
      removed: 0,
      modified: 3,
      entries: [
        { path: "v2", change: "modified", detail: "WRITE: +7 rows, +2 files" },
        { path: "v3", change: "modified", detail: "MERGE: +1 rows, ~2 rows" },
        { path: "v4", change: "modified", detail: "OPTIMIZE: +1 files, -2 files" },
      ],
      truncated: false,
      note: "",
    });
    const back = await backend.diff?.({ uri: table.path }, b, a);
    assert.deepEqual([back?.modified, back?.note], [3, "the second state is the older one"]);
  }));

Deno.test("[backends 3.6] a version lasts until its first file may be vacuumed or its log cleaned up", () =>
  withFolder(async (folder) => {
    const table = await createDelta(`${folder}/t`, {
      configuration: { "delta.deletedFileRetentionDuration": "interval 2 days" },
    });
    const day = 86_400_000;
    const written = Date.UTC(2024, 0, 1);
    const removed = Date.UTC(2024, 0, 9);
    const retention = async (version: number) =>
      await backend.retention?.({ uri: table.path }, await stateOf(table, version), {});
    const touch = (version: number) => Deno.utime(table.logFile(version), written / 1000, written / 1000);
    await table.append([1]);
    await touch(1);
    assert.equal((await retention(1))?.enforced, "none");
    assert.equal((await retention(1))?.until, undefined);
    await table.append([2]);
    assert.deepEqual(await retention(1), {
      until: new Date(written + 30 * day),
      rule: "kept while newest, then files 2 days from their removal and the log 30 days",
      enforced: "operator",
    });
    await table.overwrite([3], { timestamp: removed });
    await touch(2);
    assert.deepEqual((await retention(1))?.until, new Date(removed + 2 * day));
    assert.deepEqual((await retention(2))?.until, new Date(removed + 2 * day));
    await table.checkpoint();
    assert.deepEqual((await retention(2))?.until, new Date(removed + 2 * day));
  }));

Deno.test("[backends 3.6] a locator names a local folder and a numbered version", async (t) => {
  const bad: [Record<string, string>, RegExp][] = [
    [{}, /no uri/],
    [{ uri: "/t", at: "v3" }, /"v3"/],
    [{ uri: "/t", at: "-1" }, /"-1"/],
    [{ uri: "/t", at: "99999999999999999999" }, /99999999999999999999/],
  ];
  for (const [locator, text] of bad) {
    await t.step(JSON.stringify(locator), async () => {
      await fails(Promise.resolve(backend.validateLocator?.(locator)), "locator", text);
    });
  }
  await t.step(
    "an object store is not reached yet",
    () => fails(Promise.resolve(backend.validateLocator?.({ uri: "s3://bucket/t" })), "capability", /local paths only/),
  );
  await t.step("a relative path of an old manifest is taken from the dataset root", () =>
    withFolder(async (folder) => {
      await createDelta(`${folder}/data/t`, { id: "the-id" });
      const there = new DeltaBackend({ ...DEFAULT_SETTINGS, datasetRoot: folder });
      assert.equal((await there.fingerprint({ path: "./data/t/" }, undefined))["table_id"], "the-id");
      assert.deepEqual(there.identity({ path: "./data/t/" }), { uri: "data/t" });
      assert.deepEqual(
        there.statics.permissions({ path: "./data/t/" }, "read", { ...DEFAULT_SETTINGS, datasetRoot: folder }).read,
        [
          `${folder}/data/t`,
        ],
      );
    }));
  await t.step("no branch and no tag is ever anything but an error", () =>
    withFolder(async (folder) => {
      const table = await createDelta(`${folder}/t`);
      await fails(backend.fingerprint({ uri: table.path }, "tether.ws.0a1b2c3d.x"), "capability");
      const pin = { id: "0a1b2c3d.0", ref: "tether.0a1b2c3d.0" };
      await fails(backend.openHandle({ uri: table.path }, { on: "pin", pin }, { readOnly: true }), "capability");
    }));
});
