import { strict as assert } from "node:assert";
import { CapabilityError } from "../../engine/model/backend_errors.ts";
import { cloneForBranch, type CloneOptions, sameClone } from "./_branch_manifest.ts";
import { type ManifestFile, parseManifestFile, readManifest, sectionAt } from "./_manifest.ts";
import { Message } from "./_protobuf.ts";

const FIXTURES = new URL("../../tests/fixtures/lance/", import.meta.url);
/** Sections of the file: where the index and the inline transaction lie, in the numbering of either generation. */
const POSITIONS = [6, 21, 23];

const CASES: Readonly<Record<string, { branch: string; table: string; from?: string }>> = {
  plain: { branch: "exp", table: "/data/plain.lance" },
  nested: { branch: "two", table: "/data/nested.lance", from: "one" },
  stable_row_ids: { branch: "exp", table: "/data/stable.lance" },
  legacy: { branch: "exp", table: "/data/legacy.lance" },
};

async function bytesOf(name: string): Promise<Uint8Array<ArrayBuffer>> {
  return await Deno.readFile(new URL(name, FIXTURES));
}

async function manifest(name: string): Promise<ManifestFile> {
  return parseManifestFile(await bytesOf(name));
}

/** What the native writer was told, so that ours can be told the same. */
function optionsOf(native: ManifestFile, table: { branch: string; table: string; from?: string }): CloneOptions {
  const name = native.message.text(12) ?? "";
  return {
    branch: table.branch,
    ...(table.from === undefined ? {} : { sourceBranch: table.from }),
    sourceUri: table.from === undefined ? table.table : `${table.table}/tree/${table.from}`,
    transactionId: name.slice(name.indexOf("-") + 1, -".txn".length),
    now: readManifest(native).created,
  };
}

/** The fields of a manifest but those that name positions in its file and the time, in an order of their own. */
function contents(message: Message): string[] {
  return message.fields.filter((f) => f.number !== 7 && !POSITIONS.includes(f.number))
    .map((f) => new Message([f]).encode().toHex()).sort();
}

Deno.test("[backends 3.5] a branch is made field for field as Lance makes it", async (t) => {
  for (const [name, table] of Object.entries(CASES)) {
    await t.step(name, async () => {
      const native = await manifest(`${name}/branch.manifest`);
      const options = optionsOf(native, table);
      const files = cloneForBranch(await manifest(`${name}/source.manifest`), options);
      const ours = parseManifestFile(Uint8Array.from(files.manifest));
      assert.deepEqual(contents(ours.message), contents(native.message));
      assert.ok(sameClone(ours.message, native.message));
      assert.equal(files.transactionName, native.message.text(12));
      assert.equal(files.transaction.toHex(), (await bytesOf(`${name}/branch.txn`)).toHex());
      assert.equal(readManifest(ours).created.getTime(), options.now.getTime());
      const [a, b] = [ours, native].map((m) => {
        const position = m.message.integer(6);
        return position === undefined ? undefined : sectionAt(m, Number(position)).encode().toHex();
      });
      assert.equal(a, b, "the index section");
    });
  }
});

Deno.test("[backends 3.5] dictionaries in the manifest file stay where the columns say they are", async () => {
  const source = await manifest("legacy/source.manifest");
  const native = await manifest("legacy/branch.manifest");
  const files = cloneForBranch(source, optionsOf(native, { branch: "exp", table: "/data/legacy.lance" }));
  const [field] = source.message.messages(1).filter((f) => f.message(8));
  assert.ok(field, "the fixture has a dictionary");
  assert.equal(files.manifest.subarray(0, source.position).toHex(), source.bytes.subarray(0, source.position).toHex());
});

Deno.test("[backends 3.5] a clone of something else, or under another name, is not the same clone", async () => {
  const source = await manifest("plain/source.manifest");
  const options = optionsOf(await manifest("plain/branch.manifest"), { branch: "exp", table: "/data/plain.lance" });
  const clone = (from: ManifestFile, o: Partial<CloneOptions>): Message =>
    parseManifestFile(Uint8Array.from(cloneForBranch(from, { ...options, ...o }).manifest)).message;
  const ours = clone(source, {});
  assert.ok(sameClone(ours, clone(source, { now: new Date(0), transactionId: crypto.randomUUID() })));
  assert.ok(!sameClone(ours, clone(source, { branch: "other" })));
  assert.ok(!sameClone(ours, clone(source, { sourceUri: "/elsewhere.lance" })));
  assert.ok(!sameClone(ours, clone(await manifest("stable_row_ids/source.manifest"), {})));
});

Deno.test("[backends 3.5] a table with features that are not known is refused, not copied wrong", async () => {
  const source = await manifest("plain/source.manifest");
  const options = optionsOf(await manifest("plain/branch.manifest"), { branch: "exp", table: "/data/plain.lance" });
  for (const [field, bit] of [[9, 6n], [9, 10n], [10, 9n], [10, 12n], [9, 63n]] as const) {
    const message = source.message.with(field, 1n << bit);
    assert.throws(() => cloneForBranch({ ...source, message }, options), CapabilityError, `bit ${bit}`);
  }
  for (const bit of [0n, 1n, 2n, 3n, 4n, 5n, 7n, 8n, 11n]) {
    const message = source.message.with(9, 1n << bit);
    const made = parseManifestFile(Uint8Array.from(cloneForBranch({ ...source, message }, options).manifest));
    assert.equal(made.message.integer(9), 1n << bit | 16n, "flags of the source are kept");
  }
});
