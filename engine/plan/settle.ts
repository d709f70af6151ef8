/**
 * Settling what a killed process left started: an operation that finishes the same work closes the older entry, so that it
 * neither keeps pins for ever nor stands in the way of undo (formats §11, L37).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { type OpEntry, planActions, planContext } from "../files/journal.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { isJsonObject } from "../model/json.ts";
import type { Plan } from "./plan.ts";

/** An operation that finished, or that found nothing left to do. */
export interface Settling {
  readonly command: string;
  /** Its entry; absent when there was nothing to journal. */
  readonly id?: string;
  readonly plan?: Plan;
  readonly pre?: JsonObject;
  readonly parent?: string;
  readonly undoes?: string;
}

/**
 * Closes the entries that an operation settles, with their steps, and returns them. Call it with the checkout lock held: then
 * no entry but the caller's own belongs to a process that lives.
 */
export async function settle(ctx: Context, done: Settling): Promise<readonly OpEntry[]> {
  const started = (await ctx.journal.read()).filter((e) =>
    e.status === "started" && e.id !== done.id && e.id !== done.parent
  );
  const bookmarks = started.some((e) => e.command === "drop") ? await ctx.vcs.bookmarks() : new Map<string, null>();
  const settled = started.filter((e) => settles(ctx, { ...done, bookmarks }, e));
  const ids = new Set(settled.map((e) => e.id));
  const steps = started.filter((e) => e.parent !== null && ids.has(e.parent) && !ids.has(e.id));
  for (const entry of [...settled, ...steps]) {
    const result = { finished_by: done.id ?? null, ...goneWith(entry) };
    await ctx.journal.close(entry.id, result, { by: done.id ?? entry.id });
  }
  return settled;
}

/** Tells whether what an entry left undone is done now. */
function settles(
  ctx: Context,
  done: Settling & { readonly bookmarks: ReadonlyMap<string, unknown> },
  entry: OpEntry,
): boolean {
  const context = done.plan?.context ?? {};
  switch (done.command) {
    case "commit":
    case "pull":
      return ["commit", "pull"].includes(entry.command) &&
        within(ctx, keysOfStates(planContext(entry.plan)), keysOfStates(context));
    case "new":
      // It decides about every branch of this checkout anew.
      return entry.command === "new" || entry.command === "fork";
    case "fork":
      return entry.command === "fork" && entry.pre["key"] === done.pre?.["key"];
    case "gc":
      return entry.command === "gc" ||
        entry.command === "drop" && isDropped(entry, done.bookmarks) && context["prune_bookmarks"] === true &&
          (planContext(entry.plan)["delete_stores"] !== true || context["delete_stores"] === true);
    case "drop":
      return entry.command === "drop" && planContext(entry.plan)["bookmark"] === context["bookmark"];
    case "undo":
      return entry.command === "undo" && entry.undoes === done.undoes;
    case "restore":
      return entry.command === "restore" && within(
        ctx,
        planActions(entry.plan).map((a) => String(a["key"])),
        new Set(done.plan?.actions.map((a) => a.key)),
      );
    case "forget-workspace":
      return entry.command === "forget-workspace" && planContext(entry.plan)["workspace"] === context["workspace"];
    case "promote":
      return entry.command === "promote" && context["subset"] !== true;
    case "add":
      return entry.command === "add" && sameKeys(entry.pre["objects"], done.pre?.["objects"]);
    default:
      return entry.command === done.command;
  }
}

/** Returns the commits that went with a bookmark: they are no loss to report (Δ4). */
function goneWith(entry: OpEntry): JsonObject {
  const { commits } = planContext(entry.plan);
  return entry.command === "drop" && Array.isArray(commits) ? { abandoned: commits } : {};
}

/** Whether its bookmark is gone; a process may have died before it could say so. */
function isDropped(entry: OpEntry, bookmarks: ReadonlyMap<string, unknown>): boolean {
  return did(entry, "delete-bookmark") || !bookmarks.has(String(planContext(entry.plan)["bookmark"]));
}

/** Whether history is changed already, so that only releasing was left to do. */
function did(entry: OpEntry, action: string): boolean {
  return entry.progress.some((step) => step["action"] === action);
}

/** Whether some keys, less those that are no longer registered, are among others. */
function within(ctx: Context, keys: Iterable<string>, covered: ReadonlySet<string>): boolean {
  return [...keys].every((key) => covered.has(key) || !ctx.objects.has(key));
}

function keysOfStates({ states }: JsonObject): ReadonlySet<string> {
  return new Set(Object.keys(isJsonObject(states) ? states : {}));
}

function sameKeys(a: Json | undefined, b: Json | undefined): boolean {
  const keys = (value: Json | undefined) => Object.keys(isJsonObject(value) ? value : {}).sort().join("\n");
  return keys(a) === keys(b);
}
