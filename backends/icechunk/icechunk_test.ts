import { strict as assert } from "node:assert";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { createRepository, putArray, readArray, write, writeArray } from "../../tests/helpers/icechunk_data.ts";
import { LocalStorage } from "../storage/local.ts";
import { ABSENT, DEFAULT_SETTINGS, type Locator, type ObjectBackend, type Pin, type State } from "../backend.ts";
import { IcechunkBackend } from "./icechunk.ts";
import { IcechunkHandle } from "./handle.ts";
import { Lease } from "./library.ts";
import { libraryStorage, ThrownErrors } from "./library_storage.ts";

const FIRST = "1CECHNKREP0F1RSTCMT0";
const ID = "0a1b2c3d.00112233445566aa";
const REF = `tether.${ID}`;
const WORKING = "tether.ws.0a1b2c3d.exp";

/** A repository with one array, and a backend to look at it. */
interface Bench {
  readonly path: string;
  readonly locator: Locator;
  readonly backend: Required<Omit<IcechunkBackend, "statics">> & IcechunkBackend;
  /** Writes an array and returns the state after it. */
  write(branch: string, name: string, values?: readonly number[]): Promise<State>;
}

/** Runs a test on a repository of each format. */
function onBoth(title: string, fn: (bench: Bench) => Promise<void>): void {
  for (const format of [1, 2] as const) {
    Deno.test(`${title} (format ${format})`, async () => {
      const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-icechunk-" }));
      const path = `${folder}/r.icechunk`;
      try {
        await using backend = new IcechunkBackend(DEFAULT_SETTINGS);
        // Held here, the library loads once and not for every write.
        await using library = new Lease();
        await library.runtime();
        await createRepository(path, { format });
        await fn({
          path,
          locator: { uri: path },
          backend,
          async write(branch, name, values = [1, 2, 3]) {
            return { snapshot_id: await writeArray(path, branch, { name, values, chunk: 150 }) };
          },
        });
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    });
  }
}

onBoth("[backends 3.4] a new repository stands at the snapshot that all repositories begin with", async (b) => {
  assert.deepEqual(await b.backend.fingerprint(b.locator, undefined), { snapshot_id: FIRST });
  assert.deepEqual(b.backend.identity(b.locator), { uri: b.path });
});

onBoth("[backends 3.4] at names a branch, else a tag, else a snapshot", async (b) => {
  const one = await b.write("main", "a");
  const two = await b.write("main", "b");
  await b.backend.fork(b.locator, { on: "state", state: one }, "side");
  await b.backend.pin(b.locator, one, ID);
  const cases: readonly (readonly [string, State])[] = [
    ["main", two],
    ["side", one],
    [REF, one],
    [String(one["snapshot_id"]), one],
    [FIRST, { snapshot_id: FIRST }],
  ];
  for (const [at, state] of cases) {
    assert.deepEqual(await b.backend.fingerprint({ ...b.locator, at }, undefined), state, at);
  }
  assert.deepEqual(await b.backend.fingerprint({ ...b.locator, branch: "side" }, undefined), one);
  for (const at of ["nope", "a/b", "ZZZZZZZZZZZZZZZZZZZG", "../secret"]) {
    await rejects(b.backend.fingerprint({ ...b.locator, at }, undefined), "state-gone");
  }
});

onBoth("[backends 3.4] a pin that was released comes back as the next generation of its name", async (b) => {
  const { backend, locator } = b;
  const state = await b.write("main", "a");
  const other = await b.write("main", "b");
  const first = await backend.pin(locator, state, ID);
  await backend.unpin(locator, first);
  const second = await backend.pin(locator, state, ID);
  assert.deepEqual(second, { id: ID, ref: `${REF}.2`, created: true });
  assert.deepEqual(await backend.pin(locator, state, ID), { id: ID, ref: `${REF}.2`, created: false });
  await rejects(backend.pin(locator, other, ID), "ref-conflict");
  assert.deepEqual([...await backend.listPins(locator)], [ID], "generations are one pin");

  // A manifest may still name the first generation: it is served by the one that lives.
  const verdict = await backend.verify(locator, state, first, { deep: false });
  assert.deepEqual(verdict, { status: "ok", message: `held by tag "${REF}.2"` });
  assert.deepEqual(await backend.verifyPins(locator, [{ state, pin: first }, { state: other, pin: second }]), [
    verdict,
    { status: "drifted", message: `tag "${REF}.2" is at "${state["snapshot_id"]}"` },
  ]);
  await using handle = await backend.openHandle(locator, { on: "pin", pin: first }, { readOnly: true });
  assert.equal(handle.address(), `${b.path}#${REF}.2`);
  assert.equal(await backend.fork(locator, { on: "pin", pin: first }, WORKING, { expected: ABSENT }), WORKING);

  await backend.unpin(locator, second);
  assert.deepEqual((await backend.pin(locator, state, ID)).ref, `${REF}.3`);
});

onBoth("[backends 3.4] unpin() releases every living generation of its id and no other tag", async (b) => {
  const { backend, locator } = b;
  const snapshot = String((await b.write("main", "a"))["snapshot_id"]);
  const tags = [REF, `${REF}.2`, `${REF}.7`, `${REF}0`, "v1", "tether.ws.odd"];
  await write(b.path, "main", async (session) => {
    await putArray(session, { name: "b", values: [1] });
    await session.commit("b");
  });
  for (const tag of tags) await tagOutside(b.path, tag, snapshot);
  // What a hostile manifest calls the ref of its pin is not what is deleted.
  await backend.unpin(locator, { id: ID, ref: "v1" });
  assert.deepEqual([...await backend.listPins(locator)], [`${ID}0`]);
  const left = [];
  for (const at of tags) {
    if (await backend.fingerprint({ ...locator, at }, undefined).then(() => true, () => false)) left.push(at);
  }
  assert.deepEqual(left, [`${REF}0`, "v1", "tether.ws.odd"]);
});

onBoth("[L06] deep verify misses what a shallow one cannot see, and says what it looked at", async (b) => {
  const { backend, locator } = b;
  const values = Array.from({ length: 900 }, (_, i) => i + 1);
  await b.write("main", "one", values);
  const state = await b.write("main", "group/two", values);
  const pin = await backend.pin(locator, state, ID);
  const verify = async (deep: boolean) => await backend.verify(locator, state, pin, { deep });
  assert.deepEqual(await verify(false), { status: "ok" });
  assert.deepEqual(await verify(true), {
    status: "ok",
    message: "2 manifests found, 6 chunks of 2 arrays read, at most 3 of each",
  });
  assert.equal((await backend.verify(locator, state, undefined, { deep: false })).status, "unknown");
  assert.equal((await backend.verify(locator, state, undefined, { deep: true })).status, "ok");

  const snapshot = `${b.path}/snapshots/${state["snapshot_id"]}`;
  const [manifest = ""] = await filesOf(`${b.path}/manifests`);
  const chunks = await filesOf(`${b.path}/chunks`);
  for (const [what, files] of [["snapshot", [snapshot]], ["manifest", [manifest]], ["chunks", chunks]] as const) {
    for (const [how, status] of [["gone", "missing"], ["cut short", "drifted"]] as const) {
      await using _broken = await breakFiles(files, how);
      assert.equal((await verify(true)).status, status, `${what} ${how}`);
      if (what !== "snapshot") assert.equal((await verify(false)).status, "ok", `${what} ${how}, shallow`);
    }
  }
  assert.equal((await verify(true)).status, "ok", "everything is back");
});

onBoth("[backends 3.4] a state without a file of its own is neither pinned, forked nor opened", async (b) => {
  const { backend, locator } = b;
  const state = await b.write("main", "a");
  await b.write("main", "b");
  // Read once before, so that nothing remembered may stand in for it.
  await backend.verify(locator, state, undefined, { deep: true });
  await Deno.remove(`${b.path}/snapshots/${state["snapshot_id"]}`);
  const from = { on: "state", state } as const;
  await rejects(backend.pin(locator, state, ID), "state-gone");
  await rejects(backend.fork(locator, from, WORKING), "state-gone");
  await rejects(backend.openHandle(locator, from, { readOnly: true }), "state-gone");
  assert.equal((await backend.verify(locator, state, undefined, { deep: false })).status, "missing");
  assert.deepEqual([...await backend.listPins(locator)], []);
  assert.deepEqual(await backend.listWorkingRefs(locator), []);
});

onBoth("[backends 3.4] history goes parent by parent, names refs, and ends where it was cut off", async (b) => {
  const { backend, locator } = b;
  const states = [];
  for (const name of ["a", "b", "c"]) states.push(await b.write("main", name));
  const [first = {}, second = {}] = states;
  await backend.pin(locator, second, ID);
  await backend.fork(locator, { on: "state", state: second }, WORKING);
  const entries = await backend.history(locator, { limit: 10 });
  assert.deepEqual(entries.map((e) => [e.message, e.refs]), [
    ["Write c", ["main"]],
    ["Write b", [WORKING, REF]],
    ["Write a", []],
    ["Repository initialized", []],
  ]);
  assert.match(entries[0]?.when ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(await backend.history(locator, { limit: 2 }), entries.slice(0, 2));
  assert.deepEqual(await backend.history(locator, { limit: 10, ref: WORKING }), entries.slice(1));
  assert.equal(await backend.ancestorOf(locator, first, { on: "ref", ref: WORKING }), true);
  assert.equal(await backend.ancestorOf(locator, { snapshot_id: "none" }, { on: "ref", ref: WORKING }), false);
});

Deno.test("[backends 3.4] what an expired history cannot tell is undefined", async () => {
  const folder = await Deno.makeTempDir({ prefix: "tether-icechunk-" });
  try {
    await using backend = new IcechunkBackend(DEFAULT_SETTINGS);
    await createRepository(folder, { format: 1 });
    const snapshots = [];
    for (const name of ["a", "b", "c"]) snapshots.push(await writeArray(folder, "main", { name, values: [1] }));
    await Deno.remove(`${folder}/snapshots/${snapshots[0]}`);
    const locator = { uri: folder };
    const entries = await backend.history(locator, { limit: 10 });
    assert.deepEqual(entries.map((e) => e.id), [snapshots[2], snapshots[1]]);
    assert.equal(await backend.ancestorOf(locator, { snapshot_id: FIRST }, { on: "ref", ref: "main" }), undefined);
    const expected = await backend.fingerprint(locator, undefined);
    const from = { on: "state", state: { snapshot_id: snapshots[1] ?? "" } } as const;
    await rejects(backend.promote(locator, from, { expected }), "ref-conflict");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

onBoth("[backends 3.4] diff counts nodes, whichever way and across diverged lines", async (b) => {
  const { backend, locator } = b;
  await b.write("main", "kept", [1, 2, 3]);
  const base = await b.write("main", "gone", [1]);
  await backend.fork(locator, { on: "state", state: base }, WORKING);
  const left = await b.write("main", "kept", Array.from({ length: 300 }, () => 7));
  const right = await write(b.path, WORKING, async (session) => {
    await session.store.deleteDir("gone");
    await putArray(session, { name: "group/new", values: [1] });
    return { snapshot_id: await session.commit("right") };
  });
  assert.deepEqual(await backend.diff(locator, base, right), {
    unit: "nodes",
    added: 2,
    removed: 1,
    modified: 0,
    entries: [
      { path: "/gone", change: "removed", detail: "array" },
      { path: "/group", change: "added", detail: "group" },
      { path: "/group/new", change: "added", detail: "array" },
    ],
    truncated: false,
    note: "",
  });
  const back = await backend.diff(locator, right, base);
  assert.deepEqual([back.added, back.removed, back.modified], [1, 2, 0]);
  assert.match(back.note, /is older than/);
  const across = await backend.diff(locator, left, right);
  assert.deepEqual(across.entries, [
    { path: "/gone", change: "removed", detail: "array" },
    { path: "/group", change: "added", detail: "group" },
    { path: "/group/new", change: "added", detail: "array" },
    { path: "/kept", change: "modified", detail: "array metadata, 2 chunks" },
  ]);
  assert.match(across.note, new RegExp(`different lines; "${base["snapshot_id"]}"`));
});

onBoth("[backends 3.4] promote() only moves forward, and tells what to do instead", async (b) => {
  const { backend, locator } = b;
  const base = await b.write("main", "a");
  await backend.fork(locator, { on: "state", state: base }, WORKING);
  const head = await b.write(WORKING, "b");
  const moved = await b.write("main", "c");
  const error = await rejects(backend.promote(locator, { on: "ref", ref: WORKING }), "ref-conflict");
  assert.deepEqual(error.hints, [backend.statics.promoteHint]);
  assert.deepEqual(await backend.fingerprint(locator, undefined), moved);
  await backend.fork(locator, { on: "state", state: moved }, WORKING, { expected: head });
  const next = await b.write(WORKING, "b");
  assert.deepEqual(await backend.promote(locator, { on: "ref", ref: WORKING }), next);
  assert.deepEqual(await backend.fingerprint(locator, undefined), next);
});

onBoth("[backends 3.4] the branch every repository has, and the base, are never deleted", async (b) => {
  const { backend, locator } = b;
  const state = await b.write("main", "a");
  await backend.fork(locator, { on: "state", state }, "upstream");
  await backend.deleteWorkingRef({ ...locator, branch: "upstream" }, "upstream");
  await backend.deleteWorkingRef({ ...locator, branch: "upstream" }, "main");
  for (const ref of ["main", "upstream"]) assert.deepEqual(await backend.fingerprint(locator, ref), state);
});

onBoth("[backends 2] a handle's session reads, writes and stays on what it was opened on", async (b) => {
  const { backend, locator, path } = b;
  const state = await b.write("main", "a", [1, 2, 3]);
  const pin: Pin = await backend.pin(locator, state, ID);
  await backend.fork(locator, { on: "pin", pin }, WORKING);
  const snapshot = String(state["snapshot_id"]);
  {
    await using handle = await backend.openHandle(locator, { on: "ref", ref: WORKING }, { readOnly: false });
    assert.deepEqual(handle.toJSON(), {
      key: path,
      read_only: false,
      address: `${path}#${WORKING}`,
      type: "IcechunkHandle",
      kind: "icechunk",
      native: { uri: path, branch: WORKING, snapshot_id: snapshot },
    });
    assert.ok(!Object.keys(handle).includes("session"), "a live object is no data");
    const session = await handle.session;
    await putArray(session, { name: "a", values: [4, 5, 6] });
    await session.commit("changed");
  }
  assert.deepEqual(await readArray(path, { on: "ref", ref: WORKING }, "a"), [4, 5, 6]);
  assert.deepEqual(await readArray(path, { on: "pin", pin }, "a"), [1, 2, 3]);
  const addresses: readonly (readonly [Parameters<ObjectBackend["openHandle"]>[1], Locator, string, boolean])[] = [
    [{ on: "base" }, locator, "#main", false],
    [{ on: "base" }, { ...locator, at: snapshot }, `#${snapshot}`, true],
    [{ on: "base" }, { ...locator, at: REF }, `#${REF}`, true],
    [{ on: "pin", pin }, locator, `#${REF}`, true],
    [{ on: "state", state }, locator, `#${snapshot}`, true],
  ];
  for (const [target, at, address, readOnly] of addresses) {
    await using handle = await backend.openHandle(at, target, { readOnly: false });
    assert.ok(handle instanceof IcechunkHandle);
    assert.deepEqual([handle.address(), handle.readOnly], [path + address, readOnly]);
    assert.equal((await handle.session).readOnly, readOnly);
  }
  const closed = await backend.openHandle(locator, { on: "base" }, { readOnly: true });
  await closed[Symbol.asyncDispose]();
  await rejects(closed.session, "library");
});

Deno.test("[backends 3.4] a repository that is replaced, upgraded or gone is noticed by a backend that has it open", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-icechunk-" }));
  const path = `${folder}/r`;
  try {
    await using backend = new IcechunkBackend(DEFAULT_SETTINGS);
    const locator = { uri: path };
    await rejects(backend.fingerprint(locator, undefined), "store-not-found");
    for (const format of [1, 2, 1, 1, 2, 2] as const) {
      await createRepository(path, { format });
      const snapshot = await writeArray(path, "main", { name: "a", values: [format] });
      assert.deepEqual(await backend.fingerprint(locator, undefined), { snapshot_id: snapshot });
      await Deno.remove(path, { recursive: true });
      await rejects(backend.fingerprint(locator, undefined), "store-not-found");
      await rejects(backend.listPins(locator), "store-not-found");
      const verdict = await backend.verify(locator, { snapshot_id: snapshot }, undefined, { deep: true });
      assert.deepEqual([verdict.status, verdict.cause?.code], ["unknown", "store-not-found"]);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("[backends 3.4] only local paths and s3:// may name a repository, and s3:// is not reached yet", async () => {
  await using backend = new IcechunkBackend(DEFAULT_SETTINGS);
  for (const uri of ["/data/a.icechunk", "file:///data/a.icechunk"]) {
    assert.deepEqual(await backend.validateLocator({ uri }), []);
  }
  for (const uri of ["gs://lab/a", "az://lab/a", "https://lab/a", "memory://a", "", "file://other/a"]) {
    await rejects(backend.validateLocator({ uri }), "locator");
  }
  await rejects(backend.validateLocator({ uri: "s3://lab/imaging" }), "capability");
});

/** Makes a tag as any other program would. */
async function tagOutside(path: string, tag: string, snapshot: string): Promise<void> {
  await using lease = new Lease();
  await (await lease.runtime()).call(async (library) => {
    const storage = libraryStorage(library, new LocalStorage(path, { kind: "icechunk" }), new ThrownErrors());
    await (await library.Repository.open(storage)).createTag(tag, snapshot);
  });
}

async function filesOf(folder: string): Promise<string[]> {
  const files = [];
  for await (const entry of Deno.readDir(folder)) files.push(`${folder}/${entry.name}`);
  return files;
}

/** Removes or cuts files until disposed. */
async function breakFiles(files: readonly string[], how: "gone" | "cut short"): Promise<AsyncDisposable> {
  const intact = await Promise.all(files.map((file) => Deno.readFile(file)));
  for (const [i, file] of files.entries()) {
    if (how === "gone") await Deno.remove(file);
    else await Deno.writeFile(file, intact[i]?.slice(0, -5) ?? new Uint8Array());
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const [i, file] of files.entries()) await Deno.writeFile(file, intact[i] ?? new Uint8Array());
    },
  };
}

async function rejects(call: Promise<unknown>, code: string): Promise<BackendError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof BackendError, String(error));
    assert.equal(error.code, code, error.message);
    return error;
  }
  assert.fail(`it succeeded, wanted "${code}"`);
}
