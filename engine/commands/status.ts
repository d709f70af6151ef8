/**
 * `status`: what stands where. Local unless a snapshot is asked for (commands §5.6, Δ38).
 *
 * @module
 */

import { entryOf } from "../files/workspace.ts";
import type { Verdict } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { tierOfObject } from "../kinds.ts";
import { LockError, TetherError } from "../model/errors.ts";
import { reasonOf } from "../model/multi_object_error.ts";
import { renderState } from "../model/render_state.ts";
import { isHeld } from "../files/lock.ts";
import { selectKeys } from "../model/keys.ts";
import { type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import { withLocks } from "../plan/operation.ts";
import { requireStorePermissions } from "./granted.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { ObjectStatus, StatusLabel, StatusReport } from "../reports/reading.ts";
import { isMoving, staleKeys, type Standing, workingRefOf } from "../state.ts";
import { bookmarkDrift, newVcsDrift } from "./drift.ts";
import { eachObject, type Outcomes } from "./fan_out.ts";
import { summary } from "./ops.ts";
import { pinRefusal } from "./pin_refusals.ts";
import { uncommitted } from "./removed.ts";
import { cachedError, immutableDrift, pickSignal, standingOf, takeSnapshot } from "./snapshot.ts";
import { finishing, unfinished } from "./unfinished.ts";

/**
 * Options of {@link status}.
 *
 * @example Ask about one folder of keys
 * ```ts
 * import { Dataset, type StatusOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw/plate1", kind: "file", locator: { uri: "/data/plate1" } });
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * const options: StatusOptions = { keys: ["raw/"] };
 * assert.deepEqual((await ds.status(options)).objects.map((o) => o.key), ["raw/plate1"]);
 * ```
 */
export interface StatusOptions extends CallOptions {
  /**
   * Keys, and prefixes that end in `/`.
   * @default {every object}
   */
  readonly keys?: readonly string[];
  /**
   * Whether to read the stores first.
   * @default {`[snapshot] auto` of tether.toml}
   */
  readonly snapshot?: boolean;
}

/** Tells where every object stands. Contacts no store unless a snapshot is asked for or configured. */
export async function status(ctx: Context, options: StatusOptions = {}): Promise<StatusReport> {
  const fresh = options.snapshot ?? ctx.config.snapshotAuto;
  const { removed: gone, isEdited } = await uncommitted(ctx);
  const chosen = selectKeys(options.keys, [...ctx.keys(), ...gone]);
  const removed = chosen.filter((k) => gone.includes(k));
  const keys = chosen.filter((k) => !gone.includes(k));
  const objects = keys.flatMap((k) => ctx.objects.get(k) ?? []);
  if (!fresh) return await report(ctx, keys, { standing: await standingOf(ctx), removed, isEdited, options });
  const taken = await lockedWhereWritable(ctx, options, () => takeSnapshot(ctx, objects, options));
  return await report(ctx, keys, { ...taken, removed, isEdited, options });
}

/** Reads under the checkout lock and caches; where the checkout cannot be written that costs speed only (L26). */
async function lockedWhereWritable<T extends { readonly standing: Standing }>(
  ctx: Context,
  options: CallOptions,
  read: () => Promise<T>,
): Promise<T> {
  if (!ctx.workspaceFile.persistent) return await read();
  try {
    return await withLocks(ctx, { command: "status", repository: false, ...pickSignal(options) }, async () => {
      const taken = await read();
      await remember(ctx, taken.standing);
      return taken;
    });
  } catch (error) {
    if (!(error instanceof LockError) || error.code !== "read-only") throw error;
    return await read();
  }
}

async function remember(ctx: Context, { workspace }: Standing): Promise<void> {
  try {
    await ctx.saveWorkspace(workspace);
  } catch (error) {
    if (!(error instanceof TetherError) || !["read-only", "disk-full"].includes(error.code)) throw error;
    ctx.warnings.push(`The states read are not remembered: ${error.message}`);
  }
}

interface Seen {
  readonly standing: Standing;
  /** What this call read; absent for a local status. */
  readonly read?: Outcomes<State>;
  readonly removed: readonly string[];
  readonly isEdited: (object: ObjectManifest) => boolean;
  readonly options: StatusOptions;
}

async function report(ctx: Context, keys: readonly string[], seen: Seen): Promise<StatusReport> {
  const { standing, read, options } = seen;
  const verdicts = ctx.config.verifyOnStatus ? await quickVerify(ctx, keys, options) : new Map<string, Verdict>();
  const objects = keys.map((key) => {
    const object = ctx.objects.get(key);
    return object ? judge(object, seen, verdicts.get(key)) : unparsed(ctx, key);
  });
  const stale = staleKeys(standing);
  const { workspace } = standing;
  const warnings = [...ctx.warnings];
  const position = await ctx.position();
  if (position.blocked) warnings.push(`${position.blocked.reason}: reads work, writes refuse`);
  warnings.push(...await interruptedOps(ctx));
  const drift = await bookmarkDrift(ctx, standing);
  const vanished = await newVcsDrift(ctx);
  const data = {
    manifestHash: ctx.manifestHash(),
    stale: stale.length > 0,
    staleKeys: stale,
    fresh: read !== undefined,
    snapshotAt: workspace.lastSnapshotAt,
    bookmark: workspace.bookmark,
    trunk: standing.onTrunk,
    bookmarkDrift: drift,
    vcsDrift: vanished,
    objects,
    removed: seen.removed,
    warnings,
  };
  return withJson(data, () => ({
    manifest_hash: data.manifestHash,
    stale: data.stale,
    stale_keys: data.staleKeys,
    fresh: data.fresh,
    snapshot_at: data.snapshotAt,
    bookmark: data.bookmark,
    trunk: data.trunk,
    bookmark_drift: data.bookmarkDrift,
    vcs_drift: data.vcsDrift.map((d) => ({ ...d })),
    objects: data.objects.map((o) => ({
      key: o.key,
      kind: o.kind,
      tier: o.tier,
      state: o.state,
      pinned: o.pinned,
      recoverable: o.recoverable,
      origin: o.origin,
      verify: o.verify,
      error: o.error,
      seen: o.seen,
      reason: o.reason,
    })),
    removed: data.removed,
    warnings: data.warnings,
  }));
}

/** A sentence for each operation that a process left started; none while one may still be running. */
async function interruptedOps(ctx: Context): Promise<string[]> {
  const open = await unfinished(ctx);
  if (open.length === 0 || await isHeld(ctx.paths.lock)) return [];
  return open.map((e) => `${e.command} ${e.id} was interrupted (${summary(e)}): "${finishing(e)}" finishes it`);
}

function judge(object: ObjectManifest, seen: Seen, verdict: Verdict | undefined): ObjectStatus {
  const { standing, read } = seen;
  const statics = standing.statics.get(object.kind);
  const base = {
    key: object.key,
    kind: object.kind,
    tier: statics ? tierOfObject(statics, object) : null,
    pinned: object.pin !== null,
    recoverable: object.recoverable,
    origin: object.origin,
    verify: verdict?.status ?? null,
    seen: whenSeen(object.key, seen),
  };
  const now = read?.values.get(object.key) ?? entryOf(standing.workspace.lastSnapshot, object.key);
  const failed = read?.errors.get(object.key);
  const cached = failed ? undefined : cachedError(object, standing);
  const drift = cached === undefined ? immutableDrift(object, now, standing) : undefined;
  const error = failed ? reasonOf(failed) : cached ?? drift?.message;
  const told = failed ?? drift;
  if (error !== undefined) {
    return {
      ...base,
      state: "error",
      error,
      reason: null,
      ...(told instanceof TetherError ? { hints: told.hints } : {}),
    };
  }
  const refusal = statics && now ? pinRefusal(statics, object, now) : undefined;
  const hints = refusal ? { hints: refusal.hints } : {};
  const trouble = refusal ? [`cannot be committed: ${refusal.reason}`] : [];
  if (object.state === null) return { ...base, state: "new", error: null, reason: trouble[0] ?? null, ...hints };
  const volatile = statics?.volatileKeys ?? new Set<string>();
  const differs = now !== undefined && !sameContent(now, object.state, volatile);
  const label: StatusLabel = !differs ? "clean" : isMoving(object, standing) ? "modified" : "behind";
  const why = differs
    ? `recorded ${renderState(object.state)}, now ${renderState(now)}`
    : whyNotRead(object, seen, base.seen);
  const edited = seen.isEdited(object) ? ["its manifest is edited: the next commit takes that"] : [];
  const reason = [...(why === null ? [] : [why]), ...edited, ...trouble].join("; ") || null;
  return { ...base, state: label, error: null, reason, ...hints };
}

function whenSeen(key: string, { standing, read }: Seen): ObjectStatus["seen"] {
  if (read?.values.has(key) || read?.errors.has(key)) return "now";
  const { lastSnapshot, lastSnapshotErrors } = standing.workspace;
  return entryOf(lastSnapshot, key) || entryOf(lastSnapshotErrors, key) ? "before" : null;
}

/** Says why an object that counts as clean was not read; a status that reads nothing says so once, for all of them. */
function whyNotRead(object: ObjectManifest, { standing, read }: Seen, seen: ObjectStatus["seen"]): string | null {
  if (!standing.statics.has(object.kind)) return `not checked: this tether does not have kind "${object.kind}"`;
  const snapshot = read !== undefined || standing.workspace.lastSnapshotAt !== null;
  if (seen === "now" || !snapshot || (read === undefined && seen === "before")) return null;
  const what = seen === "before" ? "not read now" : "not read";
  const ref = workingRefOf(object, standing);
  if (ref.at === "pending") return `${what}: its branch is made by the first writable open`;
  const { bookmark } = standing.workspace;
  if (bookmark === null || isMoving(object, standing)) return what;
  return `${what}: bookmark "${bookmark}" does not move it`;
}

function unparsed(ctx: Context, key: string): ObjectStatus {
  const broken = ctx.broken.find((b) => b.key === key);
  return {
    key,
    kind: "unknown",
    tier: null,
    state: broken?.conflicted ? "conflicted" : "error",
    pinned: (broken?.pinIds.length ?? 0) > 0,
    recoverable: false,
    origin: "adopted",
    verify: null,
    error: broken?.error.message ?? null,
    hints: broken?.error.hints ?? [],
    seen: null,
    reason: null,
  };
}

/** A shallow verify of each committed object (`[verify] on_status`). A store that cannot answer counts as unknown. */
async function quickVerify(
  ctx: Context,
  keys: readonly string[],
  options: CallOptions,
): Promise<ReadonlyMap<string, Verdict>> {
  const committed = keys.flatMap((k) => {
    const object = ctx.objects.get(k);
    return object?.state ? [object] : [];
  });
  await requireStorePermissions(ctx, committed, "read");
  const { values, errors } = await eachObject(ctx, committed, {
    ...options,
    verb: "verifying",
    fn: ({ object, backend }, op) =>
      backend.verify(object.locator, object.state ?? {}, object.pin ?? undefined, { ...op, deep: false }),
  });
  const verdicts = new Map(values);
  for (const [key, error] of errors) verdicts.set(key, { status: "unknown", message: error.message });
  return verdicts;
}
