/**
 * Throw-away jj repositories for tests, in the environment of the git ones.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { jjPath } from "../../scripts/jj.ts";
import type { VcsAdapter } from "../../vcs/adapter.ts";
import { detectVcs } from "../../vcs/detect.ts";
import { isolate, plainGit, type TempRepo } from "./repo.ts";

/** Whether jj is there; without it the tests that need it are ignored, which the runner counts and CI refuses. */
export const HAS_JJ: boolean = isFile(jjPath());

/** Options of {@link tempJjRepo}. */
export interface TempJjRepoOptions {
  /** Whether git works in the same folder. @default {true} */
  readonly colocated?: boolean;
  /** Files of a first commit with bookmark `main`, by path; without it `main` is at the empty working copy. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Options of {@link TempJjRepo.jj} and {@link TempJjRepo.git}. */
export interface JjCallOptions {
  /** Where jj runs. @default {the checkout} */
  readonly cwd?: string;
  /** Whether a failure is returned as text instead of thrown. @default {false} */
  readonly mayFail?: boolean;
  /** Whether white space around the output is cut. @default {true} */
  readonly trim?: boolean;
}

/** A jj repository below a temporary folder, removed with everything beside it on disposal. */
export interface TempJjRepo extends AsyncDisposable {
  /** Root of the default workspace, symbolic links resolved. */
  readonly path: string;
  /** The temporary folder around it. */
  readonly outer: string;
  /** Runs jj and returns its trimmed standard output; throws with standard error when it fails. */
  jj(args: readonly string[], options?: JjCallOptions): Promise<string>;
  /** Runs git on the store, and returns its output as {@link TempJjRepo.jj} does. */
  git(args: readonly string[], options?: JjCallOptions): Promise<string>;
  /** Returns the same repository from another workspace of it. */
  at(root: string): TempJjRepo;
  /** Returns the id of a revision. */
  id(rev: string, options?: JjCallOptions): Promise<string>;
  /** Returns the ids of the operations, newest first, without making one. */
  operations(): Promise<string[]>;
  /** Writes a file by its path from the checkout, folders included; returns the absolute path. */
  write(path: string, content: string | Uint8Array): Promise<string>;
  /** Writes some files (`null` removes one), commits everything on a bookmark and returns the commit id. */
  commit(
    message: string,
    files?: Readonly<Record<string, string | null>>,
    bookmark?: string,
  ): Promise<string>;
  /** Adds a workspace beside the checkout, on a new bookmark where this one stands; returns its root. */
  workspace(bookmark: string): Promise<string>;
}

/** Makes a repository. Needs permission to read, write, run jj and git and change the environment. */
export async function tempJjRepo(options: TempJjRepoOptions = {}): Promise<TempJjRepo> {
  const release = await isolate();
  const outer = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-test-" }));
  const path = join(outer, "repo");
  const gitDir = options.colocated === false ? join(path, ".jj/repo/store/git") : join(path, ".git");
  const repo = repoAt(path, {
    outer,
    gitDir,
    async dispose() {
      await Deno.remove(outer, { recursive: true });
      await release();
    },
  });
  const init = ["git", "init", options.colocated === false ? "--no-colocate" : "--colocate", path];
  await run(jjPath(), init, { cwd: outer });
  if (options.files === undefined) await repo.jj(["bookmark", "create", "main", "-r", "@"]);
  else await repo.commit("base", options.files);
  return repo;
}

/** Returns a jj repository where a git one is asked for: its git commands are for other repositories, by their folder. */
export function asTempRepo(repo: TempJjRepo): TempRepo {
  return { ...repo, git: plainGit, worktree: repo.workspace };
}

function repoAt(
  path: string,
  parts: { readonly outer: string; readonly gitDir: string; readonly dispose: () => Promise<void> },
): TempJjRepo {
  const { outer } = parts;
  const repo: TempJjRepo = {
    path,
    outer,
    at: (root) => repoAt(root, parts),
    jj: (args, call = {}) => run(jjPath(), ["--no-pager", "--quiet", ...args], { cwd: path, ...call }),
    git: (args, call = {}) => run("git", [`--git-dir=${parts.gitDir}`, ...args], { cwd: path, ...call }),
    id: (rev, call) => repo.jj(["log", "--no-graph", "-T", "commit_id", "-r", rev], call),
    async operations() {
      const text = await repo.jj(["op", "log", "--ignore-working-copy", "--no-graph", "-T", 'id ++ "\\n"']);
      return text.split("\n");
    },
    async write(name, content) {
      const target = join(path, name);
      await Deno.mkdir(dirname(target), { recursive: true });
      await (typeof content === "string" ? Deno.writeTextFile(target, content) : Deno.writeFile(target, content));
      return target;
    },
    async commit(message, files = {}, bookmark = "main") {
      for (const [name, content] of Object.entries(files)) {
        if (content === null) await Deno.remove(join(path, name));
        else await repo.write(name, content);
      }
      await repo.jj(["commit", `--message=${message}`]);
      await repo.jj(["bookmark", "set", JSON.stringify(bookmark), "-r", "@-", "--allow-backwards"]);
      return await repo.id("@-");
    },
    async workspace(bookmark) {
      const target = join(outer, `workspace-${bookmark.replaceAll("/", "-")}`);
      await repo.jj(["workspace", "add", target]);
      await repo.jj(["bookmark", "create", JSON.stringify(bookmark), "-r", "@-"], { cwd: target });
      return target;
    },
    [Symbol.asyncDispose]: parts.dispose,
  };
  return repo;
}

async function run(program: string, args: readonly string[], options: JjCallOptions): Promise<string> {
  const output = await new Deno.Command(program, {
    args: [...args],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdin: "null",
  }).output();
  const message = new TextDecoder().decode(output.stderr).trim();
  const text = new TextDecoder().decode(output.stdout);
  if (output.success) return options.trim === false ? text : text.trim();
  if (options.mayFail) return message;
  throw new Error(`${program} ${args.join(" ")} failed: ${message}`);
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Opens what holds a folder, with the jj of the tests, which need not be on `PATH`. */
export function detectJj(path: string): Promise<VcsAdapter> {
  return detectVcs(path, { programs: { jj: jjPath() } });
}
