import assert from "node:assert/strict";
import { ConfigError, TetherError } from "../../engine/model/errors.ts";
import { initDataset } from "../../engine/commands/init.ts";
import type { Dataset } from "../../engine/dataset.ts";
import { tempDataset } from "../helpers/dataset.ts";
import { tempRepo } from "../helpers/repo.ts";

Deno.test("[commands 5.2, L39, L20, Δ26] what add refuses, with nothing written", async (test) => {
  await using t = await tempDataset();
  await t.addMemory("raw");
  const memory = (key: string): Parameters<Dataset["add"]>[0] => ({ key, kind: "memory", locator: { system: "x" } });
  const cases: Record<string, Parameters<Dataset["add"]>[0]> = {
    "an unknown kind": { key: "k", kind: "nosuch", locator: { uri: "/x" } },
    "a taken key": memory("raw"),
    "a key that differs by case": memory("Raw"),
    "a key that traverses": memory("../x"),
    "a key that shadows a file": memory("raw.toml/x"),
    "an empty key": memory(""),
    "no key and none to derive": { kind: "memory", locator: { system: "x" } },
    "a password": { key: "k", kind: "git", locator: { uri: "https://u:secret@host/repo" } },
    "a token": { key: "k", kind: "git", locator: { uri: "https://ghp_abcdefghijkl@host/repo" } },
    "a signature": { key: "k", kind: "file", locator: { uri: "https://host/x?sig=abc" } },
    "an empty position": { ...memory("k"), at: " " },
    "a position of a kind without history": { key: "k", kind: "file", locator: { uri: "/x" }, at: "1" },
    "a bad policy": { ...memory("k"), policy: { file: "sometimes" as "immutable" } },
    "the folder of the dataset": { key: "k", kind: "file", locator: { uri: t.root } },
    "a folder above it": { key: "k", kind: "file", locator: { uri: t.repo.outer } },
    "tether's own folder": { key: "k", kind: "file", locator: { uri: `${t.root}/.tether/objects` } },
    "git's own folder": { key: "k", kind: "file", locator: { uri: `${t.root}/.git/objects` } },
  };
  const before = await Array.fromAsync(Deno.readDir(`${t.root}/.tether/objects`));
  const journal = await t.read(".tether/ops.jsonl");
  for (const [name, options] of Object.entries(cases)) {
    await test.step(name, async () => {
      await assert.rejects(
        t.with((ds) => ds.add(options)),
        (e) => e instanceof TetherError && !e.message.includes("secret@"),
      );
    });
  }
  assert.deepEqual(await Array.fromAsync(Deno.readDir(`${t.root}/.tether/objects`)), before);
  assert.equal(await t.read(".tether/ops.jsonl"), journal);
});

Deno.test("[commands 5.2, L44, formats 6.3] add makes local paths absolute, derives keys and warns", async () => {
  await using t = await tempDataset();
  const data = await t.repo.write("../data/plate.csv", "x");
  const report = await t.with((ds) => ds.add({ kind: "file", locator: { uri: "../data/plate.csv" }, base: t.root }));
  assert.equal(report.key, "plate.csv");
  assert.equal(report.derivedKey, true);
  assert.equal(report.locator["uri"], data);
  const missing = await t.with((ds) => ds.add({ key: "m", kind: "file", locator: { uri: `${t.repo.outer}/nothing` } }));
  assert.match(missing.warnings.join(), /does not exist/);
  await Deno.symlink(`${t.repo.outer}/data`, `${t.repo.outer}/link`);
  const again = await t.with((ds) =>
    ds.add({ key: "again", kind: "file", locator: { uri: `${t.repo.outer}/link/plate.csv` } })
  );
  assert.match(again.warnings.join(), /store of "plate.csv"/);
});

Deno.test("[Δ10] objects added without flags take [defaults]", async () => {
  await using t = await tempDataset();
  const config = await t.read("tether.toml");
  await Deno.writeTextFile(`${t.root}/tether.toml`, config.replace('pin = "native"', 'pin = "record"'));
  await t.addMemory("a");
  assert.match(await t.read(".tether/objects/a.toml"), /pin = "record"/);
});

Deno.test("[commands 5.4, 5.5] remove keeps the branch for gc; set changes only what differs", async () => {
  await using t = await tempDataset();
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  await t.with((ds) => ds.remove("a"));
  assert.ok("a" in await t.with((ds) => Promise.resolve(ds.workspace.workingRefs)));
  await assert.rejects(t.with((ds) => ds.remove("a")), ConfigError);
  const set = await t.with((ds) => ds.setPolicy("all", { pin: "record" }));
  assert.deepEqual(set.changed, { b: { pin: { from: "native", to: "record" } } });
  assert.deepEqual((await t.with((ds) => ds.setPolicy(["b"], { pin: "record" }))).unchanged, ["b"]);
  await assert.rejects(t.with((ds) => ds.setPolicy([], { pin: "record" })), ConfigError);
  await assert.rejects(t.with((ds) => ds.setPolicy(["b"], {})), ConfigError);
});

Deno.test("[Δ16, commands 5.1] init checks before it writes", async (test) => {
  await test.step("no version control", async () => {
    const folder = await Deno.makeTempDir();
    await assert.rejects(initDataset(folder), TetherError);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder)), []);
    await assert.rejects(initDataset(`${folder}/deep/er`), TetherError);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder)), []);
    await Deno.remove(folder);
  });
  await test.step("a bad id", async () => {
    await using repo = await tempRepo();
    await assert.rejects(initDataset(repo.path, { datasetId: "XYZ" }), ConfigError);
    assert.deepEqual((await Array.fromAsync(Deno.readDir(repo.path))).map((e) => e.name), [".git"]);
  });
  await test.step("a dataset already", async () => {
    await using t = await tempDataset();
    await assert.rejects(initDataset(t.root), ConfigError);
  });
  await test.step("another branch than main becomes the trunk", async () => {
    await using t = await tempDataset({ branch: "master" });
    assert.match(await t.read("tether.toml"), /\[vcs\]\ntrunk = "master"/);
  });
  await test.step("a dataset below the root of the repository", async () => {
    await using t = await tempDataset({ at: "deep/lab" });
    await t.addMemory("a");
    await t.with((ds) => ds.commit({ message: "first" }));
    assert.match(
      await t.repo.git(["ls-tree", "-r", "--name-only", "HEAD"]),
      /^deep\/lab\/\.tether\/objects\/a\.toml$/m,
    );
  });
});

Deno.test("[formats 16] a dataset of another format is refused, naming what helps", async (test) => {
  for (const [version, hint] of [[6, /newer|upgrade/i], [4, /upgrade/]] as const) {
    await test.step(`version ${version}`, async () => {
      await using t = await tempDataset();
      const config = await t.read("tether.toml");
      await Deno.writeTextFile(`${t.root}/tether.toml`, config.replace("version = 5", `version = ${version}`));
      await assert.rejects(
        t.with((ds) => ds.status()),
        (e) => e instanceof ConfigError && hint.test(e.message + e.hints.join()),
      );
    });
  }
});

Deno.test("[L40, formats 1] a clone that brings per-checkout files is refused before they are read", async (test) => {
  for (const name of ["secrets.toml", "workspace.toml", "ops.jsonl"]) {
    await test.step(name, async () => {
      await using t = await tempDataset();
      await t.repo.write(`.tether/${name}`, "not [valid");
      await t.repo.git(["add", "-f", `.tether/${name}`]);
      await assert.rejects(
        t.with((ds) => ds.status()),
        (e) => e instanceof ConfigError && e.code === "tracked-file",
      );
    });
  }
});
