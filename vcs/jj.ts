/**
 * The jj adapter (formats §15), for repositories that keep their objects in a git store. It drives the jj program; objects
 * are read from the store. Each part lies in a `_jj_` file.
 *
 * Needs permission to run jj and git, and to read the repository; writes need a folder for temporary files besides.
 *
 * @module
 */

import { relative } from "node:path";
import { shellQuote } from "../engine/io/shell.ts";
import { isJsonObject, type JsonObject } from "../engine/model/json.ts";
import { VcsError } from "../engine/model/errors.ts";
import { branchProblem } from "./_git_branches.ts";
import { readCompleteness } from "./_git_clone.ts";
import { readCommitInfos } from "./_git_history.ts";
import { Git } from "./_git_process.ts";
import { PARKING_PREFIX } from "./_git_refs.ts";
import { abandonKeeping, finishAbandon } from "./_jj_abandon.ts";
import { commitPaths, type JjWriter, uncommit } from "./_jj_commit.ts";
import { dirtyFiles } from "./_jj_dirty.ts";
import { findRepo, findStore } from "./_jj_folders.ts";
import { readBuiltOn, readConflicts, readExclusive, readHistory, readIsAncestor, readVanished } from "./_jj_history.ts";
import {
  abandon,
  createBookmark,
  deleteBookmark,
  moveBookmark,
  newOn,
  requireBookmarkAt,
  returnTo,
  setBookmark,
} from "./_jj_moves.ts";
import { currentOperation, readWorkspaceState } from "./_jj_operations.ts";
import { bookmarksHere, commitUnder, positionOf, staleness } from "./_jj_position.ts";
import { cacheFolder } from "./_program.ts";
import { Jj } from "./_jj_process.ts";
import { JjSettings } from "./_jj_settings.ts";
import { JjTrees } from "./_jj_trees.ts";
import { JjView, ROOT_COMMIT, type Workspace } from "./_jj_view.ts";
import { absentCheckout, rootOf } from "./_jj_workspaces.ts";
import { trackedPaths } from "./_tracked.ts";
import { GitObjectReader } from "./object_reader.ts";
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
 * Opens the jj repository around a dataset.
 *
 * @param places The root of the workspace, where `.jj` lies, and the dataset root; both with symbolic links resolved.
 * @throws {VcsError} if jj or git is missing or too old, or the repository has no git store.
 */
export async function openJj(
  places: { readonly vcsRoot: string; readonly datasetRoot: string },
  options: VcsOptions,
): Promise<VcsAdapter> {
  const root = places.vcsRoot;
  const jj = new Jj(options.programs?.jj ?? "jj", root, options);
  const repoDir = await findRepo(root);
  const gitDir = await findStore(repoDir);
  const git = new Git(options.programs?.git ?? "git", root, { ...options, gitDir });
  const cacheDir = options.remember ? cacheFolder(repoDir) : undefined;
  await Promise.all([jj.checkVersion(cacheDir), git.checkVersion(cacheDir)]);
  const location = { root, rel: relative(root, places.datasetRoot) || ".", sharedDir: repoDir, storeDir: gitDir };
  return new JjAdapter(jj, git, { location, settings: new JjSettings(jj, cacheDir) });
}

class JjAdapter implements VcsAdapter {
  readonly kind = "jj";
  readonly location: Location;
  readonly parentRev = "@-";
  readonly #jj: Jj;
  readonly #git: Git;
  readonly #settings: JjSettings;
  readonly #reader: GitObjectReader;
  readonly #trees: JjTrees;
  /** What was read last. It stays true while no operation is made. */
  #view: JjView | undefined;
  /** Whether the view is of the newest operation, as far as this command is to see. */
  #current = false;
  #completeness: Promise<Completeness> | undefined;
  #sparse: { readonly operation: string; readonly patterns: readonly string[] } | undefined;
  #closed = false;

