import assert from "node:assert/strict";
import fc from "fast-check";
import { ConfigError } from "../model/errors.ts";
import { Float } from "../model/json.ts";
import { documents } from "./_test_values.ts";
import { parseToml, readToml, tomlEqual, type TomlTable, writeToml } from "./toml.ts";

Deno.test("[L34] [L35] writeToml() writes what parseToml() reads back", () => {
  fc.assert(fc.property(documents, (document) => {
    assert.ok(tomlEqual(parseToml(writeToml(document), "x"), document));
  }));
});

Deno.test("[formats 6.1] writeToml() drops nulls at every depth and writes basic strings with literal non-ASCII", () => {
  const text = writeToml({
    key: 'raw/é "q" \\ \t\n\u0001\u007f\u2028',
    gone: null,
    list: [1, null, { a: null, b: new Float(1.5) }],
    "zarr/img": { uri: "/d", none: null },
    empty: {},
    deep: { only: { a: true } },
  });
  assert.equal(
    text,
    'key = "raw/é \\"q\\" \\\\ \\t\\n\\u0001\\u007f\u2028"\n' +
      "list = [1, { b = 1.5 }]\n\n" +
      '["zarr/img"]\nuri = "/d"\n\n' +
      "[empty]\n\n" +
      "[deep.only]\na = true\n",
  );
});

Deno.test("readToml() keeps what must not be confused apart", async (t) => {
  const cases: [string, TomlTable][] = [
    ["a = 1", { a: 1 }],
    ["a = 1.0", { a: new Float(1) }],
    ["a = 7052937465134546912", { a: 7052937465134546912n }],
    ["a = 9007199254740991", { a: 9007199254740991 }],
    ["a = -0", { a: 0 }],
    ["a = -0.0", { a: new Float(-0) }],
    ["a = [[{b = 1}], []]", { a: [[{ b: 1 }], []] }],
    ["[[a]]\nb = 1\n[[a]]\n[a.c]\nd = 2", { a: [{ b: 1 }, { c: { d: 2 } }] }],
    ["\ufeffa = 1\r\nb = '''x\r\ny'''\r\n", { a: 1, b: "x\ny" }],
  ];
  for (const [text, wanted] of cases) {
    await t.step(JSON.stringify(text), () => assert.deepEqual(readToml(text, "x"), wanted));
  }
});

Deno.test("[L34] a date is not the string of its text, and is written back as it was", () => {
  const text = "a = 1979-05-27T07:32:00-07:00\nb = 1979-05-27\nc = 07:32:00\nd = 1979-05-27T07:32:00.250\n";
  const table = readToml(text, "x");
  assert.ok(tomlEqual(readToml(writeToml(table), "x"), table));
  assert.ok(!tomlEqual(table, parseToml(text, "x")));
  assert.equal(parseToml(text, "x")["b"], "1979-05-27");
});

Deno.test("readToml() refuses with file, line and column, and quotes nothing of the text", async (t) => {
  const cases: [string, string, RegExp][] = [
    ["a = 1\npassword = hunter2\n", "toml", /^Cannot read "f\.toml": line 2, column 12: invalid value$/],
    ["a = 1\na = 2", "toml", /line 2, column 1/],
    ['a = "\\uD800"', "toml", /unicode/],
    ["[a", "toml", /line 1/],
    ["a = " + "[".repeat(5000) + "]".repeat(5000), "toml", /nested/],
    ["<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> other\n", "conflicted", /conflict markers/],
    ["<<<<<<<<< conflict 1 of 1\n%%%%%%%%% diff\n-a = 1\n+a = 2\n>>>>>>>>> end\n", "conflicted", /conflict/],
    ["<<<<<<< HEAD\r\na = 1\r\n=======\r\na = 2\r\n>>>>>>> other\r\n", "conflicted", /conflict/],
  ];
  for (const [text, code, message] of cases) {
    await t.step(JSON.stringify(text.slice(0, 40)), () => {
      assert.throws(() => readToml(text, "f.toml"), (error) => {
        assert.ok(error instanceof ConfigError);
        assert.equal(error.code, code);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message + JSON.stringify(error.toJSON()), /hunter2/);
        return true;
      });
    });
  }
  await t.step("a text over the cap", () => {
    assert.throws(() => readToml("a = 1", "f.toml", { maxLength: 4 }), /larger than 4/);
  });
  await t.step("conflict markers inside a string are text", () => {
    assert.ok(readToml("a = '''\n<<<<<<< x\n>>>>>>> y\n'''", "f.toml"));
  });
});

Deno.test("writeToml() refuses what TOML cannot hold", () => {
  assert.throws(() => writeToml({ a: "\ud800" }), TypeError);
  assert.throws(() => writeToml({ a: 2 ** 53 }), TypeError);
  assert.throws(() => writeToml({ a: 0.5 }), TypeError);
});
