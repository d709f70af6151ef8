/**
 * What version control and the files of a clone say, read without tether: which pins they name, and what a command may have changed.
 *
 * @module
 */

import { basename, join } from "node:path";
import { runGit, tryGit } from "./_git.ts";
import { lookAtJj } from "./_jj.ts";
import type { Clone } from "./_world.ts";

/** A checkout as it is. */
export interface PlaceSight {
  /** What HEAD names, and the commit. */
  readonly head: string;
  /** What is staged. */
  readonly index: string;
  /** Manifest texts by path. */
  readonly manifests: ReadonlyMap<string, string>;
  /** The working state without what was last seen of stores; empty before there is one. */
  readonly workspace: string;
  /** The lines of the journal. */
  readonly journal: readonly Readonly<Record<string, unknown>>[];
}

/** A clone as it is. */
export interface Sight {
  /** Every ref with its commit, in jj with its change. */
  readonly refs: string;
  /** Branches, tags and remote branches there are, as a revision names them. */
  readonly names: readonly string[];
  /** Whether a checkout cannot be read. */
  readonly away: boolean;
  readonly places: ReadonlyMap<string, PlaceSight>;
  /**
   * Native names of the pins that a commit, an index, a working tree or an unfinished operation names, and the heads that
   * manifests record, as {@link recordedAs} spells them.
   */
  readonly needed: ReadonlySet<string>;
}

const PIN = /tether\.[0-9a-f]{8}\.[0-9a-f]{16}|^(?:snapshot_id|sha) = "[^"]+"$/gm;
/** Pins by commit or blob: neither ever changes. */
const pinsOf = new Map<string, readonly string[]>();

/** Returns the ways in which a manifest says that it recorded a head. */
export function recordedAs(head: string): string[] {
  return [`snapshot_id = "${head}"`, `sha = "${head}"`];
}

/** Reads a clone. */
export async function look(clone: Clone): Promise<Sight> {
  const { gitDir } = clone;
  const needed = new Set<string>();
  const places = new Map<string, PlaceSight>();
  const history = clone.system === "git" ? await gitHistory(clone) : await jjHistory(clone);
  for (const root of clone.checkouts) {
    const place = await lookAtPlace(root, history);
    places.set(root, place);
    for (const text of place.manifests.values()) for (const pin of text.match(PIN) ?? []) needed.add(pin);
    for (const pin of unfinished(place.journal)) needed.add(pin);
    for (const line of place.index.split("\n")) {
      const [, blob = ""] = line.split(/\s/);
      if (/\.tether\/objects\/.*\.toml$/.test(line)) { for (const pin of await pinsIn(gitDir, blob)) needed.add(pin); }
    }
  }
  for (const commit of history.commits) for (const pin of await pinsIn(gitDir, commit)) needed.add(pin);
  const { refs, names, away } = history;
  return { refs, names, places, needed, away };
}

/** What is visible of a repository. */
interface History {
  readonly commits: readonly string[];
  readonly refs: string;
  readonly names: readonly string[];
  /** Whether a checkout of it cannot be read. */
  readonly away: boolean;
  /** Where a checkout is, and what it has staged. */
  at(root: string): Promise<Pick<PlaceSight, "head" | "index">>;
}

async function gitHistory(clone: Clone): Promise<History> {
  const main = clone.checkouts[0] ?? "";
  const commits = (await runGit(main, ["rev-list", "--all"])).split("\n").filter((c) => c !== "");
  const refs = await runGit(main, ["for-each-ref", "--format=%(refname) %(objectname)"]);
  const names = refs.split("\n").map((line) => line.split(" ")[0] ?? "");
  return {
    commits,
    refs,
    away: clone.away.length > 0,
    names: names.flatMap((name) => /^refs\/(?:heads|tags|remotes)\/(.+)$/.exec(name)?.[1] ?? []),
    async at(root) {
      const [head, index] = await Promise.all([headOf(root), runGit(root, ["ls-files", "--stage"])]);
      return { head, index };
    },
  };
}

async function jjHistory(clone: Clone): Promise<History> {
  const { workspaces, ...history } = await lookAtJj(clone.checkouts[0] ?? "");
  const find = (root: string) => workspaces.find(({ name }) => name === workspaceOf(clone, root));
  return {
    ...history,
    away: clone.away.some((root) => find(root) !== undefined),
    at: (root) => Promise.resolve({ head: find(root)?.parents ?? "", index: "" }),
  };
}

