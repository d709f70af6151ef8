import assert from "node:assert/strict";
import { join } from "node:path";
import { ConfigError } from "../model/errors.ts";
import { inTempDir, plant } from "./_test_dirs.ts";
import { newConfigText, parseConfig, readConfig, updateConfig } from "./config.ts";

const MINIMAL = '[tether]\nversion = 5\n[dataset]\nid = "0a1b2c3d"\n';

Deno.test("[formats 4] newConfigText() is what the peer writes", async () => {
  const peer = await Deno.readTextFile(new URL("../../tests/fixtures/peer/tether.toml", import.meta.url));
  assert.equal(newConfigText({ datasetId: "92e3c212", trunk: "master" }), peer);
  assert.ok(!newConfigText({ datasetId: "92e3c212", trunk: "main" }).includes("vcs"));
});

Deno.test("[formats 4] parseConfig() has a default for everything but the id", () => {
  assert.deepEqual(parseConfig(MINIMAL + "future = 1\n[unknown]\nx = 2024-01-01\n", "tether.toml"), {
    version: 5,
    datasetId: "0a1b2c3d",
    snapshotAuto: false,
    verifyOnStatus: false,
    newFork: "lazy",
    defaults: { file: "immutable", pin: "native" },
    trunk: "main",
    prefer: "jj",
    backends: {},
    importQuery: undefined,
  });
  const full = parseConfig(
    MINIMAL + '[snapshot]\nauto = true\n[verify]\non_status = true\n[new]\nfork = "eager"\n' +
      '[defaults]\nfile = "versioned"\npin = "record"\n[vcs]\ntrunk = "master"\nprefer = "git"\n' +
      '[backends.file.storage_options]\nregion = "eu"\n[import]\nquery = "select 1"\n',
    "tether.toml",
  );
  assert.deepEqual(full, {
    version: 5,
    datasetId: "0a1b2c3d",
    snapshotAuto: true,
    verifyOnStatus: true,
    newFork: "eager",
    defaults: { file: "versioned", pin: "record" },
    trunk: "master",
    prefer: "git",
    backends: { file: { storage_options: { region: "eu" } } },
    importQuery: "select 1",
  });
});

Deno.test("[formats 4, commands 2.2] [formats 16] [L42] parseConfig() refuses what it must, naming the place", async (t) => {
  const cases: [string, string, string, RegExp][] = [
    ["a newer version", MINIMAL.replace("5", "6"), "version-newer", /version 6, this tether reads version 5/],
    ["an older version", MINIMAL.replace("5", "4"), "version-older", /version 4, this tether reads version 5/],
    ["no version is version 1", '[dataset]\nid = "0a1b2c3d"', "version-older", /version 1/],
    ["no id", "[tether]\nversion = 5", "dataset-id", /dataset\.id: it is missing/],
    ["an id in upper case", MINIMAL.replace("0a1b2c3d", "0A1B2C3D"), "dataset-id", /"0A1B2C3D" is not 8/],
    ["a git program", MINIMAL + '[vcs]\ngit_path = "/x"', "value", /vcs\.git_path/],
    ["a jj program", MINIMAL + '[vcs]\njj_path = "/x"', "value", /vcs\.jj_path/],
    ["a blank trunk", MINIMAL + '[vcs]\ntrunk = " "', "value", /vcs\.trunk: it is blank/],
    ["an unknown fork mode", MINIMAL + '[new]\nfork = "soon"', "value", /new\.fork: it is neither "lazy" nor "eager"/],
    ["an unknown policy", MINIMAL + '[defaults]\npin = "x"', "value", /defaults\.pin/],
    ["a word for a flag", MINIMAL + '[snapshot]\nauto = "yes"', "value", /snapshot\.auto/],
    ["a version in quotes", MINIMAL.replace("5", '"5"'), "value", /tether\.version/],
    ["a value for a table", MINIMAL + "[backends]\nfile = 1", "value", /backends\.file: it is not a table/],
    ["a date where JSON is meant", MINIMAL + "[backends.file]\nx = 2024-01-01", "value", /backends\.file\.x/],
    ["conflict markers", `<<<<<<< a\n${MINIMAL}=======\n>>>>>>> b\n`, "conflicted", /tether\.toml/],
  ];
  for (const [name, text, code, message] of cases) {
    await t.step(name, () => {
      assert.throws(() => parseConfig(text, "tether.toml"), (error) => {
        assert.ok(error instanceof ConfigError);
        assert.equal(error.code, code);
        assert.match(error.message, message);
        return true;
      });
    });
  }
  await t.step("upgrade reads older ones", () => {
    assert.equal(parseConfig(MINIMAL.replace("5", "4"), "x", { allowOlder: true }).version, 4);
    assert.equal(parseConfig("", "x", { allowOlder: true }).datasetId, "");
    assert.throws(() => parseConfig("[tether]\nversion = 2", "x", { allowOlder: true }), { code: "dataset-id" });
  });
});

