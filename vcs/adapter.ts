/**
 * The contract with the version-control system that holds the manifests (formats §15). `vcs/detect.ts` finds and opens one.
 *
 * tether asks it little: few child processes per command, one long-lived object reader, history parsed once and cached by
 * object id. Every id is opaque text, 40 or 64 hex digits (L13). Paths are relative to the root of the checkout, with `/`,
 * and always literal.
 *
 * @module
 */

import type { JsonObject } from "../engine/model/json.ts";
import type {
  AbsentCheckout,
  Checkout,
  CommitInfo,
  Completeness,
  HistoryCommit,
  Location,
  Position,
  Rewrites,
  StagedBlob,
  TreeEntry,
} from "./_records.ts";

export type * from "./_records.ts";

/**
 * Reads objects through one long-lived process. Calls made together travel together. The same id always means the same
 * content.
 *
 * @example Read a file by its blob
 * ```ts
 * import { Dataset, type ObjectReader } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * execSync("git add tether.toml && git commit -q -m First", { cwd });
 * const id = execSync("git rev-parse HEAD:tether.toml", { cwd, encoding: "utf8" }).trim();
 * const reader: ObjectReader = ds.vcs.objects();
 * assert.match(new TextDecoder().decode(await reader.blob(id)), /\[tether\]/);
 * ```
 */
export interface ObjectReader extends AsyncDisposable {
  /**
   * Returns a blob's bytes; `undefined` when the repository lacks it.
   *
   * @throws {VcsError} if it is larger than `maxBytes`.
   */
  blob(id: string, options?: { readonly maxBytes?: number }): Promise<Uint8Array | undefined>;
  /** Returns a tree's entries, in the tree's order; `undefined` when the repository lacks it. */
  tree(id: string): Promise<readonly TreeEntry[] | undefined>;
}

/**
 * Files to commit and how.
 *
 * @example Commit one file
 * ```ts
 * import { type CommitRequest, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const request: CommitRequest = { message: "Configure", paths: ["tether.toml"], bookmark: ds.config.trunk };
 * assert.match(await ds.vcs.commit(request), /^[0-9a-f]{40,64}$/);
 * ```
 */
export interface CommitRequest {
  /** Subject and body; never empty. */
  readonly message: string;
  /** Files or folders. Tracked ones that are gone are removed; those that neither exist nor are tracked do not count. */
  readonly paths: readonly string[];
  /** The bookmark that moves, in the same operation where the VCS can. */
  readonly bookmark: string;
}

/**
 * Commits about to be taken out of lines of work that go on.
 *
 * @example See what keeps a commit alive
 * ```ts
 * import { type Abandonment, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * execSync("git commit -q --allow-empty -m First && git commit -q --allow-empty -m Second && git tag v1", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const commit = await ds.vcs.resolve("HEAD");
 * const abandonment: Abandonment = await ds.vcs.prepareAbandon([commit], []);
 * assert.deepEqual(abandonment.kept, [commit]);
 * ```
 */
export interface Abandonment {
  /** Those of the commits that another ref or checkout reaches even then. jj hides them all the same. */
  readonly kept: readonly string[];
  /**
   * Does it. Bookmarks at one of the commits go to the nearest commit before it that stays. `begin` is called right before the
   * first change, with what {@link VcsAdapter.finishAbandon} takes should this process die on the way (L37).
   *
   * @throws {VcsError} if a commit must not change, or files are in the way.
   */
  apply(begin: (record: JsonObject) => Promise<void>): Promise<Rewrites>;
}

/**
 * A version-control system, opened at one dataset.
 *
 * What it has read of HEAD, refs and checkouts it remembers until {@link VcsAdapter.refresh} or a write of its own, so one
 * command sees one state and starts few children. An engine command calls `refresh` once it holds its locks.
 *
 * @example Ask git or jj in one way
 * ```ts
 * import { detectVcs, type VcsAdapter } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using vcs: VcsAdapter = await detectVcs(cwd);
 * assert.deepEqual([vcs.kind, vcs.parentRev, (await vcs.bookmarks()).size], ["git", "HEAD", 0]);
 * ```
 */
