import { strict as assert } from "node:assert";
import { DEFAULT_SETTINGS, type ObjectBackend } from "../../backends/backend.ts";
import { openBackend, staticsOf } from "../../backends/catalog.ts";
import { BackendError, RefMovedError, SandboxError } from "../model/backend_errors.ts";
import { ConfigError } from "../model/errors.ts";
import { Float } from "../model/json.ts";
import { registerBackend } from "./register.ts";

const ROOT = new URL("../../", import.meta.url);
const MODULE = { module: new URL("tests/helpers/nosy_backend.ts", ROOT), folder: ROOT };

async function withNosy(run: (backend: ObjectBackend, file: string, secret: string) => Promise<void>): Promise<void> {
  registerBackend("nosy", MODULE);
  const folder = await Deno.realPath(await Deno.makeTempDir());
  const [file, secret] = [`${folder}/declared`, `${folder}/secret`];
  await Deno.writeTextFile(file, "hello");
  await Deno.writeTextFile(secret, "secret");
  try {
    await using backend = await openBackend("nosy", DEFAULT_SETTINGS);
    await run(backend, file, secret);
  } finally {
    await Deno.remove(folder, { recursive: true });
    // The worker that answered for the statics ends with its turn of the event loop.
    await new Promise((done) => setTimeout(done, 0));
  }
  assert.ok(!("nosyBackendWasHere" in globalThis), "a third-party module must not be evaluated in this process");
}

Deno.test("[backends 4] a third-party kind runs in a worker that may read what it declared and nothing else", async () => {
  await withNosy(async (backend, path, secret) => {
    const state = { content: "hello", big: 2n ** 60n, float: new Float(1), ref: "r" };
    assert.deepEqual(await backend.fingerprint({ path }, "r"), state);
    const inside = Deno.errors.NotCapable;
    await assert.rejects(() => backend.fingerprint({ path, do: secret }, undefined), inside);
    await assert.rejects(() => backend.fingerprint({ path, do: "environment" }, undefined), inside);
    // Another locator is another permission: the first one's worker is not used for it.
    assert.equal((await backend.fingerprint({ path: secret }, undefined))["content"], "secret");
    await assert.rejects(() => backend.fingerprint({ path, do: secret }, undefined), inside);
  });
});

Deno.test("[backends 2] a backend in a worker has exactly the members it has, the synchronous ones too", async () => {
  await withNosy(async (backend, path) => {
    assert.deepEqual(backend.identity({ path }), { path, big: 2n ** 60n });
    assert.equal(backend.branchScope?.({ path }), `scope of ${path}`);
    assert.equal(backend.refNamespace, undefined);
    assert.equal(backend.pin, undefined);
    await backend.fingerprint({ path }, undefined, { onParts: () => assert.fail("it cannot be called from there") });
  });
});

Deno.test("[backends 2] the statics of a third-party kind are data, its functions run without any permission", async () => {
  await withNosy(async () => {
    const statics = await staticsOf("nosy");
    assert.ok(statics);
    assert.deepEqual([...statics.volatileKeys], ["ref"]);
    assert.deepEqual(statics.stateForms, [{ content: "text", big: "whole" }, { home: "text?" }]);
    assert.deepEqual(statics.safeOptionKeys, { table: new Set(["option"]) });
    assert.equal(statics.effectiveCapabilities, undefined);
    assert.deepEqual(statics.pinRefusal?.({}, { content: "draft" }), { reason: "it is a draft", hints: [] });
    assert.equal(statics.pinRefusal?.({}, { content: "final" }), undefined);
    assert.deepEqual(statics.permissions({ path: "/p" }, "read").read, ["/p"]);
    assert.throws(() => statics.permissions({ do: "declare" }, "read"), Deno.errors.NotCapable);
  });
});

Deno.test("[backends 1.9] errors of a worker are typed, thrown or in a verdict", async () => {
  await withNosy(async (backend, path) => {
    const error = await backend.fingerprint({ path, do: "move" }, undefined).catch((e) => e);
    assert.ok(error instanceof RefMovedError);
    assert.deepEqual([error.ref, error.expected, error.message], ["r", { id: 2n ** 60n }, "[nosy] Cannot move"]);
    assert.ok(error.cause instanceof TypeError);
    const { cause } = await backend.verify({ path }, {}, undefined, { deep: false });
    assert.ok(cause instanceof RefMovedError);
  });
});

