/**
 * What version control answers: places, positions, commits, entries (formats §15). Imported through `adapter.ts`.
 *
 * @module
 */

import type { JsonObject } from "../engine/model/json.ts";

/**
 * Where the dataset lies.
 *
 * @example Find the dataset inside its checkout
 * ```ts
 * import { Dataset, type Location } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(`${cwd}/lab`);
 * const location: Location = ds.vcs.location;
 * assert.equal(location.rel, "lab");
 * ```
 */
export interface Location {
  /** Root of the checkout, symbolic links resolved. */
  readonly root: string;
  /** The dataset root relative to it, with `/`; `.` when equal. */
  readonly rel: string;
  /** The folder that all checkouts of the repository share: git's common folder, jj's repository folder. */
  readonly sharedDir: string;
  /** Where the objects lie: git's common folder, for jj that of the git store it keeps them in. */
  readonly storeDir: string;
}

/**
 * Why writes must refuse, in the user's words.
 *
 * @example Say why nothing can be committed
 * ```ts
 * import type { Blocked } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const blocked: Blocked = { detachedOnly: false, reason: "a merge is under way", hints: ["git merge --abort"] };
 * assert.equal(`Cannot commit: ${blocked.reason}`, "Cannot commit: a merge is under way");
 * ```
 */
export interface Blocked {
  /** Whether nothing is wrong but that no branch is underfoot, so that `new` helps. Else a merge or the like must end first. */
  readonly detachedOnly: boolean;
  /** What comes after "Cannot …:", such as `a merge is under way`. */
  readonly reason: string;
  /** Commands of the VCS that end it. */
  readonly hints: readonly string[];
}

/**
 * What the working copy stands on.
 *
 * @example See what the working copy stands on
 * ```ts
 * import { Dataset, type Position } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const position: Position = await ds.vcs.position();
 * assert.deepEqual([position.commit, position.bookmarks, position.blocked], [null, [ds.config.trunk], undefined]);
 * ```
 */
export interface Position {
  /** The commit under the working copy (git HEAD, jj first parent of `@`); `null` before the first commit. */
  readonly commit: string | null;
  /** The bookmarks here: git the branch HEAD names (an unborn one too); jj those at `@` or `@-`. Never a parking branch. */
  readonly bookmarks: readonly string[];
  /** Set while writes must refuse (L18). */
  readonly blocked?: Blocked;
  /** What the journal stores, to return here (formats §11): git `{kind, id, commit, branch}`, jj `{kind, id, commit, parent, empty}`. */
  readonly record: JsonObject;
}

/**
 * One checkout of the repository whose folder exists.
 *
 * @example List the folders that work on the repository
 * ```ts
 * import { type Checkout, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const checkouts: readonly Checkout[] = await ds.vcs.checkouts();
 * assert.deepEqual(checkouts.map((c) => [c.root, c.current]), [[ds.root, true]]);
 * ```
 */
export interface Checkout {
  /** Root of the checkout, symbolic links resolved. */
  readonly root: string;
  /** The VCS's own name for it, when it has one. */
  readonly name?: string;
  /** Whether it is the one this adapter was opened in. */
  readonly current: boolean;
  /** Set for git's main checkout, in which the repository itself lies: it cannot be forgotten. */
  readonly main?: boolean;
  /** The bookmark it is on, as in {@link Position}: the first one where there are several; `null` for none. */
  readonly bookmark: string | null;
  /** The commit its files are of: git HEAD, jj `@` as of its last snapshot; `null` before the first one. */
  readonly commit: string | null;
}

/**
 * One checkout that the repository knows and that cannot be read: moved, deleted, or on a disk that is away.
 *
 * @example Find out that a worktree was moved by hand
 * ```ts
 * import { type AbsentCheckout, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const outer = await Deno.realPath(await Deno.makeTempDir());
 * const cwd = `${outer}/first`;
 * execSync("git init -q first", { cwd: outer });
 * execSync("git -c user.name=Ada -c user.email=ada@example.org commit -q --allow-empty -m First", { cwd });
 * execSync("git worktree add -q -b relabel ../second", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await Deno.rename(`${outer}/second`, `${outer}/third`);
 *
 * const absent: readonly AbsentCheckout[] = await ds.vcs.absentCheckouts();
 * assert.deepEqual(absent.map((c) => [c.root, c.bookmarks]), [[`${outer}/second`, ["relabel"]]]);
 * ```
 */
export interface AbsentCheckout {
  /** Where its folder was; `null` when that is not known. */
  readonly root: string | null;
  /** The VCS's own name for it, when it has one. */
  readonly name?: string;
  /** The bookmarks it is on, as in {@link Position}. */
  readonly bookmarks: readonly string[];
  /** Why it cannot be read, as the end of a sentence. */
  readonly reason: string;
  /** What makes it readable again, or ends it. */
  readonly hints: readonly string[];
}

