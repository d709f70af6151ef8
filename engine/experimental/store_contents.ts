/**
 * What is left of this dataset in a store that no manifest names: which of its refs go, which stay and why, and whether
 * anything else is there.
 *
 * @module
 */

import { isAbsolute } from "node:path";
import { type BackendStatics, type ObjectBackend, type State, withoutAt } from "../../backends/backend.ts";
import { type Alive, judgeBranches, type OwnBranch, ownBranches } from "../commands/gc_branches.ts";
import { action, type GcInput } from "../commands/gc_input.ts";
import { pickSignal } from "../commands/snapshot.ts";
import type { Context } from "../context.ts";
import { StoreReferences } from "../history/reference_set.ts";
import { leafOf, localPath } from "../io/paths.ts";
import { compareCodePoints } from "../model/json.ts";
import type { Locator } from "../model/manifest.ts";
import { bookmarkSlug, refForPin } from "../model/names.ts";
import type { Action } from "../plan/plan.ts";

/** The refs of this dataset in one store. */
export interface Contents {
  /** `unpin` and `delete-branch`. */
  readonly releases: readonly Action[];
  /** Refs that nothing shows to be this clone's. */
  readonly unaccounted: readonly string[];
  /** Refs that are not released, each with its reason. */
  readonly staying: readonly string[];
  /** Whether its place is a symbolic link. */
  readonly linked: boolean;
  /** Names of the refs that are released. */
  readonly ignoring: ReadonlySet<string>;
  /** Whether nothing but those is in the store; `undefined` when that cannot be told. */
  readonly empty: boolean | undefined;
}

/** What this clone can account for. */
interface Accounts {
  readonly input: GcInput;
  readonly alive: Alive;
  /** Slugs of live bookmarks and of those that a `new` of this clone made. */
  readonly slugs: ReadonlySet<string>;
  /** Ids of pins this clone made. */
  readonly pins: ReadonlySet<string>;
}

/** A store to look into. */
interface Store {
  readonly kind: string;
  readonly locator: Locator;
  readonly key: string;
  readonly bookmarks: readonly string[];
  readonly from: string;
}

/** Looks into stores. */
export class StoreReader {
  readonly #ctx: Context;
  readonly #accounts: Accounts;

  constructor(ctx: Context, accounts: Accounts) {
    this.#ctx = ctx;
    this.#accounts = accounts;
  }

  /** Reads one store. A failure to list its refs is thrown; one to look for anything else makes `empty` unknown. */
  async read(backend: ObjectBackend, store: Store): Promise<Contents> {
    const { input, slugs } = this.#accounts;
    const locator = withoutAt(store.locator);
    const pins = await this.#pins(backend, { ...store, locator });
    const { own } = await ownBranches(this.#ctx, { backend, locator }, pickSignal(input));
    const known = new Set([...slugs, ...store.bookmarks.map(bookmarkSlug)]);
    const unaccounted = [...pins.unaccounted, ...own.filter((b) => !this.#isAccounted(b, known)).map((b) => b.ref)];
    const branches = await this.#branches(backend, { ...store, locator }, {
      own,
      ids: pins.ids,
      released: pins.releases,
    });
    const releases = [...pins.releases, ...branches.releases];
    const ignoring = new Set(releases.map((a) => a.target));
    return {
      releases,
      unaccounted,
      staying: [...pins.staying, ...branches.staying],
      ignoring,
      linked: await isLinked(backend.statics, locator),
      empty: await this.#isEmpty(backend, locator, ignoring),
    };
  }

  async #pins(backend: ObjectBackend, store: Store): Promise<{
    readonly ids: readonly string[];
    readonly releases: readonly Action[];
    readonly unaccounted: readonly string[];
    readonly staying: readonly string[];
  }> {
    const { input, pins } = this.#accounts;
    const listed = await backend.listPins?.(store.locator, pickSignal(input)) ?? new Set<string>();
    const ids = [...listed].filter((id) => id.startsWith(`${this.#ctx.config.datasetId}.`)).sort(compareCodePoints);
    const dead = ids.filter((id) => !input.references.pinIds.has(id));
    return {
      ids,
      unaccounted: dead.filter((id) => !pins.has(id)).map(refForPin),
      staying: ids.filter((id) => input.references.pinIds.has(id)).map((id) => `pin ${refForPin(id)} is referenced`),
      releases: dead.map((id) =>
        action("unpin", {
          key: store.key,
          kind: store.kind,
          target: refForPin(id),
          detail: `no manifest names it or its store${pins.has(id) ? "" : "; not created by this clone"}`,
          params: { locator: store.locator, pin_id: id, ...(pins.has(id) ? {} : { foreign: true }) },
        })
      ),
    };
  }

