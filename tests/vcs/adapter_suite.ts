/**
 * What every VCS adapter must do, written against the contract alone (vcs/adapter.ts). A version-control system joins with
 * a {@link SuiteVcs}.
 *
 * @module
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { VcsError } from "../../engine/model/errors.ts";
import type { Checkout, VcsAdapter } from "../../vcs/adapter.ts";

/** A repository of the system under test. */
export interface SuiteRepo extends AsyncDisposable {
  /** Root of the checkout, symbolic links resolved. */
  readonly path: string;
  write(path: string, content: string | Uint8Array): Promise<string>;
  /** Commits everything in the checkout by the system's own means; the bookmark, `main` by default, is the one underfoot. */
  commit(message: string, files?: Readonly<Record<string, string | null>>, bookmark?: string): Promise<string>;
  /** Adds a checkout on a new bookmark, by the system's own means; returns its root. */
  worktree(bookmark: string): Promise<string>;
  /** Returns paths and contents of all files of a commit. */
  filesOf(commit: string): Promise<Record<string, string>>;
}

/** A system under test. */
export interface SuiteVcs {
  readonly kind: "git" | "jj";
  /** What the tests are called after. @default {the kind} */
  readonly name?: string;
  /** Whether the system is not here. */
  readonly ignore?: boolean;
  /** Makes a repository on bookmark `main`; with files, they are its first commit. */
  repo(options: { readonly files?: Readonly<Record<string, string>>; readonly sha256?: boolean }): Promise<SuiteRepo>;
  /** Opens the adapter at a folder of a repository. */
  open(folder: string): Promise<VcsAdapter>;
  /** Object formats to run the suite in. */
  readonly formats: readonly ("sha1" | "sha256")[];
}

const MANIFEST = 'key = "a"\nkind = "file"\n';
const FRAME: Readonly<Record<string, string>> = {
  "tether.toml": '[dataset]\nid = "0a1b2c3d"\n',
  ".tether/.gitignore": "/workspace.toml\n/ops.jsonl\n/cache\n/lock\n/secrets.toml\n",
};
const DATASET = { ...FRAME, ".tether/objects/a.toml": MANIFEST };
const FRAME_PATHS = ["tether.toml", ".tether/.gitignore"];

/** Names that are patterns, options or not ASCII in some system (L41, formats §5). */
const HOSTILE_NAMES = [
  "[ab]",
  "x (1)",
  "-x",
  ":!y",
  ":(glob)z",
  "*",
  "é ü",
  "日本",
  'q"q',
  "a'b",
  "--",
  "#c",
  "~",
  "@",
  "%00",
];

