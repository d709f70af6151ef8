import { strict as assert } from "node:assert";
import {
  BackendError,
  CapabilityError,
  ConcurrentChangeError,
  RefConflictError,
  RefMovedError,
} from "../../engine/model/backend_errors.ts";
import { ABSENT, DEFAULT_SETTINGS } from "../backend.ts";
import { lanceRows, withLanceTable } from "../../tests/helpers/lance_data.ts";
import { fork, head, REF, type Setting, setting, write } from "./_test_setting.ts";
import { buildManifestFile, parseManifestFile } from "./_manifest.ts";
import { manifestKey } from "./_table.ts";
import { LanceBackend } from "./lance.ts";

Deno.test("[backends 3.5] a branch that a pin holds is reset by a sibling, and a sibling by the next", async () => {
  await using s = await setting();
  const source = { on: "state", state: await head(s) } as const;
  const names = [await fork(s)];
  for (let i = 0; i < 3; i++) {
    const name = names.at(-1) ?? "";
    await s.backend.pin(s.locator, await write(s, name), `0a1b2c3d.${String(i).repeat(16)}`);
    names.push(await s.backend.fork(s.locator, source, name));
  }
  assert.deepEqual(names, [REF, `${REF}.2`, `${REF}.3`, `${REF}.4`]);
  assert.match(
    await s.backend.workingRefBlockers(s.locator, REF) ?? "",
    /held by tag "tether\.0a1b2c3d\.0+" \(version 3\)/,
  );
  assert.equal(await s.backend.workingRefBlockers(s.locator, `${REF}.4`), undefined);
  await s.backend.unpin(s.locator, { id: "", ref: `tether.0a1b2c3d.${"0".repeat(16)}` });
  assert.equal(await s.backend.workingRefBlockers(s.locator, REF), undefined);
  await write(s, REF);
  assert.equal(await s.backend.fork(s.locator, source, REF), REF, "once it is free it is reset under its own name");
});

Deno.test("[backends 3.5] going back on a branch's own unpinned history keeps the branch that holds it", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const first = await write(s, ref);
  const second = await write(s, ref);
  const sibling = await s.backend.fork(s.locator, { on: "state", state: first }, ref, { expected: second });
  assert.equal(sibling, `${ref}.2`);
  assert.deepEqual(await head(s, sibling), first);
  assert.deepEqual(await head(s, ref), second);
  assert.equal(await s.backend.fork(s.locator, { on: "state", state: second }, ref), ref, "its own head is no reset");
});

Deno.test("[L04] a foreign tag on a branch keeps the branch, and both still open", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const written = await write(s, ref);
  await withLanceTable(s.path, async (table) => {
    await (await table.tags()).create("somebodys", Number(written["version"]));
  }, { branch: ref });
  await assert.rejects(s.backend.deleteWorkingRef(s.locator, ref), (error: unknown) => {
    assert.ok(error instanceof RefConflictError);
    assert.match(error.message, /held by tag "somebodys" \(version 3\)/);
    return true;
  });
  assert.deepEqual(await head(s, ref), written);
  const pin = { id: "", ref: "somebodys" };
  const handle = await s.backend.openHandle(s.locator, { on: "pin", pin }, { readOnly: true });
  assert.equal(handle.address(), `${s.path}#somebodys`);
  await withLanceTable(s.path, async (table) => await (await table.tags()).delete("somebodys"));
  await s.backend.deleteWorkingRef(s.locator, ref);
  assert.deepEqual(await s.backend.listWorkingRefs(s.locator), []);
  await assert.rejects(Deno.stat(`${s.path}/tree/${ref}`), Deno.errors.NotFound);
  assert.equal((await lanceRows(s.path)).length, 3);
});

Deno.test("[L37] a fork that was killed before its ref is finished by the same fork", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const [entry] = await Array.fromAsync(Deno.readDir(`${s.path}/tree/${ref}/_versions`));
  const manifest = `${s.path}/tree/${ref}/_versions/${entry?.name}`;
  const { ino } = await Deno.stat(manifest);
  await Deno.remove(`${s.path}/_refs/branches/${ref}.json`);
  assert.deepEqual(await s.backend.listWorkingRefs(s.locator), []);
  assert.equal(await fork(s), ref);
  assert.equal((await Deno.stat(manifest)).ino, ino, "what was written is taken over, not written again");
  await write(s, ref);
});

