/**
 * The other live checkouts of the repository: which bookmark each works on (formats §8).
 *
 * @module
 */

import { join } from "node:path";
import type { Checkout } from "../vcs/adapter.ts";
import type { Context } from "./context.ts";
import { parseWorkspace, type WorkspaceState } from "./files/workspace.ts";
import { Journal, type OpEntry, seedPins } from "./files/journal.ts";
import { datasetPaths } from "./files/layout.ts";
import { messageOf } from "./model/errors.ts";

/** Another checkout's dataset. */
export interface OtherCheckout {
  /** The dataset root in that checkout. */
  readonly root: string;
  readonly checkout: Checkout;
  readonly workspace: WorkspaceState;
}

/**
 * Returns the other checkouts in which tether ran. One whose `workspace.toml` is tracked or does not parse is left out with
 * a warning.
 */
export async function otherCheckouts(ctx: Context): Promise<OtherCheckout[]> {
  const found: OtherCheckout[] = [];
  const { rel } = ctx.vcs.location;
  for (const checkout of await ctx.vcs.checkouts()) {
    if (checkout.current) continue;
    const root = rel === "." ? checkout.root : join(checkout.root, rel);
    const file = join(root, ".tether", "workspace.toml");
    const name = `${rel === "." ? "" : rel + "/"}.tether/workspace.toml`;
    let text: string;
    try {
      text = await Deno.readTextFile(file);
    } catch (error) {
      // Missing: tether never ran there. Anything else could hide a holder, so it is said.
      if (!(error instanceof Deno.errors.NotFound)) warn(ctx, `Cannot read "${file}": ${messageOf(error)}`);
      continue;
    }
    if ((await ctx.vcs.tracked([name], checkout.root)).length > 0) {
      warn(ctx, `Skipped checkout "${checkout.root}": its workspace.toml is tracked`);
      continue;
    }
    try {
      found.push({ root, checkout, workspace: parseWorkspace(text, file) });
    } catch (error) {
      warn(ctx, `Skipped checkout "${checkout.root}": ${messageOf(error)}`);
    }
  }
  return found;
}

/** Returns the workspace ids of other live checkouts that work on a bookmark. */
export async function bookmarkHolders(ctx: Context, bookmark: string): Promise<string[]> {
  return (await otherCheckouts(ctx)).filter((c) => c.workspace.bookmark === bookmark).map((c) =>
    c.workspace.workspaceId
  );
}

/**
 * Makes the clone's index of pins from the journals of every live checkout, unless there is one (formats §12). Never made
 * empty: what earlier operations pinned would count as somebody else's.
 */
export async function seedPinnedIndex(ctx: Context): Promise<void> {
  if (!await ctx.indexes.isSeeded()) await ctx.indexes.seed(seedPins(await allEntries(ctx)));
}

/** Returns the ids of pins this clone made; from the journals while there is no index. Writes nothing. */
export async function ownPins(ctx: Context): Promise<ReadonlySet<string>> {
  if (await ctx.indexes.isSeeded()) return await ctx.indexes.pinned();
  return new Set(seedPins(await allEntries(ctx)).map((p) => p.pinId));
}

/** Reads the journals of every live checkout. */
export async function allEntries(ctx: Context): Promise<OpEntry[]> {
  const journals = [ctx.journal];
  for (const other of await otherCheckouts(ctx)) journals.push(new Journal(datasetPaths(other.root).journal));
  return (await Promise.all(journals.map((j) => j.read()))).flat();
}

function warn(ctx: Context, message: string): void {
  if (!ctx.warnings.includes(message)) ctx.warnings.push(message);
}
