import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { namedStore } from "../../backends/memory/store.ts";
import type { Dataset } from "../../engine/dataset.ts";
import { StaleWorkingCopyError, TetherError } from "../../engine/model/errors.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";

const MANIFEST = ".tether/objects/a.toml";

/** A dataset with a second checkout. */
interface Scene {
  readonly other: string;
  /** A pin that the files of the second checkout alone name. */
  readonly pin: string;
}

async function sceneOf(t: BothDataset): Promise<Scene> {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const first = await t.read(MANIFEST);
  t.write("a");
  const { pinned } = await t.with((ds) => ds.commit({ message: "second" }));
  const second = await t.read(MANIFEST);
  await t.with((ds) => ds.undo());
  await Deno.writeTextFile(join(t.root, MANIFEST), first);
  // In jj the working copy is a commit as well.
  if (t.kind === "jj") await t.vcs(["status"]);
  const other = await t.checkout("other");
  await Deno.writeTextFile(join(other, MANIFEST), second);
  return { other, pin: pinned["a"] ?? assert.fail() };
}

/** The way out of a checkout that is gone for good. */
function wayOut(t: BothDataset, { other }: Scene): string[] {
  return t.kind === "git" ? ["worktree", "prune"] : ["workspace", "forget", basename(other)];
}

async function unpins(t: BothDataset): Promise<string[]> {
  const { actions } = await t.with((ds) => ds.plan.gc());
  return actions.filter((a) => a.op === "unpin").map((a) => a.target);
}

/** Every command that may release something, and those that show what they would release. */
const RELEASING: Readonly<Record<string, (ds: Dataset) => Promise<unknown>>> = {
  "gc": (ds) => ds.gc({ dryRun: false }),
  "gc --dry-run": (ds) => ds.gc({ dryRun: true }),
  "gc --release-foreign": (ds) => ds.gc({ releaseForeign: true, dryRun: false }),
  "gc --prune-bookmarks": (ds) => ds.gc({ pruneBookmarks: true, forcePrune: true, dryRun: false }),
  "gc --delete-stores": (ds) => ds.gc({ deleteStores: true, dryRun: false }),
  "drop": (ds) => ds.drop("third", { dryRun: false }),
  "abandon --gc": (ds) => ds.abandon([ds.vcs.parentRev], { gc: true }),
};

/** Ways in which a checkout goes away. */
const WAYS: Readonly<Record<string, (other: string) => Promise<void>>> = {
  "moved": (other) => Deno.rename(other, `${other}-moved`),
  async "moved, with another folder in its place"(other) {
    await Deno.rename(other, `${other}-moved`);
    await Deno.mkdir(other);
  },
  "deleted": (other) => Deno.remove(other, { recursive: true }),
};

for (const [way, leave] of Object.entries(WAYS)) {
  onBoth(`[L02, formats 15.4] nothing is released while a checkout is ${way}`, async (t, test) => {
    const scene = await sceneOf(t);
    t.write("a");
    await t.with((ds) => ds.commit({ message: "third" }));
    const line = await t.line("main");
    await t.bookmark("third", line[0] ?? assert.fail());
    assert.deepEqual(await unpins(t), [], "its files keep the pin while they can be read");
    await leave(scene.other);
    const args = wayOut(t, scene);
    const said = `${[t.kind, ...args].join(" ")}, if it is gone for good`;
    const isSaid = (e: TetherError) => e.hints.some((hint) => hint.startsWith(said));
    for (const [name, release] of Object.entries(RELEASING)) {
      await test.step(name, async () => {
        await assert.rejects(t.with(release), (e) => {
          assert.ok(e instanceof TetherError);
          assert.match(e.message, /^Cannot tell what (the checkout at|workspace) ".*other" refers to: /);
          assert.deepEqual([e.code, isSaid(e)], ["unreadable-checkout", true]);
          return true;
        });
        assert.equal(namedStore().find(t.system("a"))?.tags.size, 3);
        assert.deepEqual(await t.line("main"), line);
        assert.deepEqual(await t.line("third"), line);
      });
    }
    await test.step("drop of the bookmark it is on", async () => {
      await assert.rejects(
        t.with((ds) => ds.drop("other", { dryRun: false })),
        (e) => e instanceof StaleWorkingCopyError && e.code === "bookmark-held" && isSaid(e),
      );
    });
    await test.step("forget-workspace shows the way out", async () => {
      await assert.rejects(
        t.with((ds) => ds.forgetWorkspace("0123abcd")),
        (e) => e instanceof TetherError && isSaid(e) && !e.hints.join().includes("tether forget-workspace"),
      );
    });
    if (way === "moved") {
      await test.step("moved back, it counts as before", async () => {
        await Deno.rename(`${scene.other}-moved`, scene.other);
        assert.deepEqual(await unpins(t), []);
        await leave(scene.other);
      });
    }
    await test.step("once it is given up, so is what it alone named", async () => {
      await t.vcs(args);
      assert.deepEqual(await unpins(t), [scene.pin]);
    });
  });
}

onBoth("[commands 5.21] abandoning goes on without a checkout, and says that nothing is released", async (t) => {
  const { other } = await sceneOf(t);
  t.write("a");
  const { vcsCommit } = await t.with((ds) => ds.commit({ message: "third" }));
  await Deno.rename(other, `${other}-moved`);
  const report = await t.with((ds) => ds.abandon([vcsCommit ?? assert.fail()]));
  assert.deepEqual([report.abandoned, report.gc], [[vcsCommit], null]);
  assert.match(report.notes.join("\n"), /^nothing is released: Cannot tell what /m);
});

onBoth("[formats 19.1] a checkout whose branch has the dataset in another folder counts", async (t, test) => {
  const { other, pin } = await sceneOf(t);
  await Deno.mkdir(join(other, "moved"));
  const first = await t.read(MANIFEST);
  const second = await Deno.readTextFile(join(other, MANIFEST));
  await Deno.writeTextFile(join(other, MANIFEST), first);
  for (const name of ["tether.toml", ".tether"]) await Deno.rename(join(other, name), join(other, "moved", name));
  if (t.kind === "git") await t.vcs(["add", "--all"], { cwd: other });
  await t.vcs(["commit", "-m", "moved"], { cwd: other });
  if (t.kind === "jj") await t.vcs(["bookmark", "set", "other", "-r", "@-"], { cwd: other });
  await t.with((ds) => ds.new(), { at: join(other, "moved") });
  await test.step("its files", async () => {
    await Deno.writeTextFile(join(other, "moved", MANIFEST), second);
    assert.deepEqual(await unpins(t), []);
    await Deno.writeTextFile(join(other, "moved", MANIFEST), first);
    assert.deepEqual(await unpins(t), [pin]);
  });
  await test.step("its bookmark", async () => {
    assert.equal((await t.with((ds) => ds.bookmarkHolders("other"))).length, 1);
    await assert.rejects(
      t.with((ds) => ds.drop("other", { dryRun: false })),
      (e) => e instanceof StaleWorkingCopyError && e.code === "bookmark-held",
    );
  });
  await test.step("it can be retired", async () => {
    const [id = ""] = await t.with((ds) => ds.bookmarkHolders("other"));
    const { vcs } = await t.with((ds) => ds.forgetWorkspace(id));
    assert.match(vcs ?? "", t.kind === "git" ? /^git removed the worktree at / : /^jj forgot workspace /);
    assert.deepEqual(await t.with((ds) => ds.bookmarkHolders("other")), []);
  });
});
