/**
 * The git adapter (formats §15). It drives the git program; each part lies in a `_git_` file.
 *
 * Needs permission to run git, and to read the repository.
 *
 * @module
 */

import { join, relative } from "node:path";
import { mapLimit } from "../engine/io/pool.ts";
import { shellQuote } from "../engine/io/shell.ts";
import type { JsonObject } from "../engine/model/json.ts";
import { VcsError } from "../engine/model/errors.ts";
import { finishAbandon, prepareAbandon } from "./_git_abandon.ts";
import { branchProblem, createBranch, deleteBranch, moveBranch, park, switchTo } from "./_git_branches.ts";
import { readCompleteness } from "./_git_clone.ts";
import { commitPaths, readStatus, type Status, unstage } from "./_git_commit.ts";
import {
  readCommitInfos,
  readExclusive,
  readHistory,
  readIsAncestor,
  readStaged,
  readVanished,
} from "./_git_history.ts";
import { cacheFolder } from "./_program.ts";
import { stampOfRefs } from "./_git_ref_files.ts";
import { Git } from "./_git_process.ts";
import {
  BRANCH_PREFIX,
  branchesOf,
  type GitFolders,
  type Head,
  isParking,
  positionOf,
  readFolders,
  readHead,
  readRefs,
} from "./_git_refs.ts";
import { inIndex, skippedFiles } from "./_git_tracked.ts";
import { absentAmong, readWorktrees, type RemovalProblem, removalProblem, type Worktree } from "./_git_worktrees.ts";
import { sameText } from "./_converted.ts";
import { missingObject } from "./_missing.ts";
import { trackedPaths } from "./_tracked.ts";
import { listTree, objectAt } from "./_tree_paths.ts";
import { checkId, GitObjectReader } from "./object_reader.ts";
import type {
  Abandonment,
  AbsentCheckout,
  Checkout,
  CommitInfo,
  CommitRequest,
  Completeness,
  HistoryCommit,
  Location,
  ObjectReader,
  Position,
  Rewrites,
  StagedBlob,
  VcsAdapter,
  VcsOptions,
} from "./adapter.ts";

/**
 * Opens the git repository around a dataset.
 *
 * @param places The root of the checkout, where `.git` lies, and the dataset root; both with symbolic links resolved.
 * @throws {VcsError} if git is missing, too old, or finds no working tree exactly there.
 */
export async function openGit(
  places: { readonly vcsRoot: string; readonly datasetRoot: string },
  options: VcsOptions,
): Promise<VcsAdapter> {
  const git = new Git(options.programs?.git ?? "git", places.vcsRoot, options);
  let folders: GitFolders;
  try {
    folders = await readFolders(git);
  } catch (error) {
    // One that is too old says so first.
    await git.checkVersion(undefined);
    throw error;
  }
  await git.checkVersion(options.remember ? cacheFolder(folders.commonDir) : undefined);
  return new GitAdapter(git, folders, places.datasetRoot);
}

/** How many changed files are compared side by side. */
const FILES_AT_ONCE = 16;

class GitAdapter implements VcsAdapter {
  readonly kind = "git";
  readonly location: Location;
  readonly parentRev = "HEAD";
  readonly #git: Git;
  readonly #folders: GitFolders;
  readonly #reader: GitObjectReader;
  #refs: Promise<ReadonlyMap<string, string>> | undefined;
  #worktrees: Promise<readonly Worktree[]> | undefined;
  #status: Status | undefined;
  /** The commits last read, good for as long as the stamp stays the same. */
  #history: { readonly stamp: string; readonly commits: readonly HistoryCommit[] } | undefined;
  #completeness: Promise<Completeness> | undefined;
  /** Whether the reader's process has read the index, which it does once. */
  #indexRead = false;

  constructor(git: Git, folders: GitFolders, datasetRoot: string) {
    this.#git = git;
    this.#folders = folders;
    this.#reader = new GitObjectReader(git);
    this.location = {
      root: folders.root,
      rel: relative(folders.root, datasetRoot) || ".",
      sharedDir: folders.commonDir,
      storeDir: folders.commonDir,
    };
  }