  #isAccounted({ name }: OwnBranch, slugs: ReadonlySet<string>): boolean {
    return name.type === "bookmark" ? slugs.has(name.slug) : this.#accounts.alive.workspaces.has(name.workspace);
  }

  /** The verdicts of `--prune-bookmarks`; without it a branch stays. */
  async #branches(
    backend: ObjectBackend,
    store: Store,
    found: {
      readonly own: readonly OwnBranch[];
      readonly ids: readonly string[];
      readonly released: readonly Action[];
    },
  ): Promise<{ readonly releases: readonly Action[]; readonly staying: readonly string[] }> {
    const { input, alive } = this.#accounts;
    if (!input.pruneBookmarks && !input.scope) {
      return { releases: [], staying: found.own.map((b) => `branch ${b.ref} is in it (--prune-bookmarks judges it)`) };
    }
    const bare = new StoreReferences(backend, store);
    // A commit of this clone pinned such a head and is gone: that is what was thrown away.
    const isHeld = (state: State): Promise<boolean> =>
      this.#isPinned(backend, store.locator, { state, ids: found.ids });
    const judged = await judgeBranches(this.#ctx, bare, {
      ...input,
      released: found.released,
      alive,
      dropped: input.scope?.dropped,
      own: found.own,
      ...(store.from === "touched" ? {} : { isHeld }),
    });
    const releases = judged.filter((a) => a.op === "delete-branch");
    const kept = judged.filter((a) => a.op === "keep-branch");
    const seen = new Set(judged.map((a) => a.target));
    const live = found.own.filter((b) => !seen.has(b.ref));
    return {
      releases,
      staying: [
        ...kept.map((a) => `branch ${a.target}: ${a.detail}`),
        ...live.map((b) => `branch ${b.ref} belongs to a live bookmark or checkout`),
      ],
    };
  }

  async #isPinned(
    backend: ObjectBackend,
    locator: Locator,
    { state, ids }: { readonly state: State; readonly ids: readonly string[] },
  ): Promise<boolean> {
    for (const id of ids) {
      const verdict = await backend.verify(locator, state, { id, ref: refForPin(id) }, { deep: false });
      if (verdict.status === "ok") return true;
    }
    return false;
  }

  async #isEmpty(
    backend: ObjectBackend,
    locator: Locator,
    ignoring: ReadonlySet<string>,
  ): Promise<boolean | undefined> {
    try {
      return await backend.isRefEmpty?.(locator, { ignoring });
    } catch {
      // Not known is not empty.
      return undefined;
    }
  }
}

/** Tells whether the last segment of a local address is a symbolic link; those of its parents are the system's own. */
async function isLinked(statics: BackendStatics, locator: Locator): Promise<boolean> {
  for (const field of statics.localPathKeys) {
    const value = locator[field];
    const path = typeof value === "string" ? localPath(value) : undefined;
    if (path === undefined || !isAbsolute(path)) continue;
    try {
      if ((await Deno.lstat(leafOf(path))).isSymlink) return true;
    } catch {
      // What is not there is no link, and the backend says what else is wrong.
    }
  }
  return false;
}
