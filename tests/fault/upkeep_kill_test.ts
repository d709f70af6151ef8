import assert from "node:assert/strict";
import { Dataset } from "../../engine/dataset.ts";
import { ConfigError, TetherError } from "../../engine/model/errors.ts";
import { type Call, perform } from "./_call.ts";
import { type BothScene, endOf, onBothScenes, type Scene, scene, victim } from "./_scene.ts";

/** Runs a call that dies at a boundary. */
async function killed(s: Scene, call: Call, boundary: string, at = s.root): Promise<void> {
  const { signal, stderr } = await endOf(victim(at, call, boundary));
  assert.equal(signal, "SIGKILL", stderr);
}

/** Runs a call to its end, and returns the boundaries it passed. */
async function passed(s: Scene, call: Call, at = s.root): Promise<string[]> {
  const { code, stdout, stderr } = await endOf(victim(at, call));
  assert.equal(code, 0, stderr);
  return stdout.split("\n").filter((line) => line !== "");
}

/** A call, and every boundary it is known to pass. */
interface Killable {
  readonly call: Call;
  readonly boundaries: readonly string[];
  /** The checkout it runs in. @default {the scene's} */
  readonly at?: string;
  /** What the steps are called after. */
  readonly where?: string;
}

/** Kills a call at each of its boundaries, each time from what the scene remembers, and has `after` go on from there. */
async function killedAtEach(
  s: Scene,
  t: Deno.TestContext,
  { call, boundaries, at = s.root, where = "here" }: Killable,
  after: (boundary: string) => Promise<void>,
): Promise<void> {
  await t.step(`${where}: the boundaries are the ones this test knows`, async () => {
    await s.rewind();
    assert.deepEqual(await passed(s, call, at), boundaries);
  });
  for (const boundary of boundaries) {
    await t.step(`${where}: killed at "${boundary}"`, async () => {
      await s.rewind();
      await killed(s, call, boundary, at);
      await after(boundary);
    });
  }
}

async function assertNothingOpen(s: Scene): Promise<void> {
  await s.with(async (ds) => {
    const open = (await ds.ops({ limit: 100 })).ops.filter((op) => op.status !== "done");
    assert.deepEqual(open.map((op) => [op.command, op.summary]), [], "an entry was left open");
    assert.deepEqual((await ds.status()).warnings, []);
  });
}

/** Makes the dataset what version 4 would have left: one manifest misnamed, with a relative path. */
async function olden(s: BothScene): Promise<void> {
  await s.with((ds) => ds.add({ key: "raw.plate", kind: "file", locator: { uri: `${s.repo.outer}/plate` } }));
  await s.with((ds) => ds.commit({ message: "Raw" }));
  const edit = async (path: string, change: (text: string) => string) =>
    await Deno.writeTextFile(path, change(await Deno.readTextFile(path)));
  await edit(`${s.root}/tether.toml`, (text) => text.replace("version = 5", "version = 4"));
  const objects = `${s.root}/.tether/objects`;
  await edit(`${objects}/raw.plate.toml`, (text) => text.replace(/uri = ".*"/, 'uri = "../plate"'));
  await Deno.rename(`${objects}/raw.plate.toml`, `${objects}/raw.toml`);
  await s.commitAll("as version 4 left it");
}

onBothScenes("[L37] upgrade killed at any boundary: the same command makes its one commit", ["plate"], async (s, t) => {
  await olden(s);
  await s.remember();
  const call: Call = { command: "upgrade" };
  const boundaries = ["journal", "renamed raw.plate", "manifests", "version", "vcs-commit", "done"];
  await killedAtEach(s, t, { call, boundaries }, async () => {
    await using ds = await Dataset.open(s.root, { allowOlder: true });
    assert.match(
      (await ds.status()).warnings.join(),
      /^upgrade .* was interrupted .*: "tether upgrade" finishes it$/,
    );
    await ds.upgrade();
    assert.equal(await s.subject(), "tether upgrade: v4 -> v5");
    await assertNothingOpen(s);
    await s.with(async (now) => {
      assert.deepEqual((await now.status({ snapshot: true })).objects.map((o) => [o.key, o.state]), [
        ["plate", "clean"],
        ["raw.plate", "clean"],
      ]);
      assert.deepEqual(await now.vcs.dirty(["tether.toml", ".tether"]), [], "something is not committed");
      assert.equal((await now.upgrade()).vcsCommit, null);
    });
  });
  await t.step("killed with edits of somebody else beside its own", async () => {
    await s.rewind();
    await killed(s, call, "version");
    const path = `${s.root}/.tether/objects/plate.toml`;
    await Deno.writeTextFile(path, `# mine\n${await Deno.readTextFile(path)}`);
    await using ds = await Dataset.open(s.root, { allowOlder: true });
    await assert.rejects(ds.upgrade(), (e) => e instanceof ConfigError && e.code === "dirty" && e.hints.length > 0);
  });
});

