/**
 * Committing exactly some files with jj, and taking such a commit back (formats §15.3, §15.6; L41).
 *
 * @module
 */

import { shellQuote } from "../engine/io/shell.ts";
import { VcsError } from "../engine/model/errors.ts";
import { parseJson } from "../engine/model/json.ts";
import type { CommitRequest } from "./adapter.ts";
import { workingFiles } from "./_jj_dirty.ts";
import { type Jj, jjString, RS, US } from "./_jj_process.ts";
import type { JjSettings } from "./_jj_settings.ts";
import type { JjTrees } from "./_jj_trees.ts";
import { bookmarksHere } from "./_jj_position.ts";
import { parseWorkingCopy, ROOT_COMMIT, type WorkingCopy, workingCopyTemplate } from "./_jj_view.ts";

/** What the commands of a write need. */
export interface JjWriter {
  readonly jj: Jj;
  readonly settings: JjSettings;
  readonly trees: JjTrees;
}

const DOING = "commit the dataset";

/** The fileset of the files to commit, as an alias: a command line could not hold it. */
const OWN_FILES = "tether_files";

/** tether's own files are tracked whatever their size; jj's default limit is 1 MiB. */
const MAX_FILE_SIZE = "1GiB";

/**
 * Commits some paths with the user's signing, and nothing else: other edits stay in the working copy. The bookmark advances
 * in the same operation. Returns the id.
 *
 * @throws {VcsError} if the working copy is not on the bookmark, a file is ignored, or nothing changed. What was tracked
 * for it stays an edit.
 */
export async function commitPaths(writer: JjWriter, request: CommitRequest): Promise<string> {
  const { jj, settings, trees } = writer;
  const { bookmark, message, paths } = request;
  const filesets = paths.map((path) => `root:${jjString(path)}`).join(" | ");
  const own = { [`fileset-aliases.${OWN_FILES}`]: filesets };

  // Tracks exactly what is to be committed, and is the one snapshot; new files of the user's are left for jj's own rules.
  const tracking = await settings.forWriting({
    ...own,
    "snapshot.auto-track": OWN_FILES,
    "snapshot.max-new-file-size": MAX_FILE_SIZE,
  });
  const template = `--template=${workingCopyTemplate()} ++ "${US}" ++ self.description().escape_json()`;
  const snapshot = await jj.write(["log", "--no-graph", "--revision=@", template], { doing: DOING, ...tracking });
  const fields = snapshot.text().split(US);
  const before = parseWorkingCopy(fields);
  requireHere(before, bookmark);
  await requireCommittable(trees, jj.root, { paths, before });

  const committing = await settings.forWriting({
    ...own,
    "experimental-advance-branches.enabled-branches": [`exact:${jjString(bookmark)}`],
    "experimental-advance-branches.disabled-branches": [],
    // What jj prints of the commits it made is read, so that no other process has to be asked.
    "templates.commit_summary":
      `"${RS}" ++ self.current_working_copy() ++ "${US}" ++ ${workingCopyTemplate()} ++ "${RS}"`,
  });
  const args = ["commit", `--message=${message}`, OWN_FILES];
  const committed = await jj.write(args, { doing: DOING, ...committing });
  const after = printedWorkingCopy(committed.stderr) ?? await askWorkingCopy(writer);
  const [made] = after.parents;
  if (made === undefined || made.id === before.parents[0]?.id) {
    throw new VcsError("Cannot find the commit that was just made: the working copy does not stand on it", {
      hints: ["jj log"],
    });
  }
  if (!made.bookmarks.includes(bookmark)) {
    const doing = `move bookmark "${bookmark}" to the new commit`;
    const set = ["bookmark", "set", jjString(bookmark), `--revision=${made.id}`, "--allow-backwards"];
    await jj.write(set, { doing, ...await settings.forWriting() });
  }
  await keepDescription(writer, fields.at(-1) ?? "");
  return made.id;
}

/** Gives the working copy back what the user said of it: jj takes the commit for the change that was described. */
async function keepDescription({ jj, settings }: JjWriter, json: string): Promise<void> {
  const description = parseJson(json);
  if (typeof description !== "string" || description === "") return;
  const args = ["describe", "@", `--message=${description}`];
  await jj.write(args, { doing: "keep the description of the working copy", ...await settings.forWriting() });
}

function requireHere(before: WorkingCopy, bookmark: string): void {
  const here = bookmarksHere(before);
  if (here.includes(bookmark)) return;
  const on = here.length === 0 ? "no bookmark" : here.map((name) => `"${name}"`).join(", ");
  throw new VcsError(`Cannot commit on bookmark "${bookmark}": the working copy is on ${on}`, {
    hints: [`tether new -- ${shellQuote(bookmark)}`],
  });
}

/** Refuses what jj would leave out, and a commit that would change nothing. */
async function requireCommittable(
  trees: JjTrees,
  root: string,
  { paths, before }: { readonly paths: readonly string[]; readonly before: WorkingCopy },
): Promise<void> {
  const now = await trees.idsAt(before.id, paths);
  const left = (await workingFiles(root, paths)).find((path) => !now.has(path));
  if (left !== undefined) {
    throw new VcsError(
      `Cannot ${DOING}: jj leaves "${left}" out, as an ignore rule, its size or a sparse workspace tells it to`,
      {
        code: "ignored",
        hints: [
          `jj file track --include-ignored ${shellQuote(`root:${jjString(left)}`)}`,
          `Or, in a sparse workspace: jj sparse set --add ${shellQuote(left)}`,
        ],
        details: { path: left },
      },
    );
  }
  const [parent, ...others] = before.parents;
  // A merge is a change of its own.
  if (parent === undefined || others.length > 0) return;
  const then = parent.id === ROOT_COMMIT ? new Map<string, string>() : await trees.idsAt(parent.id, paths);
  if (now.size !== then.size || [...now].some(([path, id]) => then.get(path) !== id)) return;
  throw new VcsError(`Cannot ${DOING}: none of its files changed`, { code: "nothing-to-commit" });
}

/** Finds the new working copy in what a command printed; nothing when the user's settings keep jj quiet. */
function printedWorkingCopy(text: string): WorkingCopy | undefined {
  const records = text.split(RS).map((record) => record.split(US));
  const current = records.find(([isCurrent, , changeId]) => isCurrent === "true" && changeId !== undefined);
  return current && parseWorkingCopy(current.slice(1));
}

async function askWorkingCopy({ jj, settings }: JjWriter): Promise<WorkingCopy> {
  const args = ["log", "--no-graph", "--revision=@", `--template=${workingCopyTemplate()}`];
  const result = await jj.write(args, { doing: "find the commit that was just made", ...await settings.forWriting() });
  return parseWorkingCopy(result.text().split(US));
}

/**
 * Takes back the commit under the working copy: its changes become edits of the working copy.
 *
 * @throws {VcsError} if the working copy stands elsewhere.
 */
export async function uncommit(
  { jj, settings }: JjWriter,
  commit: string,
  { parents }: WorkingCopy,
): Promise<void> {
  const doing = `take back commit "${commit}"`;
  const [parent, ...others] = parents;
  if (parent?.id !== commit || others.length > 0) {
    throw new VcsError(`Cannot ${doing}: the working copy does not stand on it alone`, { hints: ["jj log"] });
  }
  const squash = ["squash", `--from=${commit}`, "--into=@", "--use-destination-message"];
  await jj.write(squash, { doing, ...await settings.forWriting() });
}
