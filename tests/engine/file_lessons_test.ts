/**
 * Lessons about files, on a dataset: what a status says, what a commit records and what stops it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { State } from "../../engine/model/manifest.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { REAL_ENV } from "../../engine/env.ts";
import type { Dataset } from "../../engine/dataset.ts";
import type { CallOptions, Progress } from "../../engine/reports/report.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

/** A dataset with one object `data`, a folder or file beside the repository that may change. */
async function ready(make: (path: string) => Promise<unknown>): Promise<TempDataset & { readonly path: string }> {
  const t = await tempDataset();
  const path = `${t.repo.outer}/data`;
  await make(path);
  await t.with(async (ds) => {
    await ds.add({ key: "data", kind: "file", locator: { uri: path }, policy: { file: "versioned" } });
    await ds.commit({ message: "Baseline" });
  });
  return { ...t, path };
}

/** Whether a status that reads the store sees a change. */
function changed(t: TempDataset): Promise<boolean> {
  return t.with(async (ds) => (await ds.status({ snapshot: true })).objects[0]?.state !== "clean");
}

/** Takes the change in and returns the state recorded. */
async function recorded(t: TempDataset): Promise<State | null | undefined> {
  return await t.with(async (ds) => {
    await ds.pull();
    return ds.objects.get("data")?.state;
  });
}

