/**
 * Lessons that one module's tests cannot show: on a dataset with real stores, from registering to reading back.
 *
 * @module
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { acquireLock } from "../../engine/files/lock.ts";
import { LockError } from "../../engine/model/errors.ts";
import type { Locator } from "../../engine/model/manifest.ts";
import { type BackendStatics, makeHandle, type ObjectBackend } from "../../backends/backend.ts";
import { registerStatics } from "../../backends/catalog.ts";
import { memoryStatics } from "../../backends/memory/statics.ts";
import { namedStore } from "../../backends/memory/store.ts";
import { inProcess } from "../hostile/_cli.ts";
import { tempDataset } from "../helpers/dataset.ts";
import { createDelta } from "../helpers/delta_data.ts";
import { createRepository, writeArray } from "../helpers/icechunk_data.ts";
import { appendLanceRows, createLanceTable } from "../helpers/lance_data.ts";
import { plainGit } from "../helpers/repo.ts";

/** Makes a git repository with some commits; returns their ids. */
async function makeGit(path: string, commits: number): Promise<string[]> {
  await plainGit(["init", "-q", "-b", "main", path]);
  const ids: string[] = [];
  for (let i = 0; i < commits; i++) {
    await plainGit(["commit", "-q", "--allow-empty", "-m", `commit ${i}`], { cwd: path });
    ids.push(await plainGit(["rev-parse", "HEAD"], { cwd: path }));
  }
  return ids;
}

Deno.test("[L06] deep verification finds what is lost behind a pin that still names its state", async (test) => {
  await using t = await tempDataset();
  const path = `${t.repo.outer}/a.icechunk`;
  await createRepository(path);
  await writeArray(path, "main", { name: "x", values: Array.from({ length: 1000 }, (_, i) => i), chunk: 500 });
  await t.with(async (ds) => {
    await ds.add({ key: "a", kind: "icechunk", locator: { uri: path } });
    await ds.commit({ message: "Baseline" });
  });
  const verify = async (...args: string[]) => {
    const { code, stdout } = await inProcess(t.root, ["verify", ...args, "--json"]);
    return [code, (JSON.parse(stdout) as Record<string, { status: string }>)["a"]?.status];
  };
  assert.deepEqual([await verify(), await verify("--deep")], [[0, "ok"], [0, "ok"]]);
  for (const lost of ["manifests", "chunks"]) {
    await test.step(`without one of its ${lost}`, async () => {
      await Deno.rename(`${path}/${lost}`, `${path}-${lost}`);
      assert.deepEqual([await verify(), await verify("--deep")], [[0, "ok"], [1, "missing"]]);
      await Deno.rename(`${path}-${lost}`, `${path}/${lost}`);
      assert.deepEqual(await verify("--deep"), [0, "ok"]);
    });
  }
});

Deno.test("[L27] a lock that is held is waited for, and its holder named: process, host, command, since when", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "Baseline" }));
  t.write("a");
  const hintPath = `${t.root}/.tether/cache/lock.json`;
  const held = await acquireLock(`${t.root}/.tether/lock`, { hintPath, command: "gc", timeoutMs: 1000 });
  {
    await using ds = await t.open({ lockTimeoutMs: 60 });
    await assert.rejects(ds.commit({ message: "x" }), (error: unknown) => {
      assert.ok(error instanceof LockError && error.code === "locked", String(error));
      for (const part of [String(Deno.pid), Deno.hostname(), "gc"]) {
        assert.ok(error.message.includes(part), error.message);
      }
      assert.match(error.message, /since \d{4}-\d\d-\d\dT/);
      assert.doesNotMatch(error.hints.join(), /rm |delete|remove/i);
      return true;
    });
    const { objects } = await ds.status({ snapshot: false });
    assert.equal(objects[0]?.state, "clean", "reading needs no lock");
  }
  await using ds = await t.open({ lockTimeoutMs: 10_000 });
  const waiting = ds.commit({ message: "x" });
  await held[Symbol.asyncDispose]();
  assert.notEqual((await waiting).vcsCommit, null);
});

