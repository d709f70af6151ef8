/**
 * What comes before a command is killed, under either version control.
 *
 * @module
 */

import { type Call, perform } from "./_call.ts";
import type { Scene } from "./_scene.ts";

/** Records what was written. */
export const commit: Call = { command: "commit", options: { message: "Second" } };
/** Goes to a new bookmark, with its branches. */
export const start: Call = { command: "new", options: { bookmark: "b", eager: true } };
/** Releases what no bookmark stands for. */
export const prune: Call = { command: "gc", options: { pruneBookmarks: true } };

/** Makes calls, one after another. */
export function calls(s: Scene, ...some: readonly Call[]): Promise<void> {
  return s.with(async (ds) => {
    for (const call of some) await perform(ds, call);
  });
}

/** A bookmark with branches that a commit recorded. */
export async function branchedOff(s: Scene): Promise<void> {
  await calls(s, start);
  await s.write();
  await calls(s, commit);
}
