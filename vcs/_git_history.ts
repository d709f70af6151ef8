/**
 * What git's history holds: which commits, what they say, and what still reaches them (formats §15.4).
 *
 * @module
 */

import { join } from "node:path";
import type { CommitInfo, HistoryCommit, StagedBlob } from "./adapter.ts";
import { filesInIndex, type IndexFile } from "./_git_index.ts";
import type { Git } from "./_git_process.ts";
import { heldByWorktrees, type Worktree } from "./_git_worktrees.ts";
import { BRANCH_PREFIX, type GitFolders } from "./_git_refs.ts";
import { checkId, type GitObjectReader } from "./object_reader.ts";

/**
 * Returns every commit that a ref under `refs/`, also one that only another worktree has, the HEAD of a worktree or a merge in
 * progress reaches, newest first.
 * Replacement refs hide nothing: the replaced commit counts as it is, and its replacement through its ref.
 */
export async function readHistory(git: Git, folders: GitFolders): Promise<HistoryCommit[]> {
  const result = await git.run(
    ["--no-replace-objects", "rev-list", "--all", "--stdin", "--no-commit-header", "--format=%H %T"],
    { doing: "list the commits of history", stdin: lines(await heldByWorktrees(folders)) },
  );
  return result.text().split("\n").filter((line) => line !== "").map((line) => {
    const [id = "", tree = ""] = line.split(" ");
    return { id, tree, workingCopy: false };
  });
}

/**
 * Returns every manifest that the index of a worktree names, whatever dataset and conflict stage it belongs to (L01). An index
 * costs a child where only git can read it.
 */
