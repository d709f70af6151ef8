import assert from "node:assert/strict";
import { openBackend } from "../../backends/catalog.ts";
import { DEFAULT_SETTINGS } from "../../backends/backend.ts";
import { endOf, onBothScenes, victim } from "./_scene.ts";
import type { Call } from "./_call.ts";

const BOUNDARIES = ["journal", "create made", "created index", "manifests", "fork made", "done"];

/** What a store is besides its folder. */
async function look(kind: string, uri: string): Promise<{ owner: string | undefined; refs: string[] }> {
  await using backend = await openBackend(kind, DEFAULT_SETTINGS);
  const owner = await backend.owner?.({ uri });
  if (owner === undefined) return { owner, refs: [] };
  return { owner, refs: [...await backend.listWorkingRefs?.({ uri }) ?? []] };
}

for (const kind of ["git", "icechunk"]) {
  onBothScenes(
    `[L37] add --create of kind ${kind}, killed at any boundary: the same command or gc finishes it`,
    [],
    async (s, t) => {
      const uri = `${s.repo.outer}/made`;
      const options = { key: "made", kind, locator: { uri }, create: true };
      const call: Call = { command: "add", options };
      await s.with((ds) => ds.new({ bookmark: "probe" }));
      await s.remember();
      await t.step("the boundaries are the ones this test knows", async () => {
        const { code, stdout, stderr } = await endOf(victim(s.root, call));
        assert.equal(code, 0, stderr);
        assert.deepEqual(stdout.trim().split("\n"), BOUNDARIES);
      });
      for (const boundary of BOUNDARIES) {
        await t.step(`killed at "${boundary}"`, async () => {
          await s.rewind();
          const { signal } = await endOf(victim(s.root, call, boundary));
          assert.equal(signal, "SIGKILL");
          const { warnings } = await s.with((ds) => ds.status());
          assert.match(warnings.join(), /was interrupted .*: "tether add --create --kind .*" finishes it$/);
          await s.with(async (ds) => {
            assert.deepEqual((await ds.add(options)).created, true);
            assert.deepEqual((await ds.ops()).ops.filter((op) => op.status !== "done"), [], "an entry is left open");
            assert.deepEqual((await ds.status()).warnings, []);
            await (await ds.open("made"))[Symbol.asyncDispose]();
            const { pinned } = await ds.commit({ message: "Made" });
            assert.ok(pinned["made"]);
          });
          assert.deepEqual(await look(kind, uri), { owner: "0a1b2c3d", refs: ["tether.ws.0a1b2c3d.probe"] });
        });
      }
      for (const boundary of ["create made", "created index"]) {
        await t.step(`killed at "${boundary}", then gc`, async () => {
          await s.rewind();
          await endOf(victim(s.root, call, boundary));
          const report = await s.with((ds) => ds.gc({ deleteStores: true, dryRun: false }));
          assert.deepEqual(report.deletedStores, { made: uri });
          await assert.rejects(Deno.lstat(uri), Deno.errors.NotFound);
          const { ops } = await s.with((ds) => ds.ops());
          assert.deepEqual(ops.filter((op) => op.status !== "done"), []);
        });
      }
      for (const [boundary, way] of [["create made", `--store ${kind}=${uri}`], ["created index", "--delete-stores"]]) {
        await t.step(`killed at "${boundary}", then closed: the way to the store is named, and works`, async () => {
          await s.rewind();
          await endOf(victim(s.root, call, boundary));
          await s.with(async (ds) => {
            const [op] = (await ds.ops()).ops;
            const { hints } = await ds.closeOperation(op?.id ?? "");
            assert.deepEqual(hints, [`tether gc ${way}`]);
            const request = way === "--delete-stores"
              ? { deleteStores: true }
              : { stores: [{ kind, locator: { uri } }] };
            const report = await ds.gc({ ...request, dryRun: false });
            assert.deepEqual(Object.values(report.deletedStores), [uri]);
          });
          await assert.rejects(Deno.lstat(uri), Deno.errors.NotFound);
        });
      }
      await t.step("gc --delete-stores killed before and after the deletion", async () => {
        for (const boundary of [`judged ${uri}`, `removed ${uri}`, `delete-store ${uri}`]) {
          await s.rewind();
          await s.with((ds) => ds.add(options));
          await s.with((ds) => ds.remove("made"));
          const gc: Call = { command: "gc", options: { pruneBookmarks: true, deleteStores: true } };
          const { signal } = await endOf(victim(s.root, gc, boundary));
          assert.equal(signal, "SIGKILL");
          await s.with((ds) => ds.gc({ pruneBookmarks: true, deleteStores: true, dryRun: false }));
          await assert.rejects(Deno.lstat(uri), Deno.errors.NotFound);
          const left = (await s.with((ds) => ds.ops())).ops.filter((op) => op.status !== "done");
          assert.deepEqual(left, [], "an entry is left open");
          const names = (await Array.fromAsync(Deno.readDir(s.repo.outer))).map((e) => e.name);
          assert.deepEqual(names.filter((name) => name.includes("tether-")), []);
          await s.with((ds) => ds.add(options));
        }
      });
    },
  );
}
