import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import {
  BackendError,
  CapabilityError,
  ConcurrentChangeError,
  StoreNotFoundError,
} from "../../engine/model/backend_errors.ts";
import { compareCodePoints } from "../../engine/model/json.ts";
import { digestOf } from "./_listing.ts";
import { intercept, openFile, shell, type Temporary, temporary } from "./_temporary.ts";

async function stateOf(folder: Temporary, path = ""): Promise<Record<string, unknown>> {
  await using backend = await openFile();
  return await backend.fingerprint({ uri: folder.path + path }, undefined);
}

async function listingOf(folder: Temporary): Promise<string> {
  await using backend = await openFile();
  const locator = { uri: folder.path };
  const listing = await backend.listing?.(locator, await backend.fingerprint(locator, undefined));
  assert.ok(listing !== undefined);
  return listing;
}

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

Deno.test("[formats 2.4] the digest of a folder is that of the vectors", async () => {
  await using folder = await temporary();
  assert.deepEqual(await stateOf(folder), {
    type: "dir",
    count: 0,
    size: 0,
    digest: "cae66941d9efbd404e4d88758ea67670",
  });
  await folder.write("a", "hi\n");
  await folder.write("b", "yo\n");
  assert.deepEqual(await stateOf(folder), {
    type: "dir",
    count: 2,
    size: 6,
    digest: "29c27f72f2b97b2867341d4498901fda",
  });
  assert.deepEqual(await stateOf(folder, "/a"), { type: "file", size: 3, sha256: sha256("hi\n") });
});

Deno.test("[backends 3.1] both implementations of the digest give the vector", async () => {
  const rows = [{ path: "p/a", token: "e1" }, { path: "p/b", token: "e2" }];
  for (const count of [2, 1_000_000]) {
    assert.equal(await digestOf(rows, { count }), "efed676d4c88cf0bb728be0fb3eba055");
  }
  const long = Array.from({ length: 3000 }, (_, i) => ({ path: `${"é😀".repeat(i % 50)}${i}`, token: String(i) }));
  assert.equal(await digestOf(long, { count: 2 }), await digestOf(long, { count: 1_000_000 }));
});

// Written by the Python implementation for this very folder.
const LISTING = [
  String.raw`{"p":".dot","k":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","s":0}`,
  String.raw`{"p":"a-b","k":"d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35","s":1}`,
  String.raw`{"p":"a.txt","k":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","s":3}`,
  String.raw`{"p":"a/b","k":"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b","s":1}`,
  String.raw`{"p":"dangling","k":"symlink:e0b32274e551f9413927a3e982f03016bca6496f5e52851093338ae40252fc66","s":0}`,
  String.raw`{"p":"del\u007f","k":"18ac3e7343f016890c510e93f935261169d9e3f565436429830faf0934f4f8e4","s":1}`,
  String.raw`{"p":"dev","k":"symlink:fd5d32feb2d3562582258990ecfca9b88376957e512d5caac72ad89fc78d2df4","s":0}`,
  String.raw`{"p":"lnk2","k":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","s":3}`,
  String.raw`{"p":"lnk3","k":"symlink:cae2a103d5390b31cb3bcc5ba556af576816b82bd6ab7b0f5ca0200b426c00d9","s":0}`,
  String.raw`{"p":"lnkdir","k":"symlink:ddc6e2b224d0fd821669202258386936fc9ce2899e215eec6322b95f8dd96d6a","s":0}`,
  String.raw`{"p":"lnkfifo","k":"symlink:f95fcfd2e993a7bcc015b20fe4131c5a4c8982dccffba03c380722725739a9b7","s":0}`,
  String.raw`{"p":"lnkfile","k":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","s":3}`,
  String.raw`{"p":"out","k":"symlink:e9671acd244849c57167c658fa2f969752048f7ab184a3dcf5c46cb4d56ae124","s":0}`,
  String.raw`{"p":"sub/.tether-owner","k":"233562de1a0288b139c4fa40b7d189f806e906eeb048517aeb67f34ac0e2faf1","s":6}`,
  String.raw`{"p":"tab\there\n\"q\"\\","k":"8e35c2cd3bf6641bdb0e2050b76932cbb2e6034a0ddacc1d9bea82a6ba57f7cf","s":1}`,
  String.raw`{"p":"\u00e9/x","k":"5dde896887f6754c9b15bfe3a441ae4806df2fde94001311e08bf110622e0bbe","s":2}`,
  String.raw`{"p":"\uffee","k":"594e519ae499312b29433b7dd8a97ff068defcba9755b6d5d00e84c524d67b06","s":1}`,
  String.raw`{"p":"\ud83d\ude00.bin","k":"087172687d8d958e6c4f809c140da4e8a7506c3feec441e8ab06a87e6f625acb","s":2000}`,
];