onBothScenes("[L37] forget-workspace killed at any boundary: the same command finishes", ["code"], async (s, t) => {
  const other = await s.repo.worktree("b");
  await s.with((ds) => ds.new({ rev: "b", eager: true }), other);
  const id = await s.with((ds) => Promise.resolve(ds.workspace.workspaceId), other);
  const refs = await s.refs();
  await s.remember();
  const call: Call = { command: "forget-workspace", id };
  const boundaries = ["journal", "forgotten", "files", "done"];
  await killedAtEach(s, t, { call, boundaries }, async () => {
    await s.with(async (ds) => {
      const { warnings } = await ds.status();
      assert.match(
        warnings.join(),
        new RegExp(`was interrupted .*: "tether forget-workspace -- ${id}" finishes it$`),
      );
      assert.equal((await ds.forgetWorkspace(id.slice(0, 8))).workspace, id.slice(0, 8));
      assert.deepEqual(await ds.bookmarkHolders("b"), []);
      await assert.rejects(ds.forgetWorkspace(id), (e) => e instanceof ConfigError && e.code === "no-workspace");
    });
    for (const file of ["workspace.toml", "ops.jsonl"]) {
      await assert.rejects(Deno.lstat(`${other}/.tether/${file}`), Deno.errors.NotFound);
    }
    assert.deepEqual(await s.refs(), refs, "branches belong to bookmarks");
    await assertNothingOpen(s);
  });
});

onBothScenes(
  "[L37, commands 5.20] forget-workspace of the checkout underfoot, killed at any boundary: nothing is lost, and there is a way on",
  ["code"],
  async (s, t) => {
    const linked = await s.repo.worktree("b");
    await s.with((ds) => ds.new({ rev: "b", eager: true }), linked);
    await s.write(linked);
    await s.with((ds) => ds.commit({ message: "There" }), linked);
    const refs = await s.refs();
    await s.remember();
    const call: Call = { command: "forget-workspace" };
    // Its journal goes with it, so the entry is complete before anything is forgotten.
    const boundaries = ["journal", "done", "forgotten", "files"];
    for (const here of [linked, s.root]) {
      const where = here === linked ? "a second checkout" : "the first checkout";
      const id = await s.with((ds) => Promise.resolve(ds.workspace.workspaceId), here);
      await killedAtEach(s, t, { call, boundaries, at: here, where }, async (boundary) => {
        const left = ["journal", "done"].includes(boundary) ? "open" : "forgotten";
        // git keeps its main checkout, which goes on as a new one.
        if (left === "open" || (s.system === "git" && here === s.root)) {
          const { warnings } = await s.with((ds) => ds.status(), here);
          const way = `: "tether forget-workspace -- ${id}" finishes it`;
          assert.deepEqual(warnings.map((w) => w.endsWith(way)), left === "open" ? [true] : []);
          await s.with((ds) => ds.forgetWorkspace(), here);
        }
        if (s.system === "jj") {
          await assert.rejects(
            s.with((ds) => ds.status(), here),
            (e) => e instanceof TetherError && e.hints.some((hint) => hint.startsWith("jj workspace add ")),
          );
        }
        const living = [here === linked ? s.root : linked];
        if (here === linked) {
          // What it worked on is free for another one.
          const fresh = await s.repo.worktree("again");
          await s.with((ds) => ds.new({ rev: "b" }), fresh);
          living.push(fresh);
        }
        for (const there of living) {
          await s.with(async (ds) => {
            assert.deepEqual((await ds.status({ snapshot: true })).warnings, []);
            const { entries } = await ds.verify({ allHistory: true, deep: true });
            assert.deepEqual(entries.filter((e) => e.status !== "ok"), []);
            assert.deepEqual((await ds.gc({ releaseForeign: true })).actions, []);
          }, there);
        }
        assert.deepEqual(await s.refs(), refs);
      });
    }
  },
);

/** The folder of a created store, and what this clone's indexes say of stores. */
async function storesKnown(s: Scene): Promise<string[]> {
  const shared = await s.with((ds) => Promise.resolve(ds.vcs.location.sharedDir));
  const lines = await Promise.all(["created", "touched"].map(async (name) => {
    const text = await Deno.readTextFile(`${shared}/tether-${name}.jsonl`).catch(() => "");
    return text.split("\n").filter((line) => line.includes("/made"));
  }));
  return lines.flat();
}