export async function readStaged(
  git: Git,
  folders: GitFolders,
  worktrees: readonly Worktree[],
): Promise<StagedBlob[]> {
  const staged: StagedBlob[] = [];
  for (const { root, gitDir } of worktrees) {
    let files = await readIndex(gitDir, folders.idBytes);
    if (files === undefined) {
      const result = await git.run(
        ["ls-files", "-z", "--stage", "--full-name", "--", `:(top,glob)**/*${ENDING}`],
        { doing: `read the index of the checkout at "${root}"`, cwd: root },
      );
      files = parseStage(result.text());
    }
    const manifests = files.filter(({ path }) => /(^|\/)\.tether\/objects\//.test(path));
    staged.push(...manifests.map(({ path, blob }) => ({ checkout: root, path, blob })));
  }
  return staged;
}

/** How the path of a manifest ends. */
const ENDING = ".toml";

/** Reads the index in a git folder; `undefined` when git must be asked. */
async function readIndex(gitDir: string, idBytes: number): Promise<IndexFile[] | undefined> {
  try {
    return filesInIndex(await Deno.readFile(join(gitDir, "index")), { idBytes, ending: ENDING });
  } catch (error) {
    // Without one nothing was ever staged; of any other trouble git knows more.
    return error instanceof Deno.errors.NotFound ? [] : undefined;
  }
}

function parseStage(text: string): IndexFile[] {
  return text.split("\0").flatMap((record) => {
    const [, blob, path] = /^100\d{3} ([0-9a-f]+) \d\t(.*)$/s.exec(record) ?? [];
    return blob === undefined || path === undefined ? [] : [{ path, blob }];
  });
}

const INFO_FIELDS = ["%H", "%P", "%an", "%ae", "%aI", "%cI", "%B"];

/** Returns the metadata of commits, in the order asked. Fields end in zero bytes, which no commit can hold. */
export async function readCommitInfos(git: Git, ids: readonly string[]): Promise<CommitInfo[]> {
  // Without a commit git would fall back on HEAD.
  if (ids.length === 0) return [];
  const result = await git.run(
    ["log", "--no-walk=unsorted", "--stdin", "-z", "--encoding=UTF-8", `--format=${INFO_FIELDS.join("%x00")}`],
    { doing: "read commits", stdin: lines(ids.map(checkId)) },
  );
  const fields = result.text().split("\0");
  const byId = new Map<string, CommitInfo>();
  for (let at = 0; at + INFO_FIELDS.length <= fields.length; at += INFO_FIELDS.length) {
    const [id = "", parents = "", authorName = "", authorEmail = "", authoredAt = "", committedAt = "", message = ""] =
      fields.slice(at, at + INFO_FIELDS.length);
    byId.set(id, {
      id,
      parents: parents.split(" ").filter((parent) => parent !== ""),
      authorName,
      authorEmail,
      authoredAt,
      committedAt,
      message: message.replace(/\n+$/, ""),
    });
  }
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** How many commits near HEAD are looked at before git is asked to search. */
const NEAR_COMMITS = 1000;

/** Returns those of some commits that no ref and no worktree's HEAD reaches. */
export async function readVanished(
  git: Git,
  reader: GitObjectReader,
  request: { readonly commits: readonly string[]; readonly from: readonly string[] },
): Promise<string[]> {
  const far = await notNear(reader, request);
  if (far.size === 0) return [];
  const present = await Promise.all([...far].map(async (id) => await reader.info(`${checkId(id)}^{commit}`) && id));
  const asked = present.filter((id) => id !== undefined);
  const unreachable = new Set(far);
  for (const id of asked) unreachable.delete(id);
  if (asked.length > 0) {
    const result = await git.run(["rev-list", "--stdin", "--not", "--all"], {
      doing: "find out which commits are still reachable",
      stdin: lines(asked),
    });
    for (const id of result.text().split("\n")) if (far.has(id)) unreachable.add(id);
  }
  return request.commits.filter((id) => unreachable.has(id));
}

/** Returns the commits that are not among the first ones met on the way back from some tips: it costs no child. */
export async function notNear(
  reader: GitObjectReader,
  request: { readonly commits: readonly string[]; readonly from: readonly string[] },
): Promise<Set<string>> {
  const wanted = new Set(request.commits);
  const seen = new Set<string>();
  let level = [...new Set(request.from)];
  while (level.length > 0 && wanted.size > 0 && seen.size < NEAR_COMMITS) {
    for (const id of level) {
      seen.add(id);
      wanted.delete(id);
    }
    if (wanted.size === 0) break;
    const commits = await Promise.all(level.map((id) => reader.commit(id)));
    level = [...new Set(commits.flatMap((c) => c?.parents ?? []))].filter((id) => !seen.has(id));
  }
  return wanted;
}

/** Tells whether a commit is another one or reaches back to it. */
export async function readIsAncestor(git: Git, ancestor: string, descendant: string): Promise<boolean> {
  const result = await git.run(
    ["merge-base", "--is-ancestor", "--end-of-options", checkId(ancestor), checkId(descendant)],
    { doing: `compare commits "${ancestor}" and "${descendant}"`, codes: [0, 1] },
  );
  return result.code === 0;
}

/** Returns the commits only one branch reaches, oldest first: every other ref and every worktree keeps its own. */
export async function readExclusive(
  git: Git,
  branch: string,
  { worktrees, folders }: { readonly worktrees: readonly Worktree[]; readonly folders: GitFolders },
): Promise<string[]> {
  const ref = BRANCH_PREFIX + branch;
  const detached = worktrees.flatMap(({ head }) => head.branch === null && head.commit !== null ? [head.commit] : []);
  const held = [...detached, ...await heldByWorktrees(folders)];
  const result = await git.run(
    ["rev-list", "--reverse", "--topo-order", "--stdin", "--not", `--exclude=${ref}`, "--glob=refs/*"],
    {
      doing: `list the commits of branch "${branch}"`,
      stdin: lines([ref, ...held.map((id) => `^${id}`)]),
    },
  );
  return result.text().split("\n").filter((id) => id !== "");
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => text + "\n").join("");
}
