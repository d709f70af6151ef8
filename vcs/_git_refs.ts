/**
 * What git's refs and HEAD say (formats §15.4, §15.5; L12, L18).
 *
 * @module
 */

import { join } from "node:path";
import { VcsError } from "../engine/model/errors.ts";
import { missingObject } from "./_missing.ts";
import type { Blocked, Position } from "./adapter.ts";
import type { Git } from "./_git_process.ts";
import { refNames } from "./_git_ref_files.ts";
import type { GitObjectReader } from "./object_reader.ts";

/** What local branches begin with, in full. */
export const BRANCH_PREFIX = "refs/heads/";
/** What parking branches begin with; none of them is a bookmark. */
export const PARKING_PREFIX = "tether/";

/** The folders of a repository, as git says. */
export interface GitFolders {
  /** Root of the checkout. */
  readonly root: string;
  /** Git folder of this checkout. */
  readonly gitDir: string;
  /** Git folder that all checkouts share. */
  readonly commonDir: string;
  /** How many bytes an object id has. */
  readonly idBytes: 20 | 32;
}

/** Where HEAD is. */
export interface Head {
  /** The branch it names, without `refs/heads/`; `null` when detached. */
  readonly branch: string | null;
  readonly commit: string | null;
}

/** Asks git for its folders. @throws {VcsError} if there is no repository with a working tree exactly here. */
export async function readFolders(git: Git): Promise<GitFolders> {
  const doing = `use the git repository at "${git.root}"`;
  const result = await git.run(
    [
      "rev-parse",
      "--path-format=absolute",
      "--show-object-format",
      "--show-toplevel",
      "--absolute-git-dir",
      "--git-common-dir",
    ],
    { doing },
  );
  const lines = result.text().split("\n");
  const [format = "", root = "", gitDir = "", commonDir = ""] = lines;
  if (lines.length !== 5) throw new VcsError(`Cannot ${doing}: its path holds a line break`);
  // A broken `.git` lets git look further up, and core.worktree may point anywhere.
  if (await Deno.realPath(root) !== git.root) {
    throw new VcsError(`Cannot ${doing}: git says its working tree is "${root}"`, {
      hints: ["git rev-parse --show-toplevel"],
    });
  }
  const idBytes = format === "sha256" ? 32 : 20;
  return { root: git.root, gitDir, commonDir: await Deno.realPath(commonDir), idBytes };
}

/**
 * Reads HEAD. The reader's process sees refs as they are now, packed or not.
 *
 * @throws {VcsError} if HEAD names a commit that the repository lacks.
 */
export async function readHead(git: Git, folders: GitFolders, reader: GitObjectReader): Promise<Head> {
  const branch = await headBranch(git, folders);
  const commit = (await reader.info("HEAD^{commit}"))?.id;
  if (commit !== undefined) return { branch, commit };
  // Nothing is known of a branch whose commit cannot be read; only one that has no commit yet is unborn.
  const result = await git.run(["rev-parse", "--verify", "--quiet", "HEAD"], { doing: "read HEAD", codes: [0, 1] });
  const id = result.text().trim();
  if (id !== "") throw missingObject(`commit "${id}" of ${branch === null ? "HEAD" : `branch "${branch}"`}`);
  return { branch, commit: null };
}

/**
 * Returns the branch HEAD names. In every checkout's git folder HEAD is a file that says so (gitrepository-layout);
 * where it is a link, or the refs are in another format, git is asked.
 */
async function headBranch(git: Git, folders: GitFolders): Promise<string | null> {
  const file = join(folders.gitDir, "HEAD");
  const text = (await Deno.lstat(file)).isSymlink ? "" : await Deno.readTextFile(file);
  if (/^[0-9a-f]{40,64}\n?$/.test(text)) return null;
  const written = /^ref: refs\/heads\/(.+)\n?$/.exec(text)?.[1];
  if (written !== undefined && written !== ".invalid") return written;
  const result = await git.run(["symbolic-ref", "-q", "HEAD"], { doing: "read HEAD", codes: [0, 1] });
  const name = result.text().replace(/\n$/, "");
  return name.startsWith(BRANCH_PREFIX) ? name.slice(BRANCH_PREFIX.length) : null;
}

