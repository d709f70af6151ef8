import assert from "node:assert/strict";
import { join } from "node:path";
import { ConfigError } from "../model/errors.ts";
import { filesBelow, inTempDir, whileReadOnly } from "./_test_dirs.ts";
import { isReadOnly, readText, writeAtomic } from "./atomic.ts";

async function modeOf(path: string): Promise<number> {
  return ((await Deno.stat(path)).mode ?? 0) & 0o777;
}

Deno.test("[formats 17] writeAtomic() replaces the text, keeps the mode, and leaves no temporary file", async () => {
  await inTempDir(async (folder) => {
    const path = join(folder, "f.toml");
    const tempDir = join(folder, "cache", "deep");
    await writeAtomic(path, "one", { tempDir });
    await Deno.chmod(path, 0o600);
    await writeAtomic(path, new TextEncoder().encode("twö"), { tempDir });
    assert.equal(await Deno.readTextFile(path), "twö");
    assert.equal(await modeOf(path), 0o600);
    await writeAtomic(path, "three", { mode: 0o640 });
    assert.equal(await modeOf(path), 0o640);
    assert.deepEqual(await filesBelow(folder), ["f.toml"]);
  });
});

Deno.test("[formats 17] writeAtomic() writes beside the target when its folder for temporary files is of no use", async (t) => {
  const cases: [string, (tempDir: string, outside: string) => Promise<void>][] = [
    ["a link to elsewhere (L40)", (tempDir, outside) => Deno.symlink(outside, tempDir)],
    ["a file", (tempDir) => Deno.writeTextFile(tempDir, "")],
    ["a dangling link", (tempDir) => Deno.symlink("/nowhere/at/all", tempDir)],
  ];
  for (const [name, make] of cases) {
    await t.step(name, () =>
      inTempDir(async (folder) => {
        const outside = join(folder, "outside");
        await Deno.mkdir(outside);
        await Deno.mkdir(join(folder, "root"));
        await make(join(folder, "root", "cache"), outside);
        const path = join(folder, "root", "f");
        await writeAtomic(path, "text", { tempDir: join(folder, "root", "cache") });
        assert.equal(await Deno.readTextFile(path), "text");
        assert.deepEqual(await filesBelow(outside), []);
      }));
  }
  await t.step("another file system", async () => {
    const other = await Deno.makeTempDir({ dir: "/dev/shm" });
    try {
      await inTempDir(async (folder) => {
        await writeAtomic(join(folder, "f"), "text", { tempDir: other });
        assert.equal(await Deno.readTextFile(join(folder, "f")), "text");
        assert.deepEqual([await filesBelow(other), await filesBelow(folder)], [[], ["f"]]);
      });
    } finally {
      await Deno.remove(other, { recursive: true });
    }
  });
});

Deno.test("[L26] writeAtomic() that may not write fails at once and leaves nothing", async () => {
  await inTempDir(async (folder) => {
    await Deno.writeTextFile(join(folder, "f"), "old");
    await whileReadOnly(folder, async () => {
      await assert.rejects(writeAtomic(join(folder, "f"), "new", { tempDir: join(folder, "cache") }), isReadOnly);
    });
    assert.deepEqual(await filesBelow(folder), ["f"]);
    assert.equal(await Deno.readTextFile(join(folder, "f")), "old");
  });
});

Deno.test("readText() reads regular UTF-8 files of bounded size", async (t) => {
  await inTempDir(async (folder) => {
    const path = join(folder, "f");
    const options = { name: "f", maxBytes: 8 };
    await t.step("absent, also below a file", async () => {
      assert.equal(await readText(path, options), undefined);
      await Deno.writeTextFile(path, "\ufeffé\r\n");
      assert.equal(await readText(join(path, "g"), options), undefined);
    });
    await t.step("byte for byte", async () => assert.equal(await readText(path, options), "\ufeffé\r\n"));
    await t.step("refusals name the file", async () => {
      const refuse = (message: RegExp, more = {}) =>
        assert.rejects(readText(path, { ...options, ...more }), (error) => {
          assert.ok(error instanceof ConfigError);
          assert.match(error.message, message);
          return true;
        });
      await Deno.writeTextFile(path, "123456789");
      await refuse(/^Cannot read "f": it is larger than 8 bytes$/);
      await Deno.writeFile(path, new Uint8Array([0x66, 0xff]));
      await refuse(/not UTF-8/);
      await Deno.rename(path, path + "2");
      await Deno.symlink(path + "2", path);
      await refuse(/symbolic link/, { noFollow: true });
      await Deno.remove(path);
      await Deno.mkdir(path);
      await refuse(/not a file/);
    });
  });
});
