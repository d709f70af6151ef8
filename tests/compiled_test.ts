import assert from "node:assert/strict";
import { compile } from "../scripts/compile.ts";
import { installOldDeno } from "../scripts/old_deno.ts";
import { lab } from "./cli/_tether.ts";
import { createRepository, writeArray } from "./helpers/icechunk_data.ts";
import { createLanceTable } from "./helpers/lance_data.ts";

/** Enough files for the reading of them to be shared with a worker. */
const MANY = 3000;

Deno.test("[L33] the executable, built with the oldest Deno, runs the core loop, and needs no addon for it", async () => {
  await using l = await lab();
  const program = await compile({ output: l.beside("tether"), ...await installOldDeno() });
  async function ok(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args,
      cwd: l.repo.path,
      env: { XDG_CACHE_HOME: l.beside("cache") },
      stdin: "null",
    }).output();
    const [out = "", err = ""] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assert.equal(code, 0, err);
    // What a runtime says of a worker that fails is not for users.
    assert.doesNotMatch(err, /uncaught|worker|at file:/i);
    return out;
  }
  await createRepository(l.beside("img"));
  await writeArray(l.beside("img"), "main", { name: "scores", values: [1] });
  await createLanceTable(l.beside("rows.lance"));
  for (let i = 0; i < MANY; i++) await Deno.writeTextFile(`${l.beside("plate")}/${i}.txt`, `${i}\n`);

  assert.match(await ok("--version"), /^tether \d/);
  await ok("init");
  for (
    const [name, kind] of [["code", "git"], ["plate", "file"], ["img", "icechunk"], ["rows.lance", "lance"]] as const
  ) {
    await ok("add", `../${name}`, "--kind", kind);
  }
  assert.match(await ok("commit", "-m", "Baseline"), /pinned code[^]*pinned img[^]*recorded plate/);
  await ok("new", "-b", "feat", "--eager");
  await writeArray(l.beside("img"), JSON.parse(await ok("open", "img", "--json")).ref, { name: "scores", values: [2] });
  assert.match(await ok("commit", "-m", "Second"), /pinned img/);
  assert.match(await ok("verify"), /ok {2}code[^]*ok {2}img/);
  assert.match(await ok("diff", "main"), /changed {2}img/);
  assert.match(JSON.parse(await ok("open", "rows", "--json")).ref, /\.feat$/);
});