  constructor(jj: Jj, git: Git, parts: { readonly location: Location; readonly settings: JjSettings }) {
    this.#jj = jj;
    this.#git = git;
    this.location = parts.location;
    this.#settings = parts.settings;
    this.#reader = new GitObjectReader(git);
    this.#trees = new JjTrees(this.#reader);
  }

  refresh(): void {
    this.#current = false;
    this.#completeness = undefined;
  }

  async resolve(rev: string): Promise<string> {
    if (rev.trim() === "") throw new VcsError(`Cannot resolve revision ${JSON.stringify(rev)}: it is blank`);
    const view = await this.#now();
    const bookmark = (await view.bookmarks()).find((ref) => ref.name === rev && ref.remote === "");
    const ids = bookmark?.targets.length ? bookmark.targets : await this.#evaluate(view, rev);
    const [id] = ids;
    if (id !== undefined && ids.length === 1 && id !== ROOT_COMMIT) return id;
    const found = ids.map((found) => found.slice(0, 12)).join(", ");
    throw new VcsError(
      `Cannot resolve revision "${rev}": ${
        ids.length > 1 ? `it is ${ids.length} commits: ${found}` : "it is no commit"
      }`,
      { code: "no-revision", hints: ["jj log"], details: { revision: rev } },
    );
  }

