import { strict as assert } from "node:assert";
import { CapabilityError, InvalidLocatorError } from "../../engine/model/backend_errors.ts";
import { DEFAULT_POLICY } from "../../engine/model/manifest.ts";
import { assertDeclared, tierOf } from "../backend.ts";
import { fileStatics } from "./statics.ts";
import { openFile, temporary } from "./_temporary.ts";
import { namesWarning } from "./_walk.ts";

Deno.test("[backends 1.7] a local path is Observed under either policy, with what the table says", async () => {
  await using backend = await openFile();
  assertDeclared(backend);
  for (const file of ["immutable", "versioned"] as const) {
    const capabilities = fileStatics.effectiveCapabilities?.({ uri: "/data" }, { ...DEFAULT_POLICY, file });
    assert.deepEqual([...capabilities ?? []], ["fingerprint", "cheap_fingerprint", "diff", "create"]);
    assert.equal(tierOf(capabilities ?? new Set()), "observed");
  }
});

Deno.test("[backends 3.1] an object store is refused by every call, in words", async () => {
  await using backend = await openFile();
  for (const uri of ["s3://bucket/key", "gs://b/p/", "https://host/x", "file://otherhost/data"]) {
    const locator = { uri };
    const calls = [
      () => backend.validateLocator?.(locator),
      () => backend.fingerprint(locator, undefined),
      () => backend.openHandle(locator, { on: "base" }, { readOnly: true }),
      () => backend.create?.(locator, { owner: "0a1b2c3d" }),
      () => backend.owner?.(locator),
      () => backend.deleteStore?.(locator, { owner: "0a1b2c3d" }),
    ];
    for (const call of calls) {
      await assert.rejects(async () => await call(), (error) => {
        assert.ok(error instanceof CapabilityError, String(error));
        return error.message.includes(`"${uri}"`) && error.message.includes("reaches local paths only");
      });
    }
    assert.deepEqual(backend.identity(locator), locator);
    assert.ok(!fileStatics.effectiveCapabilities?.(locator, DEFAULT_POLICY).has("create"));
    assert.deepEqual(fileStatics.permissions(locator, "lifecycle").net, []);
  }
});

Deno.test("[backends 3.1] add refuses a locator without a path, and one with at", async () => {
  await using backend = await openFile();
  assert.deepEqual(await backend.validateLocator?.({ uri: "/data" }), []);
  for (const locator of [{}, { uri: "" }, { uri: "/data", at: "1" }, { uri: "/data", at: 0 }, { uri: "relative" }]) {
    await assert.rejects(async () => await backend.validateLocator?.(locator), InvalidLocatorError);
  }
});

Deno.test("[DIV-2] a relative path of an old manifest is read below the dataset root", async () => {
  await using folder = await temporary();
  await folder.write("data/a", "1");
  await using backend = await openFile({ datasetRoot: folder.path });
  assert.deepEqual(backend.identity({ path: "./data/" }), { uri: "data" });
  assert.equal((await backend.fingerprint({ path: "./data/" }, undefined))["count"], 1);
});

Deno.test("[backends 4] the permissions are the path, what it resolves to, and the links on the way", async () => {
  await using folder = await temporary();
  await folder.write("real/data/a", "1");
  await Deno.symlink("real", `${folder.path}/link`);
  const locator = { uri: `${folder.path}/link/data/` };
  const [spelled, resolved] = [`${folder.path}/link/data`, `${folder.path}/real/data`];
  const read = fileStatics.permissions(locator, "refs");
  assert.deepEqual([read.read, read.write, read.ambient], [[spelled, resolved, `${folder.path}/link`], [], false]);
  const { write } = fileStatics.permissions(locator, "lifecycle");
  for (const path of [spelled, resolved, `${folder.path}/link`, `${folder.path}/real`]) assert.ok(write.includes(path));
});

Deno.test("[backends 3.1] a handle is the path itself, to be read only", async () => {
  await using folder = await temporary();
  await using backend = await openFile();
  const locator = { uri: `${folder.path}/.` };
  await using handle = await backend.openHandle(locator, { on: "base" }, { readOnly: true });
  assert.deepEqual(handle.toJSON(), {
    key: locator.uri,
    read_only: true,
    address: locator.uri,
    type: "FileHandle",
    kind: "file",
    native: { uri: locator.uri },
  });
  await assert.rejects(backend.openHandle(locator, { on: "base" }, { readOnly: false }), CapabilityError);
  const ref = { on: "ref", ref: "x" } as const;
  await assert.rejects(backend.openHandle(locator, ref, { readOnly: true }), CapabilityError);
});

Deno.test("[L22] a runtime that hides names is warned of", () => {
  for (const version of ["2.9.0", "2.10.1", "3.0.0"]) assert.deepEqual(namesWarning(version, "linux"), []);
  assert.equal(namesWarning("2.6.10", "linux").length, 1);
  assert.equal(namesWarning("1.46.3", "linux").length, 1);
  assert.deepEqual(namesWarning("2.6.10", "darwin"), []);
});
