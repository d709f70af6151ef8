import assert from "node:assert/strict";
import { ConfigError } from "../../engine/model/errors.ts";
import { type TempDataset, tempDataset, tempJjDataset } from "../helpers/dataset.ts";

const CONVERSIONS: Readonly<Record<string, (text: string) => string>> = {
  CRLF: (text) => text.replaceAll("\n", "\r\n"),
  "a byte-order mark": (text) => `\ufeff${text}`,
  both: (text) => `\ufeff${text.replaceAll("\n", "\r\n")}`,
};

const FILES = [".tether/objects/a.toml", "tether.toml", ".tether/.gitignore"];

async function convert(t: Pick<TempDataset, "root" | "read">, how: (text: string) => string): Promise<void> {
  for (const path of FILES) {
    const plain = (await t.read(path)).replaceAll(/\r|\ufeff/g, "");
    await Deno.writeTextFile(`${t.root}/${path}`, how(plain));
  }
}

for (const [vcs, make] of [["git", tempDataset], ["jj", tempJjDataset]] as const) {
  Deno.test(`[L15] under ${vcs} line ends and byte-order marks are no edit to any command`, async (test) => {
    for (const [name, how] of Object.entries(CONVERSIONS)) {
      await test.step(name, async () => {
        await using t = await make();
        await t.addMemory("a");
        await t.with((ds) => ds.commit({ message: "first" }));
        const { manifestHash } = await t.with((ds) => ds.status());
        t.write("a");
        const plan = await t.with((ds) => ds.plan.commit({ message: "planned" }));
        await convert(t, how);
        const status = await t.with((ds) => ds.status());
        assert.equal(status.manifestHash, manifestHash);
        assert.deepEqual(status.objects.map((o) => o.state), ["clean"]);
        assert.deepEqual((await t.with((ds) => ds.diff())).entries.map((e) => e.change), ["unchanged"]);
        assert.ok(await t.with((ds) => ds.apply(plan)), "a saved plan still applies");
        await convert(t, how);
        assert.equal((await t.with((ds) => ds.commit({ message: "nothing" }))).vcsCommit, null);
        t.write("a");
        assert.deepEqual(Object.keys((await t.with((ds) => ds.pull())).committed), ["a"], "no edit stands in its way");
      });
    }
  });
}

Deno.test("[L15] a clone that converts text is clean, and a comment in a manifest is an edit", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const clone = `${t.repo.outer}/clone`;
  await t.repo.git(["-c", "core.autocrlf=true", "-c", "core.eol=crlf", "clone", "-q", t.repo.path, clone]);
  await t.repo.git(["config", "core.autocrlf", "true"], { cwd: clone });
  await t.with((ds) => ds.new({ rev: "main" }), { at: clone });
  assert.deepEqual((await t.with((ds) => ds.status(), { at: clone })).objects.map((o) => o.state), ["clean"]);
  assert.equal((await t.with((ds) => ds.commit({ message: "nothing" }), { at: clone })).vcsCommit, null);
  await Deno.writeTextFile(`${clone}/.tether/objects/a.toml`, "# mine\n", { append: true });
  await assert.rejects(t.with((ds) => ds.pull(), { at: clone }), ConfigError);
  assert.ok((await t.with((ds) => ds.commit({ message: "a comment" }), { at: clone })).vcsCommit);
});
