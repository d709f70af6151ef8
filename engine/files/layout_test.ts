import assert from "node:assert/strict";
import { join } from "node:path";
import { ConfigError } from "../model/errors.ts";
import { filesBelow, inTempDir, plant, whileReadOnly } from "./_test_dirs.ts";
import {
  datasetPaths,
  ensureGitattributes,
  ensureGitignore,
  findRoot,
  makeFolder,
  refuseLinks,
  sweepTemporary,
  usableCache,
} from "./layout.ts";

const IGNORED = "/workspace.toml\n/ops.jsonl\n/cache\n/lock\n/secrets.toml\n";

Deno.test("[formats 1] findRoot() is the nearest tether.toml above, links resolved", async () => {
  await inTempDir(async (folder) => {
    await plant(folder, { "a/tether.toml": "", "a/b/tether.toml/file": "", "a/b/c/x": "" });
    await Deno.symlink(join(folder, "a/b/c"), join(folder, "link"));
    assert.equal(await findRoot(join(folder, "a")), join(folder, "a"));
    assert.equal(await findRoot(join(folder, "link")), join(folder, "a"), "a folder named tether.toml is none");
    assert.equal(await findRoot(folder), undefined);
  });
});

Deno.test("[formats 1] ensureGitignore() adds what is missing and leaves the rest", async (t) => {
  const cases: [string, string | undefined, "create" | "complete", string | undefined, boolean][] = [
    ["init makes it", undefined, "create", IGNORED, true],
    ["other commands do not", undefined, "complete", undefined, false],
    ["a healthy one is left alone", IGNORED, "complete", IGNORED, false],
    [
      "order and further lines are the user's",
      "x\n" + IGNORED.split("\n").reverse().join("\n"),
      "create",
      "x\n" +
      IGNORED.split("\n").reverse().join("\n"),
      false,
    ],
    [
      "missing lines go to the end",
      "/cache\nmine",
      "complete",
      "/cache\nmine\n" + IGNORED.replace("/cache\n", ""),
      true,
    ],
    ["CRLF counts", IGNORED.replaceAll("\n", "\r\n"), "create", IGNORED.replaceAll("\n", "\r\n"), false],
    ["an empty one is filled", "", "complete", IGNORED, true],
  ];
  for (const [name, before, mode, after, written] of cases) {
    await t.step(name, () =>
      inTempDir(async (root) => {
        if (before !== undefined) await plant(root, { ".tether/.gitignore": before });
        assert.equal(await ensureGitignore(root, mode), written);
        const files = await filesBelow(root);
        assert.deepEqual(files, after === undefined ? [] : [".tether/.gitignore"]);
        if (after !== undefined) assert.equal(await Deno.readTextFile(datasetPaths(root).gitignore), after);
      }));
  }
});

Deno.test("[L15] ensureGitattributes() switches text conversion off", async () => {
  await inTempDir(async (root) => {
    assert.equal(await ensureGitattributes(root, "create"), true);
    assert.equal(await ensureGitattributes(root, "create"), false);
    assert.equal(await Deno.readTextFile(datasetPaths(root).gitattributes), "* -text\n");
  });
});

Deno.test("[L26] a tree that cannot be written is left alone, and init says so", async () => {
  await inTempDir(async (root) => {
    await plant(root, { ".tether/.gitignore": "/cache\n" });
    await whileReadOnly(root, async () => {
      assert.equal(await ensureGitignore(root, "complete"), false);
      await assert.rejects(ensureGitignore(root, "create"));
      assert.equal(await usableCache(datasetPaths(root)), undefined);
    });
    assert.equal(await usableCache(datasetPaths(root)), datasetPaths(root).cache);
  });
});

const LINKABLE = ["objects", "listings", "lock", "ops.jsonl", "workspace.toml"].map((name) => `.tether/${name}`);
LINKABLE.push(".tether", "tether.toml");

Deno.test("[L40] links in a clone lead nowhere", async (t) => {
  for (const path of LINKABLE) {
    await t.step(`${path} as a link is refused`, () =>
      inTempDir(async (folder) => {
        const root = join(folder, "ds");
        await Deno.mkdir(join(root, path, ".."), { recursive: true });
        await refuseLinks(datasetPaths(root));
        await Deno.symlink("/nowhere", join(root, path));
        await assert.rejects(refuseLinks(datasetPaths(root)), ConfigError);
      }));
  }
  await t.step("a folder is not made through a link that leads out", () =>
    inTempDir(async (folder) => {
      const root = join(folder, "ds");
      await plant(folder, { "ds/.tether/objects/a/x": "", "outside/x": "" });
      await Deno.symlink(join(folder, "outside"), join(root, ".tether/objects/out"));
      await Deno.symlink(join(root, ".tether/objects/a"), join(root, ".tether/objects/in"));
      await makeFolder(root, join(root, ".tether/objects/in/b/c"));
      await assert.rejects(makeFolder(root, join(root, ".tether/objects/out/b")), ConfigError);
      assert.deepEqual(await filesBelow(join(folder, "outside")), ["x"]);
    }));
  await t.step("a linked cache is not used", () =>
    inTempDir(async (folder) => {
      await plant(folder, { "ds/.tether/x": "", "outside/x": "" });
      await Deno.symlink(join(folder, "outside"), join(folder, "ds/.tether/cache"));
      assert.equal(await usableCache(datasetPaths(join(folder, "ds"))), undefined);
    }));
});

Deno.test("[formats 17] sweepTemporary() removes old leftovers only", async () => {
  await inTempDir(async (root) => {
    const old = [
      ".tether/.workspace.toml.tmp",
      ".tether/cache/.a.toml.1a2b3c4d.tmp",
      "shared/.tether-pinned.jsonl.1a2b3c4d.tmp",
    ];
    // Where nobody writes without the lock, what is there is left over, however young.
    const beside = [".tether/objects/.b.toml.1a2b3c4d.tmp", ".tether/listings/.c.jsonl.1a2b3c4d.tmp"];
    const others = [".tether/notes.tmp", "shared/.somebody.tmp"];
    const kept = [".tether/cache/file-hashes.json", ".tether/cache/.young.tmp", ...others];
    await plant(root, Object.fromEntries([...old, ...beside, ...kept].map((path) => [path, ""])));
    const past = new Date(Date.now() - 7_200_000);
    for (const path of [...old, ...others]) await Deno.utime(join(root, path), past, past);
    await sweepTemporary(datasetPaths(root), new Date(), {
      shared: join(root, "shared"),
      leftovers: [join(root, ".tether/objects/.b.toml.1a2b3c4d.tmp")],
    });
    assert.deepEqual(await filesBelow(root), kept.sort());
  });
});
