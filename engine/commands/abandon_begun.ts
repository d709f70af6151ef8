/**
 * Abandonments whose process died: what version control was left with is finished, and the entry completed, before anything else
 * judges history (L37).
 *
 * @module
 */

import type { Rewrites } from "../../vcs/adapter.ts";
import type { Context } from "../context.ts";
import type { OpEntry } from "../files/journal.ts";
import { isJsonObject, type Json, type JsonObject } from "../model/json.ts";
import { unfinished } from "./unfinished.ts";

/** An interrupted abandonment that changed history. */
export interface Abandoned {
  readonly entry: OpEntry;
  /** The commits that are gone. */
  readonly commits: readonly string[];
  readonly rewrites: Rewrites;
}

/** Files and folders that every later commit keeps as it has them. */
export function keptFiles(ctx: Context): string[] {
  const { rel } = ctx.vcs.location;
  const below = rel === "." ? "" : `${rel}/`;
  // Each is whole by itself in every commit, so taking one out must neither change it later nor conflict with it.
  return [`${below}.tether`, `${below}tether.toml`];
}

/** Returns what the journal records of an abandonment. */
export function abandonedJson(commits: readonly string[], rewrites: Rewrites): JsonObject {
  return {
    abandoned: [...commits],
    rewritten_commits: Object.fromEntries(rewrites.commits),
    bookmarks_moved: Object.fromEntries(rewrites.bookmarks),
  };
}

/**
 * Completes the entries of abandonments that had changed history when their process died, and returns those. What they freed is
 * left to `gc`. Call it with both locks held.
 */
export async function completeAbandoned(ctx: Context): Promise<Abandoned[]> {
  const found: Abandoned[] = [];
  for (const entry of (await unfinished(ctx)).filter((e) => e.command === "abandon")) {
    const commits = textsOf(entry.pre["commits"]);
    const rewrites = await rewritesOf(ctx, entry);
    if (rewrites === undefined) continue;
    await ctx.journal.close(entry.id, abandonedJson(commits, rewrites));
    found.push({ entry, commits, rewrites });
  }
  if (found.length > 0) await ctx.refresh();
  return found;
}

/** What became of later commits: as the entry says where it got so far, else once the rest is done. */
async function rewritesOf(ctx: Context, entry: OpEntry): Promise<Rewrites | undefined> {
  const done = entry.progress.find((step) => step["action"] === "abandon");
  if (done) return { commits: mapOf(done["rewritten_commits"]), bookmarks: mapOf(done["bookmarks_moved"]) };
  const prepared = entry.progress.find((step) => step["action"] === "prepare");
  const record = prepared?.["record"];
  return isJsonObject(record) ? await ctx.vcs.finishAbandon(record, keptFiles(ctx)) : undefined;
}

function mapOf(json: Json | undefined): Map<string, string> {
  return new Map(Object.entries(isJsonObject(json) ? json : {}).map(([name, value]) => [name, String(value)]));
}

function textsOf(json: Json | undefined): string[] {
  return Array.isArray(json) ? json.map(String) : [];
}