Deno.test("[formats 7] a listing has the bytes that the Python implementation writes", async () => {
  await using folder = await temporary();
  const files: readonly (readonly [string, string])[] = [
    ["a.txt", "abc"],
    ["a/b", "1"],
    ["a-b", "2"],
    ["é/x", "xx"],
    ["😀.bin", "y".repeat(2000)],
    ["\uffee", "z"],
    [".dot", ""],
    [".tether-owner", "0a1b2c3d\n"],
    ["sub/.tether-owner", "nested"],
    ['tab\there\n"q"\\', "q"],
    ["del\x7f", "d"],
  ];
  for (const [name, content] of files) await folder.write(name, content);
  const links = {
    lnkdir: "sub",
    lnkfile: "a.txt",
    dangling: "nowhere/é",
    out: "/tmp",
    dev: "/dev/null",
    lnkfifo: "fifo",
    lnk2: "lnkfile",
    lnk3: "lnkdir/empty",
  };
  await shell(folder.path, "mkdir sub/empty; mkfifo fifo");
  for (const [name, target] of Object.entries(links)) await Deno.symlink(target, `${folder.path}/${name}`);

  assert.equal(await listingOf(folder), LISTING.join("\n") + "\n");
  assert.deepEqual(await stateOf(folder), {
    type: "dir",
    count: 18,
    size: 2022,
    digest: "ed7078fcd01dc55c543c9bcf26fa37fb",
  });
});

Deno.test("[formats 7] a listing is made for its own state only", async () => {
  await using folder = await temporary();
  await folder.write("a", "1");
  await using backend = await openFile();
  const locator = { uri: folder.path };
  const first = await backend.fingerprint(locator, undefined);
  await folder.write("b", "2");
  assert.ok((await backend.listing?.(locator, first))?.includes('"a"'), "still at hand");
  const second = await backend.fingerprint(locator, undefined);
  assert.equal(await backend.listing?.(locator, first), undefined);
  await using other = await openFile();
  assert.equal(await other.listing?.(locator, second), await backend.listing?.(locator, second));
  assert.equal(await backend.listing?.({ uri: `${folder.path}/a` }, { type: "file", size: 1, sha256: "" }), undefined);
});

Deno.test("[formats 2.3] the walk is in code-point order of whole paths, whatever the names", async () => {
  const segment = fc.oneof(
    fc.stringMatching(/^[a-c.\-/0]{1,3}$/).map((s) => s.replaceAll("/", "~")),
    fc.string({ unit: fc.constantFrom("a", "é", "\uffee", "😀", "-", "0", "!"), minLength: 1, maxLength: 3 }),
  ).filter((s) => s !== "." && s !== "..");
  const paths = fc.uniqueArray(fc.array(segment, { minLength: 1, maxLength: 3 }).map((s) => s.join("/")), {
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(paths, async (all) => {
      // A path that is a folder of another one cannot be a file as well.
      const files = all.filter((p) => !all.some((q) => q.startsWith(`${p}/`)));
      await using folder = await temporary();
      for (const path of files) await folder.write(path, path);
      const listed = (await listingOf(folder)).split("\n").filter(Boolean).map((line) => JSON.parse(line));
      const expected = [...files].sort(compareCodePoints).map((p) => ({
        p,
        k: sha256(p),
        s: new TextEncoder().encode(p).length,
      }));
      assert.deepEqual(listed, expected);
    }),
    { numRuns: 60 },
  );
});

Deno.test("[L25] the hash is of the bytes, at every size around the border of a piece", async () => {
  await using folder = await temporary();
  const piece = 1 << 20;
  for (const size of [0, 1, piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 7]) {
    const content = new Uint8Array(size).map((_, i) => i * 31 + (i >> 8));
    await folder.write("f", content);
    assert.deepEqual(await stateOf(folder, "/f"), { type: "file", size, sha256: sha256(content) }, `${size} bytes`);
  }
  await folder.write("text", "a\r\nb\r\n");
  const crlf = await stateOf(folder, "/text");
  await folder.write("text", "a\nb\n");
  assert.notDeepEqual(await stateOf(folder, "/text"), crlf);
});

Deno.test("[L24] a large folder read side by side has the rows of one read file by file", async () => {
  await using folder = await temporary();
  const expected = new Map<string, string>();
  const big = new Uint8Array(3 << 20).fill(7);
  for (let i = 0; i < 1500; i++) {
    const path = `d${i % 7}/f${i}`;
    const content = i % 500 === 499 ? big.subarray(i) : new TextEncoder().encode(`content ${i}`);
    await folder.write(path, content);
    expected.set(path, sha256(content));
  }
  const OriginalWorker = Worker;
  let workers = 0;
  globalThis.Worker = class extends OriginalWorker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options);
      workers++;
    }
  };
  try {
    const listed = (await listingOf(folder)).split("\n").filter(Boolean).map((line) => JSON.parse(line));
    assert.deepEqual(new Map(listed.map((row) => [row.p, row.k])), new Map([...expected].sort()));
  } finally {
    globalThis.Worker = OriginalWorker;
  }
  assert.ok(workers > 0);
});