/** Returns the name of a workspace of the model: the first one is called by jj, the others by their folders. */
export function workspaceOf(clone: Clone, root: string): string {
  return basename(root) === clone.name ? "default" : basename(root);
}

async function lookAtPlace(root: string, history: History): Promise<PlaceSight> {
  const [at, manifests, workspace, journal] = await Promise.all([
    history.at(root),
    readManifests(root),
    readText(join(root, ".tether/workspace.toml")),
    readText(join(root, ".tether/ops.jsonl")),
  ]);
  return { ...at, manifests, workspace: withoutSnapshot(workspace), journal: linesOf(journal) };
}

/** The branch may have no commit yet. */
async function headOf(root: string): Promise<string> {
  const [branch, commit] = await Promise.all([
    tryGit(root, ["symbolic-ref", "-q", "HEAD"]),
    tryGit(root, ["rev-parse", "--verify", "-q", "HEAD"]),
  ]);
  return `${branch.stdout} ${commit.stdout}`;
}

async function readManifests(root: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  async function walk(folder: string): Promise<void> {
    for await (const entry of Deno.readDir(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory) await walk(path);
      else if (entry.name.endsWith(".toml")) found.set(path.slice(root.length + 1), await Deno.readTextFile(path));
    }
  }
  try {
    await walk(join(root, ".tether/objects"));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return new Map([...found].sort(([a], [b]) => a < b ? -1 : 1));
}

/** Reads a file; one that is not there is empty. */
export async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** A command that is refused may still have looked at stores. */
function withoutSnapshot(workspace: string): string {
  const tables = workspace.split(/\n(?=\[)/).filter((table) => !table.startsWith("[last_snapshot"));
  const [top = "", ...rest] = tables.map((table) => table.replace(/^last_snapshot_at = .*\n?/m, "").trim());
  return [top, ...rest.map((table) => table.split("\n").sort().join("\n")).sort()].join("\n\n");
}

function linesOf(journal: string): Record<string, unknown>[] {
  return journal.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as Record<string, unknown>];
    } catch {
      // Torn, or the empty end.
      return [];
    }
  });
}

/** Pins that operations without an end made or meant to make. */
function unfinished(journal: readonly Readonly<Record<string, unknown>>[]): string[] {
  const ended = new Set(journal.map((line) => line["done"]));
  const open = new Set(journal.filter((l) => l["status"] === "started" && !ended.has(l["id"])).map((l) => l["id"]));
  return journal.flatMap((line) => {
    if (open.has(line["id"])) {
      const { actions = [] } = (line["plan"] ?? {}) as { actions?: { op: string; params: Record<string, unknown> }[] };
      return actions.filter((a) => a.op === "pin" || a.op === "repin").map((a) => `tether.${a.params["pin_id"]}`);
    }
    const pinning = open.has(line["progress"]) && (line["action"] === "pin" || line["action"] === "repin");
    return pinning ? JSON.stringify(line).match(PIN) ?? [] : [];
  });
}

async function pinsIn(gitDir: string, id: string): Promise<readonly string[]> {
  const known = pinsOf.get(id);
  if (known) return known;
  const git = (args: readonly string[]) => runGit(gitDir, [`--git-dir=${gitDir}`, ...args]);
  const commit = await git(["cat-file", "-t", id]) === "commit";
  // Two steps, since git grep says with its exit code that there is nothing.
  const text = commit ? await textOf(gitDir, await git(["ls-tree", "-r", id])) : await git(["cat-file", "-p", id]);
  const pins = [...new Set(text.match(PIN) ?? [])];
  pinsOf.set(id, pins);
  return pins;
}

async function textOf(gitDir: string, files: string): Promise<string> {
  const blobs = files.split("\n").filter((f) => /\.tether\/objects\/.*\.toml$/.test(f)).map((f) =>
    f.split(/\s/)[2] ?? ""
  );
  const texts: string[] = [];
  for (const blob of blobs) texts.push((await pinsIn(gitDir, blob)).join("\n"));
  return texts.join("\n");
}
