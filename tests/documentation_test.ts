/**
 * What the documentation promises: every exported symbol is described and has an example. The examples themselves run as
 * tests of their own.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface Declaration {
  readonly jsDoc?: { readonly tags?: readonly { readonly kind: string }[] };
}

interface Documentation {
  readonly nodes: Readonly<
    Record<string, { readonly symbols?: readonly { readonly name: string; readonly declarations: Declaration[] }[] }>
  >;
}

Deno.test("[style 4] every symbol that an entry point exports is described, member by member", async () => {
  await deno(["doc", "--lint", ...await entryPoints()]);
});

Deno.test("[style 4] every symbol that an entry point exports has an example", async () => {
  for (const entry of await entryPoints()) {
    const { nodes } = JSON.parse(await deno(["doc", "--json", entry])) as Documentation;
    const symbols = Object.values(nodes).flatMap((n) => n.symbols ?? []);
    assert.ok(symbols.length > 0, entry);
    const lacking = symbols.filter((s) => !s.declarations.some(hasExample)).map((s) => s.name);
    assert.deepEqual(lacking, [], entry);
  }
});

function hasExample({ jsDoc }: Declaration): boolean {
  return jsDoc?.tags?.some((tag) => tag.kind === "example") === true;
}

async function entryPoints(): Promise<string[]> {
  const { exports } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`)) as { exports: Record<string, string> };
  return Object.values(exports);
}

async function deno(args: readonly string[]): Promise<string> {
  const output = await new Deno.Command(Deno.execPath(), { args: [...args], cwd: ROOT, env: { NO_COLOR: "1" } })
    .output();
  assert.ok(output.success, new TextDecoder().decode(output.stderr));
  return new TextDecoder().decode(output.stdout);
}
