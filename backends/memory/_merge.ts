/** Three-way merge and comparison of payloads, key by key. */

import type { Change, ObjectDiff } from "../backend.ts";
import { MAX_DIFF_ENTRIES } from "../backend.ts";
import { compareCodePoints, type Json, jsonEqual, type JsonObject } from "../../engine/model/json.ts";

/** A merged payload, or the keys both sides changed differently. */
export type MergeResult =
  | { readonly type: "merged"; readonly payload: JsonObject }
  | { readonly type: "conflict"; readonly keys: readonly string[] };

/** Merges two payloads over their common ancestor. */
export function mergePayloads(ancestor: JsonObject, ours: JsonObject, theirs: JsonObject): MergeResult {
  const payload: Record<string, Json> = {};
  const conflicts: string[] = [];
  for (const key of keysOf(ancestor, ours, theirs)) {
    const [base, left, right] = [ancestor[key], ours[key], theirs[key]];
    if (!jsonEqual(base, left) && !jsonEqual(base, right) && !jsonEqual(left, right)) conflicts.push(key);
    const value = jsonEqual(base, left) ? right : left;
    if (value !== undefined) payload[key] = value;
  }
  return conflicts.length > 0 ? { type: "conflict", keys: conflicts } : { type: "merged", payload };
}

/** Compares two payloads by key. */
export function diffPayloads(a: JsonObject, b: JsonObject): ObjectDiff {
  const all: Change[] = [];
  for (const path of keysOf(a, b)) {
    if (jsonEqual(a[path], b[path])) continue;
    all.push({ path, change: a[path] === undefined ? "added" : b[path] === undefined ? "removed" : "modified" });
  }
  const count = (change: Change["change"]): number => all.filter((c) => c.change === change).length;
  return {
    unit: "keys",
    added: count("added"),
    removed: count("removed"),
    modified: count("modified"),
    entries: all.slice(0, MAX_DIFF_ENTRIES),
    truncated: all.length > MAX_DIFF_ENTRIES,
    note: "",
  };
}

function keysOf(...payloads: readonly JsonObject[]): string[] {
  return [...new Set(payloads.flatMap((p) => Object.keys(p)))].sort(compareCodePoints);
}
