import { strict as assert } from "node:assert";
import { fileURLToPath } from "node:url";
import { BackendError, UnavailableError } from "../../engine/model/backend_errors.ts";
import { lockFolder } from "./folder_lock.ts";
import { LocalStorage } from "./local.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (data: Uint8Array | undefined): string | undefined => data && new TextDecoder().decode(data);

async function withStorage(fn: (storage: LocalStorage, root: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await fn(new LocalStorage(`${folder}/store`, { kind: "test" }), `${folder}/store`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("[backends 3.4] a store that does not exist reads as empty", () =>
  withStorage(async (storage) => {
    assert.equal(await storage.get("a"), undefined);
    assert.equal(await storage.head("a"), undefined);
    assert.equal(await storage.getRange("a", { start: 0 }), undefined);
    assert.deepEqual(await storage.listFolder(""), { folders: [], objects: [] });
    assert.deepEqual(await Array.fromAsync(storage.list("")), []);
    assert.equal(await storage.delete("a"), true);
  }));

Deno.test("[backends 3.4] objects are read whole, in part, and listed by folder", () =>
  withStorage(async (storage) => {
    for (const key of ["a/é", "a/b/c", "a.b", "z"]) await storage.put(key, bytes(`content of ${key}`));
    assert.equal(text((await storage.get("a/b/c"))?.bytes), "content of a/b/c");
    assert.equal(await storage.get("a/b"), undefined, "a folder is no object");
    assert.equal((await storage.head("z"))?.size, 12);
    const ranges = [
      [{ start: 0, end: 7 }, "content"],
      [{ start: 8 }, "of z"],
      [{ suffix: 1 }, "z"],
      [{ suffix: 99 }, "content of z"],
      [{ start: 99 }, ""],
    ] as const;
    for (const [range, expected] of ranges) assert.equal(text(await storage.getRange("z", range)), expected);
    const root = await storage.listFolder("");
    assert.deepEqual([root.folders, root.objects.map((o) => o.key)], [["a"], ["a.b", "z"]]);
    const folder = await storage.listFolder("a");
    assert.deepEqual([folder.folders, folder.objects.map((o) => o.key)], [["b"], ["a/é"]]);
    const all = (await Array.fromAsync(storage.list(""))).map((o) => o.key).sort();
    assert.deepEqual(all, ["a.b", "a/b/c", "a/é", "z"]);
  }));

Deno.test("[backends 3.4] of eight writers that expect one version exactly one succeeds", () =>
  withStorage(async (storage, root) => {
    const clients = Array.from({ length: 8 }, () => new LocalStorage(root, { kind: "test" }));
    for (let round = 0; round < 5; round++) {
      const key = `ref-${round}`;
      const created = await Promise.all(clients.map((c, i) => c.putIfAbsent(key, bytes(`first ${i}`))));
      assert.equal(created.filter((o) => o.written).length, 1, "one creates");
      const read = await storage.get(key);
      assert.ok(read);
      assert.equal(text(read.bytes), `first ${created.findIndex((o) => o.written)}`);
      const version = read.version;
      const moved = await Promise.all(clients.map((c, i) => c.putIfMatch(key, bytes(`second ${i}`), { version })));
      assert.equal(moved.filter((o) => o.written).length, 1, "one moves");
      const winner = moved.findIndex((o) => o.written);
      const after = await storage.get(key);
      assert.equal(text(after?.bytes), `second ${winner}`);
      const outcome = moved[winner];
      assert.equal(outcome?.written && outcome.version, after?.version, "the version told is the one read");
      assert.equal(await storage.delete(key, { version }), false, "a deletion expects its version too");
      assert.equal(await storage.delete(key, { version: after?.version ?? "" }), true);
    }
    assert.deepEqual(await storage.putIfMatch("absent", bytes("x"), { version: "" }), { written: false });
  }));

const COUNT = `
import { LocalStorage } from ${JSON.stringify(new URL("local.ts", import.meta.url).href)};
const storage = new LocalStorage(Deno.args[0], { kind: "test" });
for (let done = 0; done < 25;) {
  const found = await storage.get("counter");
  const next = new TextEncoder().encode(String(Number(new TextDecoder().decode(found.bytes)) + 1));
  if ((await storage.putIfMatch("counter", next, { version: found.version })).written) done++;
}`;

function deno(code: string, ...args: string[]): Deno.Command {
  const config = fileURLToPath(new URL("../../deno.json", import.meta.url));
  return new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", "--ext=ts", "--config", config, code, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

Deno.test("[L32] processes that update one object lose nothing", () =>
  withStorage(async (storage, root) => {
    await storage.put("counter", bytes("0"));
    const outputs = await Promise.all([1, 2].map(() => deno(COUNT, root).output()));
    for (const { success, stderr } of outputs) assert.ok(success, text(stderr));
    assert.equal(text((await storage.get("counter"))?.bytes), "50");
  }));

Deno.test("[L27] a lock ends with its holder and is waited for no longer than asked", () =>
  withStorage(async (storage, root) => {
    await storage.put("a", bytes("a"));
    const url = JSON.stringify(new URL("folder_lock.ts", import.meta.url).href);
    const code = `import { lockFolder } from ${url};
      await lockFolder(Deno.args[0], { kind: "test" });
      console.log("held");
      await new Promise((resolve) => setTimeout(resolve, 60_000));`;
    const holder = deno(code, root).spawn();
    const reader = holder.stdout.getReader();
    assert.equal(text((await reader.read()).value)?.trim(), "held");
    await assert.rejects(() => lockFolder(root, { kind: "test", timeoutMs: 50 }), UnavailableError);
    holder.kill("SIGKILL");
    await holder.status;
    await reader.cancel();
    await holder.stderr.cancel();
    using _lock = await lockFolder(root, { kind: "test" });
  }));

Deno.test("[L32] a caller under the lock excludes conditional writes and makes its own", () =>
  withStorage(async (storage, root) => {
    await storage.put("a", bytes("1"));
    const version = (await storage.get("a"))?.version ?? "";
    const other = new LocalStorage(root, { kind: "test" });
    const order: string[] = [];
    let waiting: Promise<unknown> = Promise.resolve();
    await storage.locked(async (held) => {
      waiting = other.putIfMatch("a", bytes("2"), { version }).then((o) => order.push(`other ${o.written}`));
      await new Promise((resolve) => setTimeout(resolve, 60));
      assert.deepEqual(await held.putIfMatch("a", bytes("3"), { version }), {
        written: true,
        version: (await held.get("a"))?.version ?? "",
      });
      order.push("held");
    });
    await waiting;
    assert.deepEqual(order, ["held", "other false"]);
  }));

Deno.test("[backends 3.4] a write that died leaves nothing that a listing shows", () =>
  withStorage(async (storage, root) => {
    await storage.put("a", bytes("a"));
    await Deno.writeTextFile(`${root}/a#8123456789`, "half");
    assert.deepEqual((await storage.listFolder("")).objects.map((o) => o.key), ["a"]);
    await storage.putIfAbsent("b", bytes("b"));
    const names = (await Array.fromAsync(Deno.readDir(root))).map((e) => e.name).sort();
    assert.deepEqual(names, ["a", "a#8123456789", "b"], "a finished write leaves its object alone");
  }));

Deno.test("[L40] a key cannot name anything outside the root", () =>
  withStorage(async (storage) => {
    for (const key of ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/", ".", "a\0b"]) {
      await assert.rejects(() => storage.get(key), BackendError, JSON.stringify(key));
      await assert.rejects(() => storage.put(key, bytes("x")), BackendError, JSON.stringify(key));
    }
  }));