/** Registers the suite for one system. */
export function adapterSuite(vcs: SuiteVcs): void {
  const name = vcs.name ?? vcs.kind;
  for (const format of vcs.formats) {
    const sha256 = format === "sha256";
    const repoOf = (files?: Readonly<Record<string, string>>): Promise<SuiteRepo> =>
      vcs.repo({ sha256, ...(files ? { files } : {}) });
    const test = (title: string, fn: (t: Deno.TestContext) => Promise<void>): void =>
      Deno.test({ name: `${name} ${format}: ${title}`, ignore: vcs.ignore === true, fn });

    test("detection finds the nearest repository and the dataset inside it [formats 15.2]", async () => {
      await using repo = await repoOf({ "data/set/tether.toml": "" });
      await using adapter = await vcs.open(join(repo.path, "data/set"));
      assert.equal(adapter.kind, vcs.kind);
      assert.equal(adapter.location.root, repo.path);
      assert.equal(adapter.location.rel, "data/set");
      assert.ok((await Deno.stat(adapter.location.sharedDir)).isDirectory);
      await using atRoot = await vcs.open(repo.path);
      assert.equal(atRoot.location.rel, ".");
      assert.equal(atRoot.location.sharedDir, adapter.location.sharedDir);
    });

    test("before the first commit every read works, and the first commit has no objects [L18, formats 19.7]", async () => {
      await using repo = await repoOf();
      for (const [path, text] of Object.entries(FRAME)) await repo.write(path, text);
      await Deno.mkdir(join(repo.path, ".tether/objects"));
      await using adapter = await vcs.open(repo.path);
      const before = await adapter.position();
      assert.deepEqual(before.bookmarks, ["main"]);
      assert.equal(before.blocked, undefined);
      assert.deepEqual(await adapter.staged(), []);
      assert.deepEqual(await adapter.vanished([]), []);
      assert.deepEqual(await adapter.completeness(), { complete: true });
      assert.deepEqual((await adapter.dirty([...FRAME_PATHS, ".tether/objects"])).toSorted(), FRAME_PATHS.toSorted());
      const paths = [...FRAME_PATHS, ".tether/objects"];
      const id = await adapter.commit({ message: "first", paths, bookmark: "main" });
      assert.deepEqual(await repo.filesOf(id), FRAME);
      assert.equal((await adapter.position()).commit, id);
      assert.equal((await adapter.bookmarks()).get("main"), id);
    });

    test("resolve() takes bookmarks, ids and expressions, and refuses blanks and options [L42, commands 1.4]", async () => {
      await using repo = await repoOf({ a: "1" });
      const first = (await adapterPosition(vcs, repo)).commit ?? "";
      const second = await repo.commit("second", { a: "2" });
      await using adapter = await vcs.open(repo.path);
      assert.equal(await adapter.resolve("main"), second);
      assert.equal(await adapter.resolve(first), first);
      assert.equal(await adapter.resolve(first.slice(0, 12)), first);
      assert.equal(await adapter.resolve(adapter.parentRev), second);
      // To jj a range is a set of commits, and one commit may be all it has.
      const ranges = vcs.kind === "git" ? ["main.."] : ["main-::main"];
      const zero = "0".repeat(first.length);
      for (const rev of ["", "  ", "\n", "nope", "--all", "-n", "main\nmain", zero, ...ranges]) {
        await assert.rejects(adapter.resolve(rev), VcsError, JSON.stringify(rev));
      }
      await assert.rejects(adapter.resolve("gone"), /Cannot resolve revision "gone"/);
    });

    test("files are read as a commit has them, whatever their names and bytes [L13, L25]", async () => {
      const files = Object.fromEntries(HOSTILE_NAMES.map((n, i) => [`.tether/objects/${n}.toml`, `key = "${i}"\r\n`]));
      await using repo = await repoOf({ ...files, ".tether/objects/d/e/f.toml": "deep", ".tether/objects/no.txt": "" });
      const commit = await repo.commit("more", { "é/ü": "text" });
      await repo.commit("gone", { ".tether/objects/[ab].toml": null });
      await using adapter = await vcs.open(repo.path);
      const text = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes);
      assert.equal(text(await adapter.fileAt(commit, "é/ü")), "text");
      assert.equal(await adapter.fileAt(commit, "é"), undefined);
      assert.equal(await adapter.fileAt(commit, "é/ü/x"), undefined);
      const manifests = await adapter.manifestsAt(commit);
      const expected = { ...files, ".tether/objects/d/e/f.toml": "deep" };
      assert.deepEqual(Object.fromEntries([...manifests].map(([p, b]) => [p, text(b)])), expected);
      const tree = await adapter.treeOf(commit);
      assert.deepEqual(tree && (await adapter.objects().tree(tree))?.map((e) => [e.name, e.type]), [
        [".tether", "folder"],
        ["é", "folder"],
      ]);
      assert.equal(await adapter.treeOf("0".repeat(commit.length)), undefined);
    });

    test("history is every commit that a bookmark or a checkout reaches, newest first [L02, formats 15.4]", async () => {
      await using repo = await repoOf({ a: "1" });
      const base = (await adapterPosition(vcs, repo)).commit ?? "";
      const other = await repo.worktree("side/ways");
      await using there = await vcs.open(other);
      await Deno.writeTextFile(join(other, "b"), "b");
      const side = await there.commit({ message: "side", paths: ["b"], bookmark: "side/ways" });
      const main = await repo.commit("main", { a: "2" });
      await using adapter = await vcs.open(repo.path);
      const history = (await adapter.history()).filter((c) => !c.workingCopy);
      assert.deepEqual(history.map((c) => c.id).toSorted(), [base, side, main].toSorted());
      for (const { id, tree } of history) assert.equal(tree, await adapter.treeOf(id));
      assert.equal(history.at(-1)?.id, base);
      const shown = ({ root, current, bookmark }: Checkout) => ({ root, current, bookmark });
      assert.deepEqual((await adapter.checkouts()).map(shown).toSorted((a, b) => a.root < b.root ? -1 : 1), [
        { root: repo.path, current: true, bookmark: "main" },
        { root: other, current: false, bookmark: "side/ways" },
      ]);
      assert.deepEqual(Object.fromEntries(await there.bookmarks()), { main, "side/ways": side });
      assert.equal(there.location.sharedDir, adapter.location.sharedDir);
    });

    test("commitInfos() returns authors and messages in the order asked, separators in them included", async () => {
      await using repo = await repoOf({ a: "1" });
      const subject = 'unit \x1f record \x1e quote " é 日本';
      const id = await repo.commit(`${subject}\n\nbody\n\n  indented`);
      await using adapter = await vcs.open(repo.path);
      const { commit } = await adapter.position();
      assert.equal(commit, id);
      const [base] = (await adapter.commitInfos([id]))[0]?.parents ?? [];
      const infos = await adapter.commitInfos([base ?? "", id, base ?? ""]);
      assert.deepEqual(infos.map((i) => i.id), [base, id, base]);
      assert.equal(infos[1]?.message, `${subject}\n\nbody\n\n  indented`);
      assert.equal(infos[1]?.authorName, "Ada Tester");
      assert.equal(infos[1]?.authorEmail, "ada@example.org");
      assert.match(infos[1]?.committedAt ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/);
      assert.deepEqual(await adapter.commitInfos([]), []);
    });

    test("tracked() names the files the VCS has, here and in another checkout [formats 1, L40]", async () => {
      await using repo = await repoOf({ ...DATASET, "x/.tether/ops.jsonl": "" });
      await repo.write(".tether/workspace.toml", "");
      await using adapter = await vcs.open(repo.path);
      const asked = [".tether/workspace.toml", ".tether/objects/a.toml", "x/.tether/ops.jsonl", "tether.toml", "nope"];
      const expected = [".tether/objects/a.toml", "x/.tether/ops.jsonl", "tether.toml"];
      assert.deepEqual(await adapter.tracked(asked), expected);
      assert.deepEqual(await adapter.tracked(asked), expected, "asked again");
      assert.deepEqual(await adapter.tracked([".tether/[a-z]*", "*", ":(top)tether.toml"]), [], "patterns are names");
      const other = await repo.worktree("w");
      adapter.refresh();
      assert.deepEqual(await adapter.tracked(asked, other), expected);
    });

    test("commit() of one hostile name changes exactly that file [L41]", async (t) => {
      await using repo = await repoOf(DATASET);
      await using adapter = await vcs.open(repo.path);
      const all = HOSTILE_NAMES.map((name) => `.tether/objects/${name}.toml`);
      for (const path of [...all, ".tether/objects/a.toml", ".tether/objects/b.toml"]) await repo.write(path, "new");
      let expected: Record<string, string> = { ...DATASET };
      for (const path of all) {
        await t.step(JSON.stringify(path), async () => {
          assert.deepEqual(await adapter.dirty([path]), [path]);
          const id = await adapter.commit({ message: "-m --amend", paths: [path], bookmark: "main" });
          expected = { ...expected, [path]: "new" };
          assert.deepEqual(await repo.filesOf(id), expected);
          assert.deepEqual(await adapter.dirty([path]), []);
          assert.equal((await adapter.commitInfos([id]))[0]?.message, "-m --amend");
        });
      }
      assert.deepEqual((await adapter.dirty([".tether"])).toSorted(), [
        ".tether/objects/a.toml",
        ".tether/objects/b.toml",
      ]);
    });

    test("commit() takes new, changed and removed files of its paths and leaves other edits alone [formats 15.6]", async () => {
      await using repo = await repoOf({
        ...DATASET,
        ".tether/objects/gone.toml": "x",
        ".tether/objects/d/gone.toml": "x",
        u: "1",
      });
      await repo.write("u", "2");
      await repo.write("v", "new");
      await repo.write(".tether/objects/a.toml", "changed");
      await repo.write(".tether/objects/d/new.toml", "new");
      await Deno.remove(join(repo.path, ".tether/objects/gone.toml"));
      await Deno.remove(join(repo.path, ".tether/objects/d/gone.toml"));
      await using adapter = await vcs.open(repo.path);
      const paths = [...FRAME_PATHS, ".tether/objects", ".tether/never.toml"];
      const id = await adapter.commit({ message: "all", paths, bookmark: "main" });
      const expected = { ...FRAME, ".tether/objects/a.toml": "changed", ".tether/objects/d/new.toml": "new", u: "1" };
      assert.deepEqual(await repo.filesOf(id), expected);
      assert.deepEqual((await adapter.dirty(["u", "v"])).toSorted(), ["u", "v"]);
      assert.equal((await adapter.position()).commit, id);

      await removeObjects(repo.path);
      const last = await adapter.commit({ message: "none left", paths: [".tether/objects"], bookmark: "main" });
      assert.deepEqual(await repo.filesOf(last), { ...FRAME, u: "1" });
    });

    test("commit() on another bookmark than the one underfoot refuses and changes nothing", async () => {
      await using repo = await repoOf(DATASET);
      await repo.write("tether.toml", "changed");
      await using adapter = await vcs.open(repo.path);
      const { commit } = await adapter.position();
      await assert.rejects(adapter.commit({ message: "m", paths: ["tether.toml"], bookmark: "other" }), VcsError);
      adapter.refresh();
      assert.equal((await adapter.position()).commit, commit);
      assert.deepEqual(await adapter.dirty(["tether.toml"]), ["tether.toml"]);
    });

    test("uncommit() makes the changes edits again, a first commit included [Δ15, formats 19.16]", async () => {
      await using repo = await repoOf();
      for (const [path, text] of Object.entries(FRAME)) await repo.write(path, text);
      await using adapter = await vcs.open(repo.path);
      const first = await adapter.commit({ message: "1", paths: FRAME_PATHS, bookmark: "main" });
      await repo.write(".tether/objects/a.toml", MANIFEST);
      const paths = [...FRAME_PATHS, ".tether/objects"];
      const second = await adapter.commit({ message: "2", paths, bookmark: "main" });
      await assert.rejects(adapter.uncommit(first, paths), VcsError, "not the commit underfoot");
      await adapter.uncommit(second, paths);
      assert.equal((await adapter.position()).commit, first);
      assert.deepEqual(await adapter.dirty(paths), [".tether/objects/a.toml"]);
      // jj has no files besides those of commits and ignored ones: an edit is tracked.
      const staged = vcs.kind === "git" ? [] : [".tether/objects/a.toml"];
      assert.deepEqual(await adapter.tracked([".tether/objects/a.toml"]), staged);
      await adapter.uncommit(first, paths);
      assert.deepEqual((await adapter.position()).bookmarks, ["main"]);
      assert.deepEqual((await adapter.dirty(paths)).toSorted(), [...FRAME_PATHS, ".tether/objects/a.toml"].toSorted());
    });

    test("bookmarks are created, joined and left for a plain revision, and the way back is recorded", async () => {
      await using repo = await repoOf({ a: "1" });
      await using adapter = await vcs.open(repo.path);
      const base = await adapter.position();
      const next = await repo.commit("next", { a: "2" });
      adapter.refresh();
      const onMain = await adapter.position();
      await adapter.createBookmark("feat/é", base.commit ?? "");
      assert.deepEqual((await adapter.position()).bookmarks, ["feat/é"]);
      assert.equal(await Deno.readTextFile(join(repo.path, "a")), "1");
      await adapter.switchTo("main");
      assert.deepEqual((await adapter.position()).bookmarks, ["main"]);
      await adapter.moveTo(base.commit ?? "");
      const away = await adapter.position();
      assert.deepEqual([away.commit, away.blocked], [base.commit, undefined]);
      assert.deepEqual([...(await adapter.bookmarks()).keys()].toSorted(), ["feat/é", "main"]);
      await adapter.returnTo(onMain.record);
      const back = await adapter.position();
      assert.deepEqual([back.commit, back.bookmarks], [onMain.commit, onMain.bookmarks]);
      if (vcs.kind === "git") assert.deepEqual(back, onMain);
      await adapter.createBookmark("here");
      assert.equal((await adapter.bookmarks()).get("here"), next);
      await assert.rejects(adapter.switchTo("nope"), VcsError);
      await assert.rejects(adapter.createBookmark("main"), VcsError);
    });

    test("a bookmark moves and goes only from where the caller saw it, and never under another checkout", async () => {
      await using repo = await repoOf({ a: "1" });
      await using adapter = await vcs.open(repo.path);
      const base = (await adapter.position()).commit ?? "";
      await adapter.createBookmark("b");
      const next = await repo.commit("next", { a: "2" }, "b");
      adapter.refresh();
      await assert.rejects(adapter.moveBookmark("main", { from: next, to: next }), VcsError);
      await adapter.moveBookmark("main", { from: base, to: next });
      assert.equal((await adapter.bookmarks()).get("main"), next);
      await adapter.moveBookmark("b", { from: next, to: base });
      assert.equal((await adapter.position()).commit, base, "the working copy follows");
      assert.equal(await Deno.readTextFile(join(repo.path, "a")), "1");
      await adapter.switchTo("main");
      const other = await repo.worktree("held");
      adapter.refresh();
      // No checkout of jj is on a bookmark; tether itself keeps that of another checkout.
      if (vcs.kind === "git") {
        await assert.rejects(adapter.deleteBookmark("held", next), (e: Error) => e.message.includes(other));
      }
      await assert.rejects(adapter.deleteBookmark("b", next), VcsError);
      await adapter.deleteBookmark("b", base);
      assert.deepEqual([...(await adapter.bookmarks()).keys()].toSorted(), ["held", "main"]);
    });

    test("reachability: exclusive, vanished and ancestor commits", async () => {
      await using repo = await repoOf({ a: "1" });
      await using adapter = await vcs.open(repo.path);
      const base = (await adapter.position()).commit ?? "";
      await adapter.createBookmark("b");
      const one = await repo.commit("one", { a: "2" }, "b");
      adapter.refresh();
      await adapter.createBookmark("shared");
      await adapter.switchTo("b");
      const two = await repo.commit("two", { a: "3" }, "b");
      const three = await repo.commit("three", { a: "4" }, "b");
      adapter.refresh();
      assert.deepEqual(await adapter.exclusiveCommits("b"), [two, three]);
      assert.deepEqual(await adapter.exclusiveCommits("shared"), []);
      assert.equal(await adapter.isAncestor(base, three), true);
      assert.equal(await adapter.isAncestor(one, one), true);
      assert.equal(await adapter.isAncestor(three, base), false);
      const missing = "1".repeat(base.length);
      assert.deepEqual(await adapter.vanished([base, two, missing, three]), [missing]);
      await adapter.switchTo("main");
      assert.deepEqual(await adapter.vanished([base, one, two, three]), [], "other bookmarks count");
      await adapter.dropCommits([two, three], { bookmark: "b", at: three });
      assert.equal((await adapter.bookmarks()).has("b"), false);
      assert.deepEqual(await adapter.vanished([three, base, two, one]), [three, two]);
    });

    test("bookmarkProblem() explains names that cannot be [commands 5.10]", async () => {
      await using repo = await repoOf({ a: "1" });
      await using adapter = await vcs.open(repo.path);
      await adapter.createBookmark("dir/x");
      for (const name of ["2024", "a.b", "feat/é", "a b".replace(" ", "_"), "deadbeef"]) {
        assert.equal(await adapter.bookmarkProblem(name), undefined, name);
      }
      for (const name of ["", "-x", "main", "a..b", "a b", "x~1", "@{1}"]) {
        assert.equal(typeof await adapter.bookmarkProblem(name), "string", JSON.stringify(name));
      }
    });

    test("adoptTrunk() takes the bookmark underfoot [formats 4, commands 5.1]", async () => {
      await using repo = await repoOf({ a: "1" });
      await using adapter = await vcs.open(repo.path);
      assert.equal(await adapter.adoptTrunk("main"), "main");
      await adapter.createBookmark("dev");
      if (vcs.kind === "git") assert.equal(await adapter.adoptTrunk("main"), "dev");
    });

    Deno.test({
      name: `${name} ${format}: a closed adapter has ended its children and reads nothing more`,
      ignore: vcs.ignore === true,
      sanitizeOps: true,
      sanitizeResources: true,
      async fn() {
        await using repo = await repoOf({ a: "1" });
        const adapter = await vcs.open(repo.path);
        const commit = await adapter.resolve("main");
        const late = adapter.objects().blob(commit);
        const [, outcome] = await Promise.allSettled([adapter[Symbol.asyncDispose](), late]);
        // Either it was answered in time, with nothing since a commit is no blob, or it was told why not.
        if (outcome.status === "rejected") assert.match(String(outcome.reason), /it was closed/);
        else assert.equal(outcome.value, undefined);
        await assert.rejects(adapter.resolve("main"), /it was closed/);
        await adapter[Symbol.asyncDispose]();
      },
    });
  }
}

async function adapterPosition(vcs: SuiteVcs, repo: SuiteRepo): ReturnType<VcsAdapter["position"]> {
  await using adapter = await vcs.open(repo.path);
  return await adapter.position();
}

async function removeObjects(root: string): Promise<void> {
  await Deno.remove(join(root, ".tether/objects"), { recursive: true });
}
