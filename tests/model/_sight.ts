/**
 * What git and the files of a clone say, read without tether: which pins they name, and what a command may have changed.
 *
 * @module
 */

import { join } from "node:path";
import { runGit, tryGit } from "./_git.ts";
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
  /** Every ref with its commit. */
  readonly refs: string;
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
  const main = clone.checkouts[0] ?? "";
  const needed = new Set<string>();
  const places = new Map<string, PlaceSight>();
  for (const root of clone.checkouts) {
    const place = await lookAtPlace(root);
    places.set(root, place);
    for (const text of place.manifests.values()) for (const pin of text.match(PIN) ?? []) needed.add(pin);
    for (const pin of unfinished(place.journal)) needed.add(pin);
    for (const line of place.index.split("\n")) {
      const [, blob = ""] = line.split(/\s/);
      if (/\.tether\/objects\/.*\.toml$/.test(line)) { for (const pin of await pinsIn(main, blob)) needed.add(pin); }
    }
  }
  for (const commit of (await runGit(main, ["rev-list", "--all"])).split("\n").filter((c) => c !== "")) {
    for (const pin of await pinsIn(main, commit)) needed.add(pin);
  }
  const refs = await runGit(main, ["for-each-ref", "--format=%(refname) %(objectname)"]);
  return { refs, places, needed };
}

async function lookAtPlace(root: string): Promise<PlaceSight> {
  const [head, index, manifests, workspace, journal] = await Promise.all([
    headOf(root),
    runGit(root, ["ls-files", "--stage"]),
    readManifests(root),
    readText(join(root, ".tether/workspace.toml")),
    readText(join(root, ".tether/ops.jsonl")),
  ]);
  return { head, index, manifests, workspace: withoutSnapshot(workspace), journal: linesOf(journal) };
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

async function pinsIn(folder: string, id: string): Promise<readonly string[]> {
  const known = pinsOf.get(id);
  if (known) return known;
  const commit = await runGit(folder, ["cat-file", "-t", id]) === "commit";
  // Two steps, since git grep says with its exit code that there is nothing.
  const text = commit ? await textOf(folder, id) : await runGit(folder, ["cat-file", "-p", id]);
  const pins = [...new Set(text.match(PIN) ?? [])];
  pinsOf.set(id, pins);
  return pins;
}

async function textOf(folder: string, commit: string): Promise<string> {
  const files = await runGit(folder, ["ls-tree", "-r", commit]);
  const blobs = files.split("\n").filter((f) => /\.tether\/objects\/.*\.toml$/.test(f)).map((f) =>
    f.split(/\s/)[2] ?? ""
  );
  const texts: string[] = [];
  for (const blob of blobs) texts.push((await pinsIn(folder, blob)).join("\n"));
  return texts.join("\n");
}
