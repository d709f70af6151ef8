import assert from "node:assert/strict";
import { renderState } from "./render_state.ts";
import { Float, writeJson } from "./json.ts";

Deno.test("[commands 3.5] renderState() cuts values at 16 characters, and none in half", () => {
  const state = {
    a: "0123456789abcdef",
    b: "x".repeat(17),
    c: "😀".repeat(17),
    d: 2n ** 62n,
    e: new Float(1),
    f: { g: 1 },
  };
  const text = renderState(state);
  assert.equal(
    text,
    `a=0123456789abcdef b=${"x".repeat(16)}… c=${"😀".repeat(16)}… d=4611686018427387… e=1.0 f={…}`,
  );
  assert.ok(writeJson(text, { ascii: true }));
  assert.deepEqual([renderState(null), renderState({})], ["none", ""]);
});
