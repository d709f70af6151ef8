import assert from "node:assert/strict";
import { join } from "node:path";
import { namedStore } from "../../backends/memory/store.ts";
import { StalePlanError } from "../../engine/model/errors.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

const MANIFEST = ".tether/objects/a.toml";

/** Where the second of two commits and its manifest are, once nothing else has them any more. */
interface Second {
  readonly t: TempDataset;
  readonly commit: string;
  /** The manifest's text. */
  readonly text: string;
}

/** Something that keeps a pin. What {@link hold} returns makes it let go, and then the pin must go. */
interface Source {
  /** @default {all that the pin is needed by is what holds it} */
  readonly hold: (second: Second) => Promise<(() => Promise<unknown>)>;
}

function ref(name: string): Source {
  return {
    async hold({ t, commit }) {
      await t.repo.git(["update-ref", name, commit]);
      return () => t.repo.git(["update-ref", "-d", name]);
    },
  };
}

/** A ref that only another worktree has. */
function refOfWorktree(name: string): Source {
  return {
    async hold({ t, commit }) {
      const other = await t.repo.worktree("other");
      await t.repo.git(["update-ref", name, commit], { cwd: other });
      return () => t.repo.git(["update-ref", "-d", name], { cwd: other });
    },
  };
}

/** A manifest in the working tree of another checkout, at a path of it. */
function fileOf(folder: string): Source {
  return {
    async hold({ t, text }) {
      const other = await t.repo.worktree("other");
      if (folder !== ".") {
        await t.repo.git(["mv", "-k", "tether.toml", ".tether", `${folder}/`], { cwd: other, mayFail: true });
        await Deno.mkdir(join(other, folder));
        await t.repo.git(["mv", "tether.toml", ".tether", `${folder}/`], { cwd: other });
        await t.repo.git(["commit", "-q", "-m", "moved"], { cwd: other });
      }
      const path = join(other, folder, MANIFEST);
      const before = await Deno.readTextFile(path);
      await Deno.writeTextFile(path, text);
      return () => Deno.writeTextFile(path, before);
    },
  };
}

