/**
 * `diff`: how two positions of the dataset differ, object by object (commands §5.13).
 *
 * @module
 */

import type { ObjectDiff } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { readListing } from "../files/listings.ts";
import type { ConfigError } from "../model/errors.ts";
import { reasonOf } from "../model/multi_object_error.ts";
import { compareCodePoints, jsonEqual, type JsonObject } from "../model/json.ts";
import { selectKeys } from "../model/keys.ts";
import { type ObjectManifest, sameContent } from "../model/manifest.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { DiffEntry, DiffReport } from "../reports/reading.ts";
import { listingOf } from "./commit_paths.ts";
import { eachObject } from "./fan_out.ts";
import { requireStorePermissions } from "./granted.ts";
import { manifestsOf } from "../revision.ts";
import { pickSignal } from "./snapshot.ts";

/** Options of {@link diff}. */
export interface DiffOptions extends CallOptions {
  /** Default: the commit before the working copy. */
  readonly a?: string;
  /** Default: the working tree. */
  readonly b?: string;
  readonly keys?: readonly string[];
  /** Adds each system's own diff of changed states. @default {false} */
  readonly content?: boolean;
}

interface Side {
  readonly commit: string | null;
  readonly objects: ReadonlyMap<string, ObjectManifest>;
}

/** Compares manifests; stores are contacted only with `content`. */
export async function diff(ctx: Context, options: DiffOptions = {}): Promise<DiffReport> {
  const a = await sideA(ctx, options.a);
  const b: Side = options.b === undefined ? { commit: null, objects: ctx.objects } : await revision(ctx, options.b);
  // What a manifest says that does not parse is not known: its object was neither removed nor left as it was.
  const broken = new Map(options.b === undefined ? ctx.broken.map((x) => [x.key, x.error]) : []);
  const universe = new Set([...a.objects.keys(), ...b.objects.keys(), ...broken.keys()]);
  const chosen = selectKeys(options.keys, universe).sort(compareCodePoints);
  const entries: DiffEntry[] = [];
  for (const key of chosen) {
    const error = b.objects.has(key) ? undefined : broken.get(key);
    entries.push(error ? notCompared(key, a, error) : await compare(ctx, key, { a, b }));
  }
  const warnings = [...new Set(chosen.flatMap((k) => broken.get(k) ?? []))].map((e) => `Not compared: ${e.message}`);
  const native = options.content
    ? await contents(ctx, entries, { ...options, a, b })
    : new Map<string, Partial<DiffEntry>>();
  const all = entries.map((e) => ({ ...e, ...native.get(e.key) }));
  return withJson(
    { entries: all, warnings },
    () =>
      all.map((e) => ({
        key: e.key,
        change: e.change,
        a: e.a,
        b: e.b,
        detail: e.detail,
        detail_error: e.detailError,
        why: e.why,
      })),
  );
}

async function sideA(ctx: Context, rev: string | undefined): Promise<Side> {
  if (rev !== undefined) return await revision(ctx, rev);
  // Before the first commit everything is added.
  if ((await ctx.position()).commit === null) return { commit: null, objects: new Map() };
  return await revision(ctx, ctx.vcs.parentRev);
}

async function revision(ctx: Context, rev: string): Promise<Side> {
  const commit = await ctx.vcs.resolve(rev);
  return { commit, objects: await manifestsOf(ctx, commit) };
}

function notCompared(key: string, a: Side, error: ConfigError): DiffEntry {
  const pin = a.objects.get(key)?.pin?.id ?? null;
  return { key, change: "unknown", a: pin, b: null, detail: null, detailError: error.message, why: [] };
}

async function compare(ctx: Context, key: string, sides: { a: Side; b: Side }): Promise<DiffEntry> {
  const a = sides.a.objects.get(key);
  const b = sides.b.objects.get(key);
  const base = { key, a: a?.pin?.id ?? null, b: b?.pin?.id ?? null, detail: null, detailError: null };
  if (!a || !b) return { ...base, change: a ? "removed" : "added", why: [] };
  const why: DiffEntry["why"][number][] = [];
  if (!sameContent(a.state, b.state, await volatileKeys(ctx, b.kind))) why.push("state");
  if (a.pin?.id !== b.pin?.id) why.push("pin");
  if (a.kind !== b.kind || !jsonEqual(a.locator, b.locator)) why.push("locator");
  if (a.policy.file !== b.policy.file || a.policy.pin !== b.policy.pin) why.push("policy");
  return { ...base, change: why.length > 0 ? "changed" : "unchanged", why };
}

async function volatileKeys(ctx: Context, kind: string): Promise<ReadonlySet<string>> {
  try {
    return (await ctx.backends.statics(kind)).volatileKeys;
  } catch {
    // An unknown kind is compared by every key it has: the only honest reading.
    return new Set();
  }
}

/** Each system's own account of a changed state. One that fails is that object's `detail_error`. */
async function contents(
  ctx: Context,
  entries: readonly DiffEntry[],
  sides: { a: Side; b: Side } & CallOptions,
): Promise<ReadonlyMap<string, Partial<DiffEntry>>> {
  const changed = entries.filter((e) => e.why.includes("state")).flatMap((e) => sides.b.objects.get(e.key) ?? []);
  const able: ObjectManifest[] = [];
  for (const object of changed) {
    try {
      if ((await ctx.backends.statics(object.kind)).capabilities.has("diff")) able.push(object);
    } catch {
      // No driver for the kind, hence no native diff; the entry itself stands.
    }
  }
  await requireStorePermissions(ctx, able, "read");
  const { values, errors } = await eachObject(ctx, able, {
    ...sides,
    verb: "comparing",
    fn: async ({ object, backend }) => {
      const before = sides.a.objects.get(object.key);
      if (!before?.state || !object.state || !backend.diff) return undefined;
      const listings = [await listing(ctx, before, sides.a), await listing(ctx, object, sides.b)] as const;
      return await backend.diff(object.locator, before.state, object.state, { listings, ...pickSignal(sides) });
    },
  });
  const found = new Map<string, Partial<DiffEntry>>();
  for (const [key, value] of values) if (value) found.set(key, { detail: diffJson(value) });
  for (const [key, error] of errors) found.set(key, { detailError: reasonOf(error) });
  return found;
}

/** A listing lies in the working tree, else in the commit that recorded the state (formats §7). */
async function listing(ctx: Context, object: ObjectManifest, side: Side): Promise<string | undefined> {
  const name = await listingOf(ctx, object);
  if (name === undefined) return undefined;
  const here = await readListing(ctx.paths, name);
  if (here !== undefined || side.commit === null) return here;
  const prefix = ctx.vcs.location.rel === "." ? "" : `${ctx.vcs.location.rel}/`;
  const bytes = await ctx.vcs.fileAt(side.commit, `${prefix}.tether/listings/${name}`);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

function diffJson(d: ObjectDiff): JsonObject {
  return {
    summary: `+${d.added} -${d.removed} ~${d.modified} ${d.unit}`,
    unit: d.unit,
    added: d.added,
    removed: d.removed,
    modified: d.modified,
    truncated: d.truncated,
    note: d.note,
    entries: d.entries.map((e) => ({
      path: e.path,
      change: e.change,
      ...(e.detail === undefined ? {} : { detail: e.detail }),
    })),
  };
}
