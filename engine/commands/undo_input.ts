/**
 * Reading what operations left in the journal.
 *
 * @module
 */

import type { OpEntry } from "../files/journal.ts";
import type { WorkspaceState } from "../files/workspace.ts";
import type { Json } from "../model/json.ts";

/** What taking an operation back comes to; each is a sentence. */
export interface Outcome {
  readonly restored: string[];
  readonly irreversible: string[];
  readonly skipped: string[];
  /** Commands that do what could not be. */
  readonly hints: string[];
}

/** One operation to take back, and the working state around it. */
export interface Target {
  readonly entry: OpEntry;
  /** Operations that came after it and still stand. */
  readonly later: readonly OpEntry[];
  readonly before: WorkspaceState | undefined;
  readonly after: WorkspaceState;
  readonly discard: boolean;
  /** Whether an earlier undo of it was interrupted: part of it may be taken back already. */
  readonly begun: boolean;
}

/** Returns a list of texts out of a journal's value. */
export function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((v) => typeof v === "string") : [];
}
