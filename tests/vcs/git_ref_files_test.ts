import assert from "node:assert/strict";
import { observeSpawns } from "../../engine/io/process.ts";
import { Git } from "../../vcs/_git_process.ts";
import { readFolders, readRefs } from "../../vcs/_git_refs.ts";
import { detectVcs } from "../../vcs/detect.ts";
import { GitObjectReader } from "../../vcs/object_reader.ts";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";

/** Runs something and returns how often git was started with a subcommand. */
async function counted<T>(subcommand: string, run: () => Promise<T>): Promise<{ children: number; value: T }> {
  let children = 0;
  const stop = observeSpawns((_, args) => {
    if (args.includes(subcommand)) children++;
  });
  try {
    return { value: await run(), children };
  } finally {
    stop();
  }
}

/** The checkouts of a repository, the main one first. */
async function roots(repo: TempRepo): Promise<string[]> {
  return [...(await repo.git(["worktree", "list", "--porcelain"])).matchAll(/^worktree (.*)$/gm)].map(([, root = ""]) =>
    root
  );
}

/** Runs git in the last worktree. */
async function inLinked(repo: TempRepo, args: readonly string[]): Promise<void> {
  const cwd = (await roots(repo)).at(-1);
  assert.notEqual(cwd, repo.path);
  await repo.git(args, { cwd: String(cwd) });
}

/** What a repository's refs can look like, and whether git alone can say what they are. */
const FORMS: readonly (readonly [name: string, children: 0 | 1, change: (repo: TempRepo) => Promise<unknown>])[] = [
  ["branches and tags", 0, async (repo) => {
    await repo.git(["branch", "a/b/c"]);
    await repo.git(["branch", "é-日本"]);
    await repo.git(["tag", "light"]);
    await repo.git(["tag", "-a", "-m", "annotated", "heavy"]);
  }],
  ["refs to a tree and a file", 0, async (repo) => {
    await repo.git(["tag", "tree", "HEAD^{tree}"]);
    await repo.git(["update-ref", "refs/notes/x", "HEAD:a"]);
  }],
  ["packed", 0, (repo) => repo.git(["pack-refs", "--all"])],
  ["packed, then moved and deleted", 0, async (repo) => {
    await repo.commit("next", { a: "2" });
    await repo.git(["branch", "-D", "a/b/c"]);
    await repo.git(["tag", "-d", "light"]);
  }],
  ["a symbolic ref", 0, (repo) => repo.git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main"])],
  ["hidden files and locks among them", 0, async (repo) => {
    await repo.write(".git/refs/heads/.DS_Store", "x");
    await repo.write(".git/refs/heads/half.lock", "x");
  }],
  ["a bisect and a worktree's own", 0, async (repo) => {
    await repo.git(["update-ref", "refs/bisect/bad", "HEAD"]);
    await repo.worktree("linked");
    await inLinked(repo, ["update-ref", "refs/worktree/mine", "HEAD"]);
  }],
  [
    "a symbolic ref that leads nowhere",
    1,
    (repo) => repo.git(["symbolic-ref", "refs/remotes/gone/HEAD", "refs/remotes/gone/main"]),
  ],
  ["a file that is no ref", 1, (repo) => repo.write(".git/refs/heads/odd name", "x\n")],
  ["a branch whose commit is missing", 1, (repo) => repo.write(".git/refs/heads/lost", `${"1".repeat(40)}\n`)],
];

Deno.test("refs are what git lists, from the main checkout and from a linked one, and cost a child only where they must [formats 15.4, L12]", async (t) => {
  await using repo = await tempRepo({ files: { a: "1" } });
  for (const [name, children, change] of FORMS) {
    await t.step(name, async () => {
      await change(repo);
      for (const root of await roots(repo)) {
        const git = new Git("git", root);
        await using reader = new GitObjectReader(git);
        const folders = await readFolders(git);
        const found = await counted("for-each-ref", () => readRefs(git, folders, reader));
        const listed = (await repo.git(["for-each-ref", "--format=%(refname) %(objectname)"], { cwd: root })).split(
          "\n",
        );
        assert.deepEqual([...found.value].map((ref) => ref.join(" ")).toSorted(), listed.toSorted());
        assert.equal(found.children, children);
      }
    });
  }
});

Deno.test("very many refs are listed by one child [architecture: the VCS is asked little]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const head = await repo.git(["rev-parse", "HEAD"]);
  const lines = Array.from({ length: 600 }, (_, i) => `${head} refs/heads/b${String(i).padStart(3, "0")}\n`);
  await repo.write(".git/packed-refs", `# pack-refs with: peeled fully-peeled sorted \n${lines.join("")}`);
  await using adapter = await detectVcs(repo.path);
  const { children, value } = await counted("for-each-ref", () => adapter.bookmarks());
  assert.deepEqual([children, value.size], [1, 601]);
});

