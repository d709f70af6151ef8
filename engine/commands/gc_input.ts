/**
 * What `gc` is asked to do, and what its parts work on.
 *
 * @module
 */

import type { Context } from "../context.ts";
import type { References, StoreReferences } from "../history/reference_set.ts";
import { storeOf } from "../kinds.ts";
import { reasonOf } from "../model/multi_object_error.ts";
import type { JsonObject } from "../model/json.ts";
import { type Locator, locatorText, type ObjectManifest } from "../model/manifest.ts";
import type { Action } from "../plan/plan.ts";
import type { CallOptions } from "../reports/report.ts";

/**
 * What `gc` is asked to do.
 *
 * @example Look at the branches of bookmarks that are gone
 * ```ts
 * import { Dataset, type GcRequest } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const request: GcRequest = { pruneBookmarks: true, keepBookmarks: ["relabel"] };
 * const plan = await ds.gc(request);
 * assert(plan.isEmpty);
 * ```
 */
export interface GcRequest {
  /**
   * Releases unreferenced pins that this clone did not make too.
   * @default {false}
   */
  readonly releaseForeign?: boolean;
  /**
   * Judges the branches of bookmarks that are gone.
   * @default {false}
   */
  readonly pruneBookmarks?: boolean;
  /**
   * Bookmarks that live elsewhere only, whose branches stay.
   * @default {[]}
   */
  readonly keepBookmarks?: readonly string[];
  /**
   * Deletes branches although that loses data. Needs `pruneBookmarks`.
   * @default {false}
   */
  readonly forcePrune?: boolean;
  /**
   * Deletes stores that tether made and nothing names any more, after releasing this dataset's refs in them; and releases
   * dead refs in stores this clone once wrote to. Experimental: a deleted store cannot be made again.
   * @default {false}
   */
  readonly deleteStores?: boolean;
  /**
   * Stores that another clone made, to be judged like those this one made. Implies `deleteStores`.
   * @default {[]}
   */
  readonly stores?: readonly StoreName[];
}

/**
 * A store by its address.
 *
 * @example Name a store whose creator is gone
 * ```ts
 * import type { GcRequest, StoreName } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const store: StoreName = { kind: "icechunk", locator: { uri: "/data/probe.icechunk" } };
 * const request: GcRequest = { pruneBookmarks: true, stores: [store] };
 * assert.equal(request.stores?.[0]?.kind, "icechunk");
 * ```
 */
export interface StoreName {
  /** One of {@link knownKinds}. */
  readonly kind: string;
  /** Where it is, in the fields of its kind. */
  readonly locator: Locator;
}

/** What `drop` narrows gc to: one bookmark, as if its commits were gone. */
export interface GcScope {
  readonly bookmarks: readonly string[];
  readonly excludedCommits: ReadonlySet<string>;
  /** What those commits record, read while they were there: a branch whose head one of them pinned is deletable. */
  readonly dropped: References;
  /** The manifests this checkout will have. */
  readonly instead?: ReadonlyMap<string, ObjectManifest>;
  /** The bookmark this checkout will be on. */
  readonly leftFor?: string | null;
}

/** What the parts of a gc plan are made of. */
export interface GcInput extends GcRequest, CallOptions {
  readonly references: References;
  readonly scope?: GcScope;
  /** Collects sentences for the plan. */
  readonly notes: string[];
  /** Collects what did not answer, as `verb place (key)`, with the reason: applying the plan fails for it. */
  readonly unread: Map<string, string>;
}

/** A listing that a plan of gc needs. */
interface Listing {
  readonly store: Pick<StoreReferences, "kind" | "backend" | "locator" | "key">;
  readonly verb: "list-pins" | "list-branches";
  readonly error: unknown;
}

/**
 * Notes that a store did not answer. Whoever narrowed gc to a bookmark hears of a failure only where something of it can be: in
 * the stores that its commits or today's objects name.
 */
export function noteUnread(ctx: Context, input: GcInput, { store, verb, error }: Listing): void {
  const { key, kind, backend, locator } = store;
  const why = reasonOf(error);
  input.notes.push(
    verb === "list-pins"
      ? `${key}: its pins are not known, none is released: ${why}`
      : `${key}: its branches are not known, none is deleted: ${why}`,
  );
  const name = storeOf(backend, locator);
  const { scope } = input;
  const concerned = scope === undefined || scope.dropped.stores.has(name) ||
    [...ctx.objects.values()].some((o) => o.kind === kind && storeOf(backend, o.locator) === name);
  if (concerned) input.unread.set(`${verb} ${locatorText(locator)} (${key})`, why);
}

/** Returns an action; what is not given is empty. */
export function action(
  op: string,
  rest: { key?: string; kind?: string; target: string; detail: string; params?: JsonObject },
): Action {
  return {
    op,
    key: rest.key ?? "",
    kind: rest.kind ?? "",
    target: rest.target,
    detail: rest.detail,
    params: rest.params ?? {},
  };
}
