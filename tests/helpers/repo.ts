/**
 * Throw-away git repositories for tests: fixed identity, empty `HOME`, no global or system configuration. The jj of the
 * cache folder is the one tether uses.
 *
 * While at least one is alive the whole test process has that environment, so adapters and hooks under test see it too.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { jjPath } from "../../scripts/jj.ts";

/** Options of {@link tempRepo}. */
export interface TempRepoOptions {
  /**
   * The branch HEAD names at first.
   * @default {"main"}
   */
  readonly branch?: string;
  /**
   * Object ids of 40 or of 64 digits.
   * @default {"sha1"}
   */
  readonly objectFormat?: "sha1" | "sha256";
  /**
   * Files of a first commit, by path from the root; without it the branch is unborn.
   * @default {undefined}
   */
  readonly files?: Readonly<Record<string, string>>;
}

/** Options of {@link TempRepo.git}. */
export interface GitCallOptions {
  /** Where git runs. @default {the checkout} */
  readonly cwd?: string;
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether a failure is returned as text instead of thrown. @default {false} */
  readonly mayFail?: boolean;
  /** Whether white space around the output is cut. @default {true} */
  readonly trim?: boolean;
}

/** A git repository below a temporary folder, removed with everything beside it on disposal. */
export interface TempRepo extends AsyncDisposable {
  /** Root of the checkout, symbolic links resolved. */
  readonly path: string;
  /** The temporary folder around it: for worktrees, clones and stores. */
  readonly outer: string;
  /** Runs git and returns its trimmed standard output; throws with standard error when it fails. */
  git(args: readonly string[], options?: GitCallOptions): Promise<string>;
  /** Writes a file by its path from the checkout, folders included; returns the absolute path. */
  write(path: string, content: string | Uint8Array): Promise<string>;
  /** Writes some files (`null` removes one), commits everything in the checkout and returns the commit id. */
  commit(message: string, files?: Readonly<Record<string, string | null>>): Promise<string>;
  /** Adds a linked worktree on a new branch beside the checkout and returns its root. */
  worktree(branch: string): Promise<string>;
}

/** Makes a repository. Needs permission to read, write, run git and change the environment. */
export async function tempRepo(options: TempRepoOptions = {}): Promise<TempRepo> {
  const release = await isolate();
  const outer = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-test-" }));
  const path = join(outer, "repo");
  const repo: TempRepo = {
    path,
    outer,
    git: (args, call) => plainGit(args, { cwd: path, ...call }),
    async write(name, content) {
      const target = join(path, name);
      await Deno.mkdir(dirname(target), { recursive: true });
      await (typeof content === "string" ? Deno.writeTextFile(target, content) : Deno.writeFile(target, content));
      return target;
    },
    async commit(message, files = {}) {
      for (const [name, content] of Object.entries(files)) {
        if (content === null) await Deno.remove(join(path, name));
        else await repo.write(name, content);
      }
      await repo.git(["add", "--all"]);
      await repo.git(["commit", "--quiet", "--allow-empty", "-m", message]);
      return await repo.git(["rev-parse", "HEAD"]);
    },
    async worktree(branch) {
      const target = join(outer, `worktree-${branch.replaceAll("/", "-")}`);
      await repo.git(["worktree", "add", "--quiet", "-b", branch, target]);
      return target;
    },
    async [Symbol.asyncDispose]() {
      await Deno.remove(outer, { recursive: true });
      await release();
    },
  };
  const format = `--object-format=${options.objectFormat ?? "sha1"}`;
  await plainGit(["init", "--quiet", format, `--initial-branch=${options.branch ?? "main"}`, path], { cwd: outer });
  if (options.files !== undefined) await repo.commit("base", options.files);
  return repo;
}

/** Runs git as {@link TempRepo.git} does, in the folder that the options name. */
export async function plainGit(args: readonly string[], options: GitCallOptions = {}): Promise<string> {
  const output = await new Deno.Command("git", {
    args: [...args],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: { ...options.env } }),
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(output.stdout);
  if (output.success) return options.trim === false ? text : text.trim();
  const message = new TextDecoder().decode(output.stderr).trim();
  if (options.mayFail) return message;
  throw new Error(`git ${args.join(" ")} failed: ${message}`);
}

let users = 0;
let undo: (() => Promise<void>) | undefined;

/** Sets the process's environment for the first user; the returned function restores it after the last one. */
export async function isolate(): Promise<() => Promise<void>> {
  if (users++ === 0) undo = await enterCleanEnvironment();
  return async () => {
    if (--users === 0) await undo?.();
  };
}

async function enterCleanEnvironment(): Promise<() => Promise<void>> {
  const home = await Deno.makeTempDir({ prefix: "tether-test-home-" });
  const before = Deno.env.toObject();
  const wanted: Record<string, string> = {
    // Deno children keep their cache although HOME moves.
    ...(before["DENO_DIR"] === undefined ? denoDir(before["HOME"]) : {}),
    // Native addons and the peer stay where they are too.
    ...(before["XDG_CACHE_HOME"] === undefined && before["HOME"] !== undefined
      ? { XDG_CACHE_HOME: join(before["HOME"], ".cache") }
      : {}),
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "Ada Tester",
    GIT_AUTHOR_EMAIL: "ada@example.org",
    GIT_COMMITTER_NAME: "Ada Tester",
    GIT_COMMITTER_EMAIL: "ada@example.org",
    // Local pushes and submodules by path are refused by default.
    GIT_ALLOW_PROTOCOL: "file",
    JJ_USER: "Ada Tester",
    JJ_EMAIL: "ada@example.org",
    TETHER_JJ: jjPath(),
  };
  for (const name of Object.keys(before)) {
    if (name.startsWith("GIT_") || name.startsWith("JJ_")) Deno.env.delete(name);
  }
  for (const [name, value] of Object.entries(wanted)) Deno.env.set(name, value);
  return async () => {
    for (const name of Object.keys(wanted)) Deno.env.delete(name);
    for (const [name, value] of Object.entries(before)) Deno.env.set(name, value);
    await Deno.remove(home, { recursive: true });
  };
}

function denoDir(home: string | undefined): Record<string, string> {
  if (home === undefined || Deno.build.os === "windows") return {};
  return { DENO_DIR: join(home, Deno.build.os === "darwin" ? "Library/Caches/deno" : ".cache/deno") };
}