/** What changes which commits there are, however it is done. */
const CHANGES: readonly (readonly [name: string, change: (repo: TempRepo) => Promise<unknown>])[] = [
  ["a commit", (repo) => repo.commit("more", { a: "more" })],
  ["a commit on another branch", async (repo) => {
    const tree = await repo.git(["rev-parse", "HEAD^{tree}"]);
    const id = await repo.git(["commit-tree", "-p", "HEAD", "-m", "other", tree]);
    await repo.git(["update-ref", "refs/heads/other", id]);
  }],
  ["a branch deleted", (repo) => repo.git(["branch", "-D", "other"])],
  ["a commit taken back", (repo) => repo.git(["reset", "-q", "--hard", "HEAD~1"])],
  ["refs packed", (repo) => repo.git(["pack-refs", "--all"])],
  ["a packed ref deleted", async (repo) => {
    await repo.commit("kept by a tag", { a: "tagged" });
    await repo.git(["tag", "v1"]);
    await repo.git(["pack-refs", "--all"]);
    await repo.git(["reset", "-q", "--hard", "HEAD~1"]);
    await repo.git(["tag", "-d", "v1"]);
  }],
  ["a stash", async (repo) => {
    await repo.write("a", "stashed");
    await repo.git(["stash", "-q"]);
  }],
  ["a commit of a detached worktree", async (repo) => {
    await repo.worktree("linked");
    await inLinked(repo, ["switch", "-q", "--detach"]);
    await inLinked(repo, ["commit", "-q", "--allow-empty", "-m", "detached"]);
  }],
  [
    "a worktree's own ref",
    (repo) => inLinked(repo, ["update-ref", "refs/worktree/mine", "HEAD"]),
  ],
  [
    "a worktree that goes elsewhere",
    (repo) => inLinked(repo, ["switch", "-q", "linked"]),
  ],
  ["a shallow border", async (repo) => {
    await repo.write(".git/shallow", `${await repo.git(["rev-parse", "HEAD"])}\n`);
  }],
];

Deno.test("history is read again after every change of what is reachable, and only then [L01, L02, formats 15.4]", async (t) => {
  await using repo = await tempRepo({ files: { a: "1" } });
  await repo.commit("second", { a: "2" });
  await using adapter = await detectVcs(repo.path);
  await adapter.history();
  for (const [name, change] of CHANGES) {
    await t.step(name, async () => {
      const unchanged = await counted("rev-list", () => adapter.history());
      assert.equal(unchanged.children, 0);
      await change(repo);
      const changed = await counted("rev-list", () => adapter.history());
      assert.equal(changed.children, 1);
      await using fresh = await detectVcs(repo.path);
      assert.deepEqual(changed.value, await fresh.history());
    });
  }
});

Deno.test("a ref that went and came back is seen: it was another history in between [L43]", async () => {
  await using repo = await tempRepo({ files: { a: "1" } });
  const tip = await repo.commit("second", { a: "2" });
  await using adapter = await detectVcs(repo.path);
  await adapter.history();
  await repo.git(["reset", "-q", "--hard", "HEAD~1"]);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await repo.git(["reset", "-q", "--hard", tip]);
  assert.equal((await counted("rev-list", () => adapter.history())).children, 1);
});
