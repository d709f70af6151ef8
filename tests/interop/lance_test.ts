import { strict as assert } from "node:assert";
import { ABSENT, DEFAULT_SETTINGS, type Locator, type State } from "../../backends/backend.ts";
import { LanceBackend } from "../../backends/lance/lance.ts";
import { computePinId } from "../../engine/model/hash.ts";
import { parseJson } from "../../engine/model/json.ts";
import { peerBin } from "../../scripts/peer.ts";
import { tempRepo } from "../helpers/repo.ts";

const BIN = await peerBin();
/** Runs with the Python implementation, which `deno task test` installs. Its absence is a failure in CI. */
const OPTIONS = { ignore: BIN === undefined && !Deno.env.get("CI") };
const REF = "tether.ws.0a1b2c3d.exp";
const backend = new LanceBackend(DEFAULT_SETTINGS);

/** Runs a program of the peer's environment and returns its standard output. */
async function peer(program: string, args: readonly string[], cwd?: string): Promise<string> {
  const output = await new Deno.Command(`${BIN}/${program}`, {
    args: [...args],
    ...(cwd === undefined ? {} : { cwd }),
    stderr: "piped",
  }).output();
  const [out, err] = [output.stdout, output.stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!output.success) throw new Error(`${program} ${args.join(" ")} failed:\n${out}${err}`);
  return out ?? "";
}

/** Runs Python with pylance, the table's path as `uri`, and returns the JSON it prints. */
async function pylance(uri: string, code: string): Promise<unknown> {
  const prelude = `import json, sys, lance, pyarrow as pa\nuri = ${JSON.stringify(uri)}\n` +
    `def rows(a, n): return pa.table({"id": pa.array(range(a, a + n), pa.int64()), "s": [str(i) for i in range(a, a + n)]})\n` +
    `def on(branch): return lance.dataset(uri).checkout_version((branch, None))\n`;
  return parseJson(await peer("python", ["-c", prelude + code]));
}

/** A table of pylance with deletions, an index and configuration. */
const TABLE = `
lance.write_dataset(rows(0, 300), uri)
d = lance.write_dataset(rows(300, 300), uri, mode="append")
d.delete("id < 3")
d.create_scalar_index("id", "BTREE")
d.update_config({"lance.auto_cleanup.interval": "1000"})
`;

/** Tables of every format that pylance writes, as Python that makes them at `uri`. */
const FORMATS: Readonly<Record<string, string>> = {
  "deletions and an index": TABLE,
  "old names": `lance.write_dataset(rows(3, 597), uri, enable_v2_manifest_paths=False)`,
  "stable row ids": `lance.write_dataset(rows(3, 597), uri, enable_stable_row_ids=True)`,
  legacy: `lance.write_dataset(rows(3, 597), uri, data_storage_version="legacy")`,
  "2.0": `lance.write_dataset(rows(3, 597), uri, data_storage_version="2.0")`,
  "2.1": `lance.write_dataset(rows(3, 597), uri, data_storage_version="2.1")`,
};

/** Runs Python over every format, in one process, and returns what `result` is for each. */
async function everyFormat(folder: string, code: (format: string) => string): Promise<Record<string, unknown>> {
  const parts = Object.keys(FORMATS).map((format) =>
    `uri = ${JSON.stringify(`${folder}/${format}.lance`)}\n${code(format)}\nresults[${
      JSON.stringify(format)
    }] = result\n`
  );
  const program = `results = {}\nresult = None\n${parts.join("")}print(json.dumps(results))`;
  return await pylance("", program) as Record<string, unknown>;
}

Deno.test("[backends 3.5] pylance reads, writes and deletes the branches made here", OPTIONS, async (t) => {
  await using repo = await tempRepo();
  const locatorOf = (format: string): Locator => ({ uri: `${repo.outer}/${format}.lance` });
  const nested = `${REF}-nested`;
  await everyFormat(repo.outer, (format) => FORMATS[format] ?? "");
  for (const format of Object.keys(FORMATS)) {
    await backend.fork(locatorOf(format), { on: "ref", ref: "main" }, REF, { expected: ABSENT });
  }
  const written = await everyFormat(repo.outer, () => `
b = on("${REF}")
same = b.to_table().equals(lance.dataset(uri).to_table())
lance.write_dataset(rows(900, 2), b, mode="append")
on("${REF}").delete("id = 400")
on("${REF}").update({"s": "'changed'"}, where="id = 500")
b = on("${REF}")
found = b.to_table(filter="id = 500")["s"].to_pylist()
b.add_columns({"twice": "id * 2"})
import datetime
lance.dataset(uri).cleanup_old_versions(older_than=datetime.timedelta(0))
result = [same, found, on("${REF}").to_table().num_rows, lance.dataset(uri).count_rows(), b.latest_version]
`);
  for (const format of Object.keys(FORMATS)) {
    await t.step(`${format}: reads and writes`, async () => {
      const head = await backend.fingerprint(locatorOf(format), REF);
      assert.deepEqual(written[format], [true, ["changed"], 598, 597, head["version"]]);
      assert.equal((await backend.verify(locatorOf(format), head, undefined, { deep: true })).status, "ok");
      await backend.fork(locatorOf(format), { on: "ref", ref: REF }, nested);
    });
  }
  const deleted = await everyFormat(repo.outer, () => `
def delete(name):
    try:
        lance.dataset(uri).branches.delete(name)
        return "deleted"
    except Exception as e:
        return "refused" if "${nested}" in str(e) else str(e)
result = [on("${nested}").count_rows(), delete("${REF}"), delete("${nested}"), delete("${REF}")]
`);
  for (const format of Object.keys(FORMATS)) {
    await t.step(`${format}: deletes`, async () => {
      assert.deepEqual(deleted[format], [598, "refused", "deleted", "deleted"]);
      assert.deepEqual(await backend.listWorkingRefs(locatorOf(format)), []);
    });
  }
});

