import { strict as assert } from "node:assert";
import { ABSENT, DEFAULT_SETTINGS, type State } from "../../backends/backend.ts";
import { IcechunkBackend } from "../../backends/icechunk/icechunk.ts";
import { parseJson } from "../../engine/model/json.ts";
import { peerBin } from "../../scripts/peer.ts";
import { createRepository, readArray, writeArray } from "../helpers/icechunk_data.ts";

const BIN = await peerBin();
/** Runs with the Python implementation, which `deno task test` installs. Its absence is a failure in CI. */
const OPTIONS = { ignore: BIN === undefined && !Deno.env.get("CI") };
const ID = "0a1b2c3d.00112233445566aa";
const REF = `tether.${ID}`;
const WORKING = "tether.ws.0a1b2c3d.exp";

const PRELUDE = `
import json, os, sys, datetime, icechunk, numpy as np, zarr
path = sys.argv[1]
storage = icechunk.local_filesystem_storage(path)
def repo(): return icechunk.Repository.open(storage)
def read(**at): return [int(n) for n in zarr.open_group(repo().readonly_session(**at).store, mode="r")["a"][:]]
`;

/** Runs Python with the 1.x library, the repository as `repo()`, and returns what `result` is at the end. */
async function python(path: string, code: string): Promise<unknown> {
  const { success, stdout, stderr } = await new Deno.Command(`${BIN}/python`, {
    args: ["-c", `${PRELUDE}result = None\n${code}\nprint(json.dumps(result))`, path],
    env: { ICECHUNK_LOG: "off" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.ok(success, `${out}${err}`);
  return parseJson(out ?? "");
}

/** A repository with the array \`a\` in two versions. */
const MAKE = `
r = icechunk.Repository.create(storage)
result = []
for numbers in [[1, 2, 3], [4, 5, 6]]:
    s = r.writable_session("main")
    a = zarr.open_group(s.store, mode="a").create_array("a", shape=(3,), chunks=(2,), dtype="i4", compressors=None, fill_value=0, overwrite=True)
    a[:] = numbers
    result.append(s.commit(str(numbers)))
`;

async function withPath(fn: (path: string, backend: IcechunkBackend) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-icechunk-" }));
  try {
    await using backend = new IcechunkBackend(DEFAULT_SETTINGS);
    await fn(`${folder}/r.icechunk`, backend);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function stateOf(snapshot: string | undefined): State {
  return { snapshot_id: snapshot ?? "" };
}

Deno.test("[backends 8] what the Python library made is pinned, forked, read and verified here", OPTIONS, async () => {
  await withPath(async (path, backend) => {
    const locator = { uri: path };
    const [old, head] = await python(path, MAKE) as string[];
    assert.deepEqual(await backend.fingerprint(locator, undefined), stateOf(head));
    assert.deepEqual((await backend.history(locator, { limit: 2 })).map((e) => [e.id, e.message]), [
      [head, "[4, 5, 6]"],
      [old, "[1, 2, 3]"],
    ]);
    const pin = await backend.pin(locator, stateOf(old), ID);
    await backend.fork(locator, { on: "pin", pin }, WORKING, { expected: ABSENT });
    await writeArray(path, WORKING, { name: "a", values: [7, 8, 9], chunk: 2 });
    const all = `result = [read(branch="main"), read(tag="${REF}"), read(branch="${WORKING}")]`;
    assert.deepEqual(await python(path, all), [[4, 5, 6], [1, 2, 3], [7, 8, 9]]);
    assert.deepEqual(await readArray(path, { on: "pin", pin }, "a"), [1, 2, 3]);
    assert.deepEqual(await backend.verify(locator, stateOf(old), pin, { deep: true }), {
      status: "ok",
      message: "1 manifest found, 2 chunks of 1 array read, at most 3 of each",
    });
  });
});

Deno.test(
  "[backends 8] what was made here in format 1 is read and written by the Python library",
  OPTIONS,
  async () => {
    await withPath(async (path, backend) => {
      const locator = { uri: path };
      await createRepository(path, { format: 1 });
      const values = Array.from({ length: 1000 }, (_, i) => i);
      const old = await writeArray(path, "main", { name: "a", values, chunk: 300 });
      await backend.pin(locator, stateOf(old), ID);
      await backend.fork(locator, { on: "state", state: stateOf(old) }, WORKING);
      const head = await python(
        path,
        `
assert read(tag="${REF}") == list(range(1000))
s = repo().writable_session("${WORKING}")
zarr.open_group(s.store)["a"][:] = 5
result = s.commit("python")
`,
      );
      assert.deepEqual(await backend.fingerprint(locator, WORKING), { snapshot_id: head });
      assert.deepEqual(await readArray(path, { on: "ref", ref: WORKING }, "a"), values.map(() => 5));
      assert.deepEqual((await backend.diff(locator, stateOf(old), stateOf(String(head)))).entries, [
        { path: "/a", change: "modified", detail: "4 chunks" },
      ]);
      assert.deepEqual(
        await backend.promote(locator, { on: "ref", ref: WORKING }, { expected: stateOf(old) }),
        stateOf(String(head)),
      );
      assert.equal(await python(path, `result = repo().lookup_branch("main")`), head);
    });
  },
);

Deno.test(
  "[backends 3.4] a name that either side used up is one that the other does not use again",
  OPTIONS,
  async () => {
    await withPath(async (path, backend) => {
      const locator = { uri: path };
      const [old] = await python(path, MAKE) as string[];
      await python(path, `repo().create_tag("${REF}", "${old}"); repo().delete_tag("${REF}")`);
      const second = await backend.pin(locator, stateOf(old), ID);
      assert.equal(second.ref, `${REF}.2`);
      await backend.unpin(locator, second);
      await python(path, `repo().create_tag("${REF}.3", "${old}")`);
      assert.deepEqual(await backend.pin(locator, stateOf(old), ID), { id: ID, ref: `${REF}.3`, created: false });
      const burnt = `
try:
    repo().create_tag("${REF}.2", "${old}")
except icechunk.IcechunkError:
    result = sorted(repo().list_tags())
`;
      assert.deepEqual(await python(path, burnt), [`${REF}.3`]);
    });
  },
);

Deno.test(
  "[backends 3.4] what the library's own expiry leaves is told apart: pinned, unpinned, cut off",
  OPTIONS,
  async () => {
    await withPath(async (path, backend) => {
      const locator = { uri: path };
      const [old, head] = await python(path, MAKE) as string[];
      await backend.fork(locator, { on: "state", state: stateOf(old) }, WORKING);
      const lost = await writeArray(path, WORKING, { name: "b", values: [1], chunk: 2 });
      const kept = await writeArray(path, WORKING, { name: "b", values: [2], chunk: 2 });
      const pin = await backend.pin(locator, stateOf(kept), ID);
      await backend.deleteWorkingRef(locator, WORKING);
      await python(
        path,
        `
now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
repo().expire_snapshots(older_than=now)
repo().garbage_collect(now)
`,
      );
      const status = async (snapshot: string | undefined, pinned?: typeof pin) =>
        (await backend.verify(locator, stateOf(snapshot), pinned, { deep: true })).status;
      assert.deepEqual([await status(head), await status(kept, pin), await status(lost)], ["ok", "ok", "missing"]);
      assert.ok((await backend.history(locator, { limit: 10 })).length >= 1);
    });
  },
);

Deno.test(
  "[L06] chunks outside the repository are counted, not followed, and no configuration is in the way",
  OPTIONS,
  async () => {
    await withPath(async (path, backend) => {
      const make = `
outside = path + "-outside"
os.makedirs(outside)
open(outside + "/data", "wb").write(np.arange(4, dtype="i4").tobytes())
config = icechunk.RepositoryConfig.default()
config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(f"file://{outside}/", icechunk.local_filesystem_store(outside + "/")))
r = icechunk.Repository.create(storage, config)
s = r.writable_session("main")
zarr.open_group(s.store, mode="a").create_array("v", shape=(4,), chunks=(4,), dtype="i4", compressors=None)
s.store.set_virtual_ref("v/c/0", f"file://{outside}/data", offset=0, length=16, validate_container=False)
result = s.commit("virtual")
`;
      const state = stateOf(String(await python(path, make)));
      assert.deepEqual(await backend.fingerprint({ uri: path }, undefined), state);
      assert.deepEqual(await backend.verify({ uri: path }, state, undefined, { deep: true }), {
        status: "ok",
        message:
          "1 manifest found, 0 chunks of 1 array read, at most 3 of each, 1 chunk outside the repository not read",
      });
      await using handle = await backend.openHandle({ uri: path }, { on: "base" }, { readOnly: false });
      await assert.rejects(handle.session, /its configuration names stores/);
      await using reader = await backend.openHandle({ uri: path }, { on: "base" }, { readOnly: true });
      assert.deepEqual(await (await reader.session).store.listDir("v"), ["zarr.json", "c"]);
    });
  },
);
