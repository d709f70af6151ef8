/**
 * Everything that keeps a pin, a branch or a listing alive: history, working trees, indexes and unfinished operations of
 * every checkout (formats §15.4, L01, L02). What cannot be read stops the collection: not known is not unreferenced.
 *
 * @module
 */

import { join } from "node:path";
import type { ObjectBackend } from "../../backends/backend.ts";
import { datasetRoots, requireEveryCheckout } from "../checkouts.ts";
import type { Context } from "../context.ts";
import { inFlightPinIds, Journal } from "../files/journal.ts";
import { datasetPaths } from "../files/layout.ts";
import { type BrokenManifest, ManifestStore, parseManifest, pinIdsIn } from "../files/manifests.ts";
import { storeOf } from "../kinds.ts";
import { ConfigError, TetherError } from "../model/errors.ts";
import { canonical, listingName } from "../model/hash.ts";
import { contentState, type Locator, type ObjectManifest, type State } from "../model/manifest.ts";
import type { CallOptions } from "../reports/report.ts";
import { type HistoricManifest, readHistory } from "./references.ts";

/** A store that some manifest names, and which of its states are held. */
export class StoreReferences {
  readonly kind: string;
  readonly backend: ObjectBackend;
  /** A locator that addresses it, and the key it was met under. */
  readonly locator: Locator;
  readonly identity: Locator;
  readonly key: string;
  readonly #pinned = new Map<string, Set<string>>();
  readonly #recorded = new Map<string, { readonly key: string; readonly commit: string | null }>();
  /** What is not yet sorted by content: few commands ask for that, and there may be very many. */
  readonly #added: Held[] = [];

  constructor(
    backend: ObjectBackend,
    named: { readonly kind: string; readonly locator: Locator; readonly key: string },
  ) {
    this.kind = named.kind;
    this.backend = backend;
    this.locator = named.locator;
    this.identity = backend.identity(named.locator);
    this.key = named.key;
  }

  /** Canonical content of the states some commit pinned natively, and the ids of those pins. */
  get pinned(): ReadonlyMap<string, ReadonlySet<string>> {
    this.#sort();
    return this.#pinned;
  }

  /** Canonical content of the states some commit recorded without a pin, with a key and a commit that did. */
  get recorded(): ReadonlyMap<string, { readonly key: string; readonly commit: string | null }> {
    this.#sort();
    return this.#recorded;
  }

  /** Counts a state. */
  hold(held: Held): void {
    this.#added.push(held);
  }

  #sort(): void {
    for (const { state, pinId, key, commit } of this.#added.splice(0)) {
      const text = canonical(contentState(state, this.backend.statics.volatileKeys));
      if (pinId === null) {
        if (!this.#recorded.has(text)) this.#recorded.set(text, { key, commit });
        continue;
      }
      const ids = this.#pinned.get(text);
      if (ids) ids.add(pinId);
      else this.#pinned.set(text, new Set([pinId]));
    }
  }
}

/** A state that a manifest records. */
interface Held {
  readonly state: State;
  /** `null` for one recorded without a pin. */
  readonly pinId: string | null;
  readonly key: string;
  readonly commit: string | null;
}

/** Which commits count. */
export interface ReferenceOptions extends CallOptions {
  /** Commits to leave out, as if they were gone. @default {none} */
  readonly exclude?: ReadonlySet<string>;
  /** Counts only these commits, and no working tree, index or journal. @default {all} */
  readonly only?: ReadonlySet<string>;
  /** Takes the place of this working tree's manifests: those of a revision that will be here. */
  readonly instead?: Iterable<ObjectManifest>;
  /** Pin ids of which {@link References.holders} is to tell; every pin's would take much memory. @default {none} */
  readonly about?: ReadonlySet<string>;
}

/** A place that some manifest names, whatever is there. */
export interface NamedPlace {
  readonly kind: string;
  readonly locator: Locator;
  /** The manifest, as a message calls it. */
  readonly where: string;
}