const SOURCES: Readonly<Record<string, Source>> = {
  "a branch": ref("refs/heads/keep"),
  "a parking branch": ref("refs/heads/tether/0123456789ab"),
  "a tag": ref("refs/tags/v2"),
  "a remote branch": ref("refs/remotes/elsewhere/x"),
  "notes": ref("refs/notes/x"),
  "a ref of no known kind": ref("refs/weird/x"),
  "a ref of this worktree only": ref("refs/worktree/x"),
  "a bisection": ref("refs/bisect/bad"),
  "a ref of another worktree only": refOfWorktree("refs/worktree/x"),
  "a bisection in another worktree": refOfWorktree("refs/bisect/bad"),
  "an annotated tag": {
    async hold({ t, commit }) {
      await t.repo.git(["tag", "-a", "-m", "v2", "v2", commit]);
      return () => t.repo.git(["tag", "-d", "v2"]);
    },
  },
  "packed refs": {
    async hold({ t, commit }) {
      await t.repo.git(["update-ref", "refs/weird/x", commit]);
      await t.repo.git(["pack-refs", "--all"]);
      return () => t.repo.git(["update-ref", "-d", "refs/weird/x"]);
    },
  },
  "a stash": {
    async hold({ t, text }) {
      await t.repo.write(MANIFEST, text);
      await t.repo.git(["stash", "-q"]);
      return () => t.repo.git(["stash", "drop", "-q"]);
    },
  },
  "a detached HEAD": {
    async hold({ t, commit }) {
      await t.repo.git(["switch", "-q", "--detach", commit]);
      return () => t.repo.git(["switch", "-q", "main"]);
    },
  },
  "a detached HEAD of another worktree": {
    async hold({ t, commit }) {
      const other = join(t.repo.outer, "other");
      await t.repo.git(["worktree", "add", "-q", "--detach", other, commit]);
      return () => t.repo.git(["switch", "-q", "--detach", "main"], { cwd: other });
    },
  },
  "a merge in progress": {
    async hold({ t, commit }) {
      await t.repo.git(["merge", "-q", "--no-ff", "--no-commit", commit]);
      await t.repo.git(["checkout", "-q", "HEAD", "--", "."]);
      return () => t.repo.git(["merge", "--abort"]);
    },
  },
  "the index": {
    async hold({ t, text }) {
      await t.repo.write(MANIFEST, text);
      await t.repo.git(["add", MANIFEST]);
      await t.repo.git(["restore", "--worktree", "--source=HEAD", "--", MANIFEST]);
      return () => t.repo.git(["reset", "-q", "--", MANIFEST]);
    },
  },
  "the index of another worktree": {
    async hold({ t, text }) {
      const other = await t.repo.worktree("other");
      await Deno.writeTextFile(join(other, MANIFEST), text);
      await t.repo.git(["add", MANIFEST], { cwd: other });
      await t.repo.git(["restore", "--worktree", "--source=HEAD", "--", MANIFEST], { cwd: other });
      return () => t.repo.git(["reset", "-q", "--", MANIFEST], { cwd: other });
    },
  },
  ...Object.fromEntries([1, 2, 3].map((stage): [string, Source] => [`side ${stage} of a conflict in the index`, {
    async hold({ t, text }) {
      const outside = join(t.repo.outer, "side");
      await Deno.writeTextFile(outside, text);
      const blob = await t.repo.git(["hash-object", "-w", outside]);
      const line = `100644 ${blob} ${stage}\t${MANIFEST}\n`;
      await t.repo.git(["rm", "-q", "--cached", MANIFEST]);
      const child = new Deno.Command("git", { args: ["update-index", "--index-info"], cwd: t.root, stdin: "piped" })
        .spawn();
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(line));
      await writer.close();
      assert.ok((await child.status).success);
      return () => t.repo.git(["reset", "-q", "--", MANIFEST]);
    },
  }])),
  "the working tree": {
    async hold({ t, text }) {
      const before = await t.read(MANIFEST);
      await t.repo.write(MANIFEST, text);
      return () => t.repo.write(MANIFEST, before);
    },
  },
  "the working tree of another checkout": fileOf("."),
  "the working tree of another checkout, where the dataset is in another folder": fileOf("moved"),
  "a manifest that does not parse": {
    async hold({ t, text }) {
      const before = await t.read(MANIFEST);
      await t.repo.write(MANIFEST, `<<<<<<< ours\n${text}`);
      return () => t.repo.write(MANIFEST, before);
    },
  },
  "a manifest of another key, kind and spelling of the store": {
    async hold({ t, text }) {
      const system = t.system("a");
      const other = text.replace('key = "a"', 'key = "z"').replace(`system = "${system}"`, `uri = " ${system}"`);
      assert.notEqual(other, text);
      const path = await t.repo.write(".tether/objects/z.toml", other);
      return () => Deno.remove(path);
    },
  },
  "an unfinished operation": {
    async hold({ t, text }) {
      const id = /\nid = "(.+)"/.exec(text)?.[1] ?? assert.fail();
      const op = await t.inside((ctx) => ctx.journal.start({ command: "commit" }));
      await op.progress({ action: "pin", key: "a", ref: `tether.${id}` });
      return () => op.done({});
    },
  },
  "an unfinished operation in another checkout": {
    async hold({ t, text }) {
      const id = /\nid = "(.+)"/.exec(text)?.[1] ?? assert.fail();
      const other = await t.repo.worktree("other");
      const line = { id: "0123456789ab", at: "2026-01-01T00:00:00+00:00", command: "repair", status: "started" };
      const plan = { actions: [{ op: "repin", key: "a", params: { pin_id: id } }] };
      const path = join(other, ".tether/ops.jsonl");
      await Deno.writeTextFile(path, `${JSON.stringify({ ...line, plan })}\n`);
      return () => Deno.remove(path);
    },
  },
};

