/**
 * Moving the working copy and the bookmarks of a jj repository (formats §15.3, §15.5).
 *
 * @module
 */

import { VcsError } from "../engine/model/errors.ts";
import type { JsonObject } from "../engine/model/json.ts";
import { shellQuote } from "../engine/io/shell.ts";
import { jjString } from "./_jj_process.ts";
import type { JjWriter } from "./_jj_commit.ts";
import { commitUnder } from "./_jj_position.ts";
import type { JjView, VisibleCommit } from "./_jj_view.ts";
import { ROOT_COMMIT } from "./_jj_view.ts";
import { checkId } from "./object_reader.ts";

/** Runs a command that writes; what is in the working copy is snapshotted before it, as with every command of jj. */
async function write(writer: JjWriter, args: readonly string[], doing: string): Promise<void> {
  await writer.jj.write(args, { doing, ...await writer.settings.forWriting() });
}

/** Puts a new, empty change on a commit. */
export async function newOn(writer: JjWriter, commit: string, doing: string): Promise<void> {
  await write(writer, ["new", checkId(commit)], doing);
}

/** Puts a bookmark at a commit, wherever it was. */
export async function setBookmark(writer: JjWriter, name: string, commit: string): Promise<void> {
  const args = ["bookmark", "set", jjString(name), `--revision=${commit}`, "--allow-backwards"];
  await write(writer, args, `move bookmark "${name}"`);
}

/** Creates a bookmark at a commit, or under the working copy, and puts the working copy on it. */
export async function createBookmark(
  writer: JjWriter,
  name: string,
  { view, commit }: { readonly view: JjView; readonly commit: string | undefined },
): Promise<void> {
  const doing = `create bookmark "${name}"`;
  if ((await view.bookmarks()).some((ref) => ref.name === name && ref.remote === "")) {
    throw new VcsError(`Cannot ${doing}: it exists`, { hints: [`tether new -- ${shellQuote(name)}`] });
  }
  const here = commitUnder(await view.workingCopy());
  if (commit !== undefined && commit !== here) await newOn(writer, commit, doing);
  // Nothing can be at jj's root: before the first commit the working copy has it, and the commit takes it along.
  const at = commit ?? here ?? "@";
  await write(writer, ["bookmark", "create", jjString(name), `--revision=${at}`], doing);
}

/** Moves a bookmark that is where the caller saw it, and the working copy along when that stands there. */
export async function moveBookmark(
  writer: JjWriter,
  name: string,
  move: { readonly from: string; readonly to: string; readonly view: JjView },
): Promise<void> {
  await requireBookmarkAt(move.view, { name, at: move.from, doing: `move bookmark "${name}"` });
  const { parents } = await move.view.workingCopy();
  await setBookmark(writer, name, checkId(move.to));
  if (parents.length !== 1 || parents[0]?.id !== move.from || move.to === move.from) return;
  // Edits go along, as they do with git.
  await write(writer, ["rebase", "--revision=@", `--onto=${move.to}`], `move the working copy to bookmark "${name}"`);
}

/** Deletes a bookmark that is where the caller saw it. */
export async function deleteBookmark(
  writer: JjWriter,
  name: string,
  { view, at }: { readonly view: JjView; readonly at: string },
): Promise<void> {
  const doing = `delete bookmark "${name}"`;
  await requireBookmarkAt(view, { name, at, doing });
  await write(writer, ["bookmark", "delete", `exact:${jjString(name)}`], doing);
}

/** Abandons commits. jj deletes the bookmarks at them by itself. */
export async function abandon(writer: JjWriter, commits: readonly string[], bookmark: string): Promise<void> {
  await write(writer, ["abandon", ...commits.map(checkId)], `drop the commits of bookmark "${bookmark}"`);
}

/** Refuses a bookmark that is not where the caller saw it. */
export async function requireBookmarkAt(
  view: JjView,
  { name, at, doing }: { readonly name: string; readonly at: string; readonly doing: string },
): Promise<void> {
  const ref = (await view.bookmarks()).find((r) => r.name === name && r.remote === "");
  if (ref?.targets.length === 1 && ref.targets[0] === at) return;
  const where = ref === undefined || ref.targets.length === 0
    ? "it does not exist"
    : ref.conflict
    ? "it is conflicted"
    : `it is at "${ref.targets[0]}" and was expected at "${at}"`;
  throw new VcsError(`Cannot ${doing}: ${where}`, { hints: ["jj bookmark list"] });
}

/**
 * Puts the working copy back where a position was recorded: on the same change while that can be edited, else on a new one
 * above the recorded parent. Rewritten commits count as their successors.
 *
 * @throws {VcsError} if the parent is gone too.
 */
export async function returnTo(writer: JjWriter, record: JsonObject, view: JjView): Promise<void> {
  const { id, parent } = record;
  const visible = await view.visible();
  if ((await view.workingCopy()).changeId === id) return;
  const change = visible.filter((commit) => commit.changeId === id);
  const [only] = change;
  // jj drops an empty change that is left; one that has become history is not edited again.
  if (only !== undefined && change.length === 1 && !visible.some((commit) => commit.parents.includes(only.id))) {
    return await write(writer, ["edit", only.id], "return to the change that was edited before");
  }
  const doing = `return to commit "${parent}"`;
  if (parent === null) return await newOn(writer, ROOT_COMMIT, doing);
  const commit = typeof parent === "string" ? await successor(writer, parent, visible) : undefined;
  if (commit === undefined) throw new VcsError(`Cannot ${doing}: it is not visible any more`, { hints: ["jj op log"] });
  await newOn(writer, commit, doing);
}

/** Returns a visible commit's own id, or that of the only visible commit of its change. */
async function successor(
  { trees }: JjWriter,
  commit: string,
  visible: readonly VisibleCommit[],
): Promise<string | undefined> {
  if (visible.some(({ id }) => id === commit)) return commit;
  const changeId = await trees.changeId(commit);
  const rewritten = visible.filter((v) => changeId !== undefined && v.changeId === changeId);
  return rewritten.length === 1 ? rewritten[0]?.id : undefined;
}