/** Returns the position HEAD stands for. */
export async function positionOf(head: Head, folders: GitFolders): Promise<Position> {
  const { branch, commit } = head;
  const blocked = await operationInProgress(folders.gitDir) ?? (branch === null ? DETACHED : undefined);
  return {
    commit,
    bookmarks: branch === null || isParking(branch) ? [] : [branch],
    record: { kind: "git", id: commit, commit, branch },
    ...(blocked ? { blocked } : {}),
  };
}

const DETACHED: Blocked = {
  detachedOnly: true,
  reason: "HEAD is detached: a commit made here would be on no branch",
  hints: ["tether new -b NAME", "git switch BRANCH"],
};

/** Files by which git knows that something is in progress, and how to end it. */
const IN_PROGRESS: readonly (readonly [file: string, what: string, end: readonly string[]])[] = [
  ["rebase-merge", "a rebase is in progress", ["git rebase --continue", "git rebase --abort"]],
  ["rebase-apply/applying", "git am is in progress", ["git am --continue", "git am --abort"]],
  ["rebase-apply", "a rebase is in progress", ["git rebase --continue", "git rebase --abort"]],
  ["MERGE_HEAD", "a merge is in progress", ["git merge --continue", "git merge --abort"]],
  ["CHERRY_PICK_HEAD", "a cherry-pick is in progress", ["git cherry-pick --continue", "git cherry-pick --abort"]],
  ["REVERT_HEAD", "a revert is in progress", ["git revert --continue", "git revert --abort"]],
  ["BISECT_LOG", "a bisect is in progress", ["git bisect reset"]],
];

async function operationInProgress(gitDir: string): Promise<Blocked | undefined> {
  const there = await Promise.all(IN_PROGRESS.map(([file]) => exists(join(gitDir, file))));
  const [, reason, hints] = IN_PROGRESS[there.indexOf(true)] ?? [];
  return reason === undefined || hints === undefined ? undefined : { detachedOnly: false, reason, hints };
}

/** Tells whether anything lies at a path, a link that leads nowhere included. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw error;
  }
}

/** Tells whether a branch is one tether parks on. */
export function isParking(branch: string): boolean {
  return branch.startsWith(PARKING_PREFIX);
}

/** How many refs are asked about one by one, before a child that lists them all costs less. */
const FEW_REFS = 500;

/** Returns every ref under `refs/` by full name, with the object it names. */
export async function readRefs(
  git: Git,
  folders: GitFolders,
  reader: GitObjectReader,
): Promise<ReadonlyMap<string, string>> {
  const names = await refNames(folders) ?? [];
  if (names.length > 0 && names.length <= FEW_REFS) {
    const found = await Promise.all(names.map(async (name) => [name, (await reader.info(name))?.id] as const));
    const known = found.flatMap(([name, id]) => id === undefined ? [] : [[name, id] as const]);
    // Of a name that stands for nothing here git knows more: it is broken, or its object is missing.
    if (known.length === names.length) return new Map(known);
  }
  const result = await git.run(["for-each-ref", "--format=%(refname) %(objectname)"], { doing: "list the refs" });
  const lines = result.text().split("\n").filter((line) => line !== "");
  return new Map(lines.map((line) => {
    const [name = "", id = ""] = line.split(" ");
    return [name, id];
  }));
}

/** Returns the local branches among some refs, parking branches included. */
export function branchesOf(refs: ReadonlyMap<string, string>): Map<string, string> {
  const branches = [...refs].filter(([name]) => name.startsWith(BRANCH_PREFIX));
  return new Map(branches.map(([name, id]) => [name.slice(BRANCH_PREFIX.length), id]));
}
