/**
 * Taking commits out of lines of jj history that go on (formats §15.3). jj makes the commits above them again by itself; each
 * then gets the dataset's files it had, where they came out otherwise.
 *
 * @module
 */

import { VcsError } from "../engine/model/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../engine/model/json.ts";
import type { Rewrites } from "./adapter.ts";
import type { JjWriter } from "./_jj_commit.ts";
import { jjString } from "./_jj_process.ts";
import type { JjView, VisibleCommit } from "./_jj_view.ts";
import { checkId } from "./object_reader.ts";

/** What is to be abandoned. */
export interface JjAbandonRequest {
  readonly commits: readonly string[];
  /** Files and folders that every later commit keeps as it has them. */
  readonly keep: readonly string[];
  /** Reads the repository as it is by then. */
  now(): Promise<JjView>;
}

/** A commit above those, as it was. */
type Above = Omit<VisibleCommit, "conflict">;

const DOING = "abandon commits";

/** Abandons commits and gives those above them their files back. `begin` hears what an interrupted run is finished by. */
export async function abandonKeeping(
  writer: JjWriter,
  request: JjAbandonRequest & { readonly begin: (record: JsonObject) => Promise<void> },
): Promise<Rewrites> {
  const { jj, settings } = writer;
  await snapshot(writer);
  const view = await request.now();
  const { operation } = view;
  const before = await view.visible();
  const unknown = request.commits.find((id) => !before.some((commit) => commit.id === id));
  if (unknown !== undefined) {
    throw new VcsError(`Cannot abandon commit "${unknown}": it is not visible any more`, { hints: ["jj op log"] });
  }
  const bookmarks = await localBookmarks(view);
  const above = builtOn(before, request.commits);
  await request.begin({
    commits: [...request.commits],
    above: above.map(({ id, changeId, parents, workingCopy }) => ({
      id,
      change: changeId,
      parents: [...parents],
      working_copy: workingCopy,
    })),
    bookmarks: Object.fromEntries(bookmarks),
  });
  const args = ["abandon", "--retain-bookmarks", ...request.commits.map(checkId)];
  await jj.write(args, { doing: DOING, ...await settings.forWriting() });
  let given = 0;
  // Parents first: what is given back to a commit stays out of those above it.
  for (const commit of above) if (await giveBack(writer, commit, request)) given++;
  if (given > 0) await joinOperations(writer, request, { since: operation, count: 1 + given });
  return await rewritesSince(request, above, bookmarks);
}

/**
 * Makes the newest operations one, so that one `jj undo` takes all of it back. Between two of them the dataset's files are in
 * conflict. Somebody else's among them stay as they are, and so do all.
 */
async function joinOperations(
  { jj, settings }: JjWriter,
  request: Pick<JjAbandonRequest, "now">,
  { since, count }: { readonly since: string; readonly count: number },
): Promise<void> {
  const { operation } = await request.now();
  const args = ["operation", "log", "--no-graph", `--limit=${count + 1}`, '--template=id ++ "\\n"'];
  const log = (await jj.read(args, { doing: "list operations", operation })).text().split("\n");
  const [newest, last] = log;
  if (newest !== operation || last === undefined || log[count] !== since) return;
  const range = `${since}..${last}`;
  await jj.write(["operation", "abandon", range], { doing: DOING, ...await settings.forWriting() });
}

/** Gives the files back that an abandonment whose process died had not given back. */
export async function finishAbandon(
  writer: JjWriter,
  record: JsonObject,
  request: Omit<JjAbandonRequest, "commits">,
): Promise<Rewrites | undefined> {
  const { commits, bookmarks } = record;
  const gone = new Set(Array.isArray(commits) ? commits : []);
  await snapshot(writer);
  const visible = await (await request.now()).visible();
  if (gone.size === 0 || visible.some((commit) => gone.has(commit.id))) return undefined;
  const above = (Array.isArray(record["above"]) ? record["above"] : []).flatMap(readCommit);
  for (const commit of above) {
    const now = visible.find((other) => other.changeId === commit.changeId);
    // A working copy may have been edited since; only one that cannot be read as it is takes its files back.
    if (!commit.workingCopy || now?.conflict === true) await giveBack(writer, commit, request);
  }
  const before = Object.entries(isJsonObject(bookmarks) ? bookmarks : {});
  return await rewritesSince(request, above, new Map(before.map(([name, at]) => [name, String(at)])));
}

