/**
 * A repository's own history, and the files in which two commits differ.
 *
 * @module
 */

import { type Change, type HistoryEntry, MAX_DIFF_ENTRIES, type ObjectDiff, type Op } from "../backend.ts";
import type { Git } from "./_program.ts";
import type { Repo } from "./_repo.ts";

// Plumbing: `log` would check signatures with a program the repository may choose.
const FORMAT = "--format=%H%x1f%cI%x1f%D%x1f%s%x1e";

/** Returns the commits a commit is made of, newest first. */
export async function historyOf(
  git: Git,
  repo: Repo,
  options: Op & { readonly from: string; readonly limit: number },
): Promise<HistoryEntry[]> {
  const args = [
    "rev-list",
    `--max-count=${options.limit}`,
    "--no-commit-header",
    FORMAT,
    "--end-of-options",
    options.from,
  ];
  const result = await git.call(repo, args, { ...options, action: "read the history of" });
  return result.text().split("\x1e").slice(0, -1).map((record) => {
    const [id = "", when = "", refs = "", ...message] = record.trimStart().split("\x1f");
    return {
      id,
      when: new Date(when).toISOString(),
      message: message.join("\x1f"),
      refs: refs.split(", ").map((name) => name.replace(/^HEAD -> |^tag: /, "")).filter((n) =>
        n !== "" && n !== "HEAD"
      ),
    };
  });
}

/** Returns the files in which commit `b` differs from `a`. */
export async function diffOf(
  git: Git,
  repo: Repo,
  sides: Op & { readonly a: string; readonly b: string; readonly note: string },
): Promise<ObjectDiff> {
  const { a, b, note } = sides;
  const options = [
    "-r",
    "-z",
    "-M",
    "--raw",
    "--numstat",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=dirty",
  ];
  const args = ["diff-tree", ...options, "--end-of-options", a, b];
  const text = a === b ? "" : (await git.call(repo, args, { ...sides, action: "compare commits of" })).text();
  const changes = parseDiff(text);
  const count = (...words: Change["change"][]) => changes.filter((c) => words.includes(c.change)).length;
  return {
    unit: "files",
    added: count("added"),
    removed: count("removed"),
    modified: count("modified", "renamed"),
    entries: changes.slice(0, MAX_DIFF_ENTRIES),
    truncated: changes.length > MAX_DIFF_ENTRIES,
    note,
  };
}

/** Reads the output of `diff-tree -z --raw --numstat`: first every file's kind of change, then every file's lines. */
export function parseDiff(text: string): Change[] {
  const fields = text.split("\0");
  const changes: { path: string; to: string; change: Change["change"] }[] = [];
  let i = 0;
  for (; fields[i]?.startsWith(":"); i++) {
    const letter = fields[i]?.split(" ").at(-1)?.[0] ?? "";
    const path = fields[++i] ?? "";
    if (letter === "R") changes.push({ path: `${path} -> ${fields[i + 1]}`, to: fields[++i] ?? "", change: "renamed" });
    else changes.push({ path, to: path, change: letter === "A" ? "added" : letter === "D" ? "removed" : "modified" });
  }
  const lines = new Map<string, string>();
  for (; i < fields.length; i++) {
    const [added = "", removed = "", ...path] = (fields[i] ?? "").split("\t");
    if (path.length === 0) continue;
    // A rename's paths follow in fields of their own.
    const to = path.join("\t") === "" ? fields[i += 2] ?? "" : path.join("\t");
    if (added === "-") lines.set(to, "binary");
    else if (added !== "0" || removed !== "0") lines.set(to, `+${added} -${removed}`);
  }
  return changes.map(({ path, to, change }) => {
    const detail = lines.get(to);
    return { path, change, ...(detail === undefined ? {} : { detail }) };
  });
}