  refresh(): void {
    this.#refs = undefined;
    this.#worktrees = undefined;
    this.#status = undefined;
    this.#completeness = undefined;
  }

  async resolve(rev: string): Promise<string> {
    if (rev.trim() === "") throw new VcsError(`Cannot resolve revision ${JSON.stringify(rev)}: it is blank`);
    // Git would take a tag before the branch of the same name. An expression such as "main~1" is no branch name.
    const plain = !/[\s~^:?*[\\@]|\.\./.test(rev) && rev !== "HEAD";
    const found = (plain ? await this.#reader.info(`${BRANCH_PREFIX}${rev}^{commit}`) : undefined) ??
      await this.#reader.info(`${rev}^{commit}`);
    if (found) return found.id;
    throw new VcsError(`Cannot resolve revision "${rev}": git knows no such commit`, {
      code: "no-revision",
      hints: ["git log --oneline --all"],
      details: { revision: rev },
    });
  }

  async treeOf(commit: string): Promise<string | undefined> {
    return (await this.#reader.commit(commit))?.tree;
  }

  async fileAt(commit: string, path: string): Promise<Uint8Array | undefined> {
    const tree = await this.treeOf(commit);
    const entry = tree === undefined ? undefined : await objectAt(this.#reader, tree, path);
    if (entry?.type !== "file") return undefined;
    const bytes = await this.#reader.blob(entry.id);
    if (bytes === undefined) throw missingObject(`"${path}" at "${commit}"`);
    return bytes;
  }

  async manifestsAt(commit: string, root = this.location.rel): Promise<ReadonlyMap<string, Uint8Array>> {
    const folder = root === "." ? ".tether/objects" : `${root}/.tether/objects`;
    const tree = await this.treeOf(commit);
    if (tree === undefined) throw missingObject(`commit "${commit}"`);
    const entry = await objectAt(this.#reader, tree, folder);
    if (entry?.type !== "folder") return new Map();
    const files = (await listTree(this.#reader, entry.id, folder)).filter(({ path }) => path.endsWith(".toml"));
    const blobs = await Promise.all(files.map(({ id }) => this.#reader.blob(id)));
    return new Map(files.map(({ path }, i) => {
      const bytes = blobs[i];
      if (bytes === undefined) throw missingObject(`"${path}" at "${commit}"`);
      return [path, bytes];
    }));
  }

  async history(): Promise<readonly HistoryCommit[]> {
    const stamp = await stampOfRefs(this.#folders);
    if (stamp !== undefined && stamp === this.#history?.stamp) return this.#history.commits;
    const commits = await readHistory(this.#git, this.#folders);
    // The stamp is from before, so whatever changes from there on is read again.
    this.#history = stamp === undefined ? undefined : { stamp, commits };
    return commits;
  }

  async staged(): Promise<readonly StagedBlob[]> {
    const there = (await this.#readWorktrees()).filter((worktree) => !worktree.away);
    return await readStaged(this.#git, this.#folders, there);
  }

  commitInfos(ids: readonly string[]): Promise<readonly CommitInfo[]> {
    return readCommitInfos(this.#git, ids);
  }

  conflicts(): Promise<readonly { readonly reason: string; readonly hints: readonly string[] }[]> {
    return Promise.resolve([]);
  }

  completeness(): Promise<Completeness> {
    return this.#completeness ??= readCompleteness(this.#git, this.#folders);
  }

  objects(): ObjectReader {
    return this.#reader;
  }

  async position(): Promise<Position> {
    return await positionOf(await this.#head(), this.#folders);
  }

  async bookmarks(): Promise<ReadonlyMap<string, string | null>> {
    return new Map([...await this.#branches()].filter(([name]) => !isParking(name)));
  }

  async checkouts(): Promise<readonly Checkout[]> {
    return (await this.#readWorktrees()).filter((worktree) => !worktree.away);
  }

  async absentCheckouts(): Promise<readonly AbsentCheckout[]> {
    return absentAmong(await this.#readWorktrees());
  }

  async tracked(paths: readonly string[], checkout?: string): Promise<readonly string[]> {
    if (paths.length === 0) return [];
    const root = checkout ?? this.location.root;
    // The process that is needed anyway: opening a dataset costs no child for this question.
    const first = root === this.location.root && !this.#indexRead;
    if (first) this.#indexRead = true;
    if (first) return await trackedPaths(root, paths, { knows: (name) => inIndex(this.#reader, name) });
    await using reader = new GitObjectReader(this.#git.at(root));
    return await trackedPaths(root, paths, { knows: (name) => inIndex(reader, name) });
  }

  async leftOut(paths: readonly string[]): Promise<readonly string[]> {
    return await skippedFiles(this.#git, paths);
  }

  async dirty(paths: readonly string[]): Promise<readonly string[]> {
    this.#status = await readStatus(this.#git, paths);
    const { changed } = this.#status;
    if (changed.length === 0) return changed;
    const { commit } = await this.#head();
    const converted = await mapLimit(changed, FILES_AT_ONCE, (path) => this.#onlyConverted(path, commit));
    return changed.filter((_, i) => !converted[i]);
  }

  /** Tells whether a file says what a commit has of it, in other line ends or with a byte-order mark (L15). */
  async #onlyConverted(path: string, commit: string | null): Promise<boolean> {
    const committed = commit === null ? undefined : await this.fileAt(commit, path);
    if (committed === undefined) return false;
    try {
      const full = join(this.location.root, path);
      return (await Deno.lstat(full)).isFile && sameText(await Deno.readFile(full), committed);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
      throw error;
    }
  }

  isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    return readIsAncestor(this.#git, ancestor, descendant);
  }

  async vanished(commits: readonly string[]): Promise<readonly string[]> {
    const tips = this.#refs === undefined ? [] : [...branchesOf(await this.#refs).values()];
    const { commit } = await this.#head();
    return await readVanished(this.#git, this.#reader, { commits, from: commit === null ? tips : [commit, ...tips] });
  }

  async exclusiveCommits(bookmark: string): Promise<readonly string[]> {
    const worktrees = await this.#readWorktrees();
    return await readExclusive(this.#git, bookmark, { worktrees, folders: this.#folders });
  }

  async remoteBookmarks(bookmark: string): Promise<readonly string[]> {
    const prefix = "refs/remotes/";
    const remote = [...(await this.#readRefs()).keys()].filter((name) => name.startsWith(prefix));
    return remote.map((name) => name.slice(prefix.length)).filter((name) =>
      name.slice(name.indexOf("/") + 1) === bookmark
    );
  }

  async bookmarkProblem(name: string): Promise<string | undefined> {
    return await branchProblem(this.#git, name, await this.#branches());
  }

  async commit(request: CommitRequest): Promise<string> {
    const head = await this.#head();
    if (head.branch !== request.bookmark) {
      const on = head.branch === null ? "no branch" : `"${head.branch}"`;
      throw new VcsError(`Cannot commit on bookmark "${request.bookmark}": HEAD is on ${on}`, {
        hints: [`tether new -- ${shellQuote(request.bookmark)}`],
      });
    }
    try {
      const known = this.#status === undefined ? {} : { status: this.#status };
      return await commitPaths(this.#git, this.#reader, { ...request, ...known, parent: head.commit });
    } finally {
      this.refresh();
    }
  }

  async uncommit(commit: string, paths: readonly string[]): Promise<void> {
    const doing = `take back commit "${commit}"`;
    const parent = (await this.#reader.commit(commit))?.parents[0];
    // Each form moves HEAD's branch only while it is at the commit.
    const move = parent === undefined ? ["-d", "HEAD", commit] : ["HEAD", parent, commit];
    await this.#write(() => this.#git.run(["update-ref", "-m", "tether undo", ...move], { doing, writes: true }));
    await unstage(this.#git, paths);
  }

  async switchTo(bookmark: string): Promise<void> {
    if ((await this.#head()).branch === bookmark) return;
    await this.#write(() => switchTo(this.#git, bookmark, () => this.#readWorktrees()));
  }

  async moveTo(commit: string): Promise<void> {
    const view = { branches: await this.#branches(), worktrees: await this.#readWorktrees() };
    await this.#write(() => park(this.#git, commit, view));
  }

  async returnTo(record: JsonObject): Promise<void> {
    const { branch, commit } = record;
    const head = await this.#head();
    if (typeof branch === "string") {
      if (head.branch !== branch) await this.#write(() => switchTo(this.#git, branch, () => this.#readWorktrees()));
    } else if (typeof commit === "string") {
      const args = ["switch", "--quiet", "--detach", checkId(commit)];
      await this.#write(() => this.#git.run(args, { doing: `return to commit "${commit}"`, writes: true }));
    }
  }

  async createBookmark(name: string, commit?: string): Promise<void> {
    await this.#write(() => createBranch(this.#git, name, commit));
  }

  async moveBookmark(name: string, move: { readonly from: string; readonly to: string }): Promise<void> {
    const view = { head: await this.#head(), worktrees: await this.#readWorktrees() };
    await this.#write(() => moveBranch(this.#git, name, { ...move, ...view }));
  }

  async deleteBookmark(name: string, at: string): Promise<void> {
    const worktrees = await this.#readWorktrees();
    await this.#write(() => deleteBranch(this.#git, name, { at, worktrees }));
  }

  dropCommits(
    _commits: readonly string[],
    { bookmark, at }: { readonly bookmark: string; readonly at: string },
  ): Promise<void> {
    return this.deleteBookmark(bookmark, at);
  }

  async prepareAbandon(commits: readonly string[], keep: readonly string[]): Promise<Abandonment> {
    this.refresh();
    const request = { head: await this.#head(), refs: await this.#readRefs(), worktrees: await this.#readWorktrees() };
    const prepared = await prepareAbandon(this.#git, this.#reader, { ...request, commits, keep });
    return { kept: prepared.kept, apply: (begin) => this.#write(() => prepared.apply(begin)) };
  }

  async finishAbandon(record: JsonObject): Promise<Rewrites | undefined> {
    this.refresh();
    const now = { head: await this.#head(), refs: await this.#readRefs(), worktrees: await this.#readWorktrees() };
    return await this.#write(() => finishAbandon(this.#git, record, now));
  }

  async adoptTrunk(preferred: string): Promise<string> {
    const head = await this.#head();
    if (head.branch !== null && !isParking(head.branch)) return head.branch;
    const at = (await this.#branches()).get(preferred);
    if (at === undefined) await this.createBookmark(preferred);
    else if (at === head.commit) await this.switchTo(preferred);
    else {
      const where = head.branch === null ? "HEAD is detached" : `HEAD is on the parking branch "${head.branch}"`;
      throw new VcsError(`Cannot choose a trunk: ${where}, and branch "${preferred}" is elsewhere`, {
        hints: [`git switch ${shellQuote(preferred)}`],
      });
    }
    return preferred;
  }

  async forgetProblem(root: string): Promise<RemovalProblem | undefined> {
    const worktree = (await this.#readWorktrees()).find((w) => w.root === root);
    return await removalProblem(this.#git.at(root), worktree?.gitDir);
  }

  async forgetCheckout(root: string): Promise<void> {
    const doing = `remove the worktree at "${root}"`;
    const args = ["worktree", "remove", "--end-of-options", root];
    await this.#write(() => this.#git.run(args, { doing, writes: true }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader[Symbol.asyncDispose]();
  }

  #head(): Promise<Head> {
    return readHead(this.#git, this.#folders, this.#reader);
  }

  #readRefs(): Promise<ReadonlyMap<string, string>> {
    return this.#refs ??= readRefs(this.#git, this.#folders, this.#reader);
  }

  async #branches(): Promise<Map<string, string>> {
    return branchesOf(await this.#readRefs());
  }

  #readWorktrees(): Promise<readonly Worktree[]> {
    return this.#worktrees ??= readWorktrees(this.#git, this.#folders, this.#reader);
  }

  /** Runs a write; what was read before it does not count any more, whatever became of it. */
  async #write<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } finally {
      this.refresh();
    }
  }
}
