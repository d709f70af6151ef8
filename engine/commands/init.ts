/**
 * `init`: makes a folder a dataset (commands §5.1). Everything is checked before anything is written (Δ16).
 *
 * @module
 */

import { dirname, join, resolve } from "node:path";
import { detectVcs } from "../../vcs/detect.ts";
import type { VcsAdapter } from "../../vcs/adapter.ts";
import { type EngineEnv, REAL_ENV } from "../env.ts";
import { writeAtomic } from "../files/atomic.ts";
import { newConfigText } from "../files/config.ts";
import { datasetPaths, ensureGitattributes, ensureGitignore, findRoot } from "../files/layout.ts";
import { WorkspaceFile } from "../files/workspace.ts";
import { DatasetTrees } from "../history/dataset_trees.ts";
import { isInside } from "../io/paths.ts";
import { ConfigError } from "../model/errors.ts";
import { isDatasetId } from "../model/names.ts";
import type { InitReport } from "../reports/registering.ts";
import { withJson } from "../reports/report.ts";

/** Options of {@link initDataset}. */
export interface InitOptions {
  /** 8 lower-case hex digits. @default {a random one} */
  readonly datasetId?: string;
  readonly env?: EngineEnv;
}

/**
 * Makes a folder a dataset, creating the folder if it is missing. Commits nothing.
 *
 * @throws {ConfigError} if it is one already, lies in one of the same repository, or the id is malformed.
 * @throws {VcsError} if no version control encloses it.
 */
export async function initDataset(path: string = ".", options: InitOptions = {}): Promise<InitReport> {
  const env = options.env ?? REAL_ENV;
  const { datasetId = env.randomHex().slice(0, 8) } = options;
  if (!isDatasetId(datasetId)) {
    throw new ConfigError(`Cannot use "${datasetId}" as a dataset id: it must be 8 lower-case hex digits`, {
      code: "dataset-id",
      hints: ["tether init"],
    });
  }
  const folder = resolve(path);
  const made = await firstMissing(folder);
  await Deno.mkdir(folder, { recursive: true });
  let vcs: VcsAdapter | undefined;
  try {
    const root = await Deno.realPath(folder);
    if (await isThere(join(root, "tether.toml"))) {
      throw new ConfigError(`Cannot make a dataset of "${root}": it is one already`, {
        code: "exists",
        hints: ["tether status"],
      });
    }
    const git = env.variable("TETHER_GIT");
    const jj = env.variable("TETHER_JJ");
    vcs = await detectVcs(root, { programs: { ...(git ? { git } : {}), ...(jj ? { jj } : {}) } });
    await refuseInside(root, vcs.location.root);
    const warnings = await around(root, vcs);
    const trunk = await vcs.adoptTrunk("main");
    return await write(root, { datasetId, trunk, env, warnings });
  } catch (error) {
    // A folder made for nothing goes again; one that was there stays.
    if (made !== undefined) await removeEmpty(folder, made);
    throw error;
  } finally {
    await vcs?.[Symbol.asyncDispose]();
  }
}

/** Refuses a folder of another dataset of the same repository: whoever works there means that one. */
async function refuseInside(root: string, checkout: string): Promise<void> {
  if (root === checkout) return;
  const outer = await findRoot(dirname(root));
  // Above a submodule lies another repository, whose dataset does not reach into it (L14).
  if (outer === undefined || !isInside(outer, checkout)) return;
  throw new ConfigError(`Cannot make a dataset of "${root}": it lies in the dataset at "${outer}"`, {
    code: "nested",
    hints: [
      "tether status",
      `Or take a folder beside "${outer}": commands run below a dataset inside another one would never reach the outer one`,
    ],
    details: { outer },
  });
}

/** Says which datasets the commit underfoot has below the new one: commands run there go on working on them. */
async function around(root: string, vcs: VcsAdapter): Promise<string[]> {
  const { commit } = await vcs.position();
  const tree = commit === null ? undefined : await vcs.treeOf(commit);
  if (tree === undefined) return [];
  const { rel } = vcs.location;
  const roots = (await new DatasetTrees(vcs.objects()).find(tree)).map((d) => d.root);
  const below = roots.filter((r) => r !== rel && (rel === "." || isInside(r, rel)));
  return below.map((r) =>
    `There is a dataset in "${join(vcs.location.root, r)}", below "${root}": commands run there work on that one`
  );
}

async function write(
  root: string,
  options: {
    readonly datasetId: string;
    readonly trunk: string;
    readonly env: EngineEnv;
    readonly warnings: readonly string[];
  },
): Promise<InitReport> {
  const { datasetId, trunk, env, warnings } = options;
  const paths = datasetPaths(root);
  await Deno.mkdir(paths.objects, { recursive: true });
  await ensureGitignore(root, "create");
  await ensureGitattributes(root, "create");
  await env.boundary?.("frame");
  const file = new WorkspaceFile(root, env.randomHex);
  await file.write({ ...await file.read(), bookmark: trunk });
  await env.boundary?.("workspace");
  // The file that makes it a dataset comes last: killed before it, the folder is none, and init works again.
  await writeAtomic(paths.config, newConfigText({ datasetId, trunk }), { tempDir: paths.cache });
  await env.boundary?.("config");
  return withJson({ root, datasetId, trunk, warnings }, () => ({ root, dataset_id: datasetId }));
}

/** Returns the topmost folder on the way to a path that does not exist; `undefined` when all do. */
async function firstMissing(folder: string): Promise<string | undefined> {
  let missing: string | undefined;
  for (let at = folder; !await isThere(at); at = resolve(at, "..")) missing = at;
  return missing;
}

async function removeEmpty(from: string, upTo: string): Promise<void> {
  for (let at = from;; at = resolve(at, "..")) {
    try {
      await Deno.remove(at);
    } catch {
      // Not empty: somebody else put something there meanwhile.
      return;
    }
    if (at === upTo) return;
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
