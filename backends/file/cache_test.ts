import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { UnavailableError } from "../../engine/model/backend_errors.ts";
import { compareCodePoints } from "../../engine/model/json.ts";
import type { State } from "../backend.ts";
import { cachePath, CacheReader, writeCache } from "./_cache.ts";
import { digestOf } from "./_listing.ts";
import { type Row, Rows } from "./_rows.ts";
import { intercept, openFile, type Temporary, temporary } from "./_temporary.ts";

// Later than the distrust window after anything these tests write.
const later = (): Date => new Date(Date.now() + 10_000);

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Fingerprints and counts the files below `data` that were opened. */
async function opened(
  folder: Temporary,
  options: { readonly now?: () => Date; readonly cacheDir?: string } = {},
): Promise<{ readonly state: State; readonly files: number }> {
  const data = `${folder.path}/data`;
  let files = 0;
  using _counter = intercept("openSync", (open) => (path, mode) => {
    if (String(path).startsWith(`${data}/`)) files++;
    return open(path, mode);
  });
  await using backend = await openFile({ cacheDir: options.cacheDir ?? `${folder.path}/cache`, ...options });
  const state = await backend.fingerprint({ uri: data }, undefined);
  return { state, files };
}

Deno.test("[L24] a second fingerprint opens nothing, and one after a touch the touched file", async () => {
  await using folder = await temporary();
  for (let i = 0; i < 40; i++) await folder.write(`data/d${i % 3}/f${i}`, String(i));
  await Deno.symlink("d0", `${folder.path}/data/link`);
  const first = await opened(folder, { now: later });
  assert.equal(first.files, 40);
  assert.deepEqual(await opened(folder, { now: later }), { state: first.state, files: 0 });

  await Deno.utime(`${folder.path}/data/d1/f1`, 1_000_000_000, 1_000_000_000);
  assert.deepEqual(await opened(folder, { now: later }), { state: first.state, files: 1 });
  await folder.write("data/d0/f9 new", "new");
  await Deno.remove(`${folder.path}/data/d2/f2`);
  await Deno.remove(`${folder.path}/data/link`);
  await Deno.symlink("d1", `${folder.path}/data/link`);
  const changed = await opened(folder, { now: later });
  assert.equal(changed.files, 1);
  assert.equal(changed.state["count"], 41);
  assert.notDeepEqual(changed.state["digest"], first.state["digest"]);
  await using fresh = await openFile();
  assert.deepEqual(changed.state, await fresh.fingerprint({ uri: `${folder.path}/data` }, undefined));
});

Deno.test("[L24] within one process the hashes of the last fingerprint serve without a cache folder", async () => {
  await using folder = await temporary();
  await folder.write("a", "1");
  await folder.write("b", "2");
  let files = 0;
  using _counter = intercept("openSync", (open) => (path, mode) => {
    files++;
    return open(path, mode);
  });
  await using backend = await openFile({ now: later });
  for (const expected of [2, 2, 3]) {
    // Another size: `later` hides from the cache that both writes may fall into one tick of the clock.
    if (expected === 3) await folder.write("b", "three");
    await backend.fingerprint({ uri: folder.path }, undefined);
    assert.equal(files, expected);
  }
});

Deno.test("[L21] a file that may have changed within one tick of the clock is hashed again", async () => {
  await using folder = await temporary();
  await folder.write("data/f", "1");
  await folder.write("data/g", "2");
  const written = (await Deno.stat(`${folder.path}/data/g`)).mtime?.getTime() ?? 0;
  // The stats stay what they are; what differs is how long after the last write the files were hashed.
  for (const seconds of [-1, 0, 1, 2, 4, 4]) {
    const now = (): Date => new Date(written + seconds * 1000);
    const isSettled = seconds === 4;
    const before = await opened(folder, { now });
    const after = await opened(folder, { now });
    assert.equal(after.files, isSettled ? 0 : 2, `${seconds} s after`);
    assert.deepEqual(after.state, before.state);
  }
});

Deno.test("[L21] 500 rewrites of one length by rename are each seen at once", async () => {
  await using folder = await temporary();
  const cacheDir = `${folder.path}/cache`;
  const other = { path: "other", token: sha256("stays") };
  await folder.write("data/other", "stays");
  await using kept = await openFile({ cacheDir });
  const locator = { uri: `${folder.path}/data` };
  for (let round = 0; round < 500; round++) {
    const content = String(100_000 + round);
    await folder.write("next", content);
    await Deno.rename(`${folder.path}/next`, `${folder.path}/data/f`);
    await using fresh = await openFile({ cacheDir });
    const digest = await digestOf([{ path: "f", token: sha256(content) }, other], { count: 2 });
    const state = await (round % 2 === 0 ? kept : fresh).fingerprint(locator, undefined);
    assert.deepEqual(state, { type: "dir", count: 2, size: 11, digest });
  }
});

