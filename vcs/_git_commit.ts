/**
 * Committing exactly some files with git, and taking such a commit back (formats §15.3, §15.6; L41).
 *
 * @module
 */

import { join } from "node:path";
import { shellQuote } from "../engine/io/shell.ts";
import { VcsError } from "../engine/model/errors.ts";
import type { CommitRequest } from "./adapter.ts";
import { type Git, SILENT } from "./_git_process.ts";
import type { GitObjectReader } from "./object_reader.ts";

/** Paths on standard input: there may be more than a command line holds, and none is a pattern. */
const FROM_STDIN = ["--pathspec-from-file=-", "--pathspec-file-nul"];

/** `status` takes paths as arguments only, and a command line holds so many. */
const PATHS_AT_ONCE = 1000;

/** How the files below some paths stood at one moment. */
export interface Status {
  /** The paths asked about. */
  readonly paths: readonly string[];
  /** The files that differ from HEAD, in the working tree or in the index. */
  readonly changed: readonly string[];
}

/** Reads how the files below some paths stand. */
export async function readStatus(git: Git, paths: readonly string[]): Promise<Status> {
  const changed: string[] = [];
  for (let at = 0; at < paths.length; at += PATHS_AT_ONCE) {
    const result = await git.run(
      [
        "--no-optional-locks",
        "--literal-pathspecs",
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=all",
        "--no-renames",
        "--ignore-submodules=all",
        "--",
        ...paths.slice(at, at + PATHS_AT_ONCE),
      ],
      { doing: "find the changed files" },
    );
    for (const record of result.text().split("\0")) {
      if (record !== "") changed.push(record.slice(3));
    }
  }
  return { paths, changed };
}

/**
 * Commits some paths with the user's hooks and signing, and nothing else: other staged changes stay staged. Returns the id.
 *
 * @throws {VcsError} if git or a hook refused; the paths are not staged then.
 */
export async function commitPaths(
  git: Git,
  reader: GitObjectReader,
  request: CommitRequest & {
    /** What HEAD is at. */
    readonly parent: string | null;
    /** What is known of removed files, to ask no second time. */
    readonly status?: Status;
  },
): Promise<string> {
  const doing = "commit the dataset";
  const { known, present } = await committable(git, request.paths, request.status);
  if (known.length === 0) {
    throw new VcsError(`Cannot ${doing}: none of its files exists or is tracked`, { code: "nothing-to-commit" });
  }
  try {
    if (present.length > 0) {
      // A sparse checkout may leave their folder out: it is the dataset's all the same. New files are only announced: the commit takes content and removals from the working tree itself, so that one which
      // fails leaves nothing staged, even where there is no room to unstage it (L37).
      const announce = ["add", "--sparse", "--intent-to-add", "--ignore-removal", ...FROM_STDIN];
      await git.run(["--literal-pathspecs", ...announce], { doing, stdin: nulEnded(present), writes: true });
    }
    await git.run(["--literal-pathspecs", "commit", "--quiet", "-m", request.message, ...FROM_STDIN], {
      doing,
      stdin: nulEnded(known),
      hooks: true,
      writes: true,
    });
  } catch (error) {
    // With a commit there, what failed came after it, such as a hook; the caller sees that HEAD moved.
    const committed = (await reader.info("HEAD^{commit}"))?.id !== (request.parent ?? undefined);
    throw await withRemedies(git, known, { error, committed });
  }
  return await commitAbove(reader, request.parent);
}

/** Unstages after a failure, and returns the failure with what else went wrong and what usually is the reason. */
async function withRemedies(
  git: Git,
  paths: readonly string[],
  failure: { readonly error: unknown; readonly committed: boolean },
): Promise<unknown> {
  const { error, committed } = failure;
  const hints: string[] = [];
  try {
    if (!committed) await unstage(git, paths);
  } catch (second) {
    if (!(second instanceof VcsError)) throw second;
    hints.push(`git reset -q -- ${paths.map(shellQuote).join(" ")}`);
  }
  if (!(error instanceof VcsError)) return error;
  if (!committed && error.code === SILENT) {
    hints.push("A hook may have refused without a word: git hook run pre-commit");
  }
  const [ignored, ...others] = await ignoredFiles(git, paths);
  if (ignored !== undefined) hints.push(`git check-ignore -v -- ${shellQuote(ignored)}`);
  const byRule = ignored !== undefined && /pathspec|ignored by/.test(error.message);
  const more = others.length > 0 ? ` and ${others.length} more` : "";
  return new VcsError(
    byRule ? `Cannot commit the dataset: an ignore rule of git hides "${ignored}"${more}` : error.message,
    {
      code: byRule ? "ignored" : error.code,
      hints: [...error.hints, ...hints],
      details: error.details,
      cause: error,
    },
  );
}

/** Files of the dataset that git ignores make it refuse or leave out what it was given. */
async function ignoredFiles(git: Git, paths: readonly string[]): Promise<string[]> {
  const listing = [
    "ls-files",
    "-z",
    "--others",
    "--ignored",
    "--exclude-standard",
    "--",
    ...paths.slice(0, PATHS_AT_ONCE),
  ];
  const result = await git.run(["--literal-pathspecs", ...listing], { doing: "find the ignored files" });
  return result.text().split("\0").filter((path) => path !== "");
}

/** Makes nothing of some paths staged. */
export async function unstage(git: Git, paths: readonly string[]): Promise<void> {
  await git.run(["--literal-pathspecs", "reset", "--quiet", ...FROM_STDIN], {
    doing: "unstage the dataset's files",
    stdin: nulEnded(paths),
    writes: true,
  });
}

/**
 * Sorts out what git would choke on: a path must match a file that it knows or is about to know. Only for paths that are
 * gone, or folders without files, does git have to be asked whether they were tracked.
 */
async function committable(
  git: Git,
  paths: readonly string[],
  status: Status | undefined,
): Promise<{ known: string[]; present: string[] }> {
  const there = await Promise.all(paths.map((path) => holdsFile(join(git.root, path))));
  const present = paths.filter((_, i) => there[i]);
  const absent = paths.filter((_, i) => !there[i]);
  const asked = absent.every((path) => status?.paths.includes(path));
  const { changed } = status && asked ? status : await readStatus(git, absent);
  const removed = changed.filter((path) => absent.some((p) => path === p || path.startsWith(`${p}/`)));
  return { known: [...present, ...removed], present };
}

async function holdsFile(path: string): Promise<boolean> {
  try {
    const info = await Deno.lstat(path);
    if (!info.isDirectory) return true;
    for await (const entry of Deno.readDir(path)) {
      if (!entry.isDirectory || await holdsFile(join(path, entry.name))) return true;
    }
    return false;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Returns the commit right above a parent on HEAD's line: a hook may have committed on top of ours. */
async function commitAbove(reader: GitObjectReader, parent: string | null): Promise<string> {
  const head = (await reader.info("HEAD^{commit}"))?.id;
  let id = head;
  while (id !== undefined) {
    const first = (await reader.commit(id))?.parents[0];
    if (first === (parent ?? undefined)) return id;
    id = first;
  }
  if (head !== undefined) return head;
  throw new VcsError("Cannot find the commit that was just made: HEAD names none");
}

function nulEnded(paths: readonly string[]): string {
  return paths.map((path) => path + "\0").join("");
}
