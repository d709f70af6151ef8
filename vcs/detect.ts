/**
 * Finds the version-control system around a dataset (formats §15.2).
 *
 * @module
 */

import { dirname, join } from "node:path";
import { VcsError } from "../engine/model/errors.ts";
import type { VcsAdapter, VcsOptions } from "./adapter.ts";

/**
 * Opens the version-control system of a folder: the nearest `.jj` or `.git` at or above it. With `prefer = "jj"` a `.jj`
 * wins wherever it lies; with any other preference a `.git` does.
 *
 * @param root The dataset root, or the folder that is to become one.
 * @throws {VcsError} if there is none, its program is missing or too old, or a jj repository keeps its commits elsewhere than in git.
 *
 * @example Find the repository around a folder
 * ```ts
 * import { detectVcs } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await Deno.mkdir(`${cwd}/lab`);
 *
 * await using vcs = await detectVcs(`${cwd}/lab`);
 * assert.deepEqual([vcs.kind, vcs.location.rel], ["git", "lab"]);
 * ```
 */
export async function detectVcs(root: string, options: VcsOptions = {}): Promise<VcsAdapter> {
  const datasetRoot = await Deno.realPath(root);
  const jj = await nearest(datasetRoot, ".jj");
  const git = await nearest(datasetRoot, ".git");
  if (jj !== undefined && (git === undefined || (options.prefer ?? "jj") === "jj")) {
    const { openJj } = await import("./jj.ts");
    return await openJj({ vcsRoot: jj, datasetRoot }, options);
  }
  if (git !== undefined) {
    const { openGit } = await import("./git.ts");
    return await openGit({ vcsRoot: git, datasetRoot }, options);
  }
  throw new VcsError(`Cannot find a git or jj repository at or above "${datasetRoot}"`, {
    code: "no-vcs",
    hints: ["git init", "jj git init"],
  });
}

/** Returns the nearest folder at or above another that holds a name; `undefined` for none. */
async function nearest(folder: string, name: string): Promise<string | undefined> {
  for (let at = folder;; at = dirname(at)) {
    try {
      await Deno.lstat(join(at, name));
      return at;
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) {
        throw new VcsError(`Cannot look for a repository at "${at}": reading it was not granted`, {
          hints: [`--allow-read=${at}`],
          details: { flags: [`--allow-read=${at}`] },
          cause: error,
        });
      }
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    if (dirname(at) === at) return undefined;
  }
}