async function shell(script: string, cwd: string): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command("sh", { args: ["-ec", script], cwd }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

Deno.test("[L21] a rewrite of the same length, seen at once, is never taken for what was there", async () => {
  await using t = await ready((path) => Deno.writeTextFile(path, "000000"));
  await using ds = await t.open();
  for (let round = 1; round <= 60; round++) {
    const text = String(round).padStart(6, "0");
    await Deno.writeTextFile(`${t.path}.new`, text);
    await Deno.rename(`${t.path}.new`, t.path);
    const { states } = await ds.snapshot();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    assert.deepEqual(states["data"], { type: "file", size: 6, sha256: digest.toHex() }, `round ${round}`);
  }
});

Deno.test("[L22] a name that is not UTF-8 makes the object an error, and never clean, until it is gone", async () => {
  await using t = await ready(async (path) => {
    await Deno.mkdir(`${path}/sub`, { recursive: true });
    await Deno.writeTextFile(`${path}/a`, "1");
  });
  for (const content of ["one", "two"]) {
    await shell(`printf ${content} > "sub/$(printf 'bad\\377')"`, t.path);
    const [object] = (await t.with((ds) => ds.status({ snapshot: true }))).objects;
    assert.equal(object?.state, "error");
    assert.ok(object.error?.includes(`${t.path}/sub`), object.error ?? "");
    assert.notEqual((await t.with((ds) => ds.status({ snapshot: false }))).objects[0]?.state, "clean");
    await assert.rejects(t.with((ds) => ds.pull()), MultiObjectError);
    assert.equal((await t.with(async (ds) => await ds.verify())).ok, false);
  }
  await Deno.remove(`${t.path}/sub`, { recursive: true });
  assert.equal(await changed(t), false);
});

Deno.test("[L23] links are data: a target that changes is a change, what a linked folder holds is none", async (test) => {
  await using t = await ready(async (path) => {
    await Deno.mkdir(path);
    await Deno.mkdir(`${path}-elsewhere`);
    await Deno.writeTextFile(`${path}-elsewhere/file`, "1");
    for (const [name, target] of [["to-folder", "../data-elsewhere"], ["dangling", "nowhere"], ["out", "/"]] as const) {
      await Deno.symlink(target, `${path}/${name}`);
    }
    await Deno.symlink("../data-elsewhere/file", `${path}/to-file`);
  });
  const retarget = async (name: string, target: string) => {
    await Deno.remove(`${t.path}/${name}`);
    await Deno.symlink(target, `${t.path}/${name}`);
  };
  assert.equal(await changed(t), false);
  await test.step("a folder behind a link grows", async () => {
    await Deno.writeTextFile(`${t.path}-elsewhere/more`, "2");
    assert.equal(await changed(t), false);
  });
  for (const [name, target] of [["to-folder", "."], ["dangling", "nowhere-else"], ["out", "/usr"]] as const) {
    await test.step(`${name} is retargeted`, async () => {
      await retarget(name, target);
      assert.equal(await changed(t), true);
      await recorded(t);
      assert.equal(await changed(t), false);
    });
  }
  await test.step("a file behind a link changes", async () => {
    await Deno.writeTextFile(`${t.path}-elsewhere/file`, "changed");
    assert.equal(await changed(t), true);
  });
  await test.step("the registered root may be a link itself, and is one store with what it leads to", async () => {
    await Deno.symlink(t.path, `${t.path}-link`);
    await t.with(async (ds) => {
      const { warnings } = await ds.add({ key: "link", kind: "file", locator: { uri: `${t.path}-link` } });
      assert.match(warnings.join(), /This is the store of "data"/);
    });
  });
});

Deno.test("[L25] the digest is what sha256sum prints, at every size around the border of a piece; line ends count", async () => {
  await using t = await ready((path) => Deno.writeTextFile(path, "x"));
  for (const size of [0, 1, 4095, 4096, 65535, 65536, 65537, 131072, 262143, 262145, 1048577]) {
    await Deno.writeFile(t.path, new Uint8Array(size).map((_, i) => i * 31));
    const [sum] = (await shell("sha256sum data", t.repo.outer)).split(" ");
    assert.deepEqual(await recorded(t), { type: "file", size, sha256: sum });
  }
  await Deno.writeTextFile(t.path, "a\r\nb\r\n");
  await recorded(t);
  await Deno.writeTextFile(t.path, "a\nb\n");
  assert.equal(await changed(t), true);
});

Deno.test("[L24] a folder of thousands of files: one touched file of the same length is seen, and every other stays", async () => {
  await using t = await ready((path) =>
    Deno.mkdir(path).then(() => shell("i=0; while [ $i -lt 3000 ]; do echo $i > f$i; i=$((i+1)); done", path))
  );
  const first = await t.with((ds) => Promise.resolve(ds.objects.get("data")?.state));
  assert.deepEqual([first?.["type"], first?.["count"], await changed(t)], ["dir", 3000, false]);
  await Deno.writeTextFile(`${t.path}/f1500`, "0051\n");
  assert.equal(await changed(t), true);
  await recorded(t);
  const [entry] = (await t.with((ds) => ds.diff("HEAD~1", "HEAD", { content: true }))).entries;
  const { entries } = entry?.detail as { entries: readonly { path: string; change: string }[] };
  assert.deepEqual(entries.map((e) => [e.path, e.change]), [["f1500", "modified"]]);
  await Deno.writeTextFile(`${t.path}/f1500`, "1500\n");
  assert.deepEqual(await recorded(t), first, "the same content is the same state");
});

Deno.test("[commands 1.2] reading a folder says how many files are done, within the count of objects", async (test) => {
  await using t = await ready(async (path) => {
    await Deno.mkdir(path);
    for (const name of ["a", "b", "c"]) await Deno.writeTextFile(`${path}/${name}`, name);
  });
  // A clock that leaps makes every report due.
  let leaps = 0;
  const env = { ...REAL_ENV, now: () => new Date(Date.now() + 10_000 * leaps++) };
  const calls: Readonly<Record<string, (ds: Dataset, o: CallOptions) => PromiseLike<unknown>>> = {
    "reading states": (ds, o) => ds.snapshot(o),
    "verifying": (ds, o) => ds.verify(o),
  };
  for (const [verb, call] of Object.entries(calls)) {
    await test.step(verb, async () => {
      await Deno.writeTextFile(`${t.path}/a`, verb);
      const seen: Progress[] = [];
      await t.with(async (ds) => await call(ds, { onProgress: (progress) => seen.push(progress) }), { env });
      const parts = seen.filter((p) => p.within !== undefined);
      assert.ok(parts.length > 0);
      for (const p of parts) {
        assert.deepEqual({ ...p, within: { ...p.within, done: 3 } }, {
          verb,
          done: 0,
          total: 1,
          within: { key: "data", done: 3, total: 3, unit: "files" },
        });
      }
      assert.deepEqual(parts.at(-1)?.within?.done, 3);
      assert.deepEqual(seen.at(-1), { verb, done: 1, total: 1 });
    });
  }
});