Deno.test("[L24] a small single file has no cache file, a large one has", async () => {
  await using folder = await temporary();
  for (const [size, entries] of [[100, 0], [1 << 20, 1]] as const) {
    await folder.write("data/f", new Uint8Array(size));
    await using backend = await openFile({ cacheDir: `${folder.path}/cache` });
    const state = await backend.fingerprint({ uri: `${folder.path}/data/f` }, undefined);
    assert.deepEqual(state, { type: "file", size, sha256: sha256(new Uint8Array(size)) });
    const names = await Array.fromAsync(Deno.readDir(`${folder.path}/cache/file-hashes`)).catch(() => []);
    assert.equal(names.length, entries);
  }
});

Deno.test("[L26] a cache that cannot be read or written costs only speed", async (t) => {
  await using folder = await temporary();
  await folder.write("data/a", "1");
  await folder.write("data/b", "2");
  const { state } = await opened(folder, { now: later });
  const path = cachePath(`${folder.path}/cache`, `${folder.path}/data`);
  const good = await Deno.readFile(path);

  await t.step("cut short anywhere", async () => {
    for (let length = 0; length < good.length; length += 3) {
      await Deno.writeFile(path, good.subarray(0, length));
      assert.deepEqual((await opened(folder, { now: later })).state, state, `${length} bytes`);
    }
  });
  await t.step("zeros from anywhere on", async () => {
    for (let length = 0; length < good.length; length += 3) {
      await Deno.writeFile(path, good.slice().fill(0, length));
      assert.deepEqual((await opened(folder, { now: later })).state, state, `${length} bytes`);
    }
  });
  await t.step("any other content", async () => {
    for (const content of ["", "{}", "tether hashes 2\n", "tether hashes 1\n" + "\xff".repeat(200)]) {
      await Deno.writeTextFile(path, content);
      assert.deepEqual((await opened(folder, { now: later })).state, state);
      assert.equal((await opened(folder, { now: later })).files, 0, "it was written anew");
    }
  });
  await t.step("its folder is a file", async () => {
    const cacheDir = `${folder.path}/data/a`;
    assert.deepEqual((await opened(folder, { cacheDir, now: later })).state, state);
  });
  await t.step("no leftovers", async () => {
    const names = await Array.fromAsync(Deno.readDir(`${folder.path}/cache/file-hashes`));
    assert.equal(names.length, 1);
  });
});

Deno.test("[formats 10] the cache of the Python implementation is left alone", async () => {
  await using folder = await temporary();
  await folder.write("data/a", "1");
  await folder.write("cache/file-hashes.json", "{}");
  await opened(folder, { now: later });
  assert.equal(await Deno.readTextFile(`${folder.path}/cache/file-hashes.json`), "{}");
});

Deno.test("[L24] what was hashed before a failure is not hashed again", async () => {
  await using folder = await temporary();
  for (let i = 0; i < 300; i++) await folder.write(`data/f${i}`, String(i));
  let files = 0;
  {
    using _stopper = intercept("openSync", (open) => (path, mode) => {
      if (String(path).includes("/data/") && ++files === 150) throw new Deno.errors.TimedOut("slow disk");
      return open(path, mode);
    });
    await using backend = await openFile({ cacheDir: `${folder.path}/cache`, now: later });
    await assert.rejects(backend.fingerprint({ uri: `${folder.path}/data` }, undefined), UnavailableError);
  }
  const rest = await opened(folder, { now: later });
  assert.equal(rest.files, 300 - 149);
});

Deno.test("[L24] rows come back from a cache file as they went in", () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  const row = fc.record({
    path: fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((s) => !s.includes("\0")),
    link: fc.boolean(),
    stat: fc.record({ size: fc.nat(), mtimeMs: number, ctimeMs: number, ino: fc.maxSafeNat(), dev: fc.nat() }),
    hashedAt: fc.integer({ min: 1 }),
    hash: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  });
  const path = `${Deno.makeTempDirSync()}/rows.bin`;
  fc.assert(fc.property(
    fc.uniqueArray(row, { selector: (r) => r.path, maxLength: 30 }),
    fc.func(fc.boolean()),
    (all, isAsked) => {
      all.sort((a, b) => compareCodePoints(a.path, b.path));
      const rows = new Rows();
      for (const r of all) {
        if (r.link) rows.addLink(r.path, r.hash);
        else rows.setHash(rows.addFile(r.path), r.stat, r);
      }
      writeCache(path, rows, "ab".repeat(16));
      using cache = CacheReader.open(path);
      assert.ok(cache);
      assert.deepEqual([cache.count, cache.digest], [all.length, "ab".repeat(16)]);
      const memory = rows.asKnown("");
      for (const r of all) {
        if (!isAsked(r.path)) continue;
        for (const found of [cache.find(r.path), memory.find(r.path)]) assertSameRow(found, r);
        assert.equal(cache.find(`${r.path}\u0001`), undefined);
      }
    },
  ));
  Deno.removeSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
});

function assertSameRow(found: Row | undefined, expected: Row): void {
  assert.ok(found);
  assert.deepEqual([found.path, found.link, found.hash], [expected.path, expected.link, expected.hash]);
  if (!expected.link) assert.deepEqual([found.stat, found.hashedAt], [{ ...expected.stat }, expected.hashedAt]);
}