Deno.test("[L34] keys, comments and fields that nobody knows survive whatever writes the manifest", async () => {
  await using t = await tempDataset();
  const keys = ["a.b", "it's", "😀/é x", "[ab]", "#1", "-x"];
  await t.with(async (ds) => {
    for (const key of keys) {
      await ds.add({ key, kind: "memory", locator: { system: t.system(key), 'q"\\n': "😀\n\u007f" } });
    }
    await ds.commit({ message: "Baseline" });
  });
  const path = (key: string) => join(t.root, ".tether/objects", `${key}.toml`);
  const OURS =
    '# of the author\n[notes]\nwhen = 2026-01-01T00:00:00Z\nlimits = [inf, -0.0]\n"a.b" = [{ c = [{ d = 1 }] }]\n';
  for (const key of keys) await Deno.writeTextFile(path(key), OURS, { append: true });
  for (const key of keys) t.write(key);
  await t.with(async (ds) => {
    await ds.setPolicy("all", { pin: "record" });
    await ds.commit({ message: "Moved" });
  });
  await t.with((ds) => {
    for (const key of keys) {
      assert.ok(Deno.readTextFileSync(path(key)).includes(OURS), key);
      const object = ds.objects.get(key);
      assert.deepEqual(object?.locator['q"\\n'], "😀\n\u007f");
      assert.deepEqual([object?.policy.pin, object?.state], ["record", { snapshot_id: `${t.system(key)}:s1` }]);
    }
    return Promise.resolve();
  });
  assert.deepEqual((await t.with((ds) => ds.undo())).skipped, []);
  for (const key of keys) assert.ok((await Deno.readTextFile(path(key))).includes(OURS), key);
});

