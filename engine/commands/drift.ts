/**
 * What version control did behind tether's back: a bookmark gone, renamed, left or moved, and commits that vanished
 * (commands §5.6).
 *
 * @module
 */

import { entryOf } from "../files/workspace.ts";
import type { Context } from "../context.ts";
import { isAcknowledged, type OpEntry } from "../files/journal.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { parseManifest } from "../files/manifests.ts";
import { manifestPath } from "../model/keys.ts";
import { sameContent } from "../model/manifest.ts";
import { operands, shellQuote } from "../io/shell.ts";
import type { VcsDrift } from "../reports/reading.ts";
import { workHere } from "./commit_plan.ts";
import type { Standing } from "../state.ts";

/** Returns a sentence for each way in which the working copy and the workspace's bookmark disagree. */
export async function bookmarkDrift(ctx: Context, standing: Standing): Promise<string[]> {
  const { bookmark } = ctx.workspace;
  if (bookmark === null) return [];
  const here = await ctx.position();
  if (here.bookmarks.includes(bookmark)) return await movedByHand(ctx, standing);
  const bookmarks = await ctx.vcs.bookmarks();
  const target = bookmarks.get(bookmark);
  if (target === null) {
    return [
      `bookmark "${bookmark}" is conflicted: it has several targets, "jj bookmark set ${
        shellQuote(bookmark)
      } -r REV" settles it`,
    ];
  }
  if (target === undefined) {
    const renamed = here.bookmarks.length === 1 && !(here.bookmarks[0] === ctx.config.trunk)
      ? here.bookmarks[0]
      : undefined;
    return [
      renamed === undefined
        ? `bookmark "${bookmark}" is gone: "tether new -b ${quote(bookmark)}" makes it again, "${
          workHere(here)[0]
        }" works where you are`
        : `bookmark "${bookmark}" is gone, and the working copy is on "${renamed}": if it was renamed, "tether new ${
          quote(renamed)
        }" continues there`,
    ];
  }
  const on = here.bookmarks.length > 0 ? here.bookmarks.map((b) => `"${b}"`).join(", ") : "no bookmark";
  return [
    `the working copy left bookmark "${bookmark}" for ${on}: "tether new ${quote(bookmark)}" returns, "${
      workHere(here)[0]
    }" works where you are`,
  ];
}

/** Off the trunk, says which objects' branches no longer stand for what the bookmark's commit records. */
function movedByHand(ctx: Context, standing: Standing): Promise<string[]> {
  if (standing.onTrunk) return Promise.resolve([]);
  const moved = Object.entries(ctx.workspace.baseStates).filter(([key, base]) => {
    const object = ctx.objects.get(key);
    const volatile = standing.statics.get(object?.kind ?? "")?.volatileKeys;
    return object?.state && volatile &&
      (entryOf(ctx.workspace.workingRefs, key) !== undefined ||
        entryOf(ctx.workspace.pendingForks, key) !== undefined) &&
      !sameContent(base, object.state, volatile);
  }).map(([key]) => key);
  if (moved.length === 0) return Promise.resolve([]);
  return Promise.resolve([
    `the branches of ${
      moved.map((k) => `"${k}"`).join(", ")
    } do not stand for what bookmark "${ctx.workspace.bookmark}" ` +
    `records now: "tether new" takes its states, with --discard where writes would be thrown away`,
  ]);
}

/** Returns the dataset commits of this checkout's journal that history no longer has, newest first. */
export async function vcsDrift(ctx: Context, entries: readonly OpEntry[]): Promise<VcsDrift[]> {
  const removed = removedCommits(entries);
  const made = entries
    .filter((e) => (e.command === "commit" || e.command === "pull") && e.undoneBy === null)
    .flatMap((e) => {
      const commit = e.result["vcs_commit"];
      return typeof commit === "string" && !removed.has(commit) ? [{ entry: e, commit }] : [];
    });
  if (made.length === 0) return [];
  const here = await ctx.position();
  // The newest commit is nearly always the one underfoot; asking about it would cost a process on every status.
  const asked = made.filter((m) => m.commit !== here.commit);
  if (asked.length === 0) return [];
  const gone = new Set(await ctx.vcs.vanished(asked.map((m) => m.commit)));
  const named = new Set([...ctx.objects.values()].flatMap((o) => o.pin ? [o.pin.id] : []));
  return asked.filter((m) => gone.has(m.commit)).reverse().map(({ entry, commit }) => ({
    op: entry.id,
    commit,
    referenced: Object.fromEntries(
      Object.entries(objectOf(entry.result["pinned"])).flatMap(([key, id]) =>
        typeof id === "string" ? [[key, named.has(id.replace(/^tether\./, ""))]] : []
      ),
    ),
  }));
}

/** As {@link vcsDrift}, but for what the user has acknowledged. */
export async function newVcsDrift(ctx: Context): Promise<VcsDrift[]> {
  return await vcsDrift(ctx, (await ctx.journal.read()).filter((e) => !isAcknowledged(e)));
}

/** Commits that tether itself removed: not drift (Δ4). Rewritten ones count as their successors. */
function removedCommits(entries: readonly OpEntry[]): Set<string> {
  const removed = new Set<string>();
  for (const { result, command } of entries) {
    for (const commit of list(result["abandoned"])) removed.add(commit);
    for (const commit of Object.keys(objectOf(result["rewritten_commits"]))) removed.add(commit);
    if (command === "undo" && typeof result["uncommitted"] === "string") removed.add(result["uncommitted"]);
  }
  return removed;
}

/** Returns what a commit records for one object; `undefined` when it has none of that key or it does not parse. */
export async function manifestAt(
  ctx: Context,
  commit: string,
  key: string,
): Promise<ReturnType<typeof parseManifest> | undefined> {
  const prefix = ctx.vcs.location.rel === "." ? "" : `${ctx.vcs.location.rel}/`;
  const bytes = await ctx.vcs.fileAt(commit, prefix + manifestPath(key));
  return bytes === undefined ? undefined : parseManifest(new TextDecoder().decode(bytes), `${key} at ${commit}`);
}

function quote(name: string): string {
  return operands([name]).replace(/^-- /, name.startsWith("-") ? "-- " : "");
}

function list(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((v) => typeof v === "string") : [];
}

function objectOf(value: Json | undefined): JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value as JsonObject : {};
}
