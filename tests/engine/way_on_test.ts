import assert from "node:assert/strict";
import { join } from "node:path";
import { ConfigError, VcsError } from "../../engine/model/errors.ts";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";
import { typed } from "../helpers/typed.ts";

/** Registers a versioned file beside the dataset, and makes it. */
async function addFile(t: TempDataset<BothDataset["repo"]>, key: string): Promise<string> {
  const uri = join(t.repo.outer, key);
  await Deno.writeTextFile(uri, key);
  await t.with((ds) => ds.add({ key, kind: "file", locator: { uri }, policy: { file: "versioned" } }));
  return uri;
}

onBoth(
  "[commands 5.9, 5.10] an object first committed on a bookmark is said to need a branch, until it has one",
  async (t) => {
    await t.addMemory("a");
    await t.with((ds) => ds.commit({ message: "first" }));
    await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
    await t.addMemory("b");
    const commit = (message: string) => t.with((ds) => ds.commit({ message }));
    assert.deepEqual((await commit("adds b")).hints, ["tether new"]);
    const idle = await commit("nothing");
    assert.deepEqual([idle.vcsCommit, idle.notRead, idle.hints], [null, ["b"], ["tether new"]]);
    assert.match((await t.with((ds) => ds.pull())).skipped["b"] ?? "", /"tether new" gives it one/);
    await t.with((ds) => ds.new({ eager: true }));
    assert.deepEqual([(await commit("nothing")).hints, (await commit("nothing")).notRead], [[], []]);
  },
);

onBoth("[lessons, Δ33] what the trunk does not know has to land before a pull there can take it in", async (t) => {
  await addFile(t, "old");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat" }));
  await addFile(t, "added");
  await t.with((ds) => ds.commit({ message: "adds a file" }));
  const { hints } = await t.with((ds) => ds.commit({ message: "nothing" }));
  assert.deepEqual(hints, ["tether promote", "tether new -- main && tether pull"]);
  assert.notEqual((await t.with((ds) => ds.promote())).trunkMoved, null);
  const landed = await t.with((ds) => ds.commit({ message: "nothing" }));
  assert.deepEqual(landed.hints, ["tether new -- main && tether pull"]);
});

Deno.test("[L10] a store that is away stops commit and pull, which name the command that goes on without it", async (test) => {
  await using t = await tempDataset();
  const uri = await addFile(t, "f");
  await addFile(t, "g");
  const stopped = async (run: Promise<unknown>, hint: string): Promise<void> => {
    await assert.rejects(run, (e) => {
      assert.ok(e instanceof MultiObjectError);
      assert.equal(e.hints[0], hint);
      return true;
    });
  };
  await Deno.remove(uri);
  await test.step("commit", async () => {
    await stopped(t.with((ds) => ds.commit({ message: "first" })), "tether commit -m MESSAGE -- g");
    await t.with((ds) => ds.commit({ message: "first", keys: ["g"] }));
  });
  await Deno.writeTextFile(uri, "f");
  await t.with((ds) => ds.commit({ message: "second" }));
  await Deno.remove(uri);
  await test.step("pull", async () => {
    await stopped(t.with((ds) => ds.pull()), "tether pull --key g");
    assert.deepEqual((await t.with((ds) => ds.pull({ keys: ["g"] }))).unchanged, ["g"]);
  });
  await test.step("too many to name", async () => {
    for (let i = 0; i < 8; i++) await addFile(t, `more${i}`);
    await t.with((ds) => ds.commit({ message: "third", keys: Array.from({ length: 8 }, (_, i) => `more${i}`) }));
    await stopped(t.with((ds) => ds.pull()), "tether pull --key KEY");
  });
});