/** A kind of integer ids, the newest last; one object there is. */
function countingKind(ids: readonly bigint[]): BackendStatics {
  const statics: BackendStatics = {
    ...memoryStatics,
    kind: "counting",
    capabilities: new Set(["fingerprint", "addressable", "history"]),
    stateForms: [{ snapshot_id: "whole" }],
    honoursExpected: new Set(),
    open: () => Promise.resolve(backend),
  };
  const backend: ObjectBackend = {
    statics,
    identity: ({ system = "" }) => ({ system }),
    baseBranch: () => "main",
    fingerprint: ({ at }) => Promise.resolve({ snapshot_id: at === undefined ? ids.at(-1) ?? 0 : BigInt(String(at)) }),
    verify: (_, { snapshot_id }) =>
      Promise.resolve({ status: ids.some((id) => id === snapshot_id) ? "ok" : "missing" }),
    history: (_, { limit }) =>
      Promise.resolve(ids.toReversed().slice(0, limit).map((id) => ({ id: String(id), message: "", refs: [] }))),
    openHandle(locator, target, { readOnly }) {
      const native = { id: target.on === "state" ? target.state["snapshot_id"] ?? null : null };
      const address = `${locator["system"]}@${native.id}`;
      return Promise.resolve(
        makeHandle({ type: "CountingHandle", kind: "counting", key: "c", address, readOnly, native }),
      );
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return statics;
}

Deno.test("[L35] ids beyond 2^53 keep every digit through every command, and the last one tells states apart", async () => {
  await using t = await tempDataset();
  const [first, second, third] = [9007199254740993n, 9007199254740992n, 5184430069070270604n];
  const ids = [first];
  registerStatics("counting", () => Promise.resolve(countingKind(ids)));
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await inProcess(t.root, args);
    assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  const states = async () => /^snapshot_id = (\d+)$/m.exec(await t.read(".tether/objects/big.toml"))?.[1];
  const named = (id: bigint) => new RegExp(`"snapshot_id": ${id}\\b`);
  await run("add", "big", "x", "--kind", "counting", "--set", "system=x");
  assert.match(await run("commit", "-m", "One", "--dry-run", "--plan", `${t.repo.outer}/p`, "--json"), named(first));
  await run("commit", "--from-plan", `${t.repo.outer}/p`);
  assert.equal(await states(), String(first));
  assert.match(await run("status", "--snapshot"), /clean {2}big/);
  for (const id of [second, third]) {
    ids.push(id);
    assert.match(await run("status", "--snapshot"), /behind {2}big/, "as floats the first two are one");
    await run("pull");
    assert.equal(await states(), String(id));
    assert.match(await run("snapshot", "--json"), new RegExp(`: ${id}\\b`));
    assert.match(await run("open", "big", "-r", "HEAD~1"), new RegExp(`@${ids.at(-2)}\\n$`));
    assert.match(await run("open", "big", "-r", "HEAD", "--json"), new RegExp(`"id": ${id}\\b`));
    const [compared] = JSON.parse(await run("diff", "HEAD~1", "HEAD", "--json")) as { change: string; why: string[] }[];
    assert.deepEqual([compared?.change, compared?.why], ["changed", ["state"]]);
    assert.match(await run("ops", "--json"), named(id));
    assert.equal(JSON.parse(await run("log", "big", "--json"))[0].id, String(id));
    assert.deepEqual(JSON.parse(await run("verify", "--deep", "--json"))["big"].status, "ok");
  }
  await run("undo");
  assert.equal(await states(), String(third), "the commit goes, its manifest stays as an edit");
});

Deno.test("[L44] one store under four spellings on two branches is one store: one pin, and gc releases nothing", async () => {
  await using t = await tempDataset();
  const path = `${t.repo.outer}/co#de ?%20`;
  await makeGit(path, 1);
  await Deno.symlink(t.repo.outer, `${t.repo.outer}/link`);
  const spellings = [path, `${path}//`, `${t.repo.outer}/./x/../co#de ?%20`, `${t.repo.outer}/link/co#de ?%20`];
  await t.with(async (ds) => {
    for (const [i, spelled] of spellings.slice(0, 2).entries()) {
      await ds.add({ key: `k${i}`, kind: "git", locator: { path: spelled } });
    }
    await ds.commit({ message: "Trunk" });
  });
  await t.with((ds) => ds.new({ bookmark: "side" }));
  await t.with(async (ds) => {
    for (const [i, spelled] of spellings.slice(2).entries()) {
      const { warnings } = await ds.add({ key: `k${i + 2}`, kind: "git", locator: { path: spelled } });
      assert.match(warnings.join(), /This is the store of "k0", which spells it /);
    }
    await ds.commit({ message: "Side" });
    const ids = new Set([...ds.objects.values()].map((o) => o.pin?.id));
    assert.equal(ids.size, 1);
    const tags = (await plainGit(["tag"], { cwd: path })).split("\n");
    assert.deepEqual(tags, [`tether.${[...ids][0]}`]);
    assert.deepEqual((await ds.gc({ dryRun: false })).unpinned, {});
    await plainGit(["tag", "-d", tags[0] ?? ""], { cwd: path });
    await ds.repair();
    assert.equal((await ds.verify()).ok, true);
  });
});

Deno.test("[backends 9, DIV-8, Δ26, commands 5.2] an object registered at an older state is read, pinned and opened there, whatever its kind", async (test) => {
  await using t = await tempDataset();
  const beside = (name: string) => `${t.repo.outer}/${name}`;
  const [older = ""] = await makeGit(beside("code"), 2);
  await createRepository(beside("a.icechunk"));
  const snapshot = await writeArray(beside("a.icechunk"), "main", { name: "x", values: [1] });
  await writeArray(beside("a.icechunk"), "main", { name: "y", values: [2] });
  const version = await createLanceTable(beside("t.lance"));
  await appendLanceRows(beside("t.lance"), [{ id: 2, name: "b" }]);
  const events = await createDelta(beside("e.delta"));
  await events.append([1]);
  const system = t.system("m");
  const first = namedStore().write(system, { a: 1 }).id;
  namedStore().write(system, { a: 2 });
  const table: readonly (readonly [string, Locator, string, string])[] = [
    ["git", { path: beside("code") }, older, older],
    ["icechunk", { uri: beside("a.icechunk") }, snapshot, snapshot],
    ["lance", { uri: beside("t.lance") }, String(version), `v${version}`],
    ["delta", { uri: beside("e.delta") }, "0", "v0"],
    ["memory", { system }, first, system],
  ];
  for (const [kind, locator, at, address] of table) {
    await test.step(kind, async () => {
      await t.with(async (ds) => {
        assert.equal((await ds.add({ key: kind, kind, locator, at })).at, at);
        const before = await ds.open(kind, { readOnly: true });
        assert.ok(before.address().includes(address), `${before.address()}, not yet committed`);
        await ds.commit({ message: `At ${at}`, keys: [kind] });
        const state = JSON.stringify(ds.objects.get(kind)?.state);
        assert.ok(state.includes(at), `${state} records ${at}`);
        assert.equal((await ds.log(kind, { limit: 1 })).entries[0]?.id, at, "its history ends there");
        const opened = await ds.open(kind, { readOnly: true });
        assert.equal(JSON.stringify(opened.state), state);
        assert.equal(
          (await ds.status({ snapshot: true, keys: [kind] })).objects[0]?.state,
          "behind",
          "upstream went on",
        );
        await ds.pull({ keys: [kind] });
        assert.notEqual(JSON.stringify(ds.objects.get(kind)?.state), state, "pull moves on");
        assert.equal(ds.objects.get(kind)?.locator["at"], undefined);
      });
    });
  }
});
