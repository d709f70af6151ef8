import assert from "node:assert/strict";
import fc from "fast-check";
import { canonical, computePinId, framedHash, historyDigest, listingName, valueHash } from "./hash.ts";
import { compareCodePoints, Float, type Json, type JsonObject, parseJson, writeJson } from "./json.ts";
import { manifestHash, type ObjectManifest } from "./manifest.ts";

const DS = "0a1b2c3d";

const PINS: readonly (readonly [kind: string, identity: JsonObject, content: JsonObject, id: string])[] = [
  // formats §2.4
  ["icechunk", { uri: "s3://bucket/imaging" }, { snapshot_id: "50JRNN8XN1PPZC6TDVW0" }, "a13e5f3cc8b76a82"],
  ["lance", { uri: "/data/f.lance" }, { branch: "main", version: 7 }, "2ef86ad1bc61fed0"],
  ["git", { path: "/data/code" }, { sha: "60c06d317ac528ab1e1d2e3b74a071e780c6dbb5" }, "37352f99e78f1ed9"],
  [
    "iceberg",
    { identifier: "ns.t", branch: "main", catalog_name: "default" },
    { snapshot_id: 7052937465134546912n },
    "2a6d1222d4b8c298",
  ],
  ["dolt", { host: "127.0.0.1", port: 3306, database: "d" }, { commit: "abc123" }, "75399b3f0f46804f"],
  ["neon", { project_id: "p-1", branch: "main" }, { commit_xid: "742", branch: "main" }, "1399576e0df199b4"],
  ["memory", { system: "é😀" }, { snapshot_id: "s:s0" }, "4d461a3e508ec31a"],
  // backends §1.2
  ["icechunk", { uri: "/data/imaging.icechunk" }, { snapshot_id: "1CECHNKREP0F1RSTCMT0" }, "ddecc24da8d57402"],
  ["lance", { uri: "s3://bucket/features.lance" }, { branch: "main", version: 7 }, "c9d52233a70a6142"],
  [
    "lance",
    { uri: "s3://bucket/features.lance" },
    { branch: "tether.ws.0a1b2c3d.exp", version: 2, branch_id: "2a3519681824423e884830f1d88c2c4b" },
    "009e8f8ae4cd2d86",
  ],
  ["git", { path: "/srv/code" }, { sha: "5a2cfa770badaceb6c6de5171fdf82c871fa40de" }, "e0ba47ccf0bad372"],
  ["neon", { project_id: "p-1", branch: "main" }, { commit_xid: "752", branch: "main" }, "8a4bb5f340fe8d43"],
  [
    "dolt",
    { host: "127.0.0.1", port: 3306, database: "lab" },
    { commit: "q8t28sb3h5g2lnhiojacpi7s09p4csjv" },
    "8f7be71b90934646",
  ],
  [
    "iceberg",
    { identifier: "ns.t", branch: "main", catalog_name: "default" },
    { snapshot_id: 7349211070829257787n },
    "841b9be032b82651",
  ],
  ["iceberg", { identifier: "ns.t", branch: "main", catalog_name: "default" }, { snapshot_id: -1 }, "b6e79205e674d6bc"],
  ["memory", { system: "s" }, { snapshot_id: "s:s0" }, "8779ac4b16a6722a"],
];

Deno.test("[formats 2.4, backends 1.2] pin ids", () => {
  for (const [kind, identity, content, id] of PINS) {
    assert.equal(computePinId(DS, { kind, identity, content }), `${DS}.${id}`, `${kind} ${canonical(content)}`);
  }
});

Deno.test("[formats 2.4, backends 1.2] listing names", () => {
  const digest = "29c27f72f2b97b2867341d4498901fda";
  const dir = { type: "dir", count: 2, size: 6, digest };
  assert.equal(listingName({ kind: "file", identity: { uri: "/data/d" }, content: dir }), "0bede002427f75d02007.jsonl");
  const plate = { type: "dir", count: 2, size: 5, digest: "00" };
  assert.equal(
    listingName({ kind: "file", identity: { uri: "/data/plate1" }, content: plate }),
    "25fbfcb5b27fd730731f.jsonl",
  );
});

