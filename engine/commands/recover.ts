/**
 * `recover`: what a lost dataset left in its stores, and the commands that take it back (commands §5.18, formats §14.3).
 * Reads only, and takes no lock.
 *
 * @module
 */

import type { ObjectBackend } from "../../backends/backend.ts";
import { withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { messageOf } from "../model/errors.ts";
import { selectKeys } from "../model/keys.ts";
import type { ObjectManifest } from "../model/manifest.ts";
import { parseWorkingRef, refForPin } from "../model/names.ts";
import { type CallOptions, type Report, withJson } from "../reports/report.ts";
import { eachObject } from "./fan_out.ts";
import { recoverySteps } from "./recover_steps.ts";

/**
 * What a dataset has in a store, or in all of them.
 *
 * @example Find the bookmark whose branch is still there
 * ```ts
 * import type { RecoveredDataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const left: RecoveredDataset = {
 *   datasetId: "0a1b2c3d",
 *   current: false,
 *   pins: ["0a1b2c3d.c9d52233a70a6142"],
 *   bookmarks: [{ slug: "relabel", branch: "tether.ws.0a1b2c3d.relabel", generation: 1, branches: ["tether.ws.0a1b2c3d.relabel"] }],
 *   legacy: [],
 * };
 * assert.equal(left.bookmarks[0]?.slug, "relabel");
 * ```
 */
export interface RecoveredDataset {
  /** The id in the names of its refs. */
  readonly datasetId: string;
  /** Whether it is the one `tether.toml` names. */
  readonly current: boolean;
  /** Ids of its pins. */
  readonly pins: readonly string[];
  /** Its bookmarks by slug, each with its branches; `branch` is the one of the highest generation. */
  readonly bookmarks: readonly {
    readonly slug: string;
    readonly branch: string;
    readonly generation: number;
    readonly branches: readonly string[];
  }[];
  /** Branches from before bookmarks, by the checkout that made them. */
  readonly legacy: readonly { readonly workspace: string; readonly branches: readonly string[] }[];
}

/**
 * What one object's store holds of tether's.
 *
 * @example Tell a store that could not be asked
 * ```ts
 * import type { RecoveredObject } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const asked: RecoveredObject = {
 *   key: "raw",
 *   kind: "file",
 *   holdsRefs: false,
 *   error: null,
 *   missingPin: null,
 *   unrecognized: [],
 *   datasets: [],
 * };
 * assert.equal(asked.error, null);
 * ```
 */
export interface RecoveredObject {
  /** The object's key. */
  readonly key: string;
  /** Its kind. */
  readonly kind: string;
  /** Whether stores of its kind can hold refs of tether's at all. */
  readonly holdsRefs: boolean;
  /** Why the store could not be listed. */
  readonly error: string | null;
  /** The pin that its manifest names and the store lacks, as a ref. */
  readonly missingPin: string | null;
  /** Refs that begin like tether's and cannot be read. */
  readonly unrecognized: readonly string[];
  /** By dataset, the current one first. */
  readonly datasets: readonly RecoveredDataset[];
}

/**
 * Report of `recover`.
 *
 * @example Look for what an earlier dataset left
 * ```ts
 * import { Dataset, type RecoverReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 *
 * const report: RecoverReport = await ds.recover();
 * assert.deepEqual([report.pinned, report.complete, report.steps], [true, true, []]);
 * ```
 */
export interface RecoverReport extends Report {
  /** The id in `tether.toml`. */
  readonly datasetId: string;
  /** The trunk bookmark. */
  readonly trunk: string;
  /** Whether a store holds a pin of this id. */
  readonly pinned: boolean;
  /** The id to set instead, when the stores leave no doubt. */
  readonly suggestedDatasetId: string | null;
  /** Whether only some objects were looked at. */
  readonly scoped: boolean;
  /** What each object's store holds. */
  readonly objects: readonly RecoveredObject[];
  /** What all of them hold together, by dataset. */
  readonly datasets: readonly RecoveredDataset[];
  /** What to do, in order: a command line to paste, or none where something has to be edited or decided. */
  readonly steps: readonly { readonly command: string | null; readonly note: string }[];
  /** Whether every store could be listed. */
  readonly complete: boolean;
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/** Lists what stores hold of this and other datasets, and what to do about it. */
export async function recover(
  ctx: Context,
  options: { readonly keys?: readonly string[] } & CallOptions = {},
): Promise<RecoverReport> {
  await ctx.refresh();
  const scoped = options.keys !== undefined;
  const keys = selectKeys(options.keys, ctx.objects.keys());
  const objects = keys.map((key) => ctx.object(key));
  const { values, errors } = await eachObject(ctx, objects, {
    ...options,
    verb: "listing",
    fn: ({ object, backend }) => lookAt(ctx, object, backend),
  });
  const found = objects.map((object): RecoveredObject =>
    values.get(object.key) ?? {
      ...nothing(object),
      holdsRefs: true,
      error: messageOf(errors.get(object.key)),
    }
  );
  const datasets = together(found, ctx.config.datasetId);
  const pinned = datasets.some((d) => d.current && d.pins.length > 0);
  const foreign = datasets.filter((d) => !d.current);
  const unusable = scoped ? [] : ctx.broken;
  const complete = errors.size === 0 && unusable.length === 0;
  const suggestedDatasetId = complete && !scoped && !pinned && foreign.length === 1
    ? foreign[0]?.datasetId ?? null
    : null;
  const base = {
    datasetId: ctx.config.datasetId,
    trunk: ctx.config.trunk,
    pinned,
    suggestedDatasetId,
    scoped,
    objects: found,
    datasets,
  };
  const data = {
    ...base,
    // With a store unseen, advice could be wrong.
    steps: complete ? await recoverySteps(ctx, base) : [],
    complete,
    warnings: [...ctx.warnings, ...ctx.broken.map((b) => `Not looked at: "${b.path}" cannot be used`)],
  };
  return withJson(data, () => ({
    dataset_id: data.datasetId,
    trunk: data.trunk,
    pinned,
    suggested_dataset_id: suggestedDatasetId,
    scoped,
    objects: found.map((o) => ({
      key: o.key,
      kind: o.kind,
      holds_refs: o.holdsRefs,
      error: o.error,
      missing_pin: o.missingPin,
      unrecognized: [...o.unrecognized],
      datasets: o.datasets.map(datasetJson),
    })),
    datasets: datasets.map(datasetJson),
    steps: data.steps.map((s) => ({ ...s })),
  }));
}

function datasetJson(d: RecoveredDataset): ReturnType<Report["toJSON"]> {
  return {
    dataset_id: d.datasetId,
    current: d.current,
    pins: d.pins.length,
    bookmarks: d.bookmarks.map((b) => ({
      bookmark: b.slug,
      branch: b.branch,
      generation: b.generation === 1 ? null : b.generation,
      branches: [...b.branches],
    })),
    legacy: d.legacy.map((l) => ({ workspace: l.workspace, branches: [...l.branches] })),
  };
}

function nothing(object: ObjectManifest): RecoveredObject {
  return {
    key: object.key,
    kind: object.kind,
    holdsRefs: false,
    error: null,
    missingPin: null,
    unrecognized: [],
    datasets: [],
  };
}

/** Lists one object's store. */
async function lookAt(ctx: Context, object: ObjectManifest, backend: ObjectBackend): Promise<RecoveredObject> {
  const locator = withoutAt(object.locator);
  const pins = await backend.listPins?.(locator);
  const refs = await backend.listWorkingRefs?.(locator);
  const missing = object.pin && pins && !pins.has(object.pin.id) ? refForPin(object.pin.id) : null;
  return {
    ...nothing(object),
    holdsRefs: pins !== undefined || refs !== undefined,
    missingPin: missing,
    unrecognized: (refs ?? []).filter((ref) => parseWorkingRef(ref) === undefined).sort(),
    datasets: byDataset([...pins ?? []], refs ?? [], ctx.config.datasetId),
  };
}

/** Groups refs by the dataset in their names, the current one first. */
function byDataset(pins: readonly string[], refs: readonly string[], current: string): RecoveredDataset[] {
  const parsed = refs.flatMap((ref) => {
    const name = parseWorkingRef(ref);
    return name === undefined ? [] : [{ ref, name }];
  });
  const ids = new Set([...pins.map(datasetOf), ...parsed.map((p) => p.name.dataset)]);
  const datasets = [...ids].map((id): RecoveredDataset => {
    const bookmarks = parsed.flatMap(({ ref, name }) =>
      name.type === "bookmark" && name.dataset === id ? [{ ref, ...name }] : []
    );
    const legacy = parsed.flatMap(({ ref, name }) =>
      name.type === "legacy" && name.dataset === id ? [{ ref, ...name }] : []
    );
    return {
      datasetId: id,
      current: id === current,
      pins: pins.filter((pin) => datasetOf(pin) === id).sort(),
      bookmarks: [...Map.groupBy(bookmarks, (b) => b.slug)].sort(byName).flatMap(([slug, branches]) => {
        const [newest] = branches.sort((a, b) => b.generation - a.generation);
        if (newest === undefined) return [];
        return [{ slug, branch: newest.ref, generation: newest.generation, branches: branches.map((b) => b.ref) }];
      }),
      legacy: [...Map.groupBy(legacy, (l) => l.workspace)].sort(byName).map(([workspace, branches]) => ({
        workspace,
        branches: branches.map((b) => b.ref).sort(),
      })),
    };
  });
  return datasets.sort((a, b) => Number(b.current) - Number(a.current) || (a.datasetId < b.datasetId ? -1 : 1));
}

/** What all stores hold together. */
function together(objects: readonly RecoveredObject[], current: string): RecoveredDataset[] {
  const all = objects.flatMap((o) => o.datasets);
  const pins = new Set(all.flatMap((d) => d.pins));
  const refs = all.flatMap((d) => [...d.bookmarks, ...d.legacy].flatMap((group) => group.branches));
  return byDataset([...pins], [...new Set(refs)], current);
}

function datasetOf(pinId: string): string {
  return pinId.slice(0, pinId.indexOf("."));
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
