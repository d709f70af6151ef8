/**
 * Which branches `gc --prune-bookmarks` and `drop` delete: those of bookmarks that are gone, when nothing on them would be
 * lost.
 *
 * @module
 */

import { type State, withoutAt } from "../../backends/backend.ts";
import { otherCheckouts } from "../checkouts.ts";
import type { Context } from "../context.ts";
import type { References, StoreReferences } from "../history/reference_set.ts";
import { mapSettled } from "../io/pool.ts";
import { scopeOf, storeOf } from "../kinds.ts";
import { renderState } from "../model/render_state.ts";
import { canonical } from "../model/hash.ts";
import { compareCodePoints, type JsonObject } from "../model/json.ts";
import { contentState, sameContent } from "../model/manifest.ts";
import { bookmarkSlug, parsePinRef, parseWorkingRef, refForPin, type WorkingRefName } from "../model/names.ts";
import { type HeadFacts, judgeBranch } from "../model/verdicts.ts";
import type { Action } from "../plan/plan.ts";
import type { CallOptions } from "../reports/report.ts";
import { action, type GcInput, noteUnread } from "./gc_input.ts";
import { pickSignal } from "./snapshot.ts";

/** What the judgement of branches needs besides. */
export interface BranchInput extends GcInput {
  /** Pins that the same plan releases: they do not block a branch. */
  readonly released: readonly Action[];
}

/** The branches of a plan, and the bookmarks counted as live. */
export interface PlannedBranches {
  readonly actions: readonly Action[];
  readonly live?: readonly string[];
}

/** Judges the stray branches of every store. Without `pruneBookmarks` or a scope no branch is looked at. */
export async function planBranches(ctx: Context, input: BranchInput): Promise<PlannedBranches> {
  if (!input.pruneBookmarks && !input.scope) return { actions: [] };
  const alive = await whatIsAlive(ctx, input);
  const dropped = input.scope?.dropped;
  const stores = new Map<string, StoreReferences>();
  for (const set of [input.references, dropped]) {
    for (const store of set?.stores.values() ?? []) {
      if (!store.backend.listWorkingRefs) continue;
      const scope = scopeOf(store.backend, store.locator);
      if (!stores.has(scope)) stores.set(scope, store);
    }
  }
  const sorted = [...stores.values()].sort((a, b) => compareCodePoints(a.key, b.key));
  const judged = await mapSettled(
    sorted,
    16,
    (store) => judgeStore(ctx, store, { ...input, alive, dropped }),
    input.signal,
  );
  input.signal?.throwIfAborted();
  const actions = judged.flatMap((outcome, i) => {
    if (outcome.ok) return outcome.value;
    const store = sorted[i];
    if (store) noteUnread(ctx, input, { store, verb: "list-branches", error: outcome.error });
    return [];
  });
  const live = [...alive.bookmarks].sort(compareCodePoints);
  input.notes.push(`keeping live bookmarks: ${live.join(", ") || "none"}`);
  return { actions, live };
}

/** What somebody still works on. */
export interface Alive {
  readonly bookmarks: ReadonlySet<string>;
  readonly slugs: ReadonlySet<string>;
  /** Branches that some live checkout works on or is about to make. */
  readonly refs: ReadonlySet<string>;
  /** Ids of live workspaces, 8 digits, for branches from before bookmarks. */
  readonly workspaces: ReadonlySet<string>;
}

/** Reads which bookmarks and branches are in use: in version control, in every live checkout, and by the user's word. */
export async function whatIsAlive(ctx: Context, input: Pick<GcInput, "keepBookmarks" | "scope">): Promise<Alive> {
  const bookmarks = new Set([...(await ctx.vcs.bookmarks()).keys(), ...input.keepBookmarks ?? []]);
  const refs = new Set<string>();
  const workspaces = new Set<string>();
  const leaving = input.scope?.leftFor !== undefined;
  const here = leaving
    ? { ...ctx.workspace, bookmark: input.scope?.leftFor ?? null, workingRefs: {}, pendingForks: {} }
    : ctx.workspace;
  for (const w of [here, ...(await otherCheckouts(ctx)).map((c) => c.workspace)]) {
    if (w.bookmark !== null) bookmarks.add(w.bookmark);
    for (const [key, ref] of [...Object.entries(w.workingRefs), ...Object.entries(w.pendingForks)]) {
      // A removed object's ref is forgotten by the same plan; its branch is judged.
      if (w !== here || ctx.objects.has(key)) refs.add(ref);
    }
    workspaces.add(w.workspaceId.slice(0, 8));
  }
  for (const gone of input.scope?.bookmarks ?? []) bookmarks.delete(gone);
  return { bookmarks, slugs: new Set([...bookmarks].map(bookmarkSlug)), refs, workspaces };
}

