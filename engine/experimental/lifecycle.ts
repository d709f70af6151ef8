/**
 * `gc --delete-stores`: stores that tether made and nothing names any more (commands §5.23).
 *
 * Experimental, and the one thing tether does that no `repair` brings back. Before it graduates these must have been seen to
 * hold: a store on an object store, whose deletion takes many requests, killed in between; a second clone that shares a real
 * remote and commits while this one deletes; and every kind with CREATE under the conformance checks C26 and C27 against
 * the real system.
 *
 * @module
 */

import type { ObjectBackend } from "../../backends/backend.ts";
import { allEntries, ownPins } from "../checkouts.ts";
import { type Alive, whatIsAlive } from "../commands/gc_branches.ts";
import { action, type GcInput, type StoreName } from "../commands/gc_input.ts";
import { absoluteLocator } from "../commands/locators.ts";
import type { Context } from "../context.ts";
import { storeOf } from "../kinds.ts";
import { ConfigError } from "../model/errors.ts";
import { reasonOf } from "../model/multi_object_error.ts";
import { StoreNotFoundError } from "../model/backend_errors.ts";
import { canonical } from "../model/hash.ts";
import { compareCodePoints, isJsonObject, type JsonObject } from "../model/json.ts";
import { type Locator, locatorText } from "../model/manifest.ts";
import { bookmarkSlug } from "../model/names.ts";
import type { Action, Precondition } from "../plan/plan.ts";
import { Namers } from "./named.ts";
import { type Contents, StoreReader } from "./store_contents.ts";
import { judgeStore, type OwnerFacts } from "./store_verdict.ts";

/** A store that tether may have made, or wrote to. */
export interface Candidate {
  readonly kind: string;
  readonly locator: Locator;
  readonly identity: JsonObject;
  readonly key: string;
  /** Bookmarks it was created on. */
  readonly bookmarks: readonly string[];
  /** `asked`: the user named it; `started`: an `add --create` that never finished may have made it. */
  readonly from: "index" | "asked" | "started" | "touched";
}

/** What a gc plan does about stores as a whole. */
export interface PlannedStores {
  /** Releases inside the stores, then what becomes of them, deletions last. */
  readonly actions: readonly Action[];
  readonly preconditions: readonly Precondition[];
  /** Stores in which nothing may be released, not even what the rest of the plan found dead. */
  readonly handsOff: ReadonlySet<string>;
}

/** Judges every store this clone made or was told of, and every other one it wrote to. Reads only. */
export async function planStores(ctx: Context, input: GcInput): Promise<PlannedStores> {
  const made = await createdCandidates(ctx, input);
  const touched = await touchedCandidates(ctx, input, made);
  const judging = await judgingOf(ctx, input);
  const releases: Action[] = [];
  const rest: Action[] = [];
  const deletions: Action[] = [];
  const preconditions: Precondition[] = [];
  const handsOff = new Set<string>();
  for (const candidate of made) {
    input.signal?.throwIfAborted();
    const planned = await planCreated(ctx, candidate, judging);
    releases.push(...planned.releases);
    (planned.ignoring ? deletions : rest).push(...planned.actions);
    if (planned.handsOff !== undefined) handsOff.add(planned.handsOff);
    if (planned.ignoring) preconditions.push(storeEmpty(candidate, planned.ignoring));
  }
  for (const candidate of touched) {
    input.signal?.throwIfAborted();
    const planned = await planTouched(ctx, candidate, judging);
    releases.push(...planned.releases);
    rest.push(...planned.actions);
  }
  return { actions: [...releases, ...rest, ...deletions], preconditions, handsOff };
}

/** What judging takes besides the store. */
interface JudgingStores {
  readonly input: GcInput;
  readonly alive: Alive;
  readonly namers: Namers;
  readonly reader: StoreReader;
}

async function judgingOf(ctx: Context, input: GcInput): Promise<JudgingStores> {
  const alive = await whatIsAlive(ctx, input);
  // A bookmark that a `new` of this clone made is this clone's, although it is gone by now.
  const known = (await allEntries(ctx)).flatMap((e) => {
    const bookmark = e.command === "new" ? e.result["bookmark"] : undefined;
    return typeof bookmark === "string" ? [bookmarkSlug(bookmark)] : [];
  });
  const slugs = new Set([...alive.slugs, ...known, ...input.scope?.bookmarks.map(bookmarkSlug) ?? []]);
  const reader = new StoreReader(ctx, { input, alive, slugs, pins: await ownPins(ctx) });
  return {
    input,
    alive,
    namers: new Namers(ctx, input.references),
    reader,
  };
}

