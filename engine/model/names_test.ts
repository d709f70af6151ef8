import assert from "node:assert/strict";
import fc from "fast-check";
import { bookmarkSlug, parsePinRef, parseWorkingRef, refForPin, workingRefBookmark, workingRefName } from "./names.ts";

const DS = "0a1b2c3d";

Deno.test("[formats 2.4, backends 1.2, Δ19] slugs of bookmarks", () => {
  const table: Readonly<Record<string, string>> = {
    "feat/x": "feat-x-cdd300",
    "feat.x": "feat-x-463316",
    "-a": "a-9b11c4",
    "..": "bm-589d64",
    "é": "bm-c96d43",
    "v1.2": "v1-2-8f34ba",
    "ünï": "n-714c31",
    "...": "bm-8fc8cd",
    "-lead-": "lead-f4aeb5",
    "2024": "2024",
    "plain_Name-1": "plain_Name-1",
  };
  for (const [bookmark, slug] of Object.entries(table)) assert.equal(bookmarkSlug(bookmark), slug, bookmark);
});

Deno.test("[L19] spellings that differ get branches that differ, in an alphabet every system takes", () => {
  const refs = ["a", "A", "a/b", "a.b", "a b"].map((b) => workingRefName(DS, b));
  assert.equal(new Set(refs).size, 5);
  fc.assert(fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (bookmark) => {
    const ref = workingRefName(DS, bookmark);
    assert.match(ref, /^tether\.ws\.0a1b2c3d\.[0-9A-Za-z_-]+$/);
    assert.equal(workingRefBookmark(ref), bookmarkSlug(bookmark));
  }));
});

Deno.test("[formats 3] working refs are read back without guessing", () => {
  const table: Readonly<Record<string, unknown>> = {
    [`tether.ws.${DS}.relabel`]: { type: "bookmark", dataset: DS, slug: "relabel", generation: 1 },
    [`tether.ws.${DS}.relabel.2`]: { type: "bookmark", dataset: DS, slug: "relabel", generation: 2 },
    [`tether.ws.${DS}.2024`]: { type: "bookmark", dataset: DS, slug: "2024", generation: 1 },
    [`tether.ws.${DS}.2024.3`]: { type: "bookmark", dataset: DS, slug: "2024", generation: 3 },
    [`tether.ws.${DS}.deadbeef`]: { type: "bookmark", dataset: DS, slug: "deadbeef", generation: 1 },
    [`tether.ws.${DS}.deadbeef.2`]: { type: "bookmark", dataset: DS, slug: "deadbeef", generation: 2 },
    [`tether.ws.${DS}.deadbeef.foo-123456`]: { type: "legacy", dataset: DS, workspace: "deadbeef", tail: "foo-123456" },
    "tether.ws.NOTHEX00.x": undefined,
    [`tether.ws.${DS}.`]: undefined,
    [`tether.ws.${DS}`]: undefined,
    "main": undefined,
  };
  for (const [ref, name] of Object.entries(table)) assert.deepEqual(parseWorkingRef(ref), name, ref);
});

Deno.test("[formats 3] pin refs are read back, generations folded, everything else left alone", () => {
  const id = `${DS}.a13e5f3cc8b76a82`;
  assert.deepEqual(parsePinRef(refForPin(id)), { id, dataset: DS, generation: 1 });
  assert.deepEqual(parsePinRef(`tether.${id}.2`), { id, dataset: DS, generation: 2 });
  for (
    const ref of [
      "main",
      `tether.ws.${DS}.x`,
      `tether.owner.${DS}`,
      `tether.${id}.2.3`,
      `tether.${id}.x`,
      "tether.x",
      "tether.",
    ]
  ) {
    assert.equal(parsePinRef(ref), undefined, ref);
  }
});