Deno.test("[formats 2.4] manifest, identity and history hashes", () => {
  const m1: ObjectManifest = {
    key: "zarr/img",
    kind: "icechunk",
    locator: { uri: "s3://bucket/imaging" },
    policy: { file: "immutable", pin: "native" },
    state: { snapshot_id: "50JRNN8XN1PPZC6TDVW0" },
    pin: { id: `${DS}.x`, ref: `tether.${DS}.x` },
    recoverable: true,
    origin: "adopted",
    capturedAt: "2026-11-30T01:45:24.565823+00:00",
  };
  const a: ObjectManifest = {
    ...m1,
    key: "a",
    kind: "file",
    locator: { uri: "/d" },
    state: null,
    pin: null,
    capturedAt: null,
  };
  assert.equal(manifestHash([]), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  assert.equal(manifestHash([m1]), "8e7332b2b3a4813609611211ed9ba885377b606fec3a4eb470d6a1c81845b3d1");
  assert.equal(manifestHash([m1, a]), "e032d6f7ce4fce43500a2b5a51fb509f294b328af2848136eb2bb73f663d3e6b");
  assert.equal(manifestHash([{ ...m1, capturedAt: null, origin: "created" }]), manifestHash([m1]));
  assert.equal(valueHash({ uri: "s3://bucket/imaging" }), "95d0b0b3759e3a456c70e7656a64d03c");
  assert.equal(historyDigest(["b".repeat(40), "a".repeat(40)]), "04d25a78e94b8197");
  assert.equal(historyDigest([]), "e3b0c44298fc1c14");
});

Deno.test("[formats 2.2] the digest length is a parameter, not a truncation", () => {
  assert.equal(framedHash([], 32).length, 64);
  assert.notEqual(framedHash(["x"], 16), framedHash(["x"], 32).slice(0, 32));
  assert.notEqual(framedHash(["ab", "c"], 16), framedHash(["a", "bc"], 16));
});

Deno.test("[formats 2.1, backends 1.2] canonical JSON sorts by code point and escapes no more than JSON asks", () => {
  const text = canonical({ "b": 1, "a": "é/\u2028\x7f\n", "\ue000": 1, "😀": 2 });
  assert.deepEqual(Object.keys(parseJson(text) as JsonObject), ["a", "b", "\ue000", "😀"]);
  assert.equal(text, '{"a":"é/\u2028\x7f\\n","b":1,"\ue000":1,"😀":2}');
  assert.equal(canonical('\u0000\u001f\b\f\n\r\t"\\'), '"\\u0000\\u001f\\b\\f\\n\\r\\t\\"\\\\"');
  assert.throws(() => canonical("\ud800"), TypeError);
});

Deno.test("[formats 2.1] floats print as Python prints them", () => {
  const cases: [number, string][] = [
    [1, "1.0"],
    [0, "0.0"],
    [-0, "-0.0"],
    [0.1, "0.1"],
    [1e16, "1e+16"],
    [1e15, "1000000000000000.0"],
    [123456789012345680, "1.2345678901234568e+17"],
    [1e-4, "0.0001"],
    [1e-5, "1e-05"],
    [1.5e-7, "1.5e-07"],
    [1e-7, "1e-07"],
    [1e22, "1e+22"],
    [5e-324, "5e-324"],
  ];
  for (const [value, text] of cases) assert.equal(canonical(new Float(value)), text);
});

/** Any JSON value of ours. */
const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger(),
    fc.bigInt(-(2n ** 70n), 2n ** 70n).filter((n) => n > 2n ** 53n || n < -(2n ** 53n)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => new Float(n)),
    fc.string({ unit: "grapheme" }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: "grapheme" }), tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

Deno.test("[L35, formats 2.1] JSON round-trips without losing a digit, in every spelling", () => {
  fc.assert(fc.property(json, (value) => {
    for (const options of [{}, { ascii: true }, { indent: 2 }, { separators: "spaced" as const }]) {
      const text = writeJson(value, { sortKeys: true, ...options });
      assert.equal(canonical(parseJson(text)), canonical(value));
    }
  }));
});

Deno.test("[L35] ids that differ in the last digit are different states", () => {
  assert.equal(canonical(parseJson("5184430069070270604")), "5184430069070270604");
  assert.equal(canonical(parseJson("9007199254740993")), "9007199254740993");
  const id = (n: bigint): string => computePinId(DS, { kind: "iceberg", identity: {}, content: { snapshot_id: n } });
  assert.notEqual(id(9007199254740993n), id(9007199254740992n));
});

Deno.test("[formats 2.1] code-point order is the order of UTF-8 bytes", () => {
  const encoder = new TextEncoder();
  const bytes = (a: string, b: string): number => {
    const [x, y] = [encoder.encode(a), encoder.encode(b)];
    for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return (x[i] ?? 0) - (y[i] ?? 0);
    return x.length - y.length;
  };
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (a, b) => {
    assert.equal(Math.sign(compareCodePoints(a, b)), Math.sign(bytes(a, b)));
  }));
  assert.ok(compareCodePoints("\uffee", "\u{1f600}") < 0);
});
