/**
 * Edits of the working tree alone: `add`, `remove`, `set`. They touch no store, so one journal entry at the end is enough
 * (formats §11); an edit that cannot be finished or journaled leaves everything as it was.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { parseWorkspace } from "../files/workspace.ts";
import { ConfigError, messageOf, TetherError } from "../model/errors.ts";
import type { JsonObject } from "../model/json.ts";

/** One edit. */
export interface Edit {
  readonly command: string;
  /** Keys whose manifests it may change. */
  readonly keys: readonly string[];
  /** What the journal records of it. */
  readonly result: JsonObject;
}

/** Runs an edit and journals it. Call it with the checkout lock held. */
export async function editManifests(ctx: Context, edit: Edit, change: () => Promise<void>): Promise<void> {
  const texts: Record<string, string | null> = {};
  for (const key of edit.keys) {
    const text = await readable(ctx, key);
    if (text !== undefined) texts[key] = text;
  }
  const workspace = await ctx.workspaceFile.text();
  try {
    await change();
    await ctx.env.boundary?.("edit");
    await ctx.journal.record({
      command: edit.command,
      result: edit.result,
      pre: { objects: texts, workspace },
    });
  } catch (error) {
    await takeBack(ctx, { texts, workspace, error });
    throw error;
  }
}

/** Returns a manifest's text; `null` when there is none, `undefined` for what is there and no text, such as a link. */
async function readable(ctx: Context, key: string): Promise<string | null | undefined> {
  try {
    return await ctx.manifests.text(key) ?? null;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

async function takeBack(
  ctx: Context,
  before: {
    readonly texts: Readonly<Record<string, string | null>>;
    readonly workspace: string | null;
    readonly error: unknown;
  },
): Promise<void> {
  try {
    for (const [key, text] of Object.entries(before.texts)) {
      if (text === null) await ctx.manifests.remove(key);
      else if (await ctx.manifests.text(key) !== text) await ctx.manifests.writeText(key, text);
    }
    if (before.workspace !== null) await ctx.saveWorkspace(parseWorkspace(before.workspace, ctx.paths.workspace));
    await ctx.refresh();
  } catch (undoing) {
    throw new TetherError(`${messageOf(before.error)}; and taking back what was done failed: ${messageOf(undoing)}`, {
      code: "half-done",
      hints: [`${ctx.vcs.kind} status`],
      cause: before.error,
    });
  }
}
