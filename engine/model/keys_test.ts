import assert from "node:assert/strict";
import { ConfigError } from "./errors.ts";
import { checkNewKey, derivedKey, keyProblem, selectKeys, windowsProblem } from "./keys.ts";

Deno.test("[formats 5, L41] which texts are keys", () => {
  const good = [
    "a",
    "a/b",
    " lead",
    "trail ",
    "* ? [ ] ( )",
    "-x",
    ".hidden",
    "CON",
    "x\u007f",
    "é",
    "[ab]",
    ":!y",
    "x (1)",
    "a.b",
  ];
  const bad = [
    "",
    "/a",
    "a/",
    "a//b",
    ".",
    "a/../b",
    "a\\b",
    "c:",
    "a/C:x",
    "a\nb",
    "a\tb",
    "a\u00a0b",
    "a\u2028b",
    "\u0000",
  ];
  for (const key of good) assert.equal(keyProblem(key), undefined, JSON.stringify(key));
  for (const key of bad) assert.notEqual(keyProblem(key), undefined, JSON.stringify(key));
});

Deno.test("[L20, formats 5] a new key must survive any disk", () => {
  const existing = ["raw", "Caf\u00e9", "a"];
  for (const key of ["Raw", "RAW", "Cafe\u0301", "a.toml/b", "x.TOML/y", "z".repeat(300)]) {
    assert.throws(() => checkNewKey(key, existing), ConfigError, key);
  }
  for (const key of ["raw2", "raw/x", "a.toml", "b.toml"]) assert.equal(checkNewKey(key, existing), key);
});

Deno.test("[commands 1.5] selectors name keys, or everything below a prefix", () => {
  const keys = ["zarr/b", "zarr/a", "zarrish", "c"];
  assert.deepEqual(selectKeys(undefined, keys), ["c", "zarr/a", "zarr/b", "zarrish"]);
  assert.deepEqual(selectKeys(["zarr/", "zarr/a", "c"], keys), ["c", "zarr/a", "zarr/b"]);
  assert.throws(() => selectKeys(["zarr"], keys), ConfigError);
  assert.throws(() => selectKeys(["nope", "none/"], keys), /"nope".*"none\/"/);
});

Deno.test("[formats 6.3] a derived key is the last segment less one suffix", () => {
  const table: [string, string[], string | undefined][] = [
    ["s3://b/img.icechunk", [".icechunk", ".zarr"], "img"],
    ["/data/x.ZARR/", [".icechunk", ".zarr"], "x"],
    ["/data/.lance", [".lance"], ".lance"],
    ["/data/table.csv", [], "table.csv"],
    ["/", [], undefined],
  ];
  for (const [uri, suffixes, key] of table) assert.equal(derivedKey(uri, suffixes), key, uri);
});

Deno.test("[L20, L41] a folder that version control keeps for itself is no part of a new key, and stays one of an old", () => {
  const names = [".git", ".GIT", ".gIt", "git~1", "GIT~1", ".git.", ".git ", ".git. .", ".git::$INDEX_ALLOCATION"];
  names.push(".jj", ".JJ", ".g\u200cit");
  for (const name of names) {
    for (const key of [`${name}/a`, `a/${name}/b`]) {
      assert.throws(() => checkNewKey(key, []), /version control commits no folder/, key);
      assert.equal(keyProblem(key), undefined, key);
    }
    // The last segment becomes a file that ends in .toml, which anything may hold.
    if (!name.includes(":")) assert.equal(checkNewKey(`a/${name}`, []), `a/${name}`);
  }
  for (const key of [".gitignore/a", "git/a", "x.git/a", "git~2/a", ".gitx/a"]) assert.equal(checkNewKey(key, []), key);
});

Deno.test("[L20, formats 5] names that Windows keeps for itself are allowed, and said so", () => {
  for (const key of ["con", "COM1", "a/aux/b", "nul.x", "a./b", "x /y", "ab:c", "what?"]) {
    assert.equal(checkNewKey(key, []), key);
    assert.notEqual(windowsProblem(key), undefined, key);
  }
  for (const key of ["a.", "x ", "console", "com", "COM10", "a.b/c", "raw/table 1.csv"]) {
    assert.equal(windowsProblem(key), undefined, key);
  }
});
