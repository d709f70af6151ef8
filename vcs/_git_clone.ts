/**
 * Whether a git clone has all of history (L03).
 *
 * @module
 */

import { join } from "node:path";
import { shellQuote } from "../engine/io/shell.ts";
import type { Completeness } from "./adapter.ts";
import type { Git } from "./_git_process.ts";
import type { GitFolders } from "./_git_refs.ts";

/** One remote, as far as its configuration decides what a fetch brings. */
interface Remote {
  readonly name: string;
  readonly fetch: readonly string[];
  readonly filter: string | undefined;
}

/** One way in which history is cut short. */
interface Gap {
  readonly reason: string;
  readonly hints: readonly string[];
}

/**
 * Looks for what cuts history short: a filter, remotes of which only some branches come, a shallow border, grafts. Each has
 * its own remedy, so all are named; deepening a clone does not bring the other branches.
 */
export async function readCompleteness(
  git: Git,
  folders: Pick<GitFolders, "commonDir">,
): Promise<Completeness> {
  const config = await git.run(["config", "-z", "--get-regexp", "^remote\\..*\\.(fetch|partialclonefilter)$"], {
    doing: "read which branches the remotes bring",
    codes: [0, 1],
  });
  const gaps: Gap[] = parseRemotes(config.text()).flatMap((remote) => [...filtered(remote), ...someBranches(remote)]);
  if (await hasLine(join(folders.commonDir, "shallow"))) {
    gaps.push({ reason: "this clone is shallow, so older commits are not here", hints: ["git fetch --unshallow"] });
  }
  const grafts = join(folders.commonDir, "info", "grafts");
  if (await hasLine(grafts)) {
    gaps.push({ reason: "grafts change the parents of commits here", hints: [`rm -- ${shellQuote(grafts)}`] });
  }
  if (gaps.length === 0) return { complete: true };
  return { complete: false, reason: gaps.map((g) => g.reason).join("; "), hints: gaps.flatMap((g) => g.hints) };
}

/** Reads `<key>\n<value>\0` records. The last part of a key is lower-case; a remote's name may hold dots. */
export function parseRemotes(text: string): Remote[] {
  const remotes = new Map<string, { name: string; fetch: string[]; filter: string | undefined }>();
  for (const record of text.split("\0")) {
    const [, name, field, value = ""] = /^remote\.(.*)\.([a-z]+)(?:\n(.*))?$/s.exec(record) ?? [];
    if (name === undefined) continue;
    const remote = remotes.get(name) ?? { name, fetch: [], filter: undefined };
    remotes.set(name, remote);
    if (field === "fetch") remote.fetch.push(value);
    if (field === "partialclonefilter") remote.filter = value;
  }
  return [...remotes.values()];
}

function filtered(remote: Remote): Gap[] {
  if (remote.filter === undefined) return [];
  const setting = shellQuote(`remote.${remote.name}.partialclonefilter`);
  return [{
    reason: `remote "${remote.name}" is fetched with the filter "${remote.filter}", so objects may be missing here`,
    hints: [`git config --unset-all ${setting}`, `git fetch --refetch ${shellQuote(remote.name)}`],
  }];
}

/** A remote without refspecs is none this clone fetches from by itself, such as a mirror that is only pushed to. */
function someBranches(remote: Remote): Gap[] {
  if (remote.fetch.length === 0 || bringsEveryBranch(remote.fetch)) return [];
  const setting = shellQuote(`remote.${remote.name}.fetch`);
  const everything = shellQuote(`+refs/heads/*:refs/remotes/${remote.name}/*`);
  return [{
    reason: `only some branches of remote "${remote.name}" are fetched here`,
    hints: [`git config --replace-all ${setting} ${everything}`, `git fetch ${shellQuote(remote.name)}`],
  }];
}

/** Tells whether refspecs take all branches, with none left out by a negative one. */
export function bringsEveryBranch(refspecs: readonly string[]): boolean {
  const sources = refspecs.map((spec) => spec.replace(/^\+/, "").split(":")[0] ?? "");
  const leavesOut = sources.some((s) => s.startsWith("^refs/heads/") || s.startsWith("^refs/*"));
  return !leavesOut && sources.some((s) => s === "refs/heads/*" || s === "refs/*");
}

async function hasLine(path: string): Promise<boolean> {
  try {
    return /^[^#\s]/m.test(await Deno.readTextFile(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
