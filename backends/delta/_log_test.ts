import { strict as assert } from "node:assert";
import { createDelta } from "../../tests/helpers/delta_data.ts";
import type { FolderListing, ObjectStorage, StoredObject } from "../storage/storage.ts";
import { openLog } from "./_log.ts";
import { durationOf } from "./_retention.ts";
import { openTable, resolveLogPath, type Table } from "./_table.ts";

/** A table whose storage is watched, and may answer in its own way. */
function watched(
  path: string,
  answers: {
    readonly get?: (key: string, found: StoredObject | undefined) => StoredObject | undefined;
    readonly list?: (found: FolderListing) => FolderListing;
  } = {},
): Table & { readonly reads: string[]; readonly lists: (string | undefined)[] } {
  const table = openTable({ uri: path }, { config: {}, rules: [] });
  const reads: string[] = [];
  const lists: (string | undefined)[] = [];
  const inner = table.storage;
  const storage: Pick<ObjectStorage, "get" | "getRange" | "listFolder"> = {
    async get(key) {
      reads.push(key.replace("_delta_log/", ""));
      const found = await inner.get(key);
      return answers.get ? answers.get(key, found) : found;
    },
    getRange: (key, range) => inner.getRange(key, range),
    async listFolder(folder, options) {
      lists.push(options?.from?.replace(/^0+(?=\d)/, ""));
      const found = await inner.listFolder(folder, options);
      return answers.list ? answers.list(found) : found;
    },
  };
  // The log calls nothing else.
  return { ...table, storage: storage as ObjectStorage, reads, lists };
}

async function withTable(fn: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tether-delta-" });
  try {
    const table = await createDelta(`${folder}/t`, { id: "the-id" });
    for (let i = 1; i <= 25; i++) await table.append([i]);
    await table.checkpoint();
    for (let i = 26; i <= 28; i++) await table.append([i]);
    await fn(table.path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("[backends 3.6] a fingerprint lists the log from the checkpoint on and reads the commits after it", () =>
  withTable(async (path) => {
    const table = watched(path);
    const log = await openLog(table);
    assert.equal(log.head, 28);
    assert.equal((await log.metadataAt(28)).id, "the-id");
    assert.deepEqual(table.lists, ["25"]);
    assert.deepEqual(table.reads.sort(), [
      "00000000000000000026.json",
      "00000000000000000027.json",
      "00000000000000000028.json",
      "_last_checkpoint",
    ]);
  }));

Deno.test("[backends 3.6] a commit that is half written is read once more", () =>
  withTable(async (path) => {
    let torn = 1;
    const table = watched(path, {
      get(key, found) {
        if (!found || !key.endsWith("28.json") || torn-- <= 0) return found;
        return { ...found, version: found.version, bytes: found.bytes.slice(0, found.bytes.length - 5) };
      },
    });
    assert.equal((await (await openLog(table)).commitInfo(28)).operation, "WRITE");
    torn = 2;
    await assert.rejects((await openLog(table)).commitInfo(28), /version 28 .* its log entry is not JSON/);
    torn = 0;
    await Deno.writeTextFile(`${path}/_delta_log/00000000000000000029.json`, "");
    assert.deepEqual(await (await openLog(table)).commit(29, ["add"]), []);
  }));

Deno.test("[backends 3.6] a listing that missed a commit made meanwhile is made once more", () =>
  withTable(async (path) => {
    let hidden = 1;
    const table = watched(path, {
      list(found) {
        if (hidden-- <= 0) return found;
        return { ...found, objects: found.objects.filter((o) => !o.key.endsWith("27.json")) };
      },
    });
    assert.equal((await openLog(table)).head, 28);
    hidden = 2;
    await assert.rejects(openLog(table), /version 27 is missing/);
  }));

Deno.test("[backends 3.6] a file that goes away between listing and reading is a change, not a gone state", () =>
  withTable(async (path) => {
    const log = await openLog(watched(path));
    await Deno.remove(`${path}/_delta_log/00000000000000000027.json`);
    await assert.rejects(log.metadataAt(28), { code: "unstable", retryable: true });
  }));

Deno.test("resolveLogPath() decodes once and keeps what is no code", () => {
  const cases: [string, string][] = [
    ["a.parquet", "/t/a.parquet"],
    ["p=a%2520b/x", "/t/p=a%20b/x"],
    ["100%.parquet", "/t/100%.parquet"],
    ["./a/../b", "/t/b"],
    ["/elsewhere/x%20y", "/elsewhere/x y"],
    ["file:///elsewhere/x%20y", "/elsewhere/x y"],
    ["s3://bucket/x%20y", "s3://bucket/x y"],
    ["a%3Ab.parquet", "/t/a:b.parquet"],
  ];
  for (const [path, place] of cases) assert.equal(resolveLogPath("/t", path), place, path);
});

Deno.test("durationOf() reads intervals of every unit", () => {
  const cases: [string | undefined, number | undefined][] = [
    [undefined, undefined],
    ["interval 7 days", 604_800_000],
    ["INTERVAL 1 WEEK 2 hours", 612_000_000],
    ["30 minutes", 1_800_000],
    ["interval 1 second 5 milliseconds", 1005],
    ["interval 0 hours", 0],
    ["interval 1 month", undefined],
    ["soon", undefined],
  ];
  for (const [text, milliseconds] of cases) assert.equal(durationOf(text), milliseconds, String(text));
});