Deno.test("[formats 4, 16] a key that looks like a known one is told of, and every other unknown one is left in peace", async (t) => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ["nothing unknown", newConfigText({ datasetId: "0a1b2c3d", trunk: "master" }), []],
    ["a letter too many", MINIMAL + '[vcs]\ntrunkk = "x"', ["vcs.trunkk > vcs.trunk"]],
    ["swapped letters", MINIMAL + '[vcs]\nturnk = "x"', ["vcs.turnk > vcs.trunk"]],
    ["another spelling", MINIMAL + "[verify]\non-status = true", ["verify.on-status > verify.on_status"]],
    ["capitals", MINIMAL + "[Snapshot]\nAuto = true", ["Snapshot > snapshot"]],
    ["a table", MINIMAL + '[default]\npin = "record"\n[dataste]\nid = "x"', [
      "default > defaults",
      "dataste > dataset",
    ]],
    ["another table", MINIMAL + '[new]\ntrunk = "x"', ["new.trunk > vcs.trunk"]],
    ["no table", 'trunk = "x"\n' + MINIMAL, ["trunk > vcs.trunk"]],
    ["a key in quotes", MINIMAL + '[vcs]\n"trunk " = "x"', ['vcs."trunk " > vcs.trunk']],
    ["what may be of a newer tether", MINIMAL + "[hooks]\nafter = 1\n[vcs]\nremote = 1\n[defaults]\nwrite = 1", []],
    ["kinds, of which there are more", MINIMAL + '[backends.lanse]\nregion = "x"', []],
  ];
  for (const [name, text, expected] of cases) {
    await t.step(name, () => {
      const told: string[] = [];
      parseConfig(text, "tether.toml", { warn: (line) => told.push(line) });
      const pairs = told.map((line) =>
        line.replace(/^Ignores "(.*)" in "tether\.toml": there is no such key; did you mean "(.*)"\?$/, "$1 > $2")
      );
      assert.deepEqual(pairs, expected);
    });
  }
});

Deno.test("[formats 4] updateConfig() keeps comments and unknown keys", async () => {
  await inTempDir(async (root) => {
    const text =
      '# ours\n[tether]\nversion = 4 # old\nmine = 1\n\n[dataset]\nid = "0a1b2c3d"\n\n[lab]\nsince = 2024-01-01\n';
    await plant(root, { "tether.toml": text });
    await updateConfig(root, { tether: { version: 5 }, vcs: { trunk: "master" } });
    assert.equal(
      await Deno.readTextFile(join(root, "tether.toml")),
      text.replace("version = 4", "version = 5") + '\n[vcs]\ntrunk = "master"\n',
    );
    assert.equal((await readConfig(root)).trunk, "master");
  });
});

Deno.test("readConfig() without a file says where it looked", async () => {
  await inTempDir(async (root) => {
    await assert.rejects(readConfig(root), {
      code: "no-dataset",
      message: `Cannot read "${root}/tether.toml": there is none`,
    });
  });
});
