import assert from "node:assert/strict";
import fc from "fast-check";
import { join } from "node:path";
import { ConfigError } from "../model/errors.ts";
import { Float, type Json, type JsonObject } from "../model/json.ts";
import { keyProblem } from "../model/keys.ts";
import { canonicalManifest, manifestHash, type ObjectManifest, withoutNulls } from "../model/manifest.ts";
import { filesBelow, inTempDir, plant, whileReadOnly } from "./_test_dirs.ts";
import { documents } from "./_test_values.ts";
import { formatManifest, ManifestStore, parseManifest, pinIdsIn, reviseManifest } from "./manifests.ts";

const FIXTURES = new URL("../../tests/fixtures/peer/objects/", import.meta.url);

const M1: ObjectManifest = {
  key: "zarr/img",
  kind: "icechunk",
  locator: { uri: "s3://bucket/imaging" },
  policy: { file: "immutable", pin: "native" },
  state: { snapshot_id: "50JRNN8XN1PPZC6TDVW0" },
  pin: { id: "0a1b2c3d.x", ref: "tether.0a1b2c3d.x" },
  recoverable: true,
  origin: "adopted",
  capturedAt: "2026-11-30T01:45:24.565823+00:00",
};
const FRESH: ObjectManifest = {
  ...M1,
  key: "a",
  kind: "file",
  locator: { uri: "/d" },
  state: null,
  pin: null,
  capturedAt: null,
};

/** A manifest holds no infinities: they have no canonical form. */
function finite(value: Json): Json {
  if (value instanceof Float) return Number.isFinite(value.value) ? value : new Float(0.5);
  if (Array.isArray(value)) return value.map(finite);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, finite(item)]));
}

const tables = documents.map((document) => finite(document) as JsonObject);
const words = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text.trim() !== "");
const pinId = fc.stringMatching(/^[0-9a-f]{8}\.[0-9a-f]{16}$/);
const manifests: fc.Arbitrary<ObjectManifest> = fc.record({
  key: fc.string({ unit: "grapheme", minLength: 1 }).filter((key) =>
    key.trim() !== "" && keyProblem(key) === undefined
  ),
  kind: words,
  locator: tables,
  policy: fc.record({ file: fc.constantFrom("immutable", "versioned"), pin: fc.constantFrom("native", "record") }, {
    noNullPrototype: true,
  }),
  state: fc.option(tables),
  pin: fc.option(pinId.map((id) => ({ id, ref: `tether.${id}` }))),
  recoverable: fc.boolean(),
  origin: fc.constantFrom("adopted", "created"),
  capturedAt: fc.option(fc.constant("2026-11-30T01:45:24.565823+00:00")),
}, { noNullPrototype: true });

Deno.test("[formats 6.1] [L34] a manifest reads back as it was written, and over any other", async () => {
  await fc.assert(fc.asyncProperty(manifests, manifests, async (manifest, before) => {
    assert.deepEqual(parseManifest(formatManifest(manifest), "x"), manifest);
    const over = await reviseManifest(manifest, formatManifest(before));
    assert.deepEqual(parseManifest(over, "x"), manifest);
    assert.equal(await reviseManifest(manifest, over), over);
  }));
});

Deno.test("[formats 6.1] formatManifest() writes the peer's bytes", async () => {
  let count = 0;
  for (const folder of ["", "raw/", "zarr/"]) {
    for await (const entry of Deno.readDir(new URL(folder, FIXTURES))) {
      if (!entry.isFile) continue;
      const text = await Deno.readTextFile(new URL(folder + entry.name, FIXTURES));
      assert.equal(formatManifest(parseManifest(text, entry.name)), text);
      count++;
    }
  }
  assert.equal(count, 6);
  assert.equal(formatManifest({ ...M1, origin: "created", state: { a: null, v: 1 } }).includes("a ="), false);
});

Deno.test("[formats 2.4] the hash is of the meaning: any spelling of a manifest has it", () => {
  const crlf = formatManifest(M1).replaceAll("\n", "\r\n");
  const spelled = `captured_at = 2020-01-01T00:00:00Z # other\nfuture = 1\nlocator.uri = 's3://bucket/imaging'
    pin = { ref = "tether.0a1b2c3d.x", id = "0a1b2c3d.x" }\nkind = "icechunk"\nkey = "zarr/img"
    state = { snapshot_id = "50JRNN8XN1PPZC6TDVW0" }\n[policy]\nwrite = "old"\n`;
  for (const text of [formatManifest(M1), crlf, "\ufeff" + crlf, spelled]) {
    const read = [parseManifest(text, "x"), parseManifest(formatManifest(FRESH), "x")];
    assert.equal(manifestHash(read), "e032d6f7ce4fce43500a2b5a51fb509f294b328af2848136eb2bb73f663d3e6b");
  }
});

