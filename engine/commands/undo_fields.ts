/**
 * Which parts of the working state an operation changed and nothing changed since: what undo may put back (formats §11).
 *
 * @module
 */

import type { WorkspaceState } from "../files/workspace.ts";
import { type Json, jsonEqual, type JsonObject } from "../model/json.ts";

/** The tables of the working state, and what an entry is to a user; `null` for what was only read of stores. */
const TABLES = {
  workingRefs: "the branch",
  pendingForks: "the fork to come",
  pendingResets: "the reset to come",
  forkPoints: "the fork point",
  baseStates: "the state the checkout stands on",
  lastSnapshot: null,
  lastSnapshotErrors: null,
} as const;

/** The working state at three moments. */
export interface Moments {
  readonly before: WorkspaceState;
  readonly after: WorkspaceState;
  readonly now: WorkspaceState;
  /**
   * Keys whose branch stays as the operation made it: what it builds on stays known, or `promote` would take it for a
   * continuation of what was there before.
   */
  readonly reset?: ReadonlySet<string>;
}

/** The state to write, and what could not be put back. */
export interface Reverted {
  readonly workspace: WorkspaceState;
  readonly restored: readonly string[];
  readonly skipped: readonly string[];
}

/** Puts back each field that the operation changed and that still holds what it left. A pure function. */
export function revertFields({ before, after, now, reset = new Set() }: Moments): Reverted {
  const restored: string[] = [];
  const skipped: string[] = [];
  const tables: Record<string, Record<string, unknown>> = {};
  for (const table of Object.keys(TABLES) as (keyof typeof TABLES)[]) {
    const [b, a, n] = [before[table], after[table], now[table]] as [JsonObject, JsonObject, JsonObject];
    const merged = new Map<string, Json>(Object.entries(n));
    for (const key of new Set([...Object.keys(b), ...Object.keys(a)])) {
      if (jsonEqual(own(b, key), own(a, key))) continue;
      const stays = reset.has(key) && own(before.workingRefs, key) === own(after.workingRefs, key);
      if (stays && (table === "forkPoints" || table === "lastSnapshot")) continue;
      const name = `${TABLES[table]} of "${key}"`;
      // What was read of stores is no work to protect: it is simply taken back or left.
      const cache = TABLES[table] === null;
      if (!jsonEqual(own(n, key), own(a, key))) {
        if (!cache) skipped.push(`${name}: changed since`);
        continue;
      }
      const old = own(b, key);
      if (old === undefined) merged.delete(key);
      else merged.set(key, old);
      if (!cache) restored.push(`${name} is what it was`);
    }
    tables[table] = Object.fromEntries(merged);
  }
  let { bookmark } = now;
  if (before.bookmark !== after.bookmark) {
    if (now.bookmark === after.bookmark) {
      bookmark = before.bookmark;
      restored.push(
        before.bookmark === null ? "the checkout is on no bookmark" : `the checkout is on "${before.bookmark}"`,
      );
    } else skipped.push("bookmark: changed since");
  }
  return { workspace: { ...now, ...tables, bookmark } as WorkspaceState, restored, skipped };
}

function own(table: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
