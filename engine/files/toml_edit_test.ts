import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject } from "../model/json.ts";
import { documents } from "./_test_values.ts";
import { isTable, readToml, tomlEqual, type TomlTable, type TomlValue, writeInline, writeKey } from "./toml.ts";
import { spliceToml, type TomlChanges } from "./toml_edit.ts";

/** Writes a document as a person might: sections, dotted keys, inline tables, arrays of tables, comments everywhere. */
function writeByHand(table: TomlTable, pick: () => number): string {
  const root: string[] = [];
  const sections: string[] = [];
  let comments = 0;
  const comment = () => pick() % 2 === 0 ? ` # remark ${comments++}` : "";
  function pairs(prefix: string[], content: TomlTable, lines: string[], path: string[]): void {
    for (const [key, value] of Object.entries(content)) {
      const style = pick() % 4;
      if (pick() % 4 === 0) lines.push(`# remark ${comments++}`);
      if (isTable(value) && style === 0) section([...path, key], value);
      else if (isTable(value) && style === 1 && Object.keys(value).length > 0 && prefix.length < 2) {
        dotted([...prefix, key], value, lines);
      } else if (
        Array.isArray(value) && style === 2 && value.length > 0 && value.every(isTable) && prefix.length === 0
      ) {
        for (const item of value as TomlTable[]) {
          sections.push(`[[${writeKey([...path, key])}]]${comment()}\n` + inlinePairs(item).join(""));
        }
      } else lines.push(`${writeKey([...prefix, key])}  =  ${writeInline(value)}${comment()}`);
    }
  }
  // A table made of dotted keys may hold no section: everything below it stays on its lines.
  function dotted(prefix: string[], content: TomlTable, lines: string[]): void {
    for (const [key, value] of Object.entries(content)) {
      if (isTable(value) && pick() % 2 === 0 && Object.keys(value).length > 0) dotted([...prefix, key], value, lines);
      else lines.push(`  ${writeKey([...prefix, key])} = ${writeInline(value)}${comment()}`);
    }
  }
  function inlinePairs(item: TomlTable): string[] {
    return Object.entries(item).map(([key, value]) => `${writeKey([key])} = ${writeInline(value)}\n`);
  }
  function section(path: string[], content: TomlTable): void {
    const lines: string[] = [];
    const at = sections.length;
    sections.push("");
    pairs([], content, lines, path);
    const implicit = lines.length === 0 && sections.length > at + 1 && pick() % 2 === 0;
    sections[at] = implicit ? "" : [`[ ${writeKey(path)} ]${comment()}`, ...lines].join("\n") + "\n";
  }
  pairs([], table, root, []);
  return [root.join("\n"), ...sections].filter((text) => text !== "").join(pick() % 2 === 0 ? "\n" : "\n\n");
}

function picker(seed: number): () => number {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 8;
}

function changed(before: TomlTable, changes: TomlChanges): TomlTable {
  const all = new Map([...Object.entries(before), ...Object.entries(changes)]);
  return Object.fromEntries([...all].filter((entry): entry is [string, TomlValue] => entry[1] !== undefined));
}

/** Turns one document into changes of another: some keys replaced, some tables edited inside, some keys removed. */
function changesFrom(before: JsonObject, other: JsonObject, pick: () => number): TomlChanges {
  const changes = new Map<string, TomlValue | undefined>(Object.entries(other));
  for (const [key, value] of Object.entries(before)) {
    const style = pick() % 4;
    if (style === 0) changes.set(key, undefined);
    else if (style === 1 && isTable(value)) {
      const kept = Object.fromEntries(Object.entries(value).filter(() => pick() % 3 > 0));
      const inner = changesFrom(kept as JsonObject, {}, pick);
      changes.set(key, { ...changed(kept, inner), ...other });
    }
  }
  return Object.fromEntries(changes);
}

Deno.test("[L34] spliceToml() makes any change to any spelling of a document, and only that", async () => {
  await fc.assert(
    fc.asyncProperty(documents, documents, fc.nat(), async (before, other, seed) => {
      const pick = picker(seed);
      const text = writeByHand(before, pick);
      assert.ok(tomlEqual(readToml(text, "x"), before), "the hand-written form is wrong");
      const changes = changesFrom(before, other, pick);
      const wanted = changed(before, changes);
      const result = await spliceToml(text, changes, "x");
      assert.ok(tomlEqual(readToml(result, "x"), wanted));
      assert.equal(await spliceToml(result, {}, "x"), result);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("[L34] spliceToml() that only adds leaves every line of the document", async () => {
  await fc.assert(fc.asyncProperty(documents, documents, fc.nat(), async (before, other, seed) => {
    const text = writeByHand(before, picker(seed));
    const added = Object.fromEntries(Object.entries(other).filter(([key]) => !Object.hasOwn(before, key)));
    const rest = (await spliceToml(text, added, "x")).split("\n");
    for (const line of text.split("\n")) {
      const at = rest.indexOf(line);
      assert.ok(at >= 0, `lost: ${line}`);
      rest.splice(0, at + 1);
    }
  }));
});

const MANIFEST = `# the plates of March
key = "raw/plate1" # as in the lab book
kind = 'file'
recoverable = true

# where it lies
[locator]
uri = "/data/plate1" # on the NAS
at = "main"

[policy]
file = "immutable"
pin = "native"
write = "x" # old

# ours
[lab]
owner = "ada"
since = 2024-05-01
`;

Deno.test("[L34] spliceToml() keeps comments, unknown keys and the order of a manifest", async () => {
  const result = await spliceToml(MANIFEST.replaceAll("\n", "\r\n"), {
    captured_at: "now",
    locator: { uri: "/data/plate1" },
    state: { version: 7052937465134546912n },
  }, "x");
  const wanted = MANIFEST.replace('at = "main"\n', "").replace("true\n", 'true\ncaptured_at = "now"\n') +
    "\n[state]\nversion = 7052937465134546912\n";
  assert.equal(result, wanted);
  assert.equal(await spliceToml(result, { state: undefined }, "x"), wanted.slice(0, wanted.indexOf("\n[state]")));
});

Deno.test("[L34] spliceToml() with what is there already returns the same bytes", async () => {
  await fc.assert(fc.asyncProperty(documents, fc.nat(), async (document, seed) => {
    const text = writeByHand(document, picker(seed));
    assert.equal(await spliceToml(text, document, "x"), text);
  }));
});