Deno.test("[formats 6.1] [L41] [L42] parseManifest() refuses wrong values, naming file and path", async (t) => {
  const good = formatManifest(M1);
  const cases: [string, string, RegExp][] = [
    ["no key", good.replace(/^key.*\n/, ""), /^Cannot use "f": key: it is missing$/],
    ["a blank kind", good.replace('"icechunk"', '" "'), /kind: it is blank/],
    ["a key that climbs", good.replace("zarr/img", "../img"), /key: it is no key/],
    ["a word for recoverable", good.replace("= true", '= "no"'), /recoverable: it is not true or false/],
    ["an unknown policy", good.replace('"native"', '"x"'), /policy\.pin: it is neither "native" nor "record"/],
    ["a pin without ref", good.replace(/ref = .*\n/, ""), /pin\.ref: it is missing/],
    ["an empty pin table", good.replace(/id = .*\nref = .*\n/, ""), /pin\.id: it is missing/],
    ["a ref that is an option", good.replace("tether.0a", "--tether.0a"), /pin\.ref/],
    ["a ref with a space", good.replace("tether.0a", "tether 0a"), /pin\.ref/],
    [
      "a state that is no table",
      good.replace(/\[state\]\n.*\n/, "").replace("[locator]", "state = 1\n[locator]"),
      /state/,
    ],
    ["a date in the locator", good.replace("[policy]", "x = 2024-01-01\n[policy]"), /locator\.x: a date/],
    [
      "an infinity in the locator",
      good.replace("[policy]", "x.y = inf\n[policy]"),
      /locator\.x\.y: it is not a finite number/,
    ],
  ];
  for (const [name, text, message] of cases) {
    await t.step(name, () => {
      assert.throws(() => parseManifest(text, "f"), (error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, message);
        return true;
      });
    });
  }
});

Deno.test("[formats 6.1] reviseManifest() keeps what people wrote", async () => {
  const text = formatManifest(FRESH).replace('uri = "/d"', 'uri = "/d" # the NAS').replace(
    'pin = "native"',
    'pin = "native"\nwrite = "x"',
  ) +
    '\n# ours\n[lab]\nowner = "ada"\n';
  const after = await reviseManifest({ ...FRESH, recoverable: false, state: { n: 1 }, capturedAt: "t" }, text);
  assert.equal(
    after,
    text.replace("recoverable = true\n", 'recoverable = false\ncaptured_at = "t"\n') + "\n[state]\nn = 1\n",
  );
  assert.equal(await reviseManifest(FRESH, text), text);
});

Deno.test("[formats 19.2] pinIdsIn() finds the pins of every side", () => {
  const id = "e274367c.a9e24f8962db7d17";
  const other = "e274367c.37352f99e78f1ed9";
  assert.deepEqual(pinIdsIn(`<<<<<<< a\nid = "${id}"\nref = "tether.${id}"\n=======\nid = '${other}'\n>>>>>>> b`), [
    id,
    other,
  ]);
  assert.deepEqual(pinIdsIn(`x = "1${id}" y = "${id}0" z = "abc.def"`), []);
  assert.deepEqual(pinIdsIn("+ref = tether." + id + ".2"), [id], "an Icechunk generation");
});

Deno.test("[formats 5] ManifestStore finds, writes and removes files by key", async (t) => {
  await inTempDir(async (root) => {
    const store = new ManifestStore(root);
    assert.deepEqual(await store.read(), { objects: new Map(), broken: [] });
    const keys = ["foo.bar", "raw/table 1.csv", "a.toml/b", "\uffee", "😀", "-x", "constructor"];
    await t.step("one file a key, .toml appended", async () => {
      for (const key of keys) await store.write({ ...FRESH, key });
      assert.deepEqual(await filesBelow(root), keys.map((key) => `.tether/objects/${key}.toml`).sort());
    });
    await t.step("sorted by code point", async () => {
      const sorted = ["-x", "a.toml/b", "constructor", "foo.bar", "raw/table 1.csv", "\uffee", "😀"];
      assert.deepEqual([...(await store.read()).objects.keys()], sorted);
    });
    await t.step("an object that is recorded already is not touched", async () => {
      const path = join(root, ".tether/objects/foo.bar.toml");
      await Deno.writeTextFile(
        path,
        'kind="file"\r\nkey="foo.bar"\r\nlocator={uri="/d"}\r\nrecoverable=true\r\n[policy]\r\nfile="immutable"\r\npin="native"',
      );
      const before = await Deno.readTextFile(path);
      await store.write({ ...FRESH, key: "foo.bar" });
      assert.equal(await Deno.readTextFile(path), before);
    });
    await t.step("removing tidies empty folders, and is fine twice", async () => {
      for (const key of keys) {
        await store.remove(key);
        await store.remove(key);
      }
      assert.deepEqual(await Array.fromAsync(Deno.readDir(join(root, ".tether/objects"))), []);
    });
    await t.step("an exact text comes back", async () => {
      await store.writeText("x/y", "# anything\r\n");
      assert.equal(await store.text("x/y"), "# anything\r\n");
    });
    await t.step("a key that is none is refused", async () => {
      await assert.rejects(store.writeText("../../x", ""), ConfigError);
      await assert.rejects(store.remove("a/../b"), ConfigError);
    });
  });
});