interface PlannedStore {
  readonly releases: readonly Action[];
  readonly actions: readonly Action[];
  /** The store, when nothing in it may be touched. */
  readonly handsOff?: string;
  /** Refs that go before the store does; absent when it stays. */
  readonly ignoring?: readonly string[];
}

const NO_CONTENTS: Contents = {
  releases: [],
  unaccounted: [],
  staying: [],
  linked: false,
  ignoring: new Set(),
  empty: undefined,
};
const NOTHING: PlannedStore = { releases: [], actions: [] };

async function planCreated(ctx: Context, c: Candidate, judging: JudgingStores): Promise<PlannedStore> {
  const params = { locator: c.locator, identity: c.identity };
  const about = { key: c.key, kind: c.kind, target: locatorText(c.locator), params };
  let backend: ObjectBackend;
  try {
    backend = await ctx.backends.get(c.kind);
  } catch (error) {
    return { ...NOTHING, actions: [action("keep-store", { ...about, detail: `kept: ${reasonOf(error)}` })] };
  }
  const owner = await ownerOf(ctx, backend, c.locator);
  const named = owner.is === "ours" ? await judging.namers.of(backend, c.locator) : undefined;
  let contents = NO_CONTENTS;
  try {
    if (owner.is === "ours" && named === undefined) contents = await judging.reader.read(backend, c);
  } catch (error) {
    return { ...NOTHING, actions: [action("keep-store", { ...about, detail: `kept: ${reasonOf(error)}` })] };
  }
  const verdict = judgeStore({ owner, named, ...contents, force: judging.input.forcePrune === true });
  switch (verdict.op) {
    case "forget-store":
      if (c.from === "asked") throw unmarked(c);
      if (c.from === "started") return NOTHING;
      return {
        ...NOTHING,
        actions: [action("forget-store", { ...about, detail: "it bears no owner marker, or is gone" })],
      };
    case "leave":
      judging.input.notes.push(`${about.target}: it belongs to dataset ${verdict.dataset}; left alone`);
      return NOTHING;
    case "keep-store": {
      const keep = action("keep-store", { ...about, detail: `kept: ${verdict.why}` });
      if (verdict.hands === "on") return { releases: contents.releases, actions: [keep] };
      const store = storeOf(backend, c.locator);
      return { ...NOTHING, actions: [keep], ...(named === undefined ? { handsOff: store } : {}) };
    }
    case "delete-store":
      return {
        releases: contents.releases,
        actions: [
          action("delete-store", { ...about, detail: "this dataset made it, nothing names it, nothing else is in it" }),
        ],
        ignoring: [...contents.ignoring].sort(compareCodePoints),
      };
  }
}

/** Reads the marker. Only a backend that can delete stores has one. */
export async function ownerOf(ctx: Context, backend: ObjectBackend, locator: Locator): Promise<OwnerFacts> {
  if (!backend.owner) return { is: "unknown", why: `stores of kind "${backend.statics.kind}" bear none` };
  try {
    const dataset = await backend.owner(locator);
    if (dataset === undefined) return { is: "none" };
    return dataset === ctx.config.datasetId ? { is: "ours" } : { is: "other", dataset };
  } catch (error) {
    return error instanceof StoreNotFoundError ? { is: "none" } : { is: "unknown", why: reasonOf(error) };
  }
}

/** Releases this dataset's dead refs in a store that this clone wrote to and no manifest names. */
async function planTouched(ctx: Context, c: Candidate, judging: JudgingStores): Promise<PlannedStore> {
  const where = locatorText(c.locator);
  const forget = action("forget-touched", {
    key: c.key,
    kind: c.kind,
    target: where,
    detail: "nothing of this dataset is left in it",
    params: { locator: c.locator, identity: c.identity },
  });
  try {
    const backend = await ctx.backends.get(c.kind);
    if (await judging.namers.of(backend, c.locator) !== undefined) return NOTHING;
    const { releases, unaccounted, staying } = await judging.reader.read(backend, c);
    if (unaccounted.length > 0 && judging.input.forcePrune !== true) {
      judging.input.notes.push(
        `${where}: left alone, another clone may be at work in it: this one did not make ${unaccounted.join(", ")}`,
      );
      return NOTHING;
    }
    if (staying.length > 0 && !judging.input.scope) judging.input.notes.push(`${where}: ${staying.join("; ")}`);
    return { releases, actions: staying.length === 0 ? [forget] : [] };
  } catch (error) {
    if (error instanceof StoreNotFoundError) return { ...NOTHING, actions: [forget] };
    judging.input.notes.push(`${where}: its refs are not known, none is released: ${reasonOf(error)}`);
    judging.input.unread.set(`list-refs ${where} (${c.key})`, reasonOf(error));
    return NOTHING;
  }
}