onBothScenes(
  "[L37] drop --delete-stores killed at any boundary: the command that status names takes the store away",
  [],
  async (s, t) => {
    const uri = `${s.repo.outer}/made`;
    await s.with((ds) => ds.new({ bookmark: "probe" }));
    await s.with((ds) => ds.add({ key: "made", kind: "icechunk", locator: { uri }, create: true }));
    await s.with((ds) => ds.commit({ message: "Made" }));
    await s.remember();
    const call: Call = { command: "drop", bookmark: "probe", options: { deleteStores: true } };
    const boundaries = await passed(s, call);
    await t.step("whole, it leaves nothing of the store, and no index knows it", async () => {
      await assert.rejects(Deno.lstat(uri), Deno.errors.NotFound);
      assert.deepEqual(await storesKnown(s), []);
      await assertNothingOpen(s);
    });
    // What comes after history has changed is the same on both.
    const kills = [
      /^dropped$/,
      /^delete-bookmark$/,
      /^released /,
      /^deleted made$/,
      /^judged /,
      /^removed /,
      /^delete-store /,
    ].slice(0, s.system === "jj" ? 2 : undefined);
    for (const kill of kills) {
      const boundary = boundaries.find((b) => kill.test(b)) ?? "";
      await t.step(`killed at "${kill.source}"`, async () => {
        await s.rewind();
        await killed(s, call, boundary);
        await s.with(async (ds) => {
          const { warnings } = await ds.status();
          const gone = kill.source !== "^dropped$";
          const way = gone
            ? "gc --prune-bookmarks --no-dry-run --delete-stores"
            : "drop --no-dry-run --delete-stores -- probe";
          assert.ok(
            warnings.some((w) => w.startsWith("drop ") && w.endsWith(`: "tether ${way}" finishes it`)),
            warnings.join(),
          );
          // Without its flag it is not what was begun.
          if (gone) await ds.gc({ pruneBookmarks: true, dryRun: false });
          await assert.rejects(perform(ds, call), (e) => e instanceof TetherError && e.code === "no-bookmark");
          await ds.gc({ pruneBookmarks: true, deleteStores: true, dryRun: false });
        });
        await assert.rejects(Deno.lstat(uri), Deno.errors.NotFound);
        assert.deepEqual(await storesKnown(s), []);
        await assertNothingOpen(s);
      });
    }
  },
);

Deno.test("[L37, commands 5.18] recover passes no boundary: it writes nothing", async () => {
  await using s = await scene(["code"]);
  await s.remember();
  const before = await Deno.readTextFile(`${s.root}/.tether/ops.jsonl`);
  assert.deepEqual(await passed(s, { command: "recover" }), []);
  assert.equal(await Deno.readTextFile(`${s.root}/.tether/ops.jsonl`), before);
});

Deno.test("[formats 17] a process that died before a rename leaves a file that the next command which writes removes", async (t) => {
  await using s = await scene(["code"]);
  const shared = `${s.root}/.git`;
  const temporary = async (folder: string): Promise<string[]> => {
    const entries = await Array.fromAsync(Deno.readDir(folder));
    return entries.filter((e) => /^\..*\.tmp$/.test(e.name)).map((e) => `${folder}/${e.name}`);
  };
  const set: Call = { command: "set", policy: { pin: "record" } };
  await t.step("in the cache, once it is old enough to be nobody's", async () => {
    await killed(s, set, "rename code.toml");
    const [file = ""] = await temporary(`${s.root}/.tether/cache`);
    assert.match(file, /\/\.code\.toml\.[0-9a-f]{8}\.tmp$/);
    await s.with((ds) => ds.setPolicy("all", { file: "immutable" }));
    assert.deepEqual(await temporary(`${s.root}/.tether/cache`), [file]);
    const past = new Date(Date.now() - 7_200_000);
    await Deno.utime(file, past, past);
    await s.with((ds) => ds.status());
    assert.deepEqual(await temporary(`${s.root}/.tether/cache`), [file], "what reads removes nothing");
    await s.with((ds) => ds.setPolicy("all", { file: "versioned" }));
    assert.deepEqual(await temporary(`${s.root}/.tether/cache`), []);
  });
  await t.step("among the manifests, before a commit can take it in", async () => {
    await Deno.remove(`${s.root}/.tether/cache`, { recursive: true });
    await Deno.symlink(s.repo.outer, `${s.root}/.tether/cache`);
    await killed(s, set, "rename code.toml");
    assert.equal((await temporary(`${s.root}/.tether/objects`)).length, 1);
    await s.with((ds) => ds.commit({ message: "Second" }));
    assert.deepEqual(await temporary(`${s.root}/.tether/objects`), []);
    assert.deepEqual(
      (await s.repo.git(["ls-files", ".tether/objects"])).split("\n"),
      [".tether/objects/code.toml"],
    );
    await Deno.remove(`${s.root}/.tether/cache`);
  });
  await t.step("beside the indexes that checkouts share", async () => {
    await s.write();
    const { vcsCommit } = await s.with((ds) => ds.commit({ message: "Third" }));
    await s.repo.git(["reset", "--quiet", "--hard", `${vcsCommit}~1`]);
    await killed(s, { command: "gc", options: {} }, "rename tether-pinned.jsonl");
    const [file = ""] = await temporary(shared);
    const past = new Date(Date.now() - 7_200_000);
    await Deno.utime(file, past, past);
    await s.with((ds) => ds.gc({ dryRun: false }));
    assert.deepEqual(await temporary(shared), []);
    await assertNothingOpen(s);
  });
});
