import { strict as assert } from "node:assert";
import { InvalidLocatorError, RefConflictError, StoreNotFoundError } from "../../engine/model/backend_errors.ts";
import { intercept, openFile, temporary } from "./_temporary.ts";

const OWNER = { owner: "0a1b2c3d" } as const;

Deno.test("[backends 3.1] create makes the folder with its parents and a marker, and nothing over anything", async (t) => {
  await using folder = await temporary();
  await using backend = await openFile();
  const locator = { uri: `${folder.path}/new/deep/store/` };
  const state = await backend.create?.(locator, OWNER);
  assert.deepEqual(state, { type: "dir", count: 0, size: 0, digest: "cae66941d9efbd404e4d88758ea67670" });
  assert.equal(await Deno.readTextFile(`${locator.uri}.tether-owner`), "0a1b2c3d\n");
  assert.equal(await backend.isRefEmpty?.(locator), true);

  await folder.write("file", "x");
  await Deno.mkdir(`${folder.path}/empty`);
  await Deno.symlink("nowhere", `${folder.path}/dangling`);
  await Deno.symlink("empty", `${folder.path}/link`);
  for (const name of ["file", "empty", "dangling", "link", "link/", "new/deep/store", "empty/."]) {
    await t.step(name, async () => {
      const create = backend.create?.({ uri: `${folder.path}/${name}` }, { owner: "ffffffff" });
      await assert.rejects(async () => await create, InvalidLocatorError);
    });
  }
  assert.equal(await backend.owner?.(locator), OWNER.owner);
  assert.equal((await Array.fromAsync(Deno.readDir(`${folder.path}/empty`))).length, 0);
  await assert.rejects(Deno.lstat(`${folder.path}/nowhere`), Deno.errors.NotFound);
});

Deno.test("[backends 3.1] only a marker that is a regular file of the root names an owner", async () => {
  await using folder = await temporary();
  await using backend = await openFile();
  const locator = { uri: folder.path };
  const marker = `${folder.path}/.tether-owner`;
  assert.equal(await backend.owner?.(locator), undefined);
  for (const [content, owner] of [["0a1b2c3d\n", "0a1b2c3d"], ["  x \n", "x"], ["\n", undefined]] as const) {
    await Deno.writeTextFile(marker, content);
    assert.equal(await backend.owner?.(locator), owner);
  }
  await Deno.writeTextFile(marker, "a".repeat(1000));
  assert.equal(await backend.owner?.(locator), undefined);
  await Deno.remove(marker);
  await folder.write("elsewhere", "0a1b2c3d\n");
  await Deno.symlink("elsewhere", marker);
  assert.equal(await backend.owner?.(locator), undefined);
  await Deno.remove(marker);
  await folder.write("sub/.tether-owner", "0a1b2c3d\n");
  assert.equal(await backend.owner?.(locator), undefined);
});

Deno.test("[backends 3.1] emptiness is known of folders only", async () => {
  await using folder = await temporary();
  await using backend = await openFile();
  await folder.write("f", "");
  const empty = async (path: string): Promise<boolean | undefined> =>
    await backend.isRefEmpty?.({ uri: folder.path + path });
  assert.equal(await empty("/f"), undefined);
  assert.equal(await empty("/absent"), undefined);
  assert.equal(await empty(""), false);
  await folder.write("store/.tether-owner", "0a1b2c3d\n");
  assert.equal(await empty("/store"), true);
  await Deno.mkdir(`${folder.path}/store/sub`);
  assert.equal(await empty("/store"), false);
});

Deno.test("[C27] a file that is put into a store while it is deleted stays, and so does the store", async () => {
  await using folder = await temporary();
  await using backend = await openFile();
  const locator = { uri: `${folder.path}/store` };
  await backend.create?.(locator, OWNER);
  {
    using _writer = intercept("remove", (remove) => async (path, options) => {
      await remove(path, options);
      if (String(path).endsWith("/.tether-owner")) await folder.write("store/late", "data");
    });
    await assert.rejects(async () => await backend.deleteStore?.(locator, OWNER), RefConflictError);
  }
  assert.equal(await Deno.readTextFile(`${locator.uri}/late`), "data");
  assert.equal(await backend.owner?.(locator), OWNER.owner, "the marker is back");
  await Deno.remove(`${locator.uri}/late`);
  await backend.deleteStore?.(locator, OWNER);
  await assert.rejects(Deno.lstat(locator.uri), Deno.errors.NotFound);
  await Deno.lstat(folder.path);
  await assert.rejects(async () => await backend.deleteStore?.(locator, OWNER), StoreNotFoundError);
});

Deno.test("[C27] a store reached through a linked parent is deleted, a linked store is not", async () => {
  await using folder = await temporary();
  await using backend = await openFile();
  await Deno.mkdir(`${folder.path}/parent`);
  await Deno.symlink("parent", `${folder.path}/linked`);
  await backend.create?.({ uri: `${folder.path}/linked/store` }, OWNER);
  await Deno.symlink("parent/store", `${folder.path}/link`);
  for (const uri of [`${folder.path}/link`, `${folder.path}/link/`]) {
    await assert.rejects(async () => await backend.deleteStore?.({ uri }, OWNER), /it is a symbolic link/);
  }
  assert.equal(await backend.owner?.({ uri: `${folder.path}/parent/store` }), OWNER.owner);
  await backend.deleteStore?.({ uri: `${folder.path}/linked/store` }, OWNER);
  assert.equal((await Array.fromAsync(Deno.readDir(`${folder.path}/parent`))).length, 0);
});
