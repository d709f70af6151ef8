/**
 * The library's guide, run as its readers would: in a program of their own that links the checkout.
 *
 * @module
 */

import assert from "node:assert/strict";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { createRepository } from "./helpers/icechunk_data.ts";
import { tempRepo } from "./helpers/repo.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

Deno.test("[commands 7] the program of the library's guide type-checks, runs, and its kind meets the contract", async (t) => {
  await using repo = await tempRepo();
  const folder = repo.outer;
  const files = await readGuide();
  for (const [name, text] of files) {
    await Deno.mkdir(dirname(`${folder}/${name}`), { recursive: true });
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  await makeStores(folder);

  await t.step("it type-checks with the settings of the guide", async () => {
    await deno(folder, ["check", "main.ts", "tether.ts", "kinds/note_test.ts"]);
  });
  await t.step("it runs", async () => {
    const output = await deno(folder, ["run", "-A", "main.ts"]);
    assert.match(output, /^[0-9a-f]{40}$/m);
    assert.match(output, /^tether\.[0-9a-f]{8}\.[0-9a-f]{16}$/m);
    assert.match(output, /^raw\/plate1 clean $/m);
    assert.match(output, /imaging\.icechunk#tether\.ws\.[0-9a-f]{8}\.relabel$/m);
    assert.match(output, /^true true { snapshot_id: "[0-9A-Z]{20}" }$/m);
    assert.match(output, /^ +fast-forward {2}imaging/m);
    assert.match(output, /^Plan again: /m);
    assert.match(output, /^deno run .*--allow-read=.* main\.ts$/m);
    assert.match(output, /^{ text: "check plate 7" }$/m);
  });
  await t.step("the command line knows the kind in the program that adds it, and nowhere else", async () => {
    const lab = `${folder}/lab`;
    assert.match(await deno(lab, ["run", "-A", "../tether.ts", "status", "--snapshot"]), /^ +new {2}todo {2}\[note/m);
    await assert.rejects(deno(lab, ["run", "-A", `${ROOT}main.ts`, "open", "todo"]), /known to that program only/);
  });
  await t.step("its kind meets the contract", async () => {
    const output = await deno(folder, ["test", "-A", "--no-check", "kinds/note_test.ts"]);
    assert.match(output, /1 passed \([1-9][0-9]* steps\) \| 0 failed/);
  });
});

/** Returns the guide's files: those that a first line names, the settings, and all other code as one program. */
async function readGuide(): Promise<ReadonlyMap<string, string>> {
  const text = await Deno.readTextFile(`${ROOT}docs/library.md`);
  const [, settings = ""] = /^```json\n(.*?)^```$/ms.exec(text) ?? [];
  const files = new Map([["deno.json", settings.replace("/path/to/tether", ROOT)]]);
  const imports: string[] = [];
  const program: string[] = [];
  for (const [, code = ""] of text.matchAll(/^```ts ignore\n(.*?)^```$/gms)) {
    const [, name] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
    if (name !== undefined) {
      files.set(name, code);
      continue;
    }
    const [, head = "", body = code] = /^((?:import [^\n]*\n)+)(.*)$/s.exec(code) ?? [];
    imports.push(head);
    program.push(body);
  }
  return files.set("main.ts", [...imports, ...program].join("\n"));
}

/** Makes what the guide's objects are, and the repository its dataset lies in. */
async function makeStores(folder: string): Promise<void> {
  await Deno.rename(`${folder}/repo`, `${folder}/lab`);
  const { success } = await new Deno.Command("sh", {
    args: ["-c", "git init -q analysis && git -C analysis commit -q --allow-empty -m First"],
    cwd: folder,
  }).output();
  assert.ok(success);
  await Deno.mkdir(`${folder}/plate1`);
  await Deno.writeTextFile(`${folder}/plate1/a.csv`, "1,2\n");
  await createRepository(`${folder}/imaging.icechunk`);
}

async function deno(cwd: string, args: readonly string[]): Promise<string> {
  const output = await new Deno.Command(Deno.execPath(), { args: [...args], cwd, env: { NO_COLOR: "1" } }).output();
  const text = new TextDecoder().decode(output.stdout);
  assert.ok(output.success, new TextDecoder().decode(output.stderr) + text);
  return text;
}
