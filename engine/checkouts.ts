/**
 * The other live checkouts of the repository: which bookmark each works on (formats §8).
 *
 * @module
 */

import { join, relative } from "node:path";
import type { AbsentCheckout, Checkout } from "../vcs/adapter.ts";
import type { Context } from "./context.ts";
import { readConfig } from "./files/config.ts";
import { parseWorkspace, type WorkspaceState } from "./files/workspace.ts";
import { Journal, type OpEntry, seedPins } from "./files/journal.ts";
import { datasetPaths } from "./files/layout.ts";
import { datasetRootAt } from "./history/dataset_at.ts";
import { messageOf, TetherError } from "./model/errors.ts";

/** Another checkout's dataset. */
export interface OtherCheckout {
  /** The dataset root in that checkout. */
  readonly root: string;
  readonly checkout: Checkout;
  readonly workspace: WorkspaceState;
}

/**
 * Returns the other checkouts in which tether ran, in whatever folder of theirs the dataset is. One whose `workspace.toml` is
 * tracked or does not parse is left out with a warning.
 */
export async function otherCheckouts(ctx: Context): Promise<OtherCheckout[]> {
  const found: OtherCheckout[] = [];
  for (const checkout of await ctx.vcs.checkouts()) {
    if (checkout.current) continue;
    for (const root of await datasetRoots(ctx, checkout)) {
      const workspace = await readWorkspace(ctx, checkout, root);
      if (workspace !== undefined) found.push({ root, checkout, workspace });
    }
  }
  return found;
}

async function readWorkspace(ctx: Context, checkout: Checkout, root: string): Promise<WorkspaceState | undefined> {
  const file = join(root, ".tether", "workspace.toml");
  let text: string;
  try {
    text = await Deno.readTextFile(file);
  } catch (error) {
    // Missing: tether never ran there. Anything else could hide a holder, so it is said.
    if (!(error instanceof Deno.errors.NotFound)) warn(ctx, `Cannot read "${file}": ${messageOf(error)}`);
    return undefined;
  }
  const name = relative(checkout.root, file).replaceAll("\\", "/");
  if ((await ctx.vcs.tracked([name], checkout.root)).length > 0) {
    warn(ctx, `Skipped checkout "${checkout.root}": its workspace.toml is tracked`);
    return undefined;
  }
  try {
    return parseWorkspace(text, file);
  } catch (error) {
    warn(ctx, `Skipped checkout "${checkout.root}": ${messageOf(error)}`);
    return undefined;
  }
}

/**
 * Returns the folders of a checkout that hold this dataset or may: today's; those that its index names, or the commit its
 * files are of, since another branch may have the dataset elsewhere (formats §19.1).
 */
export async function datasetRoots(ctx: Context, checkout: Checkout): Promise<string[]> {
  const { rel } = ctx.vcs.location;
  const here = (await ctx.vcs.staged()).filter((s) => s.checkout === checkout.root);
  const folders = new Set(here.map(({ path }) => path.slice(0, path.lastIndexOf(".tether/objects/"))));
  if (!checkout.current && checkout.commit !== null) {
    folders.add(await datasetRootAt(ctx.vcs, checkout.commit, ctx.config.datasetId));
  }
  const roots = new Set([join(checkout.root, rel)]);
  for (const folder of folders) {
    const root = join(checkout.root, folder, ".");
    if (!roots.has(root) && await isOurs(root, ctx.config.datasetId)) roots.add(root);
  }
  return [...roots];
}

/** Whether a dataset is not known to be another one. */
async function isOurs(root: string, datasetId: string): Promise<boolean> {
  try {
    return (await readConfig(root)).datasetId === datasetId;
  } catch (error) {
    // One without a readable name may be ours.
    if (error instanceof TetherError || error instanceof Deno.errors.NotFound) return true;
    throw error;
  }
}

/**
 * Refuses while a checkout cannot be read: its files may name what nothing else does (formats §15.4).
 *
 * @throws {TetherError} with code `unreadable-checkout`.
 */
export async function requireEveryCheckout(ctx: Context): Promise<void> {
  const [absent] = await ctx.vcs.absentCheckouts();
  if (absent === undefined) return;
  throw new TetherError(`Cannot tell what ${called(absent)} refers to: ${absent.reason}`, {
    code: "unreadable-checkout",
    hints: absent.hints,
    details: { checkout: absent.root ?? absent.name ?? null },
  });
}

/** Returns what a message calls a checkout that cannot be read. */
export function called({ root, name }: AbsentCheckout): string {
  return root === null ? `workspace "${name}"` : `the checkout at "${root}"`;
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