Deno.test("[L01, L02, formats 15.4] each thing that can name a pin keeps it by itself, and nothing else does", async (test) => {
  for (const [name, source] of Object.entries(SOURCES)) {
    await test.step(name, async () => {
      await using t = await tempDataset();
      await t.addMemory("a");
      await t.with((ds) => ds.commit({ message: "first" }));
      t.write("a");
      const { pinned } = await t.with((ds) => ds.commit({ message: "second" }));
      const commit = await t.repo.git(["rev-parse", "HEAD"]);
      const text = await t.read(MANIFEST);
      await t.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
      const letGo = await source.hold({ t, commit, text });
      const plan = async () =>
        (await t.with((ds) => ds.plan.gc({ releaseForeign: true }))).actions.map((a) => a.target);
      assert.deepEqual(await plan(), []);
      await letGo();
      assert.deepEqual(await plan(), [pinned["a"]]);
      assert.equal(namedStore().find(t.system("a"))?.tags.size, 2);
    });
  }
});

Deno.test("[L02, commands 5.22] drop leaves the commits that only another worktree holds, and their pins", async (test) => {
  for (const name of ["refs/worktree/x", "refs/bisect/good-x", "HEAD"]) {
    await test.step(name, async () => {
      await using t = await tempDataset();
      await t.addMemory("a");
      await t.with((ds) => ds.commit({ message: "first" }));
      await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
      t.write("a", await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? "")));
      await t.with((ds) => ds.commit({ message: "on x" }));
      const other = join(t.repo.outer, "other");
      await t.repo.git(["worktree", "add", "-q", "--detach", other, "main"]);
      if (name === "HEAD") await t.repo.git(["switch", "-q", "--detach", "x"], { cwd: other });
      else await t.repo.git(["update-ref", name, "x"], { cwd: other });
      const { abandoned } = await t.with((ds) => ds.drop("x", { dryRun: false }));
      assert.deepEqual(abandoned, []);
      assert.equal(namedStore().find(t.system("a"))?.tags.size, 2);
    });
  }
});

Deno.test("[commands 5.23] a saved gc plan does not release what an index or another checkout names by now", async (test) => {
  for (const where of ["the index", "another checkout"]) {
    await test.step(where, async () => {
      await using t = await tempDataset();
      await t.addMemory("a");
      await t.with((ds) => ds.commit({ message: "first" }));
      t.write("a");
      await t.with((ds) => ds.commit({ message: "second" }));
      const commit = await t.repo.git(["rev-parse", "HEAD"]);
      const other = where === "another checkout" ? await t.repo.worktree("other") : undefined;
      await t.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
      if (other !== undefined) await t.repo.git(["reset", "-q", "--hard", "main"], { cwd: other });
      const plan = await t.with((ds) => ds.plan.gc());
      assert.equal(plan.writes.length, 1);
      if (other === undefined) await t.repo.git(["read-tree", commit]);
      else await t.repo.git(["restore", "--source", commit, "--", MANIFEST], { cwd: other });
      for (const attempt of [() => t.with((ds) => ds.checkPlan(plan)), () => t.with((ds) => ds.apply(plan))]) {
        await assert.rejects(attempt, StalePlanError);
      }
      assert.equal(namedStore().find(t.system("a"))?.tags.size, 2);
    });
  }
});

Deno.test("[commands 5.23] a saved gc plan deletes no branch whose bookmark is back, or that a checkout works on by now", async (test) => {
  for (const back of ["the bookmark", "a checkout"]) {
    await test.step(back, async () => {
      await using t = await tempDataset();
      await t.addMemory("a");
      await t.with((ds) => ds.commit({ message: "first" }));
      await t.with((ds) => ds.new({ bookmark: "x", eager: true }));
      const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? assert.fail()));
      const workspace = await t.read(".tether/workspace.toml");
      await t.with((ds) => ds.new({ rev: "main" }));
      await t.repo.git(["branch", "-q", "-D", "x"]);
      const plan = await t.with((ds) => ds.plan.gc({ pruneBookmarks: true }));
      assert.deepEqual(plan.writes.map((a) => [a.op, a.target]), [["delete-branch", ref]]);
      if (back === "the bookmark") await t.repo.git(["branch", "x"]);
      else {
        const other = await t.repo.worktree("other");
        await Deno.writeTextFile(join(other, ".tether/workspace.toml"), workspace);
      }
      for (const attempt of [() => t.with((ds) => ds.checkPlan(plan)), () => t.with((ds) => ds.apply(plan))]) {
        await assert.rejects(attempt, StalePlanError);
      }
      assert.equal(namedStore().find(t.system("a"))?.branches.has(ref), true);
    });
  }
});