Deno.test("[C06] aborting reaches into the worker, and the caller gets its own reason back", async () => {
  await withNosy(async (backend, path) => {
    const controller = new AbortController();
    const call = backend.fingerprint({ path, do: "hang" }, undefined, { signal: controller.signal });
    controller.abort();
    await assert.rejects(call, (error) => error === controller.signal.reason);
    const { signal } = controller;
    await assert.rejects(
      backend.fingerprint({ path, do: "hang" }, undefined, { signal }),
      (error) => error === signal.reason,
    );
  });
});

Deno.test("[backends 2] a handle of a worker shows no password and closes twice", async () => {
  await withNosy(async (backend, path) => {
    const handle = await backend.openHandle({ path }, { on: "base" }, { readOnly: true });
    assert.equal(handle.address(), path);
    assert.equal(handle.address({ withPassword: true }), `${path}?hunter2`);
    assert.equal(handle.toJSON().type, "NosyHandle");
    assert.ok(!Deno.inspect(handle, { depth: 9, showHidden: true }).includes("hunter2"));
    await handle[Symbol.asyncDispose]();
    await handle[Symbol.asyncDispose]();
  });
});

Deno.test("[backends 2] a worker that dies fails its calls with a backend error", async () => {
  await withNosy(async (backend, path) => {
    await assert.rejects(backend.fingerprint({ path, do: "die" }, undefined), (error) => {
      assert.ok(error instanceof BackendError);
      assert.match(error.message, /its worker died: .*died on purpose/);
      return true;
    });
  });
});

Deno.test("[backends 2] closing a backend ends its workers; calls after that fail", async () => {
  await withNosy(async (backend, path) => {
    const call = backend.fingerprint({ path, do: "hang" }, undefined);
    await backend[Symbol.asyncDispose]();
    await assert.rejects(call, BackendError);
    await assert.rejects(backend.fingerprint({ path }, undefined), BackendError);
    await backend[Symbol.asyncDispose]();
  });
});

Deno.test({
  name: "[L38] without the permission to hand on, the call is refused before a worker starts",
  permissions: { read: [ROOT] },
  async fn() {
    registerBackend("nosy", MODULE);
    await using backend = await openBackend("nosy", DEFAULT_SETTINGS);
    await assert.rejects(backend.fingerprint({ path: "/var/nowhere" }, undefined), (error) => {
      assert.ok(error instanceof SandboxError);
      assert.deepEqual(error.flags, ["--allow-read=/var/nowhere"]);
      return true;
    });
    await new Promise((done) => setTimeout(done, 0));
  },
});

Deno.test("[backends 4] a third-party module cannot read beyond its folder by importing", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.writeTextFile(`${folder}/credentials.json`, '"hunter2"');
    await Deno.mkdir(`${folder}/code`);
    const source =
      'import secret from "../credentials.json" with { type: "json" };\nexport default { kind: secret };\n';
    await Deno.writeTextFile(`${folder}/code/mod.ts`, source);
    registerBackend("thief", { module: new URL(`file://${folder}/code/mod.ts`) });
    await assert.rejects(() => staticsOf("thief"), /Requires read access to .*credentials\.json/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("[L40] what a third-party module says of itself is checked", async () => {
  const broken = [
    ["export default 1;", /its statics|kind: /],
    ["export const other = {};", /has no statics/],
    ['export default { kind: "sly", capabilities: ["all"] };', /capabilities: Invalid type/],
    ["throw new Error('does not load');", /does not load/],
  ] as const;
  for (const [source, message] of broken) {
    const url = new URL(`data:application/javascript,${encodeURIComponent(source)}`);
    registerBackend("sly", { module: url });
    await assert.rejects(
      () => staticsOf("sly"),
      (error) => error instanceof ConfigError && message.test(error.message),
    );
  }
});

Deno.test("[backends 2] a kind that comes with tether cannot be replaced, and a module must be of its kind", async () => {
  assert.throws(() => registerBackend("memory", MODULE), ConfigError);
  registerBackend("misnamed", MODULE);
  await assert.rejects(() => staticsOf("misnamed"), /describes the kind "nosy"/);
  assert.equal(await staticsOf("nowhere"), undefined);
  await assert.rejects(() => openBackend("nowhere", DEFAULT_SETTINGS), ConfigError);
});
