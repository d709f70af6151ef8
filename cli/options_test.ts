import assert from "node:assert/strict";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { ConfigError } from "../engine/model/errors.ts";
import { atLeastOne, count, fields, given, oneOf, port, refuseBlank } from "./options.ts";

Deno.test("fields() reads NAME=VALUE and refuses everything else", () => {
  assert.deepEqual(fields(["a=1", "url=x=y"], "--set"), { a: "1", url: "x=y" });
  assert.deepEqual(fields(undefined, "--set"), {});
  for (const bad of [["a"], ["=1"], ["a="], ["a= "], ["a=1", "a=2"], [""]]) {
    assert.throws(() => fields(bad, "--set"), ConfigError, JSON.stringify(bad));
  }
});

Deno.test("[L42] refuseBlank() refuses empty and blank, and takes 0", () => {
  refuseBlank([["a", "0"], ["b", 0], ["c", undefined], ["d", ["x"]], ["e", false]]);
  for (const blank of ["", " ", "\t\n", ["x", ""]]) {
    assert.throws(() => refuseBlank([["--rev", blank]]), /Cannot use an empty value for --rev/);
  }
});

Deno.test("[L22] refuseBlank() refuses what was no UTF-8, but for a message", () => {
  for (const value of ["a\ufffd", ["x", "\ufffd"]]) {
    assert.throws(() => refuseBlank([["key", value]]), /Cannot use this value for key: it is not UTF-8/);
  }
  refuseBlank([["--message", "about \ufffd"], ["key", "\ufffe é"]]);
});

Deno.test("numbers are whole and in range", () => {
  assert.equal(count("0"), 0);
  assert.equal(port("65535"), 65535);
  for (const bad of ["-1", "1.5", "1e3", "x", "", " 1", "99999999999999999999"]) {
    assert.throws(() => count(bad), InvalidArgumentError, bad);
  }
  assert.throws(() => atLeastOne("0"), InvalidArgumentError);
  assert.throws(() => port("0"), InvalidArgumentError);
  assert.throws(() => port("65536"), InvalidArgumentError);
});

Deno.test("oneOf() names the words there are", () => {
  const parse = oneOf("--pin", ["native", "record"]);
  assert.equal(parse("record"), "record");
  assert.throws(() => parse("nativ"), /Cannot use "nativ" for --pin: it is native or record/);
});

Deno.test("given() drops what was not given, and only that", () => {
  assert.deepEqual(given({ a: undefined, b: 0, c: "", d: false, e: null }), { b: 0, c: "", d: false, e: null });
});
