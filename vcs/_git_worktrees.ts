/**
 * The worktrees of a repository, and what they hold that no ref of all of them names (formats §15.4, §15.5; L02, L12).
 *
 * @module
 */

import { dirname, join, resolve } from "node:path";
import { operands, shellQuote } from "../engine/io/shell.ts";
import { VcsError } from "../engine/model/errors.ts";
import type { AbsentCheckout, Checkout } from "./adapter.ts";
import type { Git } from "./_git_process.ts";
import { BRANCH_PREFIX, exists, type GitFolders, type Head, isParking, readHead } from "./_git_refs.ts";
import { filesBelow, OWN_REFS, pathsIn, textOrEmpty } from "./_git_ref_files.ts";
import { checkId, type GitObjectReader } from "./object_reader.ts";

/** One checkout and where its HEAD is. */
export interface Worktree extends Checkout {
  readonly head: Head;
  /** What git keeps of it: its HEAD, its index and its own refs. */
  readonly gitDir: string;
  /** Set when its folder is not where git keeps it: moved, deleted, or on a disk that is away. */
  readonly away?: {
    /** Whether git was told to keep it all the same. */
    readonly locked: boolean;
  };
}

/** Returns every checkout that git keeps, those whose folder is away included. */
export async function readWorktrees(git: Git, folders: GitFolders, reader: GitObjectReader): Promise<Worktree[]> {
  if (await isOnly(folders)) {
    const head = await readHead(git, folders, reader);
    return [worktreeAt(folders.root, { head, gitDir: folders.gitDir, current: true, main: true })];
  }
  const result = await git.run(["worktree", "list", "--porcelain", "-z"], { doing: "list the worktrees" });
  const records = result.text().split("\0\0").filter((record) => record !== "").map(parseRecord);
  const linked = new Map((await linkedWorktrees(folders)).map((link) => [link.listed, link]));
  const worktrees: Worktree[] = [];
  for (const [index, record] of records.entries()) {
    if (record.has("bare")) continue;
    const main = index === 0;
    const listed = await rootOf(git, folders, { path: record.get("worktree") ?? "", isMain: main });
    const link = main ? undefined : linked.get(listed);
    linked.delete(listed);
    const branch = record.get("branch")?.replace(BRANCH_PREFIX, "") ?? null;
    const commit = record.get("HEAD") ?? "";
    const head = { branch, commit: /^0*$/.test(commit) ? null : commit };
    const root = link?.root ?? listed;
    const current = root === folders.root;
    const gitDir = link?.gitDir ?? (current ? folders.gitDir : folders.commonDir);
    worktrees.push(worktreeAt(root, { head, main, current, gitDir, ...(link?.away ? { away: link.away } : {}) }));
  }
  // git lists none whose place it cannot read.
  for (const link of linked.values()) {
    worktrees.push(worktreeAt(link.root, { ...link, head: await headIn(link.gitDir), main: false, current: false }));
  }
  return worktrees;
}

function worktreeAt(
  root: string,
  is: Pick<Worktree, "head" | "gitDir" | "away" | "current"> & { readonly main: boolean },
): Worktree {
  const { head, gitDir, main, current, away } = is;
  const { branch, commit } = head;
  const bookmark = branch === null || isParking(branch) ? null : branch;
  return { root, current, main, bookmark, commit, head, gitDir, ...(away ? { away } : {}) };
}

/** Returns what is known of those worktrees whose folder is away. */
export function absentAmong(worktrees: readonly Worktree[]): AbsentCheckout[] {
  return worktrees.flatMap(({ root, bookmark, away }) => {
    if (!away) return [];
    const path = shellQuote(root);
    return [{
      root,
      bookmarks: bookmark === null ? [] : [bookmark],
      reason: "its folder is not there",
      hints: [
        away.locked ? `Bring its folder back to ${path}` : "git worktree repair PATH, if it was moved to PATH",
        `${away.locked ? `git worktree unlock ${path} && ` : ""}git worktree prune, if it is gone for good`,
      ],
    }];
  });
}

/** What git keeps of a worktree that is not the main one. */
interface LinkedWorktree {
  readonly gitDir: string;
  /** Where git keeps it. */
  readonly listed: string;
  /** Where it is: the one this command runs in may have been moved. */
  readonly root: string;
  readonly away?: { readonly locked: boolean };
}

async function linkedWorktrees(folders: GitFolders): Promise<LinkedWorktree[]> {
  const own = await Deno.realPath(folders.gitDir);
  return await Promise.all((await pathsIn(join(folders.commonDir, "worktrees"))).map(async (gitDir) => {
    const link = (await textOrEmpty(join(gitDir, "gitdir"))).replace(/\n$/, "");
    const file = link === "" ? undefined : resolve(gitDir, link);
    const listed = file === undefined ? gitDir : await realPathOrSame(dirname(file));
    if (await realPathOrSame(gitDir) === own) return { gitDir, listed, root: folders.root };
    if (file !== undefined && await leadsTo(file, gitDir)) return { gitDir, listed, root: listed };
    return { gitDir, listed, root: listed, away: { locked: await exists(join(gitDir, "locked")) } };
  }));
}

/** Tells whether the `.git` of a folder is that of a worktree: another one may have taken its place. */
async function leadsTo(file: string, gitDir: string): Promise<boolean> {
  const target = /^gitdir: (.*?)\n?$/s.exec(await textOrEmpty(file))?.[1];
  return target !== undefined &&
    await realPathOrSame(resolve(dirname(file), target)) === await realPathOrSame(gitDir);
}

async function headIn(gitDir: string): Promise<Head> {
  const text = await textOrEmpty(join(gitDir, "HEAD"));
  return {
    branch: /^ref: refs\/heads\/(.+)\n?$/.exec(text)?.[1] ?? null,
    commit: /^([0-9a-f]{40,64})\n?$/.exec(text)?.[1] ?? null,
  };
}