Deno.test("[L23] links are data: what changes is what counts", async (t) => {
  await using folder = await temporary();
  await using target = await temporary();
  await target.write("file", "one");
  await target.write("other", "one");
  await target.write("sub/x", "x");
  await folder.write("plain", "p");
  await Deno.symlink(`${target.path}/file`, `${folder.path}/to-file`);
  await Deno.symlink(`${target.path}/sub`, `${folder.path}/to-folder`);
  await Deno.symlink("self", `${folder.path}/self`);
  const changes: readonly [string, boolean, () => Promise<void>][] = [
    ["growth of a linked folder", false, () => target.write("sub/y", "y")],
    ["new content behind a file link", true, () => target.write("file", "two")],
    ["a link to a folder retargeted", true, () => relink("to-folder", target.path)],
    ["a link that leads to itself retargeted", true, () => relink("self", "nowhere")],
    ["a file link to nothing", true, () => Deno.remove(`${target.path}/file`)],
  ];
  async function relink(name: string, to: string): Promise<void> {
    await Deno.remove(`${folder.path}/${name}`);
    await Deno.symlink(to, `${folder.path}/${name}`);
  }
  for (const [name, isChange, change] of changes) {
    await t.step(name, async () => {
      const before = await stateOf(folder);
      await change();
      const after = await stateOf(folder);
      assert.equal(JSON.stringify(after) !== JSON.stringify(before), isChange);
    });
  }
});

Deno.test("[backends 3.1] a registered link is read through", async () => {
  await using folder = await temporary();
  await folder.write("real/a", "1");
  await Deno.symlink("real", `${folder.path}/link`);
  await Deno.symlink("real/a", `${folder.path}/file`);
  assert.deepEqual(await stateOf(folder, "/link"), await stateOf(folder, "/real"));
  assert.deepEqual(await stateOf(folder, "/file"), { type: "file", size: 1, sha256: sha256("1") });
});

Deno.test("[L22] a name that is not UTF-8 fails the object and names its folder", async (t) => {
  const scripts = {
    "a file": 'mkdir sub; : > "sub/$(printf "bad\\377")"',
    "a folder": 'mkdir -p "sub/$(printf "bad\\377")/x"; : > "sub/$(printf "bad\\377")/x/y"',
    "a link": 'mkdir sub; ln -s / "sub/$(printf "bad\\377")"',
    "two that look alike": 'mkdir sub; : > "sub/$(printf "bad\\377")"; : > "sub/$(printf "bad\\376")"',
    "one that looks like a real name":
      'mkdir sub; : > "sub/$(printf "bad\\377")"; : > "sub/$(printf "bad\\357\\277\\275")"',
    "the target of a link": 'mkdir sub; ln -s "$(printf "bad\\377")" sub/link',
  };
  for (const [name, script] of Object.entries(scripts)) {
    await t.step(name, async () => {
      await using folder = await temporary();
      await folder.write("fine", "1");
      await shell(folder.path, script);
      await assert.rejects(stateOf(folder), (error) => {
        assert.ok(error instanceof BackendError && error.code === "library", String(error));
        return error.message.includes(`"${folder.path}/sub`);
      });
      await Deno.remove(`${folder.path}/sub`, { recursive: true });
      assert.equal((await stateOf(folder))["count"], 1);
    });
  }
  await t.step("the substitute character itself is a fine name", async () => {
    await using folder = await temporary();
    await folder.write("real\ufffd", "1");
    assert.equal((await stateOf(folder))["count"], 1);
  });
});

