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
  const readme = await Deno.readTextFile(new URL("../README.md", import.meta.url));
  const code = [...guide.matchAll(/```sh\n([^]*?)```|`(tether [^`]*)`/g)].map((m) => m[1] ?? m[2] ?? "").join("\n");
  const shown = readme.split("\n").filter((line) => line.startsWith("$ ")).map((line) => line.slice(2)).join("\n");
  const examples = await Promise.all(COMMANDS.map(async (c) => (await c.load()).help.examples.map(([, line]) => line)));
  const lines = commandLines([code, shown, ...examples.flat()].join("\n"));
  assert.ok(lines.length > 40);
  const problems = await Promise.all(lines.map(problemOf));
  assert.deepEqual(problems.filter((p) => p !== undefined), []);
});

Deno.test("a code block of the guide that holds a command is marked as one, so that it is checked", async () => {
  const guide = await Deno.readTextFile(new URL("../docs/guide.md", import.meta.url));
  const blocks = [...guide.matchAll(/^```(\w*)\n([^]*?)^```$/gm)];
  assert.ok(blocks.length > 10);
  assert.deepEqual(blocks.filter(([, mark, text]) => mark !== "sh" && /^tether /m.test(text ?? "")), []);
});

Deno.test("[lessons] no hint, message or page names a command that does not exist", async () => {
  const names = new Set(COMMANDS.map((c) => c.name));
  const found = new Map<string, string>();
  for (const root of ["engine", "cli", "backends", "vcs", "docs"]) {
    for (const file of await filesBelow(new URL(`../${root}/`, import.meta.url))) {
      if (!/\.(ts|md)$/.test(file.pathname) || file.pathname.endsWith("_test.ts")) continue;
      const text = await Deno.readTextFile(file);
      // A command stands at the beginning of a text, inside quotes of any kind, or after another command.
      for (const [, name = ""] of text.matchAll(/(?:["'`(]|&& )tether ([a-z][a-z-]*)(?=["'`) ]|$)/gm)) {
        found.set(name, file.pathname);
      }
    }
  }
  assert.ok(found.size > 20);
  assert.deepEqual([...found].filter(([name]) => !names.has(name) && !PROSE.has(name)), []);
});

/** Words that follow the program's name in sentences. */
const PROSE: ReadonlySet<string> = new Set(["can", "deletes", "file", "hashes"]);

async function filesBelow(folder: URL): Promise<URL[]> {
  const found: URL[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) found.push(...await filesBelow(new URL(`${name}/`, folder)));
    else found.push(new URL(name, folder));
  }
  return found;
}