/**
 * One commit's metadata.
 *
 * @example Read a commit's message
 * ```ts
 * import { type CommitInfo, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * execSync("git commit -q --allow-empty -m First", { cwd });
 * const id = await ds.vcs.resolve("HEAD");
 * const [info]: readonly CommitInfo[] = await ds.vcs.commitInfos([id]);
 * assert.deepEqual([info?.id, info?.authorName, info?.message.trim()], [id, "Ada", "First"]);
 * ```
 */
export interface CommitInfo {
  /** 40 or 64 hex digits. */
  readonly id: string;
  /** In the VCS's order; none for a root. */
  readonly parents: readonly string[];
  /** jj's change id; absent in git. */
  readonly changeId?: string;
  /** May be empty. */
  readonly authorName: string;
  /** May be empty. */
  readonly authorEmail: string;
  /** ISO 8601 with offset. */
  readonly authoredAt: string;
  /** ISO 8601 with offset. */
  readonly committedAt: string;
  /** Subject and body, without the last line end. */
  readonly message: string;
}

/**
 * One commit as the reference walk sees it.
 *
 * @example Count the commits that may name pins
 * ```ts
 * import { Dataset, type HistoryCommit } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * execSync("git commit -q --allow-empty -m First", { cwd });
 * ds.vcs.refresh();
 * const history: readonly HistoryCommit[] = await ds.vcs.history();
 * assert.deepEqual(history.map((c) => c.workingCopy), [false]);
 * ```
 */
export interface HistoryCommit {
  /** 40 or 64 hex digits. */
  readonly id: string;
  /** Its root tree. That of a conflicted jj commit holds each side below a folder of its own (formats §15.4). */
  readonly tree: string;
  /** Whether it is a working-copy commit, which any jj command may rewrite; never so in git (formats §18). */
  readonly workingCopy: boolean;
}

/**
 * One entry of a tree.
 *
 * @example List a folder at a commit
 * ```ts
 * import { Dataset, type TreeEntry } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * execSync("git add tether.toml && git commit -q -m First", { cwd });
 * const tree = await ds.vcs.treeOf(await ds.vcs.resolve("HEAD"));
 * const entries: readonly TreeEntry[] | undefined = await ds.vcs.objects().tree(tree ?? "");
 * assert.deepEqual(entries?.map((e) => `${e.type} ${e.name}`), ["file tether.toml"]);
 * ```
 */
export interface TreeEntry {
  /** One path segment. */
  readonly name: string;
  /** 40 or 64 hex digits: of a blob or a tree. */
  readonly id: string;
  /** `other` is a symbolic link or a submodule. */
  readonly type: "file" | "folder" | "other";
}

/**
 * A blob that the index of some checkout names.
 *
 * @example See which manifests wait to be committed
 * ```ts
 * import { Dataset, type StagedBlob } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: "/data/raw" } });
 * execSync("git add .tether", { cwd });
 * ds.vcs.refresh();
 * const staged: readonly StagedBlob[] = await ds.vcs.staged();
 * assert.deepEqual(staged.map((s) => s.path), [".tether/objects/raw.toml"]);
 * ```
 */
export interface StagedBlob {
  /** Root of the checkout. */
  readonly checkout: string;
  /** Relative to that root, with `/`. */
  readonly path: string;
  /** The blob's id. */
  readonly blob: string;
}

/**
 * What became of the commits above those that were abandoned.
 *
 * @example Look a commit up by the id it had
 * ```ts
 * import type { Rewrites } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const rewrites: Rewrites = { commits: new Map([["8d2f4a1b", "3c1e9f0a"]]), bookmarks: new Map([["feat", "3c1e9f0a"]]) };
 * assert.equal(rewrites.commits.get("8d2f4a1b"), rewrites.bookmarks.get("feat"));
 * ```
 */
export interface Rewrites {
  /** New ids by old ones. */
  readonly commits: ReadonlyMap<string, string>;
  /** The bookmarks that moved, and where they are now. */
  readonly bookmarks: ReadonlyMap<string, string>;
}

/**
 * Whether a clone has all of history (L03).
 *
 * @example Refuse to judge by half of history
 * ```ts
 * import { type Completeness, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const completeness: Completeness = await ds.vcs.completeness();
 * assert(completeness.complete || completeness.hints.length > 0);
 * ```
 */
export type Completeness =
  | { readonly complete: true }
  | { readonly complete: false; readonly reason: string; readonly hints: readonly string[] };