export interface VcsAdapter extends AsyncDisposable {
  /** Which system it is. */
  readonly kind: "git" | "jj";
  /** Where the dataset lies in it. */
  readonly location: Location;
  /** The revision a user types for "the commit before my working copy": `HEAD`, `@-`. */
  readonly parentRev: string;

  /** Forgets what was read, so that the next answers are as of now (jj: as of its newest operation). Starts no child. */
  refresh(): void;

  // Reading. None leaves a trace (L17).

  /**
   * Resolves a revision to one commit id; a bookmark's name is that bookmark.
   *
   * @throws {VcsError} naming the revision, if it is blank, unknown or not one commit (L42).
   */
  resolve(rev: string): Promise<string>;
  /** Returns the root tree of a commit; `undefined` when the repository lacks the commit. */
  treeOf(commit: string): Promise<string | undefined>;
  /** Returns a file's bytes at a commit; `undefined` when no file is there. */
  fileAt(commit: string, path: string): Promise<Uint8Array | undefined>;
  /**
   * Returns all `*.toml` files below `<root>/.tether/objects` at a commit, by path, with their bytes.
   *
   * @param root Where the dataset lay then, as in {@link Location.rel}. Default: where it lies now.
   */
  manifestsAt(commit: string, root?: string): Promise<ReadonlyMap<string, Uint8Array>>;
  /** Returns the commits history consists of, newest first (formats §15.4). */
  history(): Promise<readonly HistoryCommit[]>;
  /** Returns every manifest the index of any checkout that can be read names, of any dataset and conflict stage (L01); none under jj. */
  staged(): Promise<readonly StagedBlob[]>;
  /** Returns the metadata of some commits, in the order asked. */
  commitInfos(ids: readonly string[]): Promise<readonly CommitInfo[]>;
  /**
   * Returns what makes history's answer ambiguous: conflicted bookmarks, and conflicts below `.tether/` that no later commit
   * resolved (formats §15.4). git has neither.
   */
  conflicts(): Promise<readonly { readonly reason: string; readonly hints: readonly string[] }[]>;
  /** Tells whether all of history is here. */
  completeness(): Promise<Completeness>;
  /** Returns the one reader of this adapter; it ends with the adapter. */
  objects(): ObjectReader;
  /** Returns what the working copy stands on. */
  position(): Promise<Position>;
  /** Returns the bookmarks and their commits; a conflicted one has `null`. Parking branches are none. */
  bookmarks(): Promise<ReadonlyMap<string, string | null>>;
  /** Returns every checkout that can be read, this one included. */
  checkouts(): Promise<readonly Checkout[]>;
  /** Returns the checkouts that cannot be read: what their files name, and what works there, is not known. */
  absentCheckouts(): Promise<readonly AbsentCheckout[]>;
  /**
   * Tells which of some paths the VCS tracks, in this or another checkout. A file that a link or a repository inside the
   * checkout leads to counts as tracked: it may have come with a clone (L40). Needs nothing of `secrets.toml`.
   */
  tracked(paths: readonly string[], checkout?: string): Promise<readonly string[]>;
  /**
   * Returns those of some tracked files that this checkout leaves out, being a sparse one. They are not removed: a commit keeps
   * them.
   */
  leftOut(paths: readonly string[]): Promise<readonly string[]>;
  /**
   * Returns the files at or below some paths that differ from the commit under the working copy: changed, staged, removed
   * and untracked ones, but none that is ignored, and none whose line ends or byte-order mark alone were converted (L15). A
   * later `commit` relies on it for files that are gone.
   */
  dirty(paths: readonly string[]): Promise<readonly string[]>;
  /** Tells whether a commit is another one or reaches back to it. */
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  /** Returns those of some commits that nothing reaches any more (jj: whose change is not visible any more). */
  vanished(commits: readonly string[]): Promise<readonly string[]>;
  /** Returns the commits only this bookmark reaches, oldest first: other refs and checkouts of any kind keep theirs. */
  exclusiveCommits(bookmark: string): Promise<readonly string[]>;
  /** Returns the remote counterparts of a bookmark, such as `origin/relabel`. */
  remoteBookmarks(bookmark: string): Promise<readonly string[]>;
  /** Tells why a name cannot be a new bookmark here; `undefined` when it can. */
  bookmarkProblem(name: string): Promise<string | undefined>;

