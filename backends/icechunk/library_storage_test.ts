import { strict as assert } from "node:assert";
import type { StorageGetObjectConditionalArgs, StoragePutObjectArgs } from "@earthmover/icechunk-wasm32-wasi";
import { UnavailableError } from "../../engine/model/backend_errors.ts";
import { sha256 } from "../../engine/model/hash.ts";
import { LocalStorage } from "../storage/local.ts";
import type { Library } from "./library.ts";
import { type LibraryStorage, libraryStorage, ThrownErrors } from "./library_storage.ts";

/** The callbacks as the library calls them: an error first, which is never set. */
interface Callbacks {
  putObject(error: null, args: StoragePutObjectArgs): Promise<{ kind: string; newVersion?: { etag?: string } }>;
  copyObject(
    error: null,
    args: { from: string; to: string; version: { etag?: string } },
  ): Promise<{ kind: string }>;
  getObjectRange(
    error: null,
    args: { path: string; rangeStart?: number; rangeEnd?: number },
  ): Promise<{ data: Uint8Array; version: { etag?: string } }>;
  getObjectConditional(error: null, args: StorageGetObjectConditionalArgs): Promise<{ kind: string }>;
  listObjects(error: null, prefix: string): Promise<{ id: string; sizeBytes: number }[]>;
  deleteBatch(
    error: null,
    args: { prefix: string; batch: { id: string; size: number }[] },
  ): Promise<{ deletedObjects: number; deletedBytes: number }>;
  getObjectLastModified(error: null, path: string): Promise<Date>;
}

function callbacksOver(storage: LibraryStorage, errors = new ThrownErrors()): Callbacks {
  let captured: unknown;
  const library = { Storage: { newCustom: (callbacks: unknown) => captured = callbacks } } as unknown as Library;
  libraryStorage(library, storage, errors);
  return captured as Callbacks;
}

async function withFolder(fn: (callbacks: Callbacks, folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tether-icechunk-" });
  try {
    await fn(callbacksOver(new LocalStorage(folder, { kind: "icechunk" })), folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const text = (value: string): Buffer => new TextEncoder().encode(value) as Buffer;

Deno.test("[backends 3.4] writes are conditional on what the library read", async () => {
  await withFolder(async (io, folder) => {
    const put = (data: string, previousVersion?: { etag?: string }) =>
      io.putObject(null, {
        path: "refs/branch.main/ref.json",
        data: text(data),
        metadata: [],
        ...(previousVersion === undefined ? {} : { previousVersion }),
      });
    const cases: readonly (readonly [string, { etag?: string } | undefined, string])[] = [
      ["one", {}, "updated"],
      ["two", {}, "not_on_latest_version"],
      ["two", { etag: sha256("one") }, "updated"],
      ["three", { etag: sha256("one") }, "not_on_latest_version"],
      ["four", undefined, "updated"],
    ];
    for (const [data, expected, kind] of cases) {
      const answer = await put(data, expected);
      assert.equal(answer.kind, kind, data);
      if (kind === "updated") assert.equal(answer.newVersion?.etag, sha256(data));
    }
    assert.equal(await Deno.readTextFile(`${folder}/refs/branch.main/ref.json`), "four");
    const copy = (etag: string) =>
      io.copyObject(null, { from: "refs/branch.main/ref.json", to: "old/1", version: { etag } });
    assert.equal((await copy(sha256("three"))).kind, "not_on_latest_version");
    assert.equal((await copy(sha256("four"))).kind, "updated");
    assert.equal(await Deno.readTextFile(`${folder}/old/1`), "four");
  });
});

Deno.test("[backends 3.4] reads give ranges, versions, listings and 'does not exist' as the library wants them", async () => {
  await withFolder(async (io) => {
    await io.putObject(null, { path: "a/b/c", data: text("0123456789"), metadata: [] });
    await io.putObject(null, { path: "a/d", data: text("x"), metadata: [] });
    const whole = await io.getObjectRange(null, { path: "a/b/c" });
    assert.deepEqual([whole.data.length, whole.version.etag], [10, sha256("0123456789")]);
    const part = await io.getObjectRange(null, { path: "a/b/c", rangeStart: 2, rangeEnd: 5 });
    assert.equal(new TextDecoder().decode(part.data), "234");
    const etag = sha256("x");
    assert.equal(
      (await io.getObjectConditional(null, { path: "a/d", previousVersion: { etag } })).kind,
      "on_latest_version",
    );
    assert.equal((await io.getObjectConditional(null, { path: "a/d" })).kind, "modified");
    for (
      const [prefix, ids] of [["", ["a/b/c", "a/d"]], ["a/", ["b/c", "d"]], ["a/b", ["c"]], ["none/", []]] as const
    ) {
      assert.deepEqual((await io.listObjects(null, prefix)).map((o) => o.id).sort(), ids, prefix);
    }
    assert.ok((await io.getObjectLastModified(null, "a/d")).getTime() > 0);
    const absent = /^Error: ObjectNotFound: none$/;
    await assert.rejects(io.getObjectRange(null, { path: "none" }), absent);
    await assert.rejects(io.getObjectRange(null, { path: "none", rangeStart: 0, rangeEnd: 1 }), absent);
    await assert.rejects(io.getObjectConditional(null, { path: "none" }), absent);
    await assert.rejects(io.getObjectLastModified(null, "none"), absent);
    const batch = [{ id: "b/c", size: 10 }, { id: "none", size: 0 }];
    assert.deepEqual(await io.deleteBatch(null, { prefix: "a/", batch }), { deletedObjects: 2, deletedBytes: 10 });
    assert.deepEqual((await io.listObjects(null, "")).map((o) => o.id), ["a/d"]);
  });
});

Deno.test("[backends 1.9] an error of the storage is found again by what the library leaves of it", async () => {
  const errors = new ThrownErrors();
  const outage = new UnavailableError("Cannot read: the disk is busy", { kind: "icechunk" });
  const fail = () => Promise.reject(outage);
  const io = callbacksOver({ ...noStorage(fail), get: fail }, errors);
  const thrown = await io.getObjectRange(null, { path: "repo" }).catch((e: Error) => e);
  assert.ok(thrown instanceof Error && !thrown.message.includes("busy"));
  const left = `storage error: JS getObjectRange failed: GenericFailure, ${thrown.message}\n\ncontext:\n`;
  assert.equal(errors.find(left), outage);
  assert.equal(errors.find("storage error: something else"), undefined);
  for (let i = 0; i < 1500; i++) errors.wrap(new Error(String(i)));
  assert.equal(errors.find(left), undefined, "errors that nobody asks for are forgotten");
});

function noStorage(fail: () => Promise<never>): LibraryStorage {
  return {
    get: fail,
    getRange: fail,
    head: fail,
    // deno-lint-ignore require-yield
    async *list() {
      await fail();
    },
    put: fail,
    putIfAbsent: fail,
    putIfMatch: fail,
    delete: fail,
  };
}