/** Tells whether a checkout is the only one: git keeps a folder for each other (gitrepository-layout). */
async function isOnly(folders: GitFolders): Promise<boolean> {
  return await Deno.realPath(folders.gitDir) === folders.commonDir &&
    !await exists(join(folders.commonDir, "worktrees"));
}

function parseRecord(text: string): Map<string, string> {
  return new Map(
    text.split("\0").map((line) => {
      const space = line.indexOf(" ");
      return space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)];
    }),
  );
}

/** Returns a worktree's root. For the main one of a submodule git names its git folder instead. */
async function rootOf(git: Git, folders: GitFolders, worktree: { path: string; isMain: boolean }): Promise<string> {
  if (worktree.isMain && await Deno.realPath(folders.gitDir) === folders.commonDir) return folders.root;
  const path = await realPathOrSame(worktree.path);
  if (!worktree.isMain || path !== folders.commonDir) return path;
  const configured = await git.run(["config", "core.worktree"], { doing: "find the main worktree" });
  return await realPathOrSame(resolve(path, configured.text().replace(/\n$/, "")));
}

async function realPathOrSame(path: string): Promise<string> {
  try {
    return await Deno.realPath(path);
  } catch {
    // Away: the spelling git has is all there is.
    return path;
  }
}

/** Returns the error of a branch that another checkout is on (Δ29). */
export function heldElsewhere(branch: string, holder: Worktree): VcsError {
  return new VcsError(
    `Cannot go to bookmark "${branch}": the checkout at "${holder.root}" is on it, and git allows one checkout a branch`,
    {
      code: "bookmark-held",
      hints: [
        ...wayOut(holder),
        `tether new -b NAME -- ${shellQuote(branch)}`,
        "Make a second clone to work on one bookmark twice",
      ],
      details: { bookmark: branch, checkout: holder.root },
    },
  );
}

/** Returns the error of a branch that cannot be changed because another checkout is on it. */
export function heldBy(doing: string, branch: string, holder: Worktree): VcsError {
  return new VcsError(`Cannot ${doing}: the checkout at "${holder.root}" is on it`, {
    code: "bookmark-held",
    hints: wayOut(holder),
    details: { bookmark: branch, checkout: holder.root },
  });
}

function wayOut(holder: Worktree): readonly string[] {
  return absentAmong([holder]).flatMap(({ hints }) => hints);
}

/**
 * Returns the commits that refs of one worktree only name, and those that merges in progress are about to make parents, in
 * every worktree; and where the HEAD of one that is away is, when it is detached.
 */
export async function heldByWorktrees(folders: GitFolders): Promise<string[]> {
  const gitDirs = [folders.commonDir, ...await pathsIn(join(folders.commonDir, "worktrees"))];
  const files = await Promise.all(gitDirs.map(async (dir) => {
    const refs = await Promise.all(OWN_REFS.map((name) => filesBelow(join(dir, name))));
    return [join(dir, "MERGE_HEAD"), ...refs.flat()];
  }));
  const away = (await linkedWorktrees(folders)).filter((link) => link.away);
  const heads = away.map(({ gitDir }) => join(gitDir, "HEAD"));
  const texts = await Promise.all([...files.flat(), ...heads].map(textOrEmpty));
  // A symbolic ref names another one, which is read where it is.
  return texts.flatMap((text) => text.split("\n")).filter((id) => id !== "" && !id.startsWith("ref:")).map(checkId);
}

/** Why a worktree must not be removed, and what helps. */
export interface RemovalProblem {
  readonly reason: string;
  readonly hints: readonly string[];
}

/** What tether keeps in a checkout and git ignores; not the secrets, which somebody typed in. */
const OF_A_CHECKOUT = /(^|\/)\.tether\/(cache(\/.*)?|lock|ops\.jsonl|workspace\.toml)$/;

/**
 * Returns why a linked worktree must not be removed. git does so only while nothing in it would be lost (git-worktree, "remove"),
 * but counts nothing that it ignores: there data may lie that exists nowhere else. What tether keeps in a checkout of its own
 * may go. `git` runs at the worktree.
 */
export async function removalProblem(git: Git, gitDir: string | undefined): Promise<RemovalProblem | undefined> {
  if (gitDir !== undefined && await exists(join(gitDir, "locked"))) {
    return { reason: "the worktree is locked", hints: [`git worktree unlock ${operands([git.root])}`] };
  }
  const reason = await whatWouldBeLost(git);
  return reason === undefined ? undefined : {
    reason,
    hints: [
      `git -C ${shellQuote(git.root)} status --ignored`,
      "Move what is needed elsewhere, delete the rest, and run this again",
    ],
  };
}

async function whatWouldBeLost(git: Git): Promise<string | undefined> {
  const status = ["--no-optional-locks", "status", "--porcelain=v1", "-z", "--ignore-submodules=none"];
  const asked = [...status, "--untracked-files=all", "--ignored=matching"];
  const files = (await git.run(asked, { doing: "find the changed files" })).text().split("\0").filter((l) => l !== "");
  const changed = files.find((line) => !line.startsWith("!! "));
  if (changed !== undefined) return `it holds changes, such as in "${changed.slice(3)}"`;
  const ignored = files.map((line) => line.slice(3)).find((path) => !OF_A_CHECKOUT.test(path));
  if (ignored !== undefined) return `it holds what git ignores and would delete, such as "${ignored}"`;
  const index = await git.run(["ls-files", "--stage", "-z"], { doing: "list the files git tracks" });
  return index.text().split("\0").some((line) => line.startsWith("160000 ")) ? "it holds a submodule" : undefined;
}