const FINGERPRINT = `
import { fileStatics } from ${JSON.stringify(new URL("statics.ts", import.meta.url).href)};
const backend = await fileStatics.open({ config: {}, rules: [] });
try {
  console.log(JSON.stringify(await backend.fingerprint({ uri: Deno.args[0] }, undefined)));
} catch (error) {
  console.log(JSON.stringify(error));
}`;

/** Fingerprints in a process that file modes bind: root without its power to override them. */
async function fingerprintBound(path: string): Promise<Record<string, unknown>> {
  const config = fileURLToPath(new URL("../../deno.json", import.meta.url));
  const argv = [Deno.execPath(), "eval", "--no-check", "--ext=ts", "--config", config, FINGERPRINT, path];
  if (Deno.uid() === 0) argv.unshift("setpriv", "--bounding-set=-dac_override,-dac_read_search");
  const [program = "", ...args] = argv;
  const { stdout, stderr } = await new Deno.Command(program, { args }).output();
  const text = new TextDecoder().decode(stdout);
  assert.ok(text !== "", new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

Deno.test("[backends 3.1] one entry that cannot be read fails the whole fingerprint and is named", async (t) => {
  for (const [entry, mode] of [["secret.txt", 0o000], ["closed", 0o000], ["listed", 0o444]] as const) {
    await t.step(entry, async () => {
      await using folder = await temporary();
      await folder.write("fine", "1");
      await folder.write(entry.endsWith(".txt") ? entry : `${entry}/inside`, "2");
      assert.equal((await fingerprintBound(folder.path))["count"], 2);
      await Deno.chmod(`${folder.path}/${entry}`, mode);
      const error = await fingerprintBound(folder.path);
      assert.equal(error["code"], "forbidden");
      assert.ok(String(error["message"]).includes(`"${folder.path}/${entry}`), String(error["message"]));
      await Deno.chmod(`${folder.path}/${entry}`, 0o755);
    });
  }
  await t.step("among many", async () => {
    await using folder = await temporary();
    for (let i = 0; i < 1500; i++) await folder.write(`f${i}`, "x");
    for (const i of [3, 700, 1400]) await Deno.chmod(`${folder.path}/f${i}`, 0o000);
    const error = await fingerprintBound(folder.path);
    assert.equal(error["code"], "forbidden");
    assert.match(String(error["message"]), /f(3|700|1400)"/);
  });
});

Deno.test("[backends 3.1] a file that is written while it is read is read again, and given up after three times", async (t) => {
  for (const [changes, path] of [[1, ""], [2, ""], [4, ""], [Infinity, ""], [Infinity, "/f"]] as const) {
    await t.step(`${changes} changes of "${path}"`, async () => {
      await using folder = await temporary();
      await folder.write("f", "content");
      let left: number = changes;
      using _writer = intercept("openSync", (open) => (name, options) => {
        const file = open(name, options);
        if (String(name) === `${folder.path}/f`) {
          const read = file.readSync.bind(file);
          file.readSync = (buffer) => {
            const n = read(buffer);
            if (left-- > 0) Deno.writeTextFileSync(name, "more", { append: true });
            return n;
          };
        }
        return file;
      });
      if (changes === Infinity) {
        await assert.rejects(stateOf(folder, path), (error) => {
          assert.ok(error instanceof ConcurrentChangeError && error.retryable);
          return error.message.includes(`${folder.path}/f`);
        });
      } else {
        const content = "content" + "more".repeat(changes);
        assert.deepEqual(await stateOf(folder, "/f"), {
          type: "file",
          size: content.length,
          sha256: sha256(content),
        });
      }
    });
  }
});

Deno.test("[L21] only a file that was still for longer than a clock step is read without asking for its stat before", async (t) => {
  for (const [stillMs, expected] of [[10_000, ["read", "stat"]], [0, ["read", "stat", "read", "stat"]]] as const) {
    await t.step(`changed ${stillMs} ms before`, async () => {
      await using folder = await temporary();
      await folder.write("f", "content");
      const calls: string[] = [];
      using _reader = intercept("openSync", (open) => (name, options) => {
        const file = open(name, options);
        const [read, stat] = [file.readSync.bind(file), file.statSync.bind(file)];
        file.readSync = (buffer) => (calls.push("read"), read(buffer));
        file.statSync = () => (calls.push("stat"), stat());
        return file;
      });
      await using backend = await openFile({ now: () => new Date(Date.now() + stillMs) });
      assert.deepEqual(await backend.fingerprint({ uri: `${folder.path}/f` }, undefined), {
        type: "file",
        size: 7,
        sha256: sha256("content"),
      });
      assert.deepEqual(calls, expected);
    });
  }
});

Deno.test("[backends 3.1] an entry that vanishes restarts the walk once", async (t) => {
  for (const [times, what] of [[1, "file"], [1, "folder"], [2, "file"]] as const) {
    await t.step(`${what}, ${times} times`, async () => {
      await using folder = await temporary();
      await folder.write("stays", "1");
      let left: number = times;
      using _remover = intercept("readDirSync", (readDir) => (path) => {
        if (String(path) !== folder.path || left-- <= 0) return readDir(path);
        const entry = `${folder.path}/passing ${left}`;
        if (what === "file") Deno.writeTextFileSync(entry, "x");
        else Deno.mkdirSync(entry);
        const entries = [...readDir(path)];
        Deno.removeSync(entry);
        return entries.values();
      });
      if (times === 1) assert.equal((await stateOf(folder))["count"], 1);
      else await assert.rejects(stateOf(folder), ConcurrentChangeError);
    });
  }
});

Deno.test("[backends 6] what is not there, or no file, is told apart", async () => {
  await using folder = await temporary();
  await Deno.symlink("nowhere", `${folder.path}/dangling`);
  await folder.write("f", "1");
  await shell(folder.path, "mkfifo fifo");
  for (const path of ["/absent", "/dangling", "/f/below"]) {
    await assert.rejects(stateOf(folder, path), StoreNotFoundError, path);
  }
  await assert.rejects(stateOf(folder, "/fifo"), /neither a file nor a folder/);
  await using backend = await openFile();
  await assert.rejects(backend.fingerprint({ uri: folder.path }, "tether.ws.0a1b2c3d.x"), CapabilityError);
  await assert.rejects(backend.fingerprint({ uri: folder.path, at: 0 }, undefined), CapabilityError);
});

Deno.test("[backends 1.8] verify reads the content: same, other, gone, not known", async () => {
  await using folder = await temporary();
  await folder.write("a", "1");
  await using backend = await openFile();
  const locator = { uri: `${folder.path}/a` };
  const state = await backend.fingerprint(locator, undefined);
  for (const deep of [false, true]) {
    assert.equal((await backend.verify(locator, state, undefined, { deep })).status, "ok");
  }
  await folder.write("a", "2");
  assert.equal((await backend.verify(locator, state, undefined, { deep: false })).status, "drifted");
  await Deno.remove(locator.uri);
  assert.equal((await backend.verify(locator, state, undefined, { deep: false })).status, "missing");
  const remote = await backend.verify({ uri: "s3://bucket/a" }, state, undefined, { deep: false });
  assert.equal(remote.status, "unknown");
  assert.ok(remote.cause instanceof CapabilityError);
});

Deno.test("[backends 2] an abort ends a long read", async () => {
  await using folder = await temporary();
  for (let i = 0; i < 2000; i++) await folder.write(`f${i}`, String(i));
  await using backend = await openFile();
  const controller = new AbortController();
  const reading = backend.fingerprint({ uri: folder.path }, undefined, { signal: controller.signal });
  controller.abort();
  await assert.rejects(reading, { name: "AbortError" });
  assert.equal((await backend.fingerprint({ uri: folder.path }, undefined))["count"], 2000);
});