Deno.test("[formats 19.2] [formats 15.7] [L40] ManifestStore reports broken files and goes on", async () => {
  await inTempDir(async (root) => {
    const id = "e274367c.a9e24f8962db7d17";
    const conflict = `<<<<<<< a\nid = "${id}"\n=======\n>>>>>>> b\n`;
    await plant(root, {
      ".tether/objects/ok.toml": formatManifest({ ...FRESH, key: "ok" }),
      ".tether/objects/raw/conflict.toml": conflict,
      ".tether/objects/garbage.toml": "= nonsense",
      ".tether/objects/bin.toml/b.toml": formatManifest({ ...FRESH, key: "bin.toml/b" }),
      ".tether/objects/notes.txt": "not ours",
      ".tether/objects/twin.toml": formatManifest({ ...FRESH, key: "zz", pin: { id, ref: `tether.${id}` } }),
      ".tether/objects/zz.toml": formatManifest({ ...FRESH, key: "zz" }),
      "outside.toml": formatManifest({ ...FRESH, key: "outside" }),
    });
    await Deno.writeFile(join(root, ".tether/objects/latin1.toml"), new Uint8Array([0x6b, 0xe9]));
    await Deno.symlink(join(root, "outside.toml"), join(root, ".tether/objects/link.toml"));
    const store = new ManifestStore(root);
    const { objects, broken } = await store.read();
    assert.deepEqual([...objects.keys()], ["bin.toml/b", "ok"]);
    assert.deepEqual(
      broken.map((b) => [b.key, b.error.code, b.conflicted, b.pinIds]),
      [
        ["garbage", "toml", false, []],
        ["latin1", "unreadable", false, []],
        ["link", "unreadable", false, []],
        ["raw/conflict", "conflicted", true, [id]],
        ["twin", "duplicate-key", false, [id]],
        ["zz", "duplicate-key", false, []],
      ],
    );
    await assert.rejects(store.write({ ...FRESH, key: "raw/conflict" }), { code: "conflicted" });
    assert.equal(await store.text("raw/conflict"), conflict);
  });
});

Deno.test("[formats 6.1] ManifestStore rewrites a manifest where it lies", async () => {
  await inTempDir(async (root) => {
    await plant(root, { ".tether/objects/legacy.toml": formatManifest({ ...FRESH, key: "moved" }) });
    const store = new ManifestStore(root);
    await store.read();
    await store.write({ ...FRESH, key: "moved", state: { n: 1 } });
    assert.deepEqual(await filesBelow(root), [".tether/objects/legacy.toml"]);
    assert.deepEqual((await store.read()).objects.get("moved")?.state, { n: 1 });
  });
});

Deno.test("[formats 17] ManifestStore sees a rewrite of the same length at once", async () => {
  await inTempDir(async (root) => {
    const store = new ManifestStore(root);
    const path = join(root, ".tether/objects/a.toml");
    await store.write(FRESH);
    for (let round = 0; round < 50; round++) {
      const uri = `/${round % 10}`;
      await Deno.writeTextFile(path, formatManifest({ ...FRESH, locator: { uri } }));
      assert.deepEqual((await store.read()).objects.get("a")?.locator, { uri });
    }
  });
});

Deno.test("[formats 17] ManifestStore does not parse a settled file again", async () => {
  await inTempDir(async (root) => {
    // A clock far ahead makes every file old enough to be trusted.
    const store = new ManifestStore(root, { now: () => new Date(Date.now() + 3_600_000) });
    await store.write(FRESH);
    const first = (await store.read()).objects.get("a");
    assert.ok(first && (await store.read()).objects.get("a") === first);
    await store.write({ ...FRESH, locator: { uri: "/longer" } });
    assert.deepEqual((await store.read()).objects.get("a")?.locator, { uri: "/longer" });
  });
});

Deno.test("[L26] manifests are read on a tree that cannot be written", async () => {
  await inTempDir(async (root) => {
    const store = new ManifestStore(root);
    await store.write(FRESH);
    await whileReadOnly(root, async () => {
      assert.equal((await new ManifestStore(root).read()).objects.size, 1);
      await assert.rejects(store.write({ ...FRESH, locator: {} }), { code: "read-only" });
    });
  });
});

Deno.test("[formats 2.3] canonicalManifest() of what was read equals that of what was written", () => {
  fc.assert(fc.property(manifests, (manifest) => {
    const read = parseManifest(formatManifest({ ...manifest, locator: { ...manifest.locator, none: null } }), "x");
    assert.equal(canonicalManifest(read), canonicalManifest({ ...manifest, locator: withoutNulls(manifest.locator) }));
  }));
});