/** What judging the branches of one store needs. */
export interface Judging extends BranchInput {
  readonly alive: Alive;
  /** What the commits that go recorded. */
  readonly dropped: References | undefined;
  /** Tells whether a pin in a store that no manifest names holds a state. @default {none does} */
  readonly isHeld?: (state: State) => Promise<boolean>;
}

/** A branch of this dataset. */
export interface OwnBranch {
  readonly ref: string;
  readonly name: WorkingRefName;
}

async function judgeStore(ctx: Context, store: StoreReferences, input: Judging): Promise<Action[]> {
  const { own, foreign } = await ownBranches(ctx, store, input);
  if (foreign > 0) input.notes.push(`${store.key}: ${foreign} branch(es) of other datasets left alone`);
  return await judgeBranches(ctx, store, { ...input, own });
}

/** Lists the branches of this dataset in a store, and counts those of others. */
export async function ownBranches(
  ctx: Context,
  store: Pick<StoreReferences, "backend" | "locator">,
  options: CallOptions,
): Promise<{ readonly own: readonly OwnBranch[]; readonly foreign: number }> {
  const refs = await store.backend.listWorkingRefs?.(withoutAt(store.locator), pickSignal(options)) ?? [];
  const own = refs.flatMap((ref) => {
    const name = parseWorkingRef(ref);
    return name && name.dataset === ctx.config.datasetId ? [{ ref, name }] : [];
  });
  return { own, foreign: refs.length - own.length };
}

/** Judges those branches that nobody works on. */
export async function judgeBranches(
  ctx: Context,
  store: StoreReferences,
  { own, ...input }: Judging & { readonly own: readonly OwnBranch[] },
): Promise<Action[]> {
  const stray = own.filter(({ ref, name }) => isStray(ctx, ref, { name, ...input }));
  if (stray.length === 0) return [];
  const held = await heldContent(store, input);
  const base = await baseContent(store, input);
  const actions: Action[] = [];
  for (const { ref, name } of stray.sort((a, b) => compareCodePoints(a.ref, b.ref))) {
    actions.push(await judgeRef(store, { ref, name, held, base, ...input }));
  }
  return actions;
}

/** A branch is stray when its bookmark is gone, or is this one and no current object uses it; never while one works on it. */
export function isStray(
  ctx: Context,
  ref: string,
  { name, alive, scope }: Pick<Judging, "alive" | "scope"> & { readonly name: WorkingRefName },
): boolean {
  if (alive.refs.has(ref)) return false;
  if (scope) return name.type === "bookmark" && scope.bookmarks.some((b) => bookmarkSlug(b) === name.slug);
  if (name.type === "legacy") return !alive.workspaces.has(name.workspace);
  const here = ctx.workspace.bookmark;
  return !alive.slugs.has(name.slug) ||
    (here !== null && here !== ctx.config.trunk && bookmarkSlug(here) === name.slug);
}

/** What commits say of a store's states, by content. */
interface Held {
  /** Ids of the pins that a commit names for a state and that are there; whether they are still at it is another question. */
  readonly pinned: ReadonlyMap<string, readonly string[]>;
  /** What some commit recorded, pinned or not. */
  readonly recorded: ReadonlySet<string>;
  /** What a dropped commit pinned: its loss is what was asked for. */
  readonly dropped: ReadonlySet<string>;
}

