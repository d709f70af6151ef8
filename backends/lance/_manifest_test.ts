import { strict as assert } from "node:assert";
import fc from "fast-check";
import { buildManifestFile, parseManifestFile, readManifest } from "./_manifest.ts";
import { Message } from "./_protobuf.ts";

const FIXTURES = new URL("../../tests/fixtures/lance/", import.meta.url);

async function bytesOf(name: string): Promise<Uint8Array<ArrayBuffer>> {
  return await Deno.readFile(new URL(name, FIXTURES));
}

Deno.test("[backends 3.5] a manifest names its columns, its files and where they lie", async () => {
  const manifest = readManifest(parseManifestFile(await bytesOf("nested/branch.manifest")));
  assert.equal(manifest.version, 8);
  assert.deepEqual(manifest.columns, ["id", "point", "point.x", "point.y"]);
  assert.equal(manifest.config.get("lance.auto_cleanup.interval"), "20");
  const [main, one] = ["/data/nested.lance", "/data/nested.lance/tree/one"];
  assert.deepEqual(
    manifest.fragments.map((
      f,
    ) => [f.id, f.rows, f.deletedRows, f.files.map((x) => x.base?.path), f.deletions?.base?.path]),
    [["0", 300, 3, [main], main], ["1", 300, 1, [main], one], ["2", 5, 0, [one], undefined]],
  );
  for (const fragment of manifest.fragments) {
    for (const file of fragment.files) assert.match(file.path, /^data\/[01a-f0-9]+\.lance$/);
    for (const file of fragment.files) assert.ok((file.size ?? 0) > 0);
    if (fragment.deletions) {
      assert.match(fragment.deletions.path, new RegExp(`^_deletions/${fragment.id}-[0-9]+-[0-9]+.arrow$`));
    }
  }
});

Deno.test("[L35] the id in the name of a deletion file keeps all its digits", async () => {
  const { message } = parseManifestFile(await bytesOf("stable_row_ids/source.manifest"));
  const id = message.message(2)?.message(3)?.integer(3) ?? 0n;
  assert.ok(id > 2n ** 53n, "the fixture has such an id");
  const manifest = readManifest(parseManifestFile(await bytesOf("stable_row_ids/source.manifest")));
  assert.equal(manifest.fragments[0]?.deletions?.path, `_deletions/0-1-${id}.arrow`);
});

Deno.test("[backends 3.5] a damaged manifest is refused, wherever it is cut or changed", async () => {
  const bytes = await bytesOf("plain/source.manifest");
  fc.assert(fc.property(fc.nat(bytes.length - 1), (length) => {
    assert.throws(() => parseManifestFile(bytes.slice(0, length)), SyntaxError);
  }));
  fc.assert(fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, value) => {
    const changed = bytes.slice();
    changed[at] = value;
    try {
      readManifest(parseManifestFile(changed));
    } catch (error) {
      assert.ok(error instanceof SyntaxError, String(error));
    }
  }));
});

Deno.test("[backends 3.5] a manifest file that was built parses to the same message", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (head, version) => {
      const file = parseManifestFile(buildManifestFile(head, new Message().with(3, version)));
      assert.equal(file.position, head.length);
      assert.equal(file.message.integer(3), version);
    }),
  );
});