/** What is held, by what was read. */
export class References {
  /** Every pin id anything names, of any dataset, under any spelling of its store. */
  readonly pinIds: Set<string> = new Set();
  /** What holds each of the pins that were asked about, in words: the first that was met. */
  readonly holders: Map<string, string> = new Map();
  /** By kind and identity. */
  readonly stores: Map<string, StoreReferences> = new Map();
  /** Names of listings that some manifest's state has. */
  readonly listings: Set<string> = new Set();
  /** Every place any manifest names, of any dataset and kind, known here or not; each spelling once. */
  readonly places: Map<string, NamedPlace> = new Map();
  /** Manifests that do not parse: what they name is not known. */
  readonly unparsed: string[] = [];
  /** What was left out, with the reason. */
  readonly notes: string[] = [];
  /** Stands for the set of commits. */
  digest: string = "";
  /** How many commits were read. */
  commits = 0;
  readonly #ctx: Context;
  readonly #byLocator = new Map<string, StoreReferences | undefined>();
  readonly #spelled = new WeakMap<Locator, string>();
  readonly #unknownKinds = new Set<string>();
  readonly #about: ReadonlySet<string>;

  constructor(ctx: Context, about: ReadonlySet<string> = new Set()) {
    this.#ctx = ctx;
    this.#about = about;
  }

  /** Counts a pin. */
  hold(pinId: string, where: () => string): void {
    this.pinIds.add(pinId);
    if (this.#about.has(pinId) && !this.holders.has(pinId)) this.holders.set(pinId, where());
  }

  /** Counts a manifest; at once where its store is known, since there may be very many. */
  add(manifest: ObjectManifest, commit: string | null): Promise<void> | undefined {
    const spelled = this.addForeign(manifest, commit);
    if (!this.#byLocator.has(spelled)) {
      return this.#store(manifest, spelled).then((store) => this.#addTo(store, manifest, commit));
    }
    this.#addTo(this.#byLocator.get(spelled), manifest, commit);
    return undefined;
  }

  #addTo(store: StoreReferences | undefined, manifest: ObjectManifest, commit: string | null): void {
    if (!store || !manifest.state) return;
    const { state, pin, key } = manifest;
    if (pin || manifest.recoverable) store.hold({ state, pinId: pin?.id ?? null, key, commit });
    if (store.backend.listing && isListed(state)) {
      const content = contentState(state, store.backend.statics.volatileKeys);
      this.listings.add(listingName({ kind: manifest.kind, identity: store.identity, content }));
    }
  }

  /**
   * Counts a manifest of another dataset: its pin and its place; what else it names is that dataset's. Returns how the
   * place is spelled.
   */
  addForeign(manifest: ObjectManifest, commit: string | null): string {
    const { kind, locator, key, pin } = manifest;
    const where = (): string =>
      `"${key}" ${commit === null ? "of a working tree" : `as ${commit.slice(0, 12)} has it`}`;
    if (pin) this.hold(pin.id, where);
    const spelled = this.#spell(kind, locator);
    if (!this.places.has(spelled)) this.places.set(spelled, { kind, locator, where: where() });
    return spelled;
  }

  /** Manifests of history share the locators they are equal in. */
  #spell(kind: string, locator: Locator): string {
    let spelled = this.#spelled.get(locator);
    if (spelled === undefined) this.#spelled.set(locator, spelled = `${kind}|${canonical(locator)}`);
    return spelled;
  }

  /** Counts a manifest that does not parse: its pins are known by their form alone (formats §19.2). */
  addBroken(broken: { readonly pinIds: readonly string[]; readonly path: string }): void {
    for (const id of broken.pinIds) this.hold(id, () => `"${broken.path}", which cannot be used`);
    this.unparsed.push(broken.path);
    this.notes.push(`"${broken.path}" cannot be used: its pins count as referenced`);
  }

  /** Returns the store of a locator; `undefined` for a kind this tether does not have. */
  async #store(
    manifest: { kind: string; locator: Locator; key: string },
    spelled: string,
  ): Promise<StoreReferences | undefined> {
    const found = await this.#open(manifest);
    this.#byLocator.set(spelled, found);
    return found;
  }

  async #open(manifest: { kind: string; locator: Locator; key: string }): Promise<StoreReferences | undefined> {
    const { kind, locator, key } = manifest;
    let backend: ObjectBackend;
    try {
      backend = await this.#ctx.backends.get(kind);
    } catch (error) {
      if (!this.#unknownKinds.has(kind)) {
        this.#unknownKinds.add(kind);
        const why = error instanceof Error ? error.message : String(error);
        this.notes.push(`Left alone: objects of kind "${kind}": ${why}`);
      }
      return undefined;
    }
    const name = storeOf(backend, locator);
    const store = this.stores.get(name) ?? new StoreReferences(backend, { kind, locator, key });
    this.stores.set(name, store);
    return store;
  }
}

