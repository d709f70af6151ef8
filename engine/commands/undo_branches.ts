/**
 * Taking back the branches an operation made, its bookmark, and where it put the working copy.
 *
 * @module
 */

import { type ObjectBackend, type State, withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { collectReferences } from "../history/reference_set.ts";
import { operands, shellQuote } from "../io/shell.ts";
import { storeOf } from "../kinds.ts";
import { renderState } from "../model/render_state.ts";
import { TetherError } from "../model/errors.ts";
import { canonical } from "../model/hash.ts";
import { isJsonObject, jsonEqual, type JsonObject } from "../model/json.ts";
import { contentState, type Locator, sameContent } from "../model/manifest.ts";
import { revertWorkspace } from "./undo_files.ts";
import { type Outcome, type Target, texts } from "./undo_input.ts";

/** A branch the operation made. */
interface Made {
  readonly key: string;
  readonly ref: string;
  readonly backend: ObjectBackend;
  readonly locator: Locator;
}

/** Deletes what `new`, a lazy fork or `restore` made, and puts the checkout back. All safety checks come first. */
export async function revertBranches(ctx: Context, target: Target, outcome: Outcome): Promise<void> {
  const { entry } = target;
  const made = await branchesMade(ctx, target);
  const heads = new Map<Made, State>();
  for (const branch of made) if (!target.discard) heads.set(branch, await requireUnwritten(ctx, branch, target));
  const back = entry.command === "new" ? await vcsBack(ctx, target) : undefined;
  if (back) {
    await ctx.vcs.returnTo(back);
    await ctx.refresh();
    outcome.restored.push("the working copy is back where it was");
    await ctx.env.boundary?.("vcs");
  }
  if (entry.command === "new") await deleteBookmark(ctx, target, outcome);
  for (const branch of made) {
    const { key, ref, backend, locator } = branch;
    // Looked at again right before it goes (L43).
    const head = heads.get(branch);
    if (head && !sameContent(await headOf(branch), head, backend.statics.volatileKeys)) {
      outcome.skipped.push(`branch ${ref} of "${key}": it was written to meanwhile`);
      continue;
    }
    await backend.deleteWorkingRef?.(withoutAt(locator), ref);
    outcome.restored.push(`branch ${ref} of "${key}" is deleted`);
    await ctx.env.boundary?.(`unfork ${key}`);
  }
  await revertWorkspace(ctx, target, outcome);
  await reportResets(ctx, target, outcome);
}

async function branchesMade(ctx: Context, { entry }: Target): Promise<Made[]> {
  const { result } = entry;
  const refs = isJsonObject(result["working_refs"]) ? result["working_refs"] : {};
  const wanted: [string, string][] = entry.command === "fork"
    ? [[String(result["key"]), String(result["ref"])]]
    : texts(result["created"]).map((key) => [key, String(refs[key] ?? "")]);
  // A lazy fork may have found its branch there: then its progress made nothing, and there is nothing to delete.
  const made: Made[] = [];
  for (const [key, ref] of wanted) {
    const known = ctx.objects.get(key);
    const kind = known?.kind ?? (typeof result["kind"] === "string" ? result["kind"] : undefined);
    const locator = known?.locator ?? (isJsonObject(result["locator"]) ? result["locator"] : undefined);
    if (ref === "" || kind === undefined || locator === undefined || result["reused"] === true) continue;
    const backend = await ctx.backends.get(kind);
    const refsNow = await backend.listWorkingRefs?.(withoutAt(locator)) ?? [];
    if (refsNow.includes(ref)) made.push({ key, ref, backend, locator });
  }
  return made;
}

function headOf({ backend, locator, ref }: Made): Promise<State> {
  return backend.fingerprint(withoutAt(locator), ref);
}

/** Refuses to delete a branch with writes since, or the only holder of a state that some commit recorded. Returns its head. */
async function requireUnwritten(ctx: Context, branch: Made, target: Target): Promise<State> {
  const { backend, locator, ref, key } = branch;
  const head = await headOf(branch);
  const start = startOf(ctx, key, target);
  const volatile = backend.statics.volatileKeys;
  const written = start === undefined || !sameContent(head, start, volatile);
  const references = await collectReferences(ctx);
  const store = references.stores.get(storeOf(backend, locator));
  const content = canonical(contentState(head, volatile));
  const onlyHolder = store?.recorded.has(content) === true && !store.pinned.has(content);
  const base = await backend.fingerprint(withoutAt(locator), undefined);
  if (!written && !(onlyHolder && !sameContent(base, head, volatile))) return head;
  const why = written ? `was written to, it is at ${renderState(head)}` : "alone keeps a recorded state reachable";
  throw new TetherError(`Cannot undo "${target.entry.id}": branch "${ref}" of "${key}" ${why}`, {
    code: "not-undoable",
    hints: [`tether undo --discard ${target.entry.id}`],
  });
}

/** Where the branch was made: its fork point as the operation left it. */
function startOf(ctx: Context, key: string, target: Target): State | undefined {
  return target.after.forkPoints[key] ?? ctx.workspace.forkPoints[key];
}

/** Returns where the working copy was, if it still stands where the operation put it. */
async function vcsBack(ctx: Context, { entry, begun }: Target): Promise<JsonObject | undefined> {
  const was = entry.pre["vcs"];
  const left = entry.result["vcs"];
  if (!isJsonObject(was) || !isJsonObject(left) || standsAlike(was, left)) return undefined;
  const now = (await ctx.position()).record;
  // An undo that failed further on has put it back already.
  if (standsAlike(now, was)) return undefined;
  if (standsAlike(now, left)) return was;
  // In jj on a new change, where the one before was empty.
  if (begun && standsAlike({ ...now, id: was["id"] ?? null }, was)) return undefined;
  const previous = was["branch"];
  throw new TetherError(`Cannot undo "${entry.id}": the working copy moved on since`, {
    code: "not-undoable",
    hints: typeof previous === "string" ? [`tether new ${operands([previous])}`] : ["tether new REV"],
  });
}

/** Tells whether two positions are one. In jj any edit rewrites the working-copy commit; the change stays the same. */
function standsAlike(a: JsonObject, b: JsonObject): boolean {
  const fields = a["kind"] === "jj" ? ["kind", "id", "parent"] : ["kind", "commit", "branch"];
  return fields.every((field) => jsonEqual(a[field], b[field]));
}

async function deleteBookmark(ctx: Context, { entry }: Target, outcome: Outcome): Promise<void> {
  const name = entry.result["created_bookmark"];
  const left = entry.result["vcs"];
  if (typeof name !== "string" || !isJsonObject(left)) return;
  const at = (await ctx.vcs.bookmarks()).get(name);
  if (at === undefined) return;
  const made = left["kind"] === "jj" ? left["parent"] : left["commit"];
  if (at !== made) {
    outcome.skipped.push(`bookmark "${name}": it moved since`);
    return;
  }
  await ctx.vcs.deleteBookmark(name, String(at));
  outcome.restored.push(`bookmark "${name}" is deleted`);
  await ctx.env.boundary?.("bookmark");
}

/** Says where branches were that the operation reset, in full, and which command puts each back. */
async function reportResets(ctx: Context, { entry }: Target, outcome: Outcome): Promise<void> {
  const heads = isJsonObject(entry.pre["heads"]) ? entry.pre["heads"] : {};
  const reset = entry.command === "fork" ? Object.keys(heads) : texts(entry.result["reset"]);
  for (const key of reset) {
    const head = heads[key];
    const where = isJsonObject(head)
      ? `it was at ${renderState(head, { whole: true })}`
      : "it was at a head not recorded";
    outcome.irreversible.push(`the branch of "${key}" was reset; ${where}`);
    if (isJsonObject(head)) outcome.hints.push(...await wayBack(ctx, key, head as State));
  }
}

/** Returns the command that puts a branch back to a state, where its store still has that state under a name of its own. */
async function wayBack(ctx: Context, key: string, state: State): Promise<string[]> {
  const object = ctx.objects.get(key);
  if (!object) return [];
  try {
    const backend = await ctx.backends.get(object.kind);
    for (const value of Object.values(state)) {
      if (typeof value === "object" || typeof value === "boolean") continue;
      const at = String(value);
      const found = await backend.fingerprint({ ...withoutAt(object.locator), at }, undefined).catch(() => undefined);
      if (!found || !sameContent(found, state, backend.statics.volatileKeys)) continue;
      return [`tether restore --at ${shellQuote(at)} ${operands([key])}`];
    }
  } catch {
    // The state itself is told; a store that cannot be asked names no command.
  }
  return [];
}