function storeEmpty(c: Candidate, ignoring: readonly string[]): Precondition {
  return {
    kind: "store_empty",
    expected: true,
    key: c.key,
    params: { backend: c.kind, locator: c.locator, ignoring },
    detail: `Cannot apply the plan: the store at "${locatorText(c.locator)}" is {observed}`,
  };
}

function unmarked(c: Candidate): ConfigError {
  return new ConfigError(
    `Cannot judge the store at "${locatorText(c.locator)}": it bears no owner marker, or is not there`,
    {
      code: "no-owner",
      hints: ["tether deletes only what it made; remove it with the system's own tools"],
    },
  );
}

/** Stores of the index, of `--store`, and of an `add --create` that was killed before the index knew. */
async function createdCandidates(ctx: Context, input: GcInput): Promise<Candidate[]> {
  const found = new Map<string, Candidate>();
  const add = (c: Candidate): void => {
    const name = canonical(c.identity);
    const known = found.get(name);
    // Asking for a store changes what is said of it, not what it is.
    const from = known?.from === "asked" ? known.from : c.from;
    found.set(name, { ...c, from, bookmarks: [...new Set([...known?.bookmarks ?? [], ...c.bookmarks])] });
  };
  for (const entry of await allEntries(ctx)) {
    const store = entry.pre["store"];
    const started = entry.command === "add" && entry.status === "started" && isJsonObject(store) ? store : undefined;
    const { kind, locator, identity } = started ?? {};
    if (typeof kind !== "string" || !isJsonObject(locator) || !isJsonObject(identity)) continue;
    const [key = ""] = isJsonObject(entry.pre["objects"]) ? Object.keys(entry.pre["objects"]) : [];
    add({ kind, locator, identity, key, bookmarks: [], from: "started" });
  }
  for (const { kind, locator, identity, key, bookmark } of await ctx.indexes.created()) {
    add({ kind, locator, identity, key, bookmarks: bookmark === null ? [] : [bookmark], from: "index" });
  }
  const scoped = inScope(input, [...found.values()]);
  found.clear();
  for (const c of scoped) found.set(canonical(c.identity), c);
  for (const name of input.stores ?? []) {
    const asked = await askedFor(ctx, name);
    const known = found.get(canonical(asked.identity));
    add({ ...asked, key: known?.key ?? asked.key, bookmarks: [] });
  }
  return [...found.values()].sort((a, b) => compareCodePoints(a.key, b.key));
}

/** `drop` is about one bookmark: stores made on it, and no others. */
function inScope(input: GcInput, candidates: readonly Candidate[]): readonly Candidate[] {
  const { scope } = input;
  if (!scope) return candidates;
  return candidates.filter((c) => c.bookmarks.some((b) => scope.bookmarks.includes(b)));
}

async function askedFor(ctx: Context, name: StoreName): Promise<Candidate> {
  const statics = await ctx.backends.statics(name.kind);
  if (!statics.capabilities.has("create")) {
    throw new ConfigError(`Cannot judge stores of kind "${name.kind}": tether makes none`, { code: "flags" });
  }
  const locator = absoluteLocator(ctx, statics, name.locator);
  const identity = (await ctx.backends.get(name.kind)).identity(locator);
  return { kind: name.kind, locator, identity, key: locatorText(locator), bookmarks: [], from: "asked" };
}

async function touchedCandidates(ctx: Context, input: GcInput, made: readonly Candidate[]): Promise<Candidate[]> {
  const own = new Set(made.map((c) => canonical(c.identity)));
  const entries = (await ctx.indexes.touched()).filter((e) => !own.has(canonical(e.identity)));
  return entries.filter((e) => !input.references.stores.has(`${e.kind}|${canonical(e.identity)}`))
    .map(({ kind, locator, identity, key }): Candidate => ({
      kind,
      locator,
      identity,
      key,
      bookmarks: [],
      from: "touched",
    }))
    .sort((a, b) => compareCodePoints(a.key, b.key));
}
