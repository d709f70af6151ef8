/**
 * What jj's history holds: which commits, and what still reaches them (formats §15.4).
 *
 * @module
 */

import { shellQuote } from "../engine/io/shell.ts";
import { VcsError } from "../engine/model/errors.ts";
import type { HistoryCommit } from "./adapter.ts";
import { notNear } from "./_git_history.ts";
import { GS } from "./_jj_process.ts";
import { commitUnder } from "./_jj_position.ts";
import type { JjView, VisibleCommit } from "./_jj_view.ts";
import { checkId, type GitObjectReader } from "./object_reader.ts";

/** How many commits are asked of the object reader together. */
const COMMITS_AT_ONCE = 1000;

/** Returns every visible commit with its tree, newest first. */
export async function readHistory(view: JjView, reader: GitObjectReader): Promise<HistoryCommit[]> {
  const visible = await view.visible();
  const history: HistoryCommit[] = [];
  for (let at = 0; at < visible.length; at += COMMITS_AT_ONCE) {
    const some = visible.slice(at, at + COMMITS_AT_ONCE);
    const commits = await Promise.all(some.map(({ id }) => reader.commit(id)));
    for (const [i, { id, workingCopy }] of some.entries()) {
      const commit = commits[i];
      if (commit === undefined) {
        throw new VcsError(`Cannot list the commits of history: the repository lacks commit "${id}"`, {
          hints: ["git fsck --full"],
        });
      }
      history.push({ id, tree: commit.tree, workingCopy });
    }
  }
  return history;
}

/** Returns those of some commits whose change is not visible any more: a rewrite is no loss. */
export async function readVanished(
  view: JjView,
  reader: GitObjectReader,
  commits: readonly string[],
): Promise<string[]> {
  const under = commitUnder(await view.workingCopy());
  const far = await notNear(reader, { commits, from: under === null ? [] : [under] });
  if (far.size === 0) return [];
  const visible = await view.visible();
  for (const { id } of visible) far.delete(id);
  const changes = new Set(visible.map(({ changeId }) => changeId));
  const gone = await Promise.all([...far].map(async (id) => {
    const changeId = await changeOf(view, reader, id);
    return changeId === undefined || !changes.has(changeId) ? id : undefined;
  }));
  return commits.filter((id) => gone.includes(id));
}

/** Returns the change of a commit, which may be hidden; `undefined` when it is unknown here. */
async function changeOf(view: JjView, reader: GitObjectReader, id: string): Promise<string | undefined> {
  const commit = await reader.commit(id);
  if (commit === undefined || commit.changeId !== undefined) return commit?.changeId;
  // Made with `git.write-change-id-header = false`, or not by jj.
  const doing = `find the change of commit "${id}"`;
  const [fields] = await view.log(checkId(id), { template: "self.change_id()", doing, codes: [0, 1] });
  return fields?.[0];
}

/** Tells whether a commit is another one or reaches back to it. */
export async function readIsAncestor(view: JjView, ancestor: string, descendant: string): Promise<boolean> {
  const range = `${checkId(ancestor)}::${checkId(descendant)}`;
  const doing = `compare commits "${ancestor}" and "${descendant}"`;
  return (await view.log(range, { template: "self.commit_id()", args: ["--limit=1"], doing })).length > 0;
}

/** Returns the visible commits that build on one, this working copy apart but not what builds on it. */
export async function readBuiltOn(view: JjView, commit: string): Promise<string[]> {
  const { id: here } = await view.workingCopy();
  const above = (await view.visible()).filter(({ parents }) => parents.includes(commit) || parents.includes(here));
  return above.map(({ id }) => id).filter((id) => id !== here);
}

/**
 * Returns the commits only one bookmark reaches, oldest first: other bookmarks, tags, remote bookmarks and the working
 * copies of other workspaces keep theirs.
 */
export async function readExclusive(view: JjView, bookmark: string): Promise<string[]> {
  const refs = await view.bookmarks();
  const own = refs.find((ref) => ref.name === bookmark && ref.remote === "");
  if (own?.targets.length !== 1) {
    throw new VcsError(`Cannot list the commits of bookmark "${bookmark}": it has no single target`, {
      hints: ["jj bookmark list"],
    });
  }
  const { id: here } = await view.workingCopy();
  const others = [...refs, ...await view.tags()].filter((ref) => ref !== own).flatMap(({ targets }) => targets);
  const workspaces = (await view.workspaces()).map(({ workingCopy }) => workingCopy.id).filter((id) => id !== here);
  const visible = await view.visible();
  const kept = reachable(visible, [...others, ...workspaces]);
  const reached = reachable(visible, own.targets);
  return visible.map(({ id }) => id).filter((id) => reached.has(id) && !kept.has(id)).reverse();
}

/** Returns some commits and everything they reach. */
function reachable(visible: readonly VisibleCommit[], from: readonly string[]): Set<string> {
  const reached = new Set(from);
  // Children come before their parents.
  for (const { id, parents } of visible) {
    if (reached.has(id)) { for (const parent of parents) reached.add(parent); }
  }
  return reached;
}

/**
 * Returns what makes history's answer ambiguous: conflicted bookmarks, and conflicts below a folder in commits that nothing
 * builds on or that some workspace has checked out.
 */
export async function readConflicts(
  view: JjView,
  folder: string,
): Promise<{ readonly reason: string; readonly hints: readonly string[] }[]> {
  const conflicted = (await view.bookmarks()).filter((ref) => ref.conflict && ref.remote === "");
  const bookmarks = conflicted.map(({ name, targets }) => ({
    reason: `bookmark "${name}" is conflicted: it has ${targets.length} targets`,
    hints: [`jj bookmark set ${shellQuote(name)} -r REV`],
  }));
  const visible = await view.visible();
  const builtOn = new Set(visible.flatMap(({ parents }) => parents));
  const last = visible.filter(({ id, conflict, workingCopy }) => conflict && (workingCopy || !builtOn.has(id)));
  if (last.length === 0) return bookmarks;
  const template = `self.commit_id() ++ "${GS}" ++ self.conflicted_files().map(|f| f.path()).join("${GS}")`;
  const listed = await view.log(last.map(({ id }) => id).join(" | "), { template, doing: "list the conflicts" });
  const commits = listed.flatMap(([text = ""]) => {
    const [id = "", ...files] = text.split(GS);
    const inside = files.filter((file) => file.startsWith(`${folder}/`));
    const [first] = inside;
    if (first === undefined) return [];
    return [{
      reason: `commit ${id.slice(0, 12)} has ${inside.length} conflicted file(s) of the dataset, such as "${first}"`,
      hints: [`jj resolve -r ${id.slice(0, 12)}`],
    }];
  });
  return [...bookmarks, ...commits];
}
