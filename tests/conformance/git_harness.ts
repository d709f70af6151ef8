/**
 * Stores of the kind `git` for the conformance suite: real repositories, written by git.
 *
 * @module
 */

import { type BackendHarness, localSpellings, type Obstruction } from "../../backends/conformance/mod.ts";
import { DEFAULT_SETTINGS, type Locator } from "../../backends/backend.ts";
import { gitStatics } from "../../backends/git/statics.ts";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";

/** Options of {@link gitHarness}. */
export interface GitHarnessOptions {
  readonly objectFormat: "sha1" | "sha256";
  /** Where the base branch is: `here` checked out at the path, `nowhere` in no checkout, `bare` without any. */
  readonly base: "here" | "nowhere" | "bare";
}

/** Returns a harness over local repositories. Needs git and permission to write the temporary folder. */
export async function gitHarness(options: GitHarnessOptions): Promise<BackendHarness> {
  const backend = await gitStatics.open(DEFAULT_SETTINGS);
  const repos = new Map<string, TempRepo>();
  /** Stores that the suite has the backend make: always with a checkout of their base. */
  const fresh = new Map<string, TempRepo>();
  let writes = 0;

  function repoOf(locator: Locator): TempRepo {
    const path = String(locator["path"]);
    const found = repos.get(path) ?? fresh.get(path);
    if (!found) throw new TypeError(`No repository at ${locator["path"]}`);
    return found;
  }

  /** Commits a file on a branch: in the checkout when it is checked out there, else beside it. */
  async function write(locator: Locator, ref: string | undefined, file: string): Promise<void> {
    const repo = repoOf(locator);
    const text = `write ${++writes}\n`;
    const isFresh = fresh.has(String(locator["path"]));
    if (options.base === "here" && ref === undefined && !isFresh) {
      return void await repo.commit("write", { [file]: text });
    }
    const branch = `refs/heads/${ref ?? "main"}`;
    const path = String(locator["path"]);
    const git = (args: string[], env: Record<string, string> = {}) =>
      repo.git(options.base === "bare" && !isFresh ? ["--git-dir", path, ...args] : args, { env });
    const parent = await git(["rev-parse", branch]);
    const source = await repo.write(`../blob-${writes}`, text);
    const blob = await git(["hash-object", "-w", source]);
    const index = { GIT_INDEX_FILE: `${repo.outer}/index-${writes}` };
    await git(["read-tree", parent], index);
    await git(["update-index", "--add", "--cacheinfo", `100644,${blob},${file}`], index);
    const tree = await git(["write-tree"], index);
    const commit = await git(["commit-tree", tree, "-p", parent, "-m", "write"]);
    await git(["update-ref", branch, commit, parent]);
  }

  return {
    backend,
    module: { url: new URL("../../backends/git/statics.ts", import.meta.url), name: "gitStatics" },
    async newObject() {
      const repo = await tempRepo({ objectFormat: options.objectFormat, files: { "base.txt": "base\n" } });
      if (options.base === "nowhere") await repo.git(["checkout", "--quiet", "--detach"]);
      const path = options.base === "bare" ? `${repo.outer}/bare.git` : repo.path;
      if (options.base === "bare") await repo.git(["clone", "--quiet", "--bare", repo.path, path]);
      // Merges are commits of somebody, and a worker sees no configuration but the repository's own.
      const config = options.base === "bare" ? ["--git-dir", path, "config"] : ["config"];
      await repo.git([...config, "user.name", "Test"]);
      await repo.git([...config, "user.email", "test@example.org"]);
      repos.set(path, repo);
      return options.base === "nowhere" ? { path, ref: "main" } : { path };
    },
    async freshLocator() {
      const repo = await tempRepo();
      const path = `${repo.outer}/fresh/store`;
      fresh.set(path, { ...repo, path, git: (args, o) => repo.git(args, { cwd: path, ...o }) });
      return { path, ref: "main" };
    },
    obstructions(locator) {
      const path = String(locator["path"]);
      const git = (...args: string[]) => repoOf(locator).git(["-C", path, ...args]);
      return [
        obstruction("an ignored file", async () => {
          await Deno.writeTextFile(`${path}/.git/info/exclude`, "kept\n").catch(async () => {
            await Deno.mkdir(`${path}/.git/info`);
            await Deno.writeTextFile(`${path}/.git/info/exclude`, "kept\n");
          });
          await Deno.writeTextFile(`${path}/kept`, "data");
          return () => Deno.remove(`${path}/kept`);
        }),
        obstruction("an empty folder", async () => {
          await Deno.mkdir(`${path}/empty`);
          return () => Deno.remove(`${path}/empty`);
        }),
        obstruction("a staged file", async () => {
          await Deno.writeTextFile(`${path}/staged`, "data");
          await git("add", "staged");
          await Deno.remove(`${path}/staged`);
          return async () => void await git("rm", "-q", "--cached", "staged");
        }),
        obstruction("a note", async () => {
          await git("update-ref", "refs/notes/commits", "main");
          return async () => void await git("update-ref", "-d", "refs/notes/commits");
        }),
        obstruction("a remote-tracking ref", async () => {
          await git("update-ref", "refs/remotes/origin/main", "main");
          return async () => void await git("update-ref", "-d", "refs/remotes/origin/main");
        }),
        obstruction("a second checkout", async () => {
          await git("worktree", "add", "-q", "--detach", `${path}-second`);
          return async () => void await git("worktree", "remove", "--force", `${path}-second`);
        }),
        obstruction("a commit that only a detached HEAD names", async () => {
          await git("checkout", "-q", "--detach");
          await git("commit", "-q", "--allow-empty", "-m", "detached");
          return async () => void await git("checkout", "-q", "main");
        }),
        obstruction("a hook", async () => {
          await Deno.mkdir(`${path}/.git/hooks`, { recursive: true });
          await Deno.writeTextFile(`${path}/.git/hooks/pre-commit`, "");
          return () => Deno.remove(`${path}/.git/hooks/pre-commit`);
        }),
        obstruction("a merge under way", async () => {
          await Deno.writeTextFile(`${path}/.git/MERGE_HEAD`, `${await git("rev-parse", "main")}\n`);
          return () => Deno.remove(`${path}/.git/MERGE_HEAD`);
        }),
      ];
    },
    mutate: (locator, ref) => write(locator, ref, `file ${writes}`),
    conflict: (locator, ref) => write(locator, ref, "contended"),
    secondClient: () => gitStatics.open(DEFAULT_SETTINGS),
    spellings(locator) {
      const path = String(locator["path"]);
      const { same, different } = localSpellings(path);
      const toLocators = (paths: readonly string[]): Locator[] => paths.map((p) => ({ path: p }));
      return {
        same: [...toLocators(same), { uri: path }, { ...locator, ref: "x", at: "y", remote: "z", allow_dirty: true }],
        different: toLocators(different),
      };
    },
    async breakStore(locator, how) {
      const path = String(locator["path"]);
      // Root reads everything, and a local folder is never offline.
      if (how === "offline" || (how === "forbidden" && Deno.uid() === 0)) return undefined;
      if (how === "absent") await Deno.rename(path, `${path} away`);
      else await Deno.chmod(path, 0o000);
      return {
        async [Symbol.asyncDispose]() {
          if (how === "absent") await Deno.rename(`${path} away`, path);
          else await Deno.chmod(path, 0o755);
        },
      };
    },
    async expire(locator) {
      const repo = repoOf(locator);
      const git = (args: string[]) =>
        repo.git(options.base === "bare" ? ["--git-dir", String(locator["path"]), ...args] : args);
      // The base starts anew without a past; then nothing reaches what was before.
      const commit = await git(["commit-tree", "main^{tree}", "-m", "anew"]);
      await git(["update-ref", "refs/heads/main", commit]);
      if (options.base === "nowhere") await git(["checkout", "--quiet", "--detach", "main"]);
      await git(["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
      await git(["prune", "--expire=now"]);
    },
    async refuseDeletion(locator) {
      const folder = options.base === "bare" ? String(locator["path"]) : `${locator["path"]}/.git`;
      await Deno.writeTextFile(`${folder}/packed-refs.lock`, "");
      return { [Symbol.asyncDispose]: () => Deno.remove(`${folder}/packed-refs.lock`) };
    },
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]();
      for (const repo of [...repos.values(), ...fresh.values()]) await repo[Symbol.asyncDispose]();
    },
  };
}

/** What keeps a store, put there and taken away again. */
function obstruction(name: string, place: () => Promise<() => Promise<void>>): Obstruction {
  return {
    name,
    async place() {
      const remove = await place();
      return { [Symbol.asyncDispose]: remove };
    },
  };
}
