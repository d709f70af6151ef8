/**
 * The checkout of a repository: what it stands on, whether it holds uncommitted work, and which programs it would start.
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { BackendError, StateGoneError } from "../../engine/model/backend_errors.ts";
import { parseWorkingRef } from "../../engine/model/names.ts";
import { shellQuote } from "../../engine/io/shell.ts";
import { fsError, isNotFound } from "../storage/fs_error.ts";
import { join } from "node:path";
import type { Git, Setting } from "./_program.ts";
import { readRefNames, shortName } from "./_refs.ts";
import { KIND, type Repo } from "./_repo.ts";

/** What HEAD stands on. */
export interface Head {
  readonly sha: string;
  /** The branch; `undefined` when detached. */
  readonly branch: string | undefined;
  readonly dirty: boolean;
}

/**
 * Reads HEAD and looks for uncommitted work, with one child process as a rule. Work inside submodules does not count:
 * finding it would run their configuration.
 *
 * @throws {BackendError} if there is no commit yet.
 */
export async function readHead(git: Git, repo: Repo, op: Op = {}): Promise<Head> {
  if (repo.bare) return await readBareHead(git, repo, op);
  const result = await git.call(
    repo,
    [
      "status",
      "--porcelain=v2",
      "--branch",
      "-z",
      "--no-ahead-behind",
      "--no-renames",
      "--untracked-files=normal",
      "--ignore-submodules=dirty",
    ],
    { ...op, action: "read", checkout: true, settings: (await foreignPrograms(git, repo, op)).muted },
  );
  const records = result.text().split("\0").filter((r) => r !== "");
  const header = (name: string) => records.find((r) => r.startsWith(`# ${name} `))?.slice(name.length + 3);
  const sha = header("branch.oid");
  if (sha === undefined || sha === "(initial)") throw noCommit(repo);
  const branch = header("branch.head");
  return {
    sha,
    branch: branch === "(detached)" ? undefined : branch,
    dirty: records.some((r) => !r.startsWith("# ")),
  };
}

async function readBareHead(git: Git, repo: Repo, op: Op): Promise<Head> {
  const branch = await headBranch(git, repo, op);
  const sha = await resolveCommit(git, repo, "HEAD", op);
  return { sha, branch, dirty: false };
}

/** Returns the branch HEAD names, also one without a commit; `undefined` when detached. */
export async function headBranch(git: Git, repo: Repo, op: Op = {}): Promise<string | undefined> {
  const args = ["symbolic-ref", "--quiet", "HEAD"];
  const result = await git.call(repo, args, { ...op, action: "read", answers: [0, 1] });
  const ref = result.text().trim();
  return result.code === 0 && ref.startsWith("refs/heads/") ? shortName(ref) : undefined;
}

/**
 * Returns the base branch of a locator that names none: HEAD's, but never one that tether made. People write to that in
 * the checkout, and their work would count as upstream's. Then it is the only other branch.
 *
 * @throws {BackendError} if several branches could be it, or HEAD is detached.
 */
export async function baseOfHead(git: Git, repo: Repo, op: Op = {}): Promise<string> {
  const branch = await headBranch(git, repo, op);
  if (branch === undefined) {
    throw new BackendError(`Cannot tell the base branch of "${repo.path}": its HEAD is detached`, {
      kind: KIND,
      hints: ["Name the base branch as `ref` of the locator"],
    });
  }
  if (parseWorkingRef(branch) === undefined) return branch;
  const names = await readRefNames(git, repo, ["refs/heads/"], op);
  const candidates = names.filter((name) => parseWorkingRef(name) === undefined);
  const [only] = candidates;
  if (only !== undefined && candidates.length === 1) return only;
  throw new BackendError(
    `Cannot tell the base branch of "${repo.path}": it is switched to "${branch}", which tether made to write on`,
    {
      kind: KIND,
      hints: candidates.slice(0, 3).map((name) => `git -C ${shellQuote(repo.path)} switch ${shellQuote(name)}`),
    },
  );
}

/**
 * Returns the commit a revision names.
 *
 * @throws {StateGoneError} if it names none.
 */
export async function resolveCommit(git: Git, repo: Repo, revision: string, op: Op = {}): Promise<string> {
  const args = ["rev-parse", "--quiet", "--verify", "--end-of-options", `${revision}^{commit}`];
  const found = await git.call(repo, args, { ...op, action: `find "${revision}" in`, answers: [0, 1] });
  if (found.code === 0) return found.text().trim();
  throw new StateGoneError(`Cannot find "${revision}" in "${repo.path}": it names no commit there`, {
    kind: KIND,
    details: { revision },
  });
}

/** Programs that the repository's own configuration names, and the settings that keep them from running. */
export interface ForeignPrograms {
  readonly muted: readonly Setting[];
  /** Names of filters among them. */
  readonly filters: readonly string[];
}

/**
 * Finds filters and merge drivers that a repository brings along. Those that the user's or the system's configuration sets
 * to the same are the user's own and stay.
 */
export async function foreignPrograms(git: Git, repo: Repo, op: Op = {}): Promise<ForeignPrograms> {
  if (await isPlainConfig(repo)) return { muted: [], filters: [] };
  const args = [
    "config",
    "--null",
    "--show-scope",
    "--get-regexp",
    "^(filter|merge)\\..*\\.(clean|smudge|process|driver)$",
  ];
  const result = await git.call(repo, args, { ...op, action: "read the configuration of", answers: [0, 1] });
  const trusted = new Map<string, string>();
  const own = new Map<string, string>();
  const fields = result.text().split("\0");
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [name = "", ...value] = (fields[i + 1] ?? "").split("\n");
    const isOwn = fields[i] === "local" || fields[i] === "worktree";
    (isOwn ? own : trusted).set(name, value.join("\n"));
  }
  const foreign = [...own].filter(([name, value]) => trusted.get(name) !== value).map(([name]) => name);
  const isDriver = (name: string) => name.startsWith("merge.");
  const muted = foreign.flatMap((name): Setting[] => {
    const usual = trusted.get(name);
    if (usual !== undefined) return [[name, usual]];
    // A driver that always fails leaves a conflict; an empty one would take one side as merged.
    if (isDriver(name)) return [[name, "false"]];
    return [[name, ""], [name.replace(/\.[^.]*$/, ".required"), "false"]];
  });
  const filters = foreign.filter((name) => !isDriver(name)).map((name) => name.split(".").slice(1, -1).join("."));
  return { muted, filters: [...new Set(filters)] };
}

/** Tells whether the repository's configuration plainly names no program: then git need not be asked. */
async function isPlainConfig(repo: Repo): Promise<boolean> {
  const path = join(repo.root, ...(repo.bare ? [] : [".git"]), "config");
  try {
    return !/\[\s*(?:filter|merge|include)|worktreeconfig/i.test(await Deno.readTextFile(path));
  } catch (error) {
    // A linked checkout or a submodule has its configuration elsewhere.
    if (isNotFound(error)) return false;
    throw fsError(error, { kind: KIND, action: "read", path });
  }
}

function noCommit(repo: Repo): BackendError {
  return new BackendError(`Cannot read "${repo.path}": it has no commit yet`, { kind: KIND });
}
