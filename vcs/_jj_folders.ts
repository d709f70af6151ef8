/**
 * Where a jj repository keeps what (formats §15.2).
 *
 * @module
 */

import { dirname, isAbsolute, join, resolve } from "node:path";
import { VcsError } from "../engine/model/errors.ts";

/** Returns the folder that all workspaces share: `.jj/repo`, or where that file points to in a secondary workspace. */
export async function findRepo(root: string): Promise<string> {
  const repo = join(root, ".jj", "repo");
  try {
    const { isDirectory } = await Deno.stat(repo);
    return await Deno.realPath(isDirectory ? repo : resolve(dirname(repo), await firstLine(repo)));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new VcsError(`Cannot use the jj repository at "${root}": its "${repo}" leads nowhere`, {
      hints: ["jj status", 'Set prefer = "git" under [vcs] in tether.toml to use a git repository here'],
      cause: error,
    });
  }
}

/** Returns the git folder with the objects: the repository's own one, or that of a git checkout it shares. */
export async function findStore(repoDir: string): Promise<string> {
  const store = join(repoDir, "store");
  const type = await firstLine(join(store, "type"));
  if (type !== "git") {
    throw new VcsError(`Cannot use the jj repository at "${repoDir}": it keeps its commits in "${type}", not in git`, {
      code: "vcs-unsupported",
      hints: ["jj git init"],
    });
  }
  const target = await Deno.realPath(resolve(store, await firstLine(join(store, "git_target"))));
  if ((await Deno.stat(target)).isDirectory) return target;
  // The checkout of a submodule: its `.git` is a file that names the folder.
  const named = (await firstLine(target)).replace(/^gitdir: /, "");
  return await Deno.realPath(isAbsolute(named) ? named : resolve(dirname(target), named));
}

async function firstLine(path: string): Promise<string> {
  return (await Deno.readTextFile(path)).split("\n")[0] ?? "";
}
