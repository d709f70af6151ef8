/**
 * The contract with the version-control system that holds the manifests, and how it is found (formats §15).
 *
 * tether asks it little: few child processes per command, one long-lived object reader, history parsed once and cached by
 * object id. Every id is opaque text, 40 or 64 hex digits (L13).
 *
 * @module
 */

import type { JsonObject } from "../engine/model/json.ts";

/** Where the dataset lies. */
export interface Location {
  /** Root of the checkout, symbolic links resolved. */
  readonly root: string;
  /** The dataset root relative to it, with `/`; `.` when equal. */
  readonly rel: string;
  /** The folder that all checkouts of the repository share. */
  readonly sharedDir: string;
}

/** What the working copy stands on. */
export interface Position {
  /** The commit under the working copy (git HEAD, jj first parent of `@`); `null` before the first commit. */
  readonly commit: string | null;
  /** The bookmarks here: git the branch HEAD names (an unborn one too); jj those at `@` or `@-`. Never a parking branch. */
  readonly bookmarks: readonly string[];
  /** Set while writes must refuse: a detached HEAD, or a rebase, merge or bisect in progress, in the user's words. */
  readonly blocked?: { readonly reason: string; readonly hints: readonly string[] };
  /** What the journal stores, to return here (formats §11): git `{kind, id, commit, branch}`, jj `{kind, id, commit, parent, empty}`. */
  readonly record: JsonObject;
}

/** Another checkout of the repository. */
export interface Checkout {
  /** Root of the checkout. */
  readonly root: string;
  /** The VCS's own name for it, when it has one. */
  readonly name?: string;
  /** Whether it is the one this adapter was opened in. */
  readonly current: boolean;
}

/** One commit's metadata. */
export interface CommitInfo {
  readonly id: string;
  readonly parents: readonly string[];
  readonly changeId?: string;
  readonly authorName: string;
  readonly authorEmail: string;
  /** ISO 8601 with offset. */
  readonly authoredAt: string;
  readonly committedAt: string;
  readonly message: string;
}

/** One tree entry that matters: a manifest, or a dataset's `tether.toml`. */
export interface ManifestBlob {
  /** Path from the VCS root, with `/`. */
  readonly path: string;
  /** Blob id: the same id always means the same bytes. */
  readonly blob: string;
}

/** One commit as the reference walk sees it. */
export interface HistoryCommit {
  readonly id: string;
  /**
   * Trees that count: the commit's own, and each side of a conflicted jj commit. Each entry is the id of one tree, to be
   * passed to {@link ObjectReader.manifests}.
   */
  readonly trees: readonly string[];
}

/** Reads objects through one long-lived process. */
export interface ObjectReader extends AsyncDisposable {
  /** A blob's bytes; `undefined` when the repository lacks it. */
  blob(id: string): Promise<Uint8Array | undefined>;
  /**
   * Every manifest of the dataset in a tree, wherever it keeps a `tether.toml` with this dataset id (formats §19.1).
   * Trees and blobs already seen are not read again.
   */
  manifests(tree: string, datasetId: string): Promise<readonly ManifestBlob[]>;
}

/** Files to commit and how. */
export interface CommitRequest {
  readonly message: string;
  /** Paths from the VCS root, literal; files or folders. Missing ones that are tracked are removed. */
  readonly paths: readonly string[];
  /** The bookmark that moves, in the same operation where the VCS can. */
  readonly bookmark: string;
}

/** Whether a clone has all of history (L03). */
export type Completeness =
  | { readonly complete: true }
  | { readonly complete: false; readonly reason: string; readonly hints: readonly string[] };

/** A version-control system, opened at one dataset. */
export interface VcsAdapter extends AsyncDisposable {
  readonly kind: "git" | "jj";
  readonly location: Location;

  // Reading. None leaves a trace (L17).

  /** Resolves a revision to one commit id. `""` or blank is an error (L42). @throws {VcsError} naming the revision. */
  resolve(rev: string): Promise<string>;
  /** A file's bytes at a commit, path from the VCS root; `undefined` when it is not there. */
  fileAt(commit: string, path: string): Promise<Uint8Array | undefined>;
  /** All `*.toml` blobs below `<rel>/.tether/objects` at a commit, with their bytes. */
  manifestsAt(commit: string): Promise<ReadonlyMap<string, Uint8Array>>;
  /** The commits history consists of (formats §15.4), ids only, and what each contributes. */
  history(): Promise<readonly HistoryCommit[]>;
  /** Trees and blobs that only an index names: one list per checkout's staged manifests (L01). */
  staged(): Promise<readonly ManifestBlob[]>;
  /** Metadata of some commits, in the order asked. */
  commitInfos(ids: readonly string[]): Promise<readonly CommitInfo[]>;
  /** Whether all of history is here. */
  completeness(): Promise<Completeness>;
  /** One reader for this adapter's life. */
  objects(): ObjectReader;
  position(): Promise<Position>;
  /** Bookmarks and their commits; a conflicted one has `null`. Parking branches are none. */
  bookmarks(): Promise<ReadonlyMap<string, string | null>>;
  checkouts(): Promise<readonly Checkout[]>;
  /** Which of some paths (from a checkout's root; this one by default) the VCS tracks. */
  tracked(paths: readonly string[], checkout?: string): Promise<readonly string[]>;
  /** Which of some paths (from the VCS root) differ from the commit under the working copy, untracked files included. */
  dirty(paths: readonly string[]): Promise<readonly string[]>;
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  /** Which of some commits are not reachable any more (jj: whose change is not visible any more). */
  vanished(commits: readonly string[]): Promise<readonly string[]>;
  /** A revision as the user would type it for "the commit before my working copy": `HEAD`, `@-`. */
  readonly parentRev: string;

  // Writing.

  /** Commits exactly some paths, with the user's hooks and signing, and moves the bookmark. Returns the commit id. */
  commit(request: CommitRequest): Promise<string>;
  /** Puts the working copy on an existing bookmark. */
  switchTo(bookmark: string): Promise<void>;
  /** Puts the working copy at a revision that no bookmark names; git parks on `tether/<sha12>`. */
  moveTo(commit: string): Promise<void>;
  /** Creates a bookmark at a commit (default: here) and puts the working copy on it. */
  createBookmark(name: string, commit?: string): Promise<void>;
  /** Why a name cannot be a bookmark here; `undefined` when it can. */
  bookmarkProblem(name: string): Promise<string | undefined>;
  /** Finds or makes the trunk at `init` (formats §4): the branch HEAD names, `main` for a detached one. */
  adoptTrunk(preferred: string): Promise<string>;
}

/** How to find the programs, and what the VCS may be told. */
export interface VcsOptions {
  /** `[vcs] prefer` of tether.toml. @default {"jj"} */
  readonly prefer?: string;
  /** Programs chosen by secrets.toml or the environment; by name from PATH when absent. */
  readonly programs?: { readonly git?: string; readonly jj?: string };
  readonly signal?: AbortSignal;
}