Deno.test("[L37] what a killed deletion left is swept when it is old, and left alone while it may be somebody's work", async () => {
  let now = new Date();
  await using s = await setting(() => now);
  const ref = await fork(s);
  await write(s, ref);
  await Deno.remove(`${s.path}/_refs/branches/${ref}.json`);
  await assert.rejects(fork(s), ConcurrentChangeError);
  now = new Date(now.getTime() + 61_000);
  await createTagFile(s, ref);
  await assert.rejects(fork(s), RefConflictError, "a tag still resolves into it");
  await assert.rejects(s.backend.deleteWorkingRef(s.locator, ref), RefConflictError);
  await Deno.remove(`${s.path}/_refs/tags/late.json`);
  assert.equal(await fork(s), ref);
  assert.deepEqual(await head(s, ref), await head(s));
  assert.equal((await lanceRows(s.path, { branch: ref })).length, 3, "nothing of the old branch is left");

  await Deno.remove(`${s.path}/_refs/branches/${ref}.json`);
  await s.backend.deleteWorkingRef(s.locator, ref);
  await assert.rejects(Deno.stat(`${s.path}/tree/${ref}`), Deno.errors.NotFound, "deleting finishes a deletion");
});

async function createTagFile(s: Setting, branch: string): Promise<void> {
  const tag = { branch, version: 3, manifestSize: 1, metadata: {} };
  await Deno.mkdir(`${s.path}/_refs/tags`, { recursive: true });
  await Deno.writeTextFile(`${s.path}/_refs/tags/late.json`, JSON.stringify(tag));
}

Deno.test("[backends 1.10] of many that create one branch, one does: in one process, in several, and beside LanceDB", async (t) => {
  await using s = await setting();
  const state = await head(s);
  await t.step("in one process", async () => {
    for (let round = 0; round < 5; round++) {
      const name = `${REF}-${round}`;
      const clients = [s.backend, new LanceBackend(DEFAULT_SETTINGS)];
      const outcomes = await Promise.allSettled(
        Array.from(
          { length: 8 },
          (_, i) => clients[i % 2]?.fork(s.locator, { on: "state", state }, name, { expected: ABSENT }),
        ),
      );
      assert.equal(outcomes.filter((o) => o.status === "fulfilled").length, 1);
      for (const o of outcomes) assert.ok(o.status === "fulfilled" || o.reason instanceof RefMovedError);
      await write(s, name);
    }
  });
  await t.step("in several processes", async () => {
    const program = new URL("../../tests/helpers/lance_fork.ts", import.meta.url).pathname;
    const name = `${REF}-processes`;
    const children = Array.from({ length: 4 }, () =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", program, s.path, name],
        stdin: "piped",
        stdout: "piped",
        stderr: "inherit",
      }).spawn());
    const outputs = children.map((child) => child.stdout.pipeThrough(new TextDecoderStream()).getReader());
    for (const output of outputs) assert.equal((await output.read()).value, "ready\n");
    for (const child of children) {
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode("go\n"));
      await writer.close();
    }
    const results = await Promise.all(outputs.map(async (output) => {
      const { value } = await output.read();
      await output.cancel();
      return value;
    }));
    for (const child of children) assert.equal((await child.status).code, 0);
    assert.deepEqual(results.sort(), ["ref-moved", "ref-moved", "ref-moved", "won"]);
    await write(s, name);
  });
  await t.step("beside LanceDB", async () => {
    for (let round = 0; round < 5; round++) {
      const name = `${REF}-native-${round}`;
      const [ours, native] = await Promise.allSettled([
        s.backend.fork(s.locator, { on: "state", state }, name, { expected: ABSENT }),
        withLanceTable(s.path, async (table) => (await (await table.branches()).create(name)).close()),
      ]);
      assert.ok([ours, native].filter((o) => o.status === "fulfilled").length <= 1, "two made one branch");
      if (ours.status === "rejected") assert.ok(ours.reason instanceof BackendError, String(ours.reason));
      if ([ours, native].some((o) => o.status === "fulfilled")) {
        await write(s, name);
        assert.equal((await lanceRows(s.path, { branch: name })).length, 4);
      }
    }
  });
});

Deno.test("[L43] a reset that cannot be carried out leaves the branch as it was", async () => {
  await using s = await setting();
  const ref = await fork(s);
  const written = await write(s, ref);
  const key = `${s.path}/${manifestKey("main", 2n)}`;
  const file = parseManifestFile(await Deno.readFile(key));
  await Deno.writeFile(key, buildManifestFile(new Uint8Array(), file.message.with(21, undefined).with(10, 1n << 40n)));
  await assert.rejects(fork(s), CapabilityError);
  assert.deepEqual(await head(s, ref), written);
  await Deno.truncate(key, 40);
  await assert.rejects(fork(s), BackendError);
  assert.deepEqual(await head(s, ref), written);
});
