import assert from "node:assert/strict";
import { testContext } from "./_test_world.ts";
import { COMMANDS } from "./commands.ts";
import { buildProgram, completeCommand } from "./program.ts";

/** Command lines of tether inside a text, as words. */
function commandLines(text: string): string[][] {
  return [...text.matchAll(/(?:^|[\s`(])tether ([a-z][^\n`|&>)#;]*)/g)].map(([, line = ""]) =>
    line.trim().split(/\s+/)
  );
}

async function problemOf(words: readonly string[]): Promise<string | undefined> {
  const entry = COMMANDS.find((c) => c.name === words[0]);
  if (!entry) return `no command ${words[0]}`;
  const context = testContext();
  const command = buildProgram(context, { long: false }).commands.find((c) => c.name() === entry.name);
  assert.ok(command);
  await completeCommand(command as Parameters<typeof completeCommand>[0], { entry, context, long: false });
  const flags = new Set(["-h", "--help", ...command.options.flatMap((o) => [o.short, o.long])]);
  const end = words.indexOf("--");
  const options = words.slice(1, end < 0 ? words.length : end).filter((w) => w.startsWith("-"));
  const unknown = options.find((w) => !flags.has(w.split("=", 1)[0]));
  return unknown === undefined ? undefined : `no option ${unknown} of ${entry.name}`;
}

Deno.test("every command line in the guide and in the help texts is one the program understands", async () => {
  const guide = await Deno.readTextFile(new URL("../docs/guide.md", import.meta.url));
  const code = [...guide.matchAll(/```sh\n([^]*?)```|`(tether [^`]*)`/g)].map((m) => m[1] ?? m[2] ?? "").join("\n");
  const examples = await Promise.all(COMMANDS.map(async (c) => (await c.load()).help.examples.map(([, line]) => line)));
  const lines = commandLines([code, ...examples.flat()].join("\n"));
  assert.ok(lines.length > 40);
  const problems = await Promise.all(lines.map(problemOf));
  assert.deepEqual(problems.filter((p) => p !== undefined), []);
});