  // Writing. Nothing is retried, and an abort signal stops no write that has begun.

  /**
   * Commits exactly some paths, with the user's hooks and signing, and moves the bookmark. Returns the commit id. After a
   * failure nothing of them is left staged.
   *
   * @throws {VcsError} if the working copy is not on the bookmark, a hook refused, a path is ignored, or nothing changed.
   */
  commit(request: CommitRequest): Promise<string>;
  /**
   * Takes back the commit under the working copy: its changes become edits again, and nothing of `paths` stays staged.
   * `before` is the record of the position it was made at: it says where the bookmarks of a merge go back to.
   */
  uncommit(commit: string, paths: readonly string[], before?: JsonObject): Promise<void>;
  /** Puts the working copy on an existing bookmark. */
  switchTo(bookmark: string): Promise<void>;
  /** Puts the working copy at a commit that no bookmark names; git parks on `tether/<sha12>`. */
  moveTo(commit: string): Promise<void>;
  /** Puts the working copy back where a {@link Position.record} was taken. */
  returnTo(record: JsonObject): Promise<void>;
  /** Creates a bookmark at a commit (default: here) and puts the working copy on it. */
  createBookmark(name: string, commit?: string): Promise<void>;
  /** Moves a bookmark from one commit to another, and the working copy with it when that is on it. */
  moveBookmark(name: string, move: { readonly from: string; readonly to: string }): Promise<void>;
  /** Deletes a bookmark that is at a commit and that no checkout is on. */
  deleteBookmark(name: string, at: string): Promise<void>;
  /**
   * Drops commits that only a bookmark reaches, and the bookmark, which is at a commit and that no checkout is on. git just
   * deletes the branch; jj abandons the commits. Only the VCS can bring them back.
   */
  dropCommits(commits: readonly string[], bookmark: { readonly bookmark: string; readonly at: string }): Promise<void>;
  /**
   * Prepares taking commits out of lines of work that go on. Every later commit keeps some files and folders as it has them;
   * what else the commits changed goes. Moves nothing yet. None of the commits is a working copy or without a parent.
   *
   * @throws {VcsError} if the VCS cannot: git takes commits only from the history that is checked out, no merges, and only
   * while tracked files have no changes and others would not conflict.
   */
  prepareAbandon(commits: readonly string[], keep: readonly string[]): Promise<Abandonment>;
  /**
   * Does what is left of an abandonment whose process died, by what its `begin` was given. `undefined` if nothing of it had
   * been done, or it was taken back since.
   */
  finishAbandon(record: JsonObject, keep: readonly string[]): Promise<Rewrites | undefined>;
  /** Finds or makes the trunk at `init` (formats §4) and returns its name. */
  adoptTrunk(preferred: string): Promise<string>;
  /** Returns why a checkout must not be forgotten, and what helps; `undefined` if it may be. Writes nothing. */
  forgetProblem(root: string): Promise<{ readonly reason: string; readonly hints: readonly string[] } | undefined>;
  /** Makes the VCS forget another checkout; git removes its folder and refuses while that holds changes. */
  forgetCheckout(root: string): Promise<void>;
}

/**
 * How to find the programs, and what the VCS may be told.
 *
 * @example Choose the program
 * ```ts
 * import { detectVcs, type VcsOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * const options: VcsOptions = { prefer: "git", programs: { git: "git" } };
 * await using vcs = await detectVcs(cwd, options);
 * assert.equal(vcs.kind, "git");
 * ```
 */
export interface VcsOptions {
  /**
   * `[vcs] prefer` of tether.toml.
   * @default {"jj"}
   */
  readonly prefer?: string;
  /** Programs chosen by secrets.toml or the environment; by name from PATH when absent. */
  readonly programs?: { readonly git?: string; readonly jj?: string };
  /**
   * Remembers in the repository's own folder, where no clone brings anything, which version a program has. Without it each
   * process asks once.
   * @default {false}
   */
  readonly remember?: boolean;
  /** Stops reads. */
  readonly signal?: AbortSignal;
}
