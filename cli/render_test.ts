import assert from "node:assert/strict";
import { age, columns, minute } from "./render.ts";

Deno.test("[commands 1.2] age() counts in the largest whole unit", () => {
  const now = new Date("2026-11-30T12:00:00Z");
  const cases: [string | null, string][] = [
    [null, "never"],
    ["not a time", "never"],
    ["2026-11-30T12:00:00.000000+00:00", "0s ago"],
    ["2026-11-30T11:59:01+00:00", "59s ago"],
    ["2026-11-30T11:59:00+00:00", "1m ago"],
    ["2026-11-30T11:00:01+00:00", "59m ago"],
    ["2026-11-29T12:00:01+00:00", "23h ago"],
    ["2026-11-20T12:00:00+00:00", "10d ago"],
    ["2026-11-30T12:00:05+00:00", "0s ago"],
  ];
  for (const [iso, text] of cases) assert.equal(age(iso, now), text);
});

Deno.test("minute() shows UTC and leaves alone what is no time", () => {
  assert.equal(minute("2026-11-30T04:05:59+02:00"), "2026-11-30 02:05");
  assert.equal(minute("yesterday"), "yesterday");
  assert.equal(minute(null), "");
});

Deno.test("columns() pads every column but the last", () => {
  assert.deepEqual(columns([["a", "bb", "c"], ["aaa", "b", "cc"]]), ["a    bb  c", "aaa  b   cc"]);
});
