import { strict as assert } from "node:assert";
import fc from "fast-check";
import { MAX_DIFF_ENTRIES, type State } from "../backend.ts";
import { compareCodePoints } from "../../engine/model/json.ts";
import { diffStates, signedSize } from "./_diff.ts";

const dir = (count: number, size: number, digest: string): State => ({ type: "dir", count, size, digest });

function listing(rows: Readonly<Record<string, readonly [string, number]>>): string {
  return Object.entries(rows).sort(([a], [b]) => compareCodePoints(a, b))
    .map(([p, [k, s]]) => JSON.stringify({ p, k, s }) + "\n").join("");
}

Deno.test("[backends 3.1] a change of size is told with its sign and unit", () => {
  const table = [
    [0, "+0 B"],
    [-1, "-1 B"],
    [1023, "+1023 B"],
    [1024, "+1.0 KiB"],
    [1536, "+1.5 KiB"],
    [-3_000_000, "-2.9 MiB"],
    [5 * 2 ** 30, "+5.0 GiB"],
    [2 ** 40, "+1.0 TiB"],
    [-(2 ** 50), "-1.0 PiB"],
  ] as const;
  for (const [bytes, text] of table) assert.equal(signedSize(bytes), text);
});

Deno.test("[backends 3.1] two folders differ by their listings", () => {
  const a = listing({
    "a-b": ["1", 1],
    "a.txt": ["2", 3],
    "a/b": ["3", 1],
    "link": ["symlink:1", 0],
    "😀": ["4", 2000],
  });
  const b = listing({
    "a.txt": ["5", 4],
    "a/b": ["3", 1],
    "link": ["symlink:2", 0],
    "\uffee": ["6", 7],
    "😀": ["7", 464],
  });
  const diff = diffStates(dir(5, 2005, "x"), dir(5, 476, "y"), { label: "/d", listings: [a, b] });
  assert.deepEqual(diff, {
    unit: "files",
    added: 1,
    removed: 1,
    modified: 3,
    entries: [
      { path: "a-b", change: "removed", detail: "-1 B" },
      { path: "a.txt", change: "modified", detail: "+1 B" },
      { path: "link", change: "modified", detail: "+0 B" },
      { path: "\uffee", change: "added", detail: "+7 B" },
      { path: "😀", change: "modified", detail: "-1.5 KiB" },
    ],
    truncated: false,
    note: "",
  });
});

Deno.test("[backends 3.1] counts and entries are those of a comparison path by path", () => {
  const side = fc.dictionary(
    fc.string({ unit: "grapheme", maxLength: 3 }),
    fc.tuple(fc.constantFrom("x", "y"), fc.nat(9)),
  );
  fc.assert(fc.property(side, side, (a, b) => {
    const diff = diffStates(dir(1, 1, "a"), dir(2, 2, "b"), { label: "/d", listings: [listing(a), listing(b)] });
    const paths = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort(compareCodePoints);
    const expected = paths.flatMap((path) => {
      if (!(path in a)) return [`added ${path}`];
      if (!(path in b)) return [`removed ${path}`];
      return a[path]?.[0] === b[path]?.[0] ? [] : [`modified ${path}`];
    });
    assert.deepEqual(diff.entries.map((e) => `${e.change} ${e.path}`), expected);
    assert.equal(diff.added + diff.removed + diff.modified, expected.length);
  }));
});

Deno.test("[C08] entries stop at the limit, counts go on", () => {
  const many = Object.fromEntries(Array.from({ length: 2500 }, (_, i) => [`f${i}`, ["x", 1] as const]));
  const diff = diffStates(dir(0, 0, "a"), dir(2500, 2500, "b"), { label: "/d", listings: ["", listing(many)] });
  assert.equal(diff.entries.length, MAX_DIFF_ENTRIES);
  assert.deepEqual([diff.added, diff.truncated], [2500, true]);
});

Deno.test("[backends 3.1] without both listings the states are summed up and the missing side is named", () => {
  const [a, b] = [dir(3, 1000, "a"), dir(2, 2536, "b")];
  const table = [
    [undefined, undefined, "side a and side b has no stored listing"],
    [undefined, "", "side a has no stored listing"],
    ["", undefined, "side b has no stored listing"],
    ["{}\n", "", "a stored listing cannot be read"],
    ["", "not json\n", "a stored listing cannot be read"],
  ] as const;
  for (const [left, right, note] of table) {
    const diff = diffStates(a, b, { label: "/d", listings: [left, right] });
    assert.deepEqual(diff.entries, [{ path: "(summary)", change: "modified", detail: "3 files -> 2 files, +1.5 KiB" }]);
    assert.equal(diff.note, note);
  }
  assert.equal(diffStates(a, a, { label: "/d", listings: [undefined, undefined] }).modified, 0);
});

Deno.test("[backends 3.1] single files differ by what their states say", () => {
  const file = (size: number, sha256: string): State => ({ type: "file", size, sha256 });
  const options = { label: "/d/f", listings: [undefined, undefined] } as const;
  const diff = diffStates(file(3, "ba7816bf8f01cfea"), file(4, "88d4266fd4e6338d"), options);
  assert.deepEqual([diff.unit, diff.modified], ["objects", 1]);
  assert.deepEqual(diff.entries, [
    { path: "/d/f", change: "modified", detail: "size +1 B, sha256 ba7816bf8f01 -> 88d4266fd4e6" },
  ]);
  assert.deepEqual(diffStates(file(3, "x"), file(3, "x"), options).entries, []);
  const became = diffStates(dir(1, 2, "x"), file(3002, "y"), options);
  assert.equal(became.entries[0]?.detail, "1 files -> a single file, +2.9 KiB");
});