Deno.test(
  "[backends 3.5] pins and branches of pylance are read here, and pins made here are pylance's tags",
  OPTIONS,
  async () => {
    await using repo = await tempRepo();
    const uri = `${repo.outer}/table.lance`;
    const locator: Locator = { uri };
    await pylance(uri, `${TABLE}print(1)`);
    const known = await pylance(
      uri,
      `
d = lance.dataset(uri)
d.create_branch("feature/one", d.version)
lance.write_dataset(rows(900, 5), on("feature/one"), mode="append")
on("feature/one").create_branch("two", ("feature/one", None))
d.tags.create("tether.0a1b2c3d.00000000000000aa", ("feature/one", on("feature/one").version))
versions = [[str(v["version"]), ", ".join(f"{k}={x}" for k, x in sorted(v["metadata"].items()))] for v in d.versions()]
ids = {name: b["branch_identifier"][-1][1] for name, b in d.branches.list().items()}
print(json.dumps({"main": d.version, "one": on("feature/one").version, "versions": versions, "ids": ids}))
`,
    ) as { main: number; one: number; versions: [string, string][]; ids: Record<string, string> };
    const one: State = { branch: "feature/one", version: known.one, branch_id: known.ids["feature/one"] ?? "" };
    const pin = { id: "0a1b2c3d.00000000000000aa", ref: "tether.0a1b2c3d.00000000000000aa" };
    assert.deepEqual([...await backend.listPins(locator)], [pin.id]);
    assert.deepEqual(await backend.fingerprint({ uri, branch: "feature/one" }, undefined), one);
    assert.deepEqual(await backend.fingerprint({ uri, branch: "two" }, undefined), one, "nobody wrote to it");
    assert.equal((await backend.verify(locator, one, pin, { deep: true })).status, "ok");
    const history = await backend.history(locator, { limit: 100 });
    assert.deepEqual(history.map((h) => [h.id, h.message]).reverse(), known.versions);
    assert.match(await backend.workingRefBlockers(locator, "feature/one") ?? "", /tag "tether.*, branch "two"/);

    const main = await backend.fingerprint(locator, undefined);
    await backend.pin(locator, main, "0a1b2c3d.00000000000000bb");
    const ref = await backend.fork(locator, { on: "pin", pin }, REF);
    assert.deepEqual(
      await pylance(
        uri,
        `
d = lance.dataset(uri)
tag = d.tags.list()["tether.0a1b2c3d.00000000000000bb"]
size = tag["manifest_size"]
import os
files = [os.path.getsize(os.path.join(uri, "_versions", f)) for f in os.listdir(os.path.join(uri, "_versions"))]
branch = d.branches.list()["${ref}"]
print(json.dumps([tag["branch"], tag["version"], size in files, tag["created_at"] == tag["updated_at"],
  lance.dataset(uri, version="tether.0a1b2c3d.00000000000000bb").count_rows(), branch["parent_branch"],
  branch["parent_version"], [step[1] for step in branch["branch_identifier"]][:-1], on("${ref}").count_rows()]))
`,
      ),
      [null, known.main, true, true, 597, "feature/one", known.one, [known.ids["feature/one"]], 602],
    );
  },
);

Deno.test("[backends 8] pins and working refs of the peer and of tether are one and the same", OPTIONS, async () => {
  await using repo = await tempRepo({ files: { "README.md": "x" } });
  const uri = `${repo.outer}/table.lance`;
  const locator: Locator = { uri };
  await pylance(uri, `${TABLE}print(1)`);
  const tether = (...args: string[]): Promise<string> => peer("tether", args, repo.path);
  const id = /dataset id ([0-9a-f]{8})/.exec(await tether("init"))?.[1] ?? "";
  await tether("add", "features", uri, "--kind", "lance");
  await tether("commit", "-m", "one");
  await tether("new", "-b", "exp", "--eager");
  const ref = `tether.ws.${id}.exp`;
  assert.deepEqual(await backend.listWorkingRefs(locator), [ref]);
  await pylance(uri, `on("${ref}").delete("id = 200")\nprint(1)`);
  await tether("commit", "-m", "two");

  const state = await backend.fingerprint(locator, ref);
  const pinId = computePinId(id, { kind: "lance", identity: backend.identity(locator), content: state });
  assert.ok((await backend.listPins(locator)).has(pinId), "both compute one pin id of a branch's state");
  const pin = await backend.pin(locator, state, pinId);
  assert.equal(pin.created, false);
  assert.equal((await backend.verify(locator, state, pin, { deep: true })).status, "ok");

  await backend.unpin(locator, pin);
  await assert.rejects(tether("verify", "--all-history"), /features/);
  assert.equal((await backend.pin(locator, state, pinId)).created, true);
  await tether("verify", "--deep", "--all-history");

  await tether("new", "main");
  const ours = `tether.ws.${id}.ours`;
  await backend.fork(locator, { on: "pin", pin }, ours);
  const orphan = await backend.fingerprint({ ...locator, at: 1 }, undefined);
  const orphanId = computePinId(id, { kind: "lance", identity: backend.identity(locator), content: orphan });
  await backend.pin(locator, orphan, orphanId);
  const plan = await tether("gc", "--prune-bookmarks");
  assert.match(plan, new RegExp(`keep-pin .*${orphanId.replace(".", "\\.")}`));
  assert.match(plan, new RegExp(`delete-branch .*${ours.replaceAll(".", "\\.")}.*head is pinned`));
});
