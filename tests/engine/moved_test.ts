import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { initDataset } from "../../engine/commands/init.ts";
import { ConfigError } from "../../engine/model/errors.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";
import { tempDataset } from "../helpers/dataset.ts";

/** Moves the dataset's files to a folder; without `name` all of them. */
async function move(t: BothDataset, to: string, names: readonly string[] = ["tether.toml", ".tether"]): Promise<void> {
  await Deno.mkdir(`${t.root}/${to}`, { recursive: true });
  for (const name of names) await Deno.rename(`${t.root}/${name}`, `${t.root}/${to}/${name}`);
}

const pins = (t: BothDataset): number => namedStore().find(t.system("a"))?.tags.size ?? 0;

onBoth("[formats 19.1] a dataset that was moved with half of that staged is committed whole", async (t) => {
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "Here" }));
  await move(t, "deep/er");
  if (t.kind === "git") {
    const repo = t.repo as BothDataset["repo"] & { git(args: readonly string[]): Promise<string> };
    await repo.git(["add", "deep"]);
  }
  t.write("a");
  const at = `${t.root}/deep/er`;
  const { vcsCommit } = await t.with((ds) => ds.commit({ message: "There" }), { at });
  const files = Object.keys(await t.filesOf(vcsCommit ?? ""));
  assert.deepEqual(files.sort(), [
    "deep/er/.tether/.gitattributes",
    "deep/er/.tether/.gitignore",
    "deep/er/.tether/objects/a.toml",
    "deep/er/.tether/objects/b.toml",
    "deep/er/tether.toml",
  ]);
  await t.with(async (ds) => {
    assert.deepEqual((await ds.status({ snapshot: true })).objects.map((o) => o.state), ["clean", "clean"]);
    assert.deepEqual((await ds.gc()).actions, [], "what only the old place names is still named");
    assert.equal((await ds.commit({ message: "Nothing" })).vcsCommit, null);
    await ds.undo();
  }, { at });
  assert.equal(await t.id("here"), (await t.line("main"))[0]);
  await t.with((ds) => ds.commit({ message: "Again" }), { at });
  assert.deepEqual(Object.keys(await t.filesOf(await t.id("here"))).sort(), files);
});

onBoth(
  "[formats 19.1] one of which a part stayed, or that was copied, is refused before any store is written",
  async (t) => {
    await t.addMemory("a", "b");
    await t.with((ds) => ds.commit({ message: "Here" }));
    t.write("a");
    await move(t, "sub");
    const at = `${t.root}/sub`;
    const before = [pins(t), await t.id("here")];
    const refused = async (what: RegExp): Promise<void> => {
      const error = await t.with((ds) => ds.commit({ message: "Half" }).catch((e: unknown) => e), { at });
      assert.ok(error instanceof ConfigError, String(error));
      assert.match(error.message, what);
      assert.equal(error.hints.length, 2);
      assert.deepEqual([pins(t), await t.id("here")], before);
    };

    await Deno.mkdir(`${t.root}/.tether/objects`, { recursive: true });
    await Deno.rename(`${at}/.tether/objects/b.toml`, `${t.root}/.tether/objects/b.toml`);
    await refused(/it was moved from ".*" to ".*\/sub", and ".*\/\.tether\/objects\/b\.toml" is still there$/);
    await Deno.rename(`${t.root}/.tether/objects/b.toml`, `${at}/.tether/objects/b.toml`);
    await Deno.copyFile(`${at}/tether.toml`, `${t.root}/tether.toml`);
    await refused(/tether\.toml" is still there$/);
    await Deno.remove(`${t.root}/tether.toml`);

    const some = t.with((ds) => ds.commit({ message: "Some", keys: ["a"] }), { at });
    await assert.rejects(some, /Cannot commit some objects only: the dataset was moved/);
    assert.deepEqual([pins(t), await t.id("here")], before);
    assert.notEqual((await t.with((ds) => ds.commit({ message: "Whole" }), { at })).vcsCommit, null);
  },
);

Deno.test("[commands 5.1, L14] init refuses a folder of a dataset, and names those it would be around", async () => {
  await using t = await tempDataset({ at: "inner" });
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "Inner" }));
  await assert.rejects(initDataset(`${t.root}/sub/deep`), (error: unknown) => {
    assert.ok(error instanceof ConfigError);
    assert.match(
      error.message,
      /^Cannot make a dataset of ".*\/inner\/sub\/deep": it lies in the dataset at ".*\/inner"$/,
    );
    assert.ok(error.hints.includes("tether status"));
    return true;
  });
  await assert.rejects(Deno.lstat(`${t.root}/sub`), Deno.errors.NotFound, "a folder made for nothing stayed");

  const { warnings } = await initDataset(t.repo.path);
  assert.deepEqual(warnings.length, 1);
  assert.match(
    warnings[0] ?? "",
    /^There is a dataset in ".*\/inner", below ".*": commands run there work on that one$/,
  );
});