function readCommit(json: Json): Above[] {
  if (!isJsonObject(json)) return [];
  const { id, change, parents, working_copy: workingCopy } = json;
  if (typeof id !== "string" || typeof change !== "string" || !Array.isArray(parents)) return [];
  return [{ id, changeId: change, parents: parents.map(String), workingCopy: workingCopy === true }];
}

/** Edits nobody has snapshotted yet would look like none at all. */
async function snapshot({ jj, settings }: JjWriter): Promise<void> {
  const args = ["log", "--no-graph", "--revision=@", '--template=""'];
  await jj.write(args, { doing: DOING, ...await settings.forWriting() });
}

async function rewritesSince(
  request: Pick<JjAbandonRequest, "now">,
  above: readonly Above[],
  bookmarks: ReadonlyMap<string, string>,
): Promise<Rewrites> {
  const after = await request.now();
  const visible = await after.visible();
  const rewritten = above.flatMap(({ id, changeId, workingCopy }) => {
    const [only, ...others] = visible.filter((commit) => commit.changeId === changeId);
    return only !== undefined && others.length === 0 && only.id !== id && !workingCopy ? [[id, only.id] as const] : [];
  });
  const moved = [...await localBookmarks(after)].filter(([name, at]) => bookmarks.get(name) !== at);
  return { commits: new Map(rewritten), bookmarks: new Map(moved) };
}

async function localBookmarks(view: JjView): Promise<Map<string, string>> {
  const local = (await view.bookmarks()).filter((ref) => ref.remote === "" && ref.targets.length === 1);
  return new Map(local.map((ref) => [ref.name, ref.targets[0] ?? ""]));
}

/** Returns the commits above some others, parents first. */
function builtOn(visible: readonly VisibleCommit[], commits: readonly string[]): VisibleCommit[] {
  const gone = new Set(commits);
  const found = new Set(commits);
  const above: VisibleCommit[] = [];
  // jj lists children before their parents.
  for (const commit of visible.toReversed()) {
    if (!commit.parents.some((parent) => found.has(parent))) continue;
    found.add(commit.id);
    if (!gone.has(commit.id)) above.push(commit);
  }
  return above;
}

/** Tells whether it took an operation of jj's. */
async function giveBack(
  writer: JjWriter,
  old: Above,
  request: Omit<JjAbandonRequest, "commits">,
): Promise<boolean> {
  const { trees, jj, settings } = writer;
  const { keep } = request;
  const visible = await (await request.now()).visible();
  const [now, ...others] = visible.filter((commit) => commit.changeId === old.changeId);
  // jj drops what became empty and nobody looks at; a change that several commits are of is not told apart.
  if (now === undefined || others.length > 0 || now.id === old.id) return false;
  const [parent] = old.parents;
  const unchanged = parent !== undefined && old.parents.length === 1 && await same(writer, keep, parent, old.id);
  // A working copy without edits of its own in these files follows its new parent.
  const source = old.workingCopy && unchanged ? now.parents[0] : old.id;
  if (source === undefined || await same(writer, keep, source, now.id)) return false;
  const paths = [...(await trees.idsAt(source, keep)).keys(), ...(await trees.idsAt(now.id, keep)).keys()];
  const filesets = [...new Set(paths)].map((path) => `root:${jjString(path)}`).join(" | ");
  const overlay = await settings.forWriting({ "fileset-aliases.tether_files": filesets });
  const args = [`--from=${checkId(source)}`, `--into=${checkId(now.id)}`, "--restore-descendants", "tether_files"];
  await jj.write(["restore", ...args], { doing: `keep the files of commit "${old.id}"`, ...overlay });
  return true;
}

/** Tells whether two commits have the same files at some paths; in a conflict, on the same sides. */
async function same({ trees }: JjWriter, paths: readonly string[], a: string, b: string): Promise<boolean> {
  const [left, right] = await Promise.all([trees.idsAt(a, paths), trees.idsAt(b, paths)]);
  return left.size === right.size && [...left].every(([path, id]) => right.get(path) === id);
}
