/**
 * `snapshot`: reads the states of objects where this checkout stands, and caches them (commands §5.6, §5.7).
 *
 * @module
 */

import { withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { micros } from "../env.ts";
import { entryOf, type WorkspaceState } from "../files/workspace.ts";
import { tierOfObject } from "../kinds.ts";
import { ImmutableObjectModifiedError } from "../model/errors.ts";
import { MultiObjectError, reasonOf } from "../model/multi_object_error.ts";
import { renderState } from "../model/render_state.ts";
import { selectKeys } from "../model/keys.ts";
import { type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import { operands, shellQuote } from "../io/shell.ts";
import { withLocks } from "../plan/operation.ts";
import { requireStorePermissions } from "./granted.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { SnapshotReport } from "../reports/reading.ts";
import { isMoving, type Standing, staticsFor, workingRefOf } from "../state.ts";
import { eachObject, type Outcomes } from "./fan_out.ts";
import { withUnfinished } from "./unfinished.ts";

/** Returns what the rules of {@link workingRefOf} are judged by. */
export async function standingOf(ctx: Context): Promise<Standing> {
  return await withUnfinished(ctx, {
    objects: ctx.objects,
    workspace: ctx.workspace,
    onTrunk: ctx.onTrunk,
    statics: await staticsFor(ctx.objects.values(), ctx.backends),
  });
}

/** Where a fan-out reads an object: a ref, the upstream (`at` ignored), or where it is registered. */
function readAt(
  object: ObjectManifest,
  standing: Standing,
): { ref: string | undefined; locator: ObjectManifest["locator"] } {
  const working = workingRefOf(object, standing);
  if (working.at === "ref") return { ref: working.ref, locator: object.locator };
  // An object without a state is recorded where it was registered; a committed one is compared with its upstream.
  if (object.state === null) return { ref: undefined, locator: object.locator };
  return { ref: undefined, locator: withoutAt(object.locator) };
}

/** Reads the states of some objects, each where this checkout stands. */
export async function readStates(
  ctx: Context,
  objects: readonly ObjectManifest[],
  options: CallOptions & { readonly standing: Standing },
): Promise<Outcomes<State>> {
  await requireStorePermissions(ctx, objects, "read");
  return await eachObject(ctx, objects, {
    ...options,
    verb: "reading states",
    fn: ({ object, backend }, op) => {
      const { ref, locator } = readAt(object, options.standing);
      return backend.fingerprint(locator, ref, op);
    },
  });
}

/** Returns the objects a snapshot reads: those that move, and off a bookmark or on the trunk every other one too. */
export function snapshotTargets(objects: readonly ObjectManifest[], standing: Standing): ObjectManifest[] {
  const everything = standing.onTrunk || standing.workspace.bookmark === null;
  return objects.filter((o) => everything ? workingRefOf(o, standing).at !== "pending" : isMoving(o, standing));
}

/** Puts what a fan-out read into the cache of a workspace (formats §8). Keys no longer registered are dropped. */
export function cacheStates(
  workspace: WorkspaceState,
  read: Outcomes<State>,
  options: { readonly standing: Standing; readonly now: Date },
): WorkspaceState {
  const { objects } = options.standing;
  const lastSnapshot: Record<string, State> = {};
  const lastSnapshotErrors: Record<string, { ref: string; error: string }> = {};
  for (const key of objects.keys()) {
    const state = read.values.get(key) ?? (read.errors.has(key) ? undefined : entryOf(workspace.lastSnapshot, key));
    if (state) lastSnapshot[key] = state;
    const failed = read.errors.get(key);
    const object = objects.get(key);
    if (failed && object) {
      lastSnapshotErrors[key] = { ref: readAt(object, options.standing).ref ?? "", error: reasonOf(failed) };
    } else if (!read.values.has(key)) {
      const before = entryOf(workspace.lastSnapshotErrors, key);
      if (before) lastSnapshotErrors[key] = before;
    }
  }
  return { ...workspace, lastSnapshot, lastSnapshotErrors, lastSnapshotAt: micros(options.now) };
}

/** Returns the cached failure of an object, while the ref it was read on is still the one that would be read. */
export function cachedError(object: ObjectManifest, standing: Standing): string | undefined {
  const cached = entryOf(standing.workspace.lastSnapshotErrors, object.key);
  if (!cached || entryOf(standing.workspace.lastSnapshot, object.key)) return undefined;
  return cached.ref === (readAt(object, standing).ref ?? "") ? cached.error : undefined;
}

/** Returns the error of an immutable Observed object whose bytes are not the recorded ones (Δ7); else `undefined`. */
export function immutableDrift(
  object: ObjectManifest,
  state: State | undefined,
  standing: Standing,
): ImmutableObjectModifiedError | undefined {
  const statics = standing.statics.get(object.kind);
  if (!statics || !object.state || !state || object.policy.file !== "immutable") return undefined;
  if (tierOfObject(statics, object) !== "observed") return undefined;
  if (sameContent(state, object.state, statics.volatileKeys)) return undefined;
  return new ImmutableObjectModifiedError(
    `Object "${object.key}" is immutable and yet changed: recorded ${renderState(object.state)}, found ${
      renderState(state)
    }`,
    {
      hints: [`tether set --file versioned ${operands([object.key])}`],
      details: { key: object.key, recorded: object.state, found: state },
    },
  );
}

/** Reads states; the standing returned has them in its workspace, which the caller saves. */
export async function takeSnapshot(
  ctx: Context,
  objects: readonly ObjectManifest[],
  options: CallOptions,
): Promise<{ readonly read: Outcomes<State>; readonly standing: Standing }> {
  const standing = await standingOf(ctx);
  const read = await readStates(ctx, snapshotTargets(objects, standing), { ...options, standing });
  const workspace = cacheStates(standing.workspace, read, { standing, now: ctx.env.now() });
  return { read, standing: { ...standing, workspace } };
}

/**
 * Reads and caches states; fails after caching what could be read.
 *
 * @throws {MultiObjectError} naming every object that could not be read, or is immutable and changed.
 */
export function snapshot(ctx: Context, options: { keys?: readonly string[] } & CallOptions): Promise<SnapshotReport> {
  return withLocks(ctx, { command: "snapshot", repository: false, ...pickSignal(options) }, async () => {
    if (!options.keys || options.keys.length === 0) ctx.requireWholeManifests();
    const keys = selectKeys(options.keys, ctx.keys());
    const { read, standing } = await takeSnapshot(ctx, keys.map((k) => ctx.object(k)), options);
    await ctx.saveWorkspace(standing.workspace);
    const errors = new Map(read.errors);
    const states: Record<string, State> = {};
    for (const key of keys) {
      const object = ctx.object(key);
      const state = read.values.get(key) ?? object.state;
      if (state && !read.errors.has(key)) states[key] = state;
      const drift = immutableDrift(object, read.values.get(key), standing);
      if (drift) errors.set(key, drift);
    }
    if (errors.size > 0) {
      throw new MultiObjectError(`Cannot take a snapshot of ${errors.size} object(s)`, errors, { report: states });
    }
    return withJson({ states, warnings: [...ctx.warnings] }, () => states);
  });
}

/** Returns only the signal of some options, for callees that take no more. */
export function pickSignal(options: CallOptions): { signal?: AbortSignal } {
  return options.signal ? { signal: options.signal } : {};
}

/** How many keys a hint names before it leaves them to the user. */
const NAMED = 8;

/** Returns the command that goes on without the objects that failed; none when nothing is left. */
export function withoutFailed(
  objects: readonly ObjectManifest[],
  errors: ReadonlyMap<string, Error>,
  command: "commit" | "pull",
): string[] {
  const rest = objects.map((o) => o.key).filter((key) => !errors.has(key));
  if (rest.length === 0) return [];
  const keys = rest.length > NAMED ? undefined : rest;
  if (command === "commit") return [`tether commit -m MESSAGE ${keys ? operands(keys) : "KEY..."}`];
  return [`tether pull ${(keys ?? ["KEY"]).map((key) => `--key ${shellQuote(key)}`).join(" ")}`];
}