onBoth("[commands 5.10] a revision that there is not may be a bookmark still to be made", async (t) => {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const refused = async (rev: string): Promise<VcsError> => {
    const error = await t.with((ds) => ds.new({ rev })).catch((e) => e);
    assert.ok(error instanceof VcsError);
    assert.equal(error.code, "no-revision");
    return error;
  };
  assert.equal((await refused("nope")).hints[0], "tether new -b nope");
  assert.ok(!(await refused("nope~1")).hints.some((hint) => hint.startsWith("tether")), "no name of a bookmark");
});

Deno.test("[commands 5.10] of a bookmark that only a remote has, the hints make the local one", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const theirs = await t.repo.git(["rev-parse", "HEAD"]);
  await t.repo.git(["update-ref", "refs/remotes/origin/feat", theirs]);
  await t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
  await t.with((ds) => ds.commit({ message: "second" }));
  const error = await t.with((ds) => ds.new({ rev: "feat" })).catch((e) => e);
  assert.ok(error instanceof VcsError && error.code === "no-revision", String(error));
  const [make = "", ...rest] = error.hints;
  assert.deepEqual(rest, ["tether new -- feat"]);
  await t.repo.git(make.split(" ").slice(1));
  assert.equal((await t.with((ds) => ds.new({ rev: "feat" }))).bookmark, "feat");
  assert.equal(await t.repo.git(["rev-parse", "feat"]), theirs);
});

onBoth(
  "[commands 5.6, 5.16, 5.23] edits of manifests show until they are committed or taken out by the hint",
  async (t) => {
    await t.addMemory("a");
    const edited = async (): Promise<boolean> =>
      /manifest is edited/.test((await t.with((ds) => ds.status())).objects[0]?.reason ?? "");
    assert.equal(await edited(), false, "it is new");
    await t.with((ds) => ds.commit({ message: "first" }));
    assert.equal(await edited(), false);
    await t.with((ds) => ds.setPolicy(["a"], { file: "versioned" }));
    assert.equal(await edited(), true);
    await t.with((ds) => ds.commit({ message: "second" }));
    t.write("a");
    await t.with((ds) => ds.pull());
    assert.equal(await edited(), false);
    const undone = await t.with((ds) => ds.undo());
    assert.equal(await edited(), true);
    const refused = await t.with((ds) => ds.pull()).catch((e) => e);
    assert.ok(refused instanceof ConfigError && refused.code === "uncommitted", String(refused));
    assert.deepEqual(refused.hints, undone.hints);
    const [commit, aside = ""] = undone.hints;
    assert.equal(commit, "tether commit -m MESSAGE");
    const words = [...aside.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
    assert.equal(words[0], t.kind);
    await t.vcs(words.slice(1));
    assert.equal(await edited(), false);
    assert.deepEqual(Object.keys((await t.with((ds) => ds.pull())).committed), ["a"]);
  },
);

onBoth(
  "[L40, formats 1] files of one checkout that became tracked are let go by what the refusal names",
  async (t, test) => {
    const track = async (): Promise<void> => {
      if (t.kind === "git") await t.vcs(["add", "--all"]);
      else await t.vcs(["status"]);
    };
    const ignore = join(t.root, ".tether/.gitignore");
    const told = async (): Promise<readonly string[]> => {
      const error = await t.with((ds) => ds.status()).then(() => assert.fail("it opened"), (e: unknown) => e);
      assert.ok(error instanceof ConfigError && error.code === "tracked-file", String(error));
      return error.hints;
    };
    await t.with((ds) => ds.commit({ message: "first" }));
    for (
      const [name, change] of [["gone", () => Deno.remove(ignore)], [
        "cut",
        () => Deno.writeTextFile(ignore, "/lock"),
      ]] as const
    ) {
      await test.step(`the list of what is ignored is ${name}`, async () => {
        await change();
        await track();
        for (const hint of await told()) await typed(hint, t.repo.outer);
        await track();
        await t.with((ds) => ds.status());
        assert.match(await Deno.readTextFile(join(t.root, ".tether/workspace.toml")), /workspace_id/);
      });
    }
  },
);