async function heldContent(store: StoreReferences, input: Judging): Promise<Held> {
  const living = await store.backend.listPins?.(store.locator, pickSignal(input)) ?? new Set<string>();
  const name = storeOf(store.backend, store.locator);
  const named = input.references.stores.get(name);
  const pinned = [...named?.pinned ?? []];
  return {
    pinned: new Map(pinned.map(([content, ids]) => [content, [...ids].filter((id) => living.has(id))])),
    recorded: new Set([...pinned.map(([content]) => content), ...named?.recorded.keys() ?? []]),
    dropped: new Set(input.dropped?.stores.get(name)?.pinned.keys() ?? []),
  };
}

async function baseContent(store: StoreReferences, input: Judging): Promise<string | undefined> {
  try {
    return contentOf(store, await store.backend.fingerprint(withoutAt(store.locator), undefined, pickSignal(input)));
  } catch {
    // Not known: then nothing counts as equal to it.
    return undefined;
  }
}

function contentOf(store: StoreReferences, state: State): string {
  return canonical(contentState(state, store.backend.statics.volatileKeys));
}

async function judgeRef(
  store: StoreReferences,
  input: Judging & { ref: string; name: WorkingRefName; held: Held; base: string | undefined },
): Promise<Action> {
  const { ref, name } = input;
  const { backend } = store;
  const locator = withoutAt(store.locator);
  let head: State | undefined;
  let known: KnownHead = { facts: "unreadable" };
  try {
    head = await backend.fingerprint(locator, ref, pickSignal(input));
    known = await knownHead(store, head, input);
  } catch {
    // Stays unreadable: such a head decides nothing.
  }
  const ignoring = new Set(input.released.map((a) => a.target));
  const verdict = judgeBranch({
    head: known.facts,
    isStorage: backend.statics.capabilities.has("branch_is_storage"),
    blocked: await backend.workingRefBlockers?.(locator, ref, { ...pickSignal(input), ignoring }),
    force: input.forcePrune === true,
  });
  const whose = name.type === "bookmark" ? `bookmark ${name.slug} (gone)` : `workspace ${name.workspace} (gone)`;
  const params: JsonObject = { locator, ...(head ? { head } : {}) };
  const at = head ? ` (${renderState(head)})` : "";
  if (verdict.op === "delete-branch") {
    return action("delete-branch", {
      key: store.key,
      kind: store.kind,
      target: ref,
      detail: `${whose}; ${verdict.why}${verdict.forced ? at : ""}`,
      params: { ...params, ...(verdict.forced ? { forced: true } : known.holder ? { holder: known.holder } : {}) },
    });
  }
  return action("keep-branch", {
    key: store.key,
    kind: store.kind,
    target: ref,
    detail: `${whose}; kept: ${verdict.why}${at}${verdict.forceable ? " (--force-prune deletes)" : ""}`,
    params: { ...params, ...(verdict.forceable ? {} : { blocked: verdict.why }) },
  });
}

/** Where a head stands, and what besides its branch keeps it: a pin, or `base`. */
interface KnownHead {
  readonly facts: HeadFacts;
  readonly holder?: string;
}

async function knownHead(
  store: StoreReferences,
  head: State,
  input: Judging & { readonly held: Held; readonly base: string | undefined },
): Promise<KnownHead> {
  const { held, base } = input;
  const content = contentOf(store, head);
  for (const id of held.pinned.get(content) ?? []) {
    const holder = refForPin(id);
    if (await isHolding(store, { holder, head })) return { facts: "pinned", holder };
  }
  if (base === content) return { facts: "base", holder: BASE };
  if (held.recorded.has(content)) return { facts: "recorded" };
  if (held.dropped.has(content)) return { facts: "given-up" };
  return { facts: await input.isHeld?.(head) ? "pinned" : "unpinned" };
}

/** The holder of what was never written to a branch. */
const BASE = "base";

/** Tells whether a pin is at a state, or the base where `holder` is that. */
export async function isHolding(
  { backend, locator: any }: Pick<StoreReferences, "backend" | "locator">,
  { holder, head }: { readonly holder: string; readonly head: State },
): Promise<boolean> {
  const locator = withoutAt(any);
  if (holder === BASE) {
    return sameContent(await backend.fingerprint(locator, undefined), head, backend.statics.volatileKeys);
  }
  const id = parsePinRef(holder)?.id;
  if (id === undefined) return false;
  return (await backend.verify(locator, head, { id, ref: holder }, { deep: false })).status === "ok";
}
