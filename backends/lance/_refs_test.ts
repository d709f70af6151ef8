import { strict as assert } from "node:assert";
import { BackendError } from "../../engine/model/backend_errors.ts";
import {
  branchId,
  branchNames,
  createBranchRef,
  createTag,
  holdersOf,
  readBranch,
  readTag,
  tagNames,
} from "./_refs.ts";
import { openTable, type Table } from "./_table.ts";

async function emptyTable(): Promise<Table & AsyncDisposable> {
  const folder = await Deno.makeTempDir({ prefix: "tether-lance-refs-" });
  const table = openTable({ uri: folder }, { config: {}, rules: [] });
  return { ...table, [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) };
}

async function put(table: Table, key: string, text: string): Promise<void> {
  await table.storage.put(key, new TextEncoder().encode(text));
}

Deno.test("[backends 3.5, 5] refs are written as Lance writes them", async () => {
  await using table = await emptyTable();
  const now = new Date("2026-11-30T03:33:26.120Z");
  assert.ok(await createTag(table, { name: "tether.0a1b2c3d.x", branch: "main", version: 7n, manifestSize: 459, now }));
  assert.ok(!await createTag(table, { name: "tether.0a1b2c3d.x", branch: "b", version: 8n, manifestSize: 1, now }));
  await createBranchRef(table, {
    name: "feature/ü",
    parent: "one",
    parentVersion: 2n,
    lineage: [{ version: 1n, id: "a".repeat(32) }, { version: 2n, id: "b".repeat(32) }],
    manifestSize: 533,
    now: new Date("2026-11-30T03:33:26Z"),
  });
  const text = async (key: string): Promise<string> => await Deno.readTextFile(`${table.root}/_refs/${key}`);
  assert.equal(
    await text("tags/tether.0a1b2c3d.x.json"),
    `{
  "branch": null,
  "version": 7,
  "createdAt": "2026-11-30T03:33:26.120Z",
  "updatedAt": "2026-11-30T03:33:26.120Z",
  "manifestSize": 459,
  "metadata": {}
}`,
  );
  assert.equal(
    await text("branches/feature%2F%C3%BC.json"),
    `{
  "parentBranch": "one",
  "identifier": {
    "version_mapping": [
      [
        1,
        "${"a".repeat(32)}"
      ],
      [
        2,
        "${"b".repeat(32)}"
      ]
    ]
  },
  "parentVersion": 2,
  "createAt": 1796009606,
  "manifestSize": 533,
  "metadata": {}
}`,
  );
  assert.deepEqual(await branchNames(table, {}), ["feature/ü"]);
  assert.deepEqual(await tagNames(table, {}), ["tether.0a1b2c3d.x"]);
  assert.deepEqual(await readTag(table, "tether.0a1b2c3d.x", {}), {
    name: "tether.0a1b2c3d.x",
    branch: "main",
    version: 7n,
  });
});

Deno.test("[backends 3.5] a branch without an identifier has the one that newer Lance gives it", async () => {
  await using table = await emptyTable();
  const legacy = '{"parentBranch": null, "parentVersion": 1, "createAt": 1796009839, "manifestSize": 534}';
  await put(table, "_refs/branches/exp.json", legacy);
  const branch = await readBranch(table, "exp", {});
  // As pylance 14 lists this branch.
  assert.equal(branch && branchId(branch), "2d84bea3076f2b4956dc015f1dc24bc8");
});

Deno.test("[L35] versions beyond 2^53 are read and written exactly", async () => {
  await using table = await emptyTable();
  const version = 2n ** 53n + 1n;
  await createTag(table, { name: "big", branch: "main", version, manifestSize: 1, now: new Date(0) });
  assert.equal((await readTag(table, "big", {}))?.version, version);
});

Deno.test("[L04] whatever resolves into a branch holds it, whoever made it", async () => {
  await using table = await emptyTable();
  const ids = (...names: string[]) => names.map((id, i) => [i + 1, id]);
  const branch = (parent: string | null, mapping: unknown): string =>
    JSON.stringify({ parentBranch: parent, identifier: { version_mapping: mapping }, parentVersion: 1, createAt: 1 });
  await put(table, "_refs/branches/a.json", branch(null, ids("idA")));
  await put(table, "_refs/branches/b.json", branch("a", ids("idA", "idB")));
  await put(table, "_refs/branches/c.json", branch("b", ids("idA", "idB", "idC")));
  await put(table, "_refs/branches/a%2Fbelow.json", branch(null, ids("idX")));
  await put(table, "_refs/branches/orphan.json", branch("a", ids("idOld", "idO")));
  await put(table, "_refs/branches/other.json", branch(null, ids("idZ")));
  await put(table, "_refs/tags/mine.json", JSON.stringify({ branch: "a", version: 3 }));
  await put(table, "_refs/tags/else.json", JSON.stringify({ branch: null, version: 3 }));
  assert.deepEqual(await holdersOf(table, "a", {}), [
    'tag "mine" (version 3)',
    'branch "a/below"',
    'branch "b"',
    'branch "c"',
    'branch "orphan"',
  ]);
  const ignoring = new Set(["mine", "b", "orphan", "a/below"]);
  assert.deepEqual(
    await holdersOf(table, "a", { ignoring }),
    ['branch "c"'],
    "what a plan releases first does not count",
  );
  assert.deepEqual(await holdersOf(table, "b", {}), ['branch "c"']);
  assert.deepEqual(await holdersOf(table, "c", {}), []);
});

Deno.test("a damaged ref is an error, never absent", async () => {
  await using table = await emptyTable();
  const broken = ["", "{", "[]", "7", '{"version": "7"}', '{"branch": 7, "version": 7}', '{"branch": null}', "\xff"];
  for (const text of broken) {
    await put(table, "_refs/tags/t.json", text);
    await assert.rejects(readTag(table, "t", {}), BackendError, text);
  }
  for (const mapping of ["7", "[]", "[7]", '[["1", "x"]]', "[[1, 2]]"]) {
    const text =
      `{"parentBranch": null, "identifier": {"version_mapping": ${mapping}}, "parentVersion": 1, "createAt": 1}`;
    await put(table, "_refs/branches/b.json", text);
    await assert.rejects(readBranch(table, "b", {}), BackendError, text);
  }
});