/**
 * Reads everything that holds something.
 *
 * @throws {TetherError} if a manifest, an object of history or another checkout cannot be read.
 */
export async function collectReferences(ctx: Context, options: ReferenceOptions = {}): Promise<References> {
  const references = new References(ctx, options.about);
  if (!options.only) await requireEveryCheckout(ctx);
  // The digest is taken before the walk: a commit that appears meanwhile stales the plan.
  const history = await readHistory(ctx.vcs, {
    datasetId: ctx.config.datasetId,
    select: (commit) => options.only ? options.only.has(commit) : !options.exclude?.has(commit),
    ...(options.signal ? { signal: options.signal } : {}),
    ...(options.onProgress ? { onProgress: options.onProgress } : {}),
  });
  references.digest = history.digest;
  references.commits = history.commits.length;
  for await (const batch of history.manifests()) {
    for (const found of batch) {
      const adding = addHistoric(references, found);
      if (adding) await adding;
    }
  }
  if (options.only) return references;
  await addWorkingTrees(ctx, references, options);
  await addIndexes(ctx, references, options);
  return references;
}

/** Counts a manifest; at once where its store is known. */
function addHistoric(references: References, found: HistoricManifest): Promise<void> | undefined {
  switch (found.type) {
    case "manifest":
      if (found.own) return references.add(found.manifest, found.commit);
      references.addForeign(found.manifest, found.commit);
      return undefined;
    case "broken":
      references.addBroken({ pinIds: found.pinIds, path: `${found.path} at ${found.commit.slice(0, 12)}` });
      return undefined;
    case "unreadable":
      throw new TetherError(
        `Cannot tell what history refers to: "${found.path}" at ${found.commit.slice(0, 12)}: ${found.reason}`,
        {
          code: "unreadable-history",
          hints: ["git fsck", "git fetch --unshallow"],
        },
      );
    default:
      return found satisfies never;
  }
}

/** This working tree and those of every other checkout, with the operations they have not finished. */
async function addWorkingTrees(ctx: Context, references: References, options: ReferenceOptions): Promise<void> {
  for (const checkout of await ctx.vcs.checkouts()) {
    for (const root of await datasetRoots(ctx, checkout)) {
      const { objects, broken } = await readTree(root);
      const here = root === ctx.root && options.instead !== undefined ? options.instead : objects;
      for (const manifest of here) await references.add(manifest, null);
      for (const b of broken) references.addBroken({ pinIds: b.pinIds, path: join(root, b.path) });
      const journal = await new Journal(datasetPaths(root).journal).read();
      for (const id of inFlightPinIds(journal)) {
        references.hold(id, () => `an operation that "${root}" has not finished`);
      }
    }
  }
}

async function readTree(root: string): Promise<{ objects: ObjectManifest[]; broken: readonly BrokenManifest[] }> {
  try {
    const { objects, broken } = await new ManifestStore(root).read();
    return { objects: [...objects.values()], broken };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { objects: [], broken: [] };
    throw new TetherError(
      `Cannot tell what the checkout at "${root}" refers to: ${error instanceof Error ? error.message : error}`,
      {
        code: "unreadable-checkout",
        cause: error,
      },
    );
  }
}

/** Manifests that are staged may be absent from commits and working files alike (L01). */
async function addIndexes(ctx: Context, references: References, options: ReferenceOptions): Promise<void> {
  for (const { path, blob, checkout } of await ctx.vcs.staged()) {
    // A checkout that will be at another revision will have that one's index.
    if (options.instead !== undefined && checkout === ctx.vcs.location.root) continue;
    const bytes = await ctx.vcs.objects().blob(blob);
    const where = `${path} in the index of ${checkout}`;
    if (bytes === undefined) {
      throw new TetherError(`Cannot tell what "${where}" refers to: the repository lacks its object`, {
        code: "unreadable-history",
      });
    }
    const text = new TextDecoder().decode(bytes);
    try {
      await references.add(parseManifest(text, where), null);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      references.addBroken({ pinIds: pinIdsIn(text), path: where });
    }
  }
}

/** Tells whether a state is a digest that has a listing. */
function isListed(state: State): boolean {
  return state["type"] === "dir" || state["type"] === "prefix";
}