  async treeOf(commit: string): Promise<string | undefined> {
    return (await this.#reader.commit(commit))?.tree;
  }

  async fileAt(commit: string, path: string): Promise<Uint8Array | undefined> {
    if (await this.treeOf(commit) === undefined) return undefined;
    return await this.#trees.fileAt(commit, path);
  }

  async manifestsAt(commit: string, root = this.location.rel): Promise<ReadonlyMap<string, Uint8Array>> {
    const folder = root === "." ? ".tether/objects" : `${root}/.tether/objects`;
    return await this.#trees.filesBelow(commit, folder, (path) => path.endsWith(".toml"));
  }

  async history(): Promise<readonly HistoryCommit[]> {
    return await readHistory(await this.#now(), this.#reader);
  }

  staged(): Promise<readonly StagedBlob[]> {
    return Promise.resolve([]);
  }

  async commitInfos(ids: readonly string[]): Promise<readonly CommitInfo[]> {
    const infos = await readCommitInfos(this.#git, ids);
    return await Promise.all(infos.map(async (info) => {
      const changeId = await this.#trees.changeId(info.id);
      return changeId === undefined ? info : { ...info, changeId };
    }));
  }

  async conflicts(): Promise<readonly { readonly reason: string; readonly hints: readonly string[] }[]> {
    const { rel } = this.location;
    return await readConflicts(await this.#now(), rel === "." ? ".tether" : `${rel}/.tether`);
  }

  completeness(): Promise<Completeness> {
    return this.#completeness ??= this.#readCompleteness();
  }

  objects(): ObjectReader {
    return this.#reader;
  }

  async position(): Promise<Position> {
    const view = await this.#now();
    const workingCopy = await view.workingCopy();
    const { operation } = view;
    const places = { root: this.location.root, repoDir: this.location.sharedDir };
    return positionOf(workingCopy, await staleness(places, this.#reader, { operation, workingCopy }));
  }

  async bookmarks(): Promise<ReadonlyMap<string, string | null>> {
    const local = (await (await this.#now()).bookmarks()).filter(({ name, remote, targets }) =>
      // jj lets a bookmark sit at its root, where nothing is.
      remote === "" && targets.length > 0 && targets[0] !== ROOT_COMMIT && !name.startsWith(PARKING_PREFIX)
    );
    return new Map(local.map(({ name, conflict, targets }) => [name, conflict ? null : targets[0] ?? null]));
  }

  async checkouts(): Promise<readonly Checkout[]> {
    return (await this.#workspaces()).flatMap(({ name, at, current, workingCopy }) => {
      if (at === undefined) return [];
      return [{ root: at, name, current, bookmark: bookmarksHere(workingCopy)[0] ?? null, commit: workingCopy.id }];
    });
  }

  async absentCheckouts(): Promise<readonly AbsentCheckout[]> {
    return (await this.#workspaces()).filter(({ at }) => at === undefined).map(absentCheckout);
  }

  async tracked(paths: readonly string[], checkout?: string): Promise<readonly string[]> {
    if (paths.length === 0) return [];
    const root = checkout ?? this.location.root;
    const commit = await this.#workingCopyAt(root);
    return await trackedPaths(root, paths, { knows: (name) => this.#trees.hasFile(commit, name) });
  }

  async leftOut(paths: readonly string[]): Promise<readonly string[]> {
    if (paths.length === 0) return [];
    const patterns = await this.#sparsePatterns();
    const has = (path: string): boolean => patterns.some((p) => p === "." || path === p || path.startsWith(`${p}/`));
    return paths.filter((path) => !has(path));
  }

  async dirty(paths: readonly string[]): Promise<readonly string[]> {
    const workingCopy = await (await this.#now()).workingCopy();
    const dirty = new Set<string>();
    // What a merge takes from either side is recorded by no commit yet.
    const bases = workingCopy.parents.length > 1 ? workingCopy.parents.map((p) => p.id) : [commitUnder(workingCopy)];
    for (const base of bases) {
      const request = { root: this.location.root, paths, base, workingCopy: workingCopy.id };
      const { changed, removed } = await dirtyFiles(this.#trees, this.#git, request);
      const leftOut = new Set(await this.leftOut(removed));
      for (const path of [...changed, ...removed.filter((p) => !leftOut.has(p))]) dirty.add(path);
    }
    return [...dirty];
  }

  async isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    return await readIsAncestor(await this.#now(), ancestor, descendant);
  }

  async vanished(commits: readonly string[]): Promise<readonly string[]> {
    return await readVanished(await this.#now(), this.#reader, commits);
  }

  async exclusiveCommits(bookmark: string): Promise<readonly string[]> {
    return await readExclusive(await this.#now(), bookmark);
  }

  async remoteBookmarks(bookmark: string): Promise<readonly string[]> {
    const refs = await (await this.#now()).bookmarks();
    return refs.filter((ref) => ref.name === bookmark && ref.remote !== "" && ref.targets.length > 0)
      .map((ref) => `${ref.remote}/${ref.name}`);
  }

  async bookmarkProblem(name: string): Promise<string | undefined> {
    // jj keeps its bookmarks as git branches too; "@" alone is its word for the working copy.
    if (name === "@") return "jj reserves it";
    const local = (await (await this.#now()).bookmarks()).filter((ref) => ref.remote === "");
    return await branchProblem(this.#git, name, new Map(local.map((ref) => [ref.name, ref.targets[0] ?? ""])));
  }

  async commit(request: CommitRequest): Promise<string> {
    return await this.#write((writer) => commitPaths(writer, request));
  }

  async uncommit(commit: string, _paths: readonly string[], before: JsonObject = {}): Promise<void> {
    const view = await this.#newest();
    const workingCopy = await view.workingCopy();
    const above = await readBuiltOn(view, commit);
    if (above.length > 0) {
      throw new VcsError(
        `Cannot take back commit "${commit}": ${above.length} other commit(s) build on it, such as ${
          above[0]?.slice(0, 12)
        }`,
        { code: "built-on", hints: [`jj revert -r ${commit.slice(0, 12)} --onto @-`], details: { commits: above } },
      );
    }
    const [info] = await this.commitInfos([commit]);
    const parents = info?.parents ?? [];
    if (parents.length > 1) {
      // jj would leave the bookmarks of a merge at every parent of it.
      const heads = isJsonObject(before["heads"]) ? before["heads"] : {};
      for (const { name, targets, remote } of await view.bookmarks()) {
        if (remote !== "" || targets.length !== 1 || targets[0] !== commit) continue;
        const head = parents.find((id) => id === heads[name]) ?? parents[0] ?? commit;
        await this.#write((writer) => setBookmark(writer, name, head));
      }
    }
    await this.#write((writer) => uncommit(writer, commit, workingCopy));
    // jj leaves the bookmarks of a first commit at its root, which git cannot name.
    const after = await (await this.#now()).workingCopy();
    if (commitUnder(after) !== null) return;
    for (const name of after.parents[0]?.bookmarks ?? []) {
      await this.#write((writer) => setBookmark(writer, name, after.id));
    }
  }

  async switchTo(bookmark: string): Promise<void> {
    const view = await this.#newest();
    if (bookmarksHere(await view.workingCopy()).includes(bookmark)) return;
    const doing = `go to bookmark "${bookmark}"`;
    const target = (await this.bookmarks()).get(bookmark);
    if (target === undefined) throw new VcsError(`Cannot ${doing}: there is none`, { hints: ["jj bookmark list"] });
    if (target === null) {
      throw new VcsError(`Cannot ${doing}: it is conflicted`, {
        hints: [`jj bookmark set ${shellQuote(bookmark)} -r REV`],
      });
    }
    await this.#write((writer) => newOn(writer, target, doing));
  }

  async moveTo(commit: string): Promise<void> {
    const view = await this.#newest();
    if (commitUnder(await view.workingCopy()) === commit) return;
    await this.#write((writer) => newOn(writer, commit, `go to commit "${commit}"`));
  }

  async returnTo(record: JsonObject): Promise<void> {
    const view = await this.#newest();
    await this.#write((writer) => returnTo(writer, record, view));
  }

  async createBookmark(name: string, commit?: string): Promise<void> {
    const view = await this.#newest();
    await this.#write((writer) => createBookmark(writer, name, { view, commit }));
  }

  async moveBookmark(name: string, move: { readonly from: string; readonly to: string }): Promise<void> {
    const view = await this.#newest();
    await this.#write((writer) => moveBookmark(writer, name, { ...move, view }));
  }

  async deleteBookmark(name: string, at: string): Promise<void> {
    const view = await this.#newest();
    await this.#write((writer) => deleteBookmark(writer, name, { view, at }));
  }

  async dropCommits(
    commits: readonly string[],
    { bookmark, at }: { readonly bookmark: string; readonly at: string },
  ): Promise<void> {
    await requireBookmarkAt(await this.#newest(), { name: bookmark, at, doing: `drop bookmark "${bookmark}"` });
    if (commits.length > 0) await this.#write((writer) => abandon(writer, commits, bookmark));
    const left = (await (await this.#now()).bookmarks()).find((ref) => ref.name === bookmark && ref.remote === "");
    const [target] = left?.targets ?? [];
    if (target !== undefined) await this.deleteBookmark(bookmark, target);
  }

  prepareAbandon(commits: readonly string[], keep: readonly string[]): Promise<Abandonment> {
    const request = { commits, keep, now: () => this.#newest() };
    const apply: Abandonment["apply"] = (begin) =>
      this.#write((writer) => abandonKeeping(writer, { ...request, begin }));
    return Promise.resolve({ kept: [], apply });
  }

  finishAbandon(record: JsonObject, keep: readonly string[]): Promise<Rewrites | undefined> {
    return this.#write((writer) => finishAbandon(writer, record, { keep, now: () => this.#newest() }));
  }

  async adoptTrunk(preferred: string): Promise<string> {
    const view = await this.#newest();
    const here = bookmarksHere(await view.workingCopy());
    const [only] = here;
    const exists = (await view.bookmarks()).some((ref) =>
      ref.name === preferred && ref.remote === "" && ref.targets[0]
    );
    if (only !== undefined && here.length === 1) return only;
    if (exists) return preferred;
    if (here.length > 1) {
      throw new VcsError(`Cannot choose a trunk: the working copy is on ${here.map((b) => `"${b}"`).join(", ")}`, {
        hints: [`jj bookmark create ${shellQuote(preferred)} -r @`],
      });
    }
    await this.#write((writer) => setBookmark(writer, preferred, "@"));
    return preferred;
  }

  /** The folder stays, so nothing is in the way. */
  forgetProblem(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async forgetCheckout(root: string): Promise<void> {
    const doing = `forget the workspace at "${root}"`;
    const checkout = (await this.checkouts()).find((c) => c.root === root);
    if (checkout?.name === undefined) {
      throw new VcsError(`Cannot ${doing}: jj knows none there`, { hints: ["jj workspace list"] });
    }
    const args = ["workspace", "forget", "--", checkout.name];
    await this.#write(async ({ jj, settings }) => await jj.write(args, { doing, ...await settings.forWriting() }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#settings[Symbol.asyncDispose]();
    await this.#reader[Symbol.asyncDispose]();
  }

  /** Returns the view that this command sees. */
  async #now(): Promise<JjView> {
    if (this.#closed) throw new VcsError("Cannot read the jj repository: it was closed");
    if (this.#view && this.#current) return this.#view;
    const operation = await currentOperation(this.location.sharedDir);
    if (this.#view?.operation !== operation) this.#view = new JjView(this.#jj, operation);
    this.#current = true;
    return this.#view;
  }

  /** As `#now`, but of the newest operation: what is about to be changed is looked at once more. */
  #newest(): Promise<JjView> {
    this.refresh();
    return this.#now();
  }

  /** Returns what this workspace has. An operation never changes, so it is asked once. */
  async #sparsePatterns(): Promise<readonly string[]> {
    const { operation } = await this.#now();
    if (this.#sparse?.operation !== operation) {
      const doing = "list what this sparse workspace has";
      const listed = await this.#jj.read(["sparse", "list"], { doing, operation });
      this.#sparse = { operation, patterns: listed.text().split("\n").filter((line) => line !== "") };
    }
    return this.#sparse.patterns;
  }

  async #write<T>(write: (writer: JjWriter) => Promise<T>): Promise<T> {
    try {
      return await write({ jj: this.#jj, settings: this.#settings, trees: this.#trees });
    } finally {
      this.refresh();
    }
  }

  async #readCompleteness(): Promise<Completeness> {
    const found = await readCompleteness(this.#git, { commonDir: this.location.storeDir });
    if (found.complete) return found;
    // git does not find a store that is not in its own place, and jj has to hear of what came.
    const git = `git --git-dir=${shellQuote(this.location.storeDir)}`;
    return { ...found, hints: [...found.hints.map((hint) => hint.replace(/^git /, `${git} `)), "jj git import"] };
  }

  /** Returns the ids a revset of the user's stands for; his settings say what is immutable there. */
  async #evaluate(view: JjView, rev: string): Promise<string[]> {
    const doing = `resolve revision "${rev}"`;
    const config = await this.#settings.config();
    try {
      return (await view.log(rev, { template: "self.commit_id()", doing, config })).map(([id = ""]) => id);
    } catch (error) {
      if (!(error instanceof VcsError) || error.code !== "vcs" || error.details["exit_code"] !== 1) throw error;
      const hints = error.hints.length > 0 ? error.hints : ["jj log"];
      throw new VcsError(error.message, { code: "no-revision", hints, details: { revision: rev }, cause: error });
    }
  }

  /** Returns every workspace with where it is now; `undefined` when there is none of its name where jj keeps it. */
  async #workspaces(): Promise<(Workspace & { readonly current: boolean; readonly at: string | undefined })[]> {
    const { name: own } = await readWorkspaceState(this.location.root);
    return await Promise.all((await (await this.#now()).workspaces()).map(async (workspace) => {
      const current = workspace.name === own;
      return { ...workspace, current, at: current ? this.location.root : await rootOf(workspace) };
    }));
  }

  /** Returns the working-copy commit of a workspace. */
  async #workingCopyAt(root: string): Promise<string> {
    const view = await this.#now();
    if (root === this.location.root) return (await view.workingCopy()).id;
    const { name } = await readWorkspaceState(root);
    const workspace = (await view.workspaces()).find((w) => w.name === name);
    if (workspace) return workspace.workingCopy.id;
    throw new VcsError(`Cannot read the workspace at "${root}": jj knows none of its name`, {
      hints: ["jj workspace list"],
    });
  }
}
