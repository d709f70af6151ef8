/**
 * Names tether gives to native refs, and how they are read back (formats §3).
 *
 * @module
 */

import { canonical, framedHash } from "./hash.ts";

/** What every pin ref begins with. */
export const PIN_PREFIX = "tether.";
/** What every working ref begins with. */
export const WORKING_REF_PREFIX = "tether.ws.";
/** What every owner marker spelled as a ref begins with; never a pin. */
export const OWNER_PREFIX = "tether.owner.";

const DATASET_ID = /^[0-9a-f]{8}$/;

/** Tells whether a text is a dataset id: 8 lower-case hex digits. */
export function isDatasetId(text: string): boolean {
  return DATASET_ID.test(text);
}

/**
 * Returns the native ref of a pin id: `tether.<id>`.
 *
 * @example Look a pin up in the system's own tags
 * ```ts
 * import { refForPin } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.equal(refForPin("0a1b2c3d.c9d52233a70a6142"), "tether.0a1b2c3d.c9d52233a70a6142");
 * ```
 */
export function refForPin(pinId: string): string {
  return PIN_PREFIX + pinId;
}

/**
 * A pin ref read back.
 *
 * @example Read dataset and generation of a tag
 * ```ts
 * import { parsePinRef, type PinName } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const name: PinName | undefined = parsePinRef("tether.0a1b2c3d.ddecc24da8d57402.2");
 * assert.deepEqual(name, { id: "0a1b2c3d.ddecc24da8d57402", dataset: "0a1b2c3d", generation: 2 });
 * ```
 */
export interface PinName {
  /** `<dataset>.<token>`, without the generation. */
  readonly id: string;
  /** The dataset the pin belongs to. */
  readonly dataset: string;
  /** Icechunk's generation of a name that was used before; 1 when there is none. */
  readonly generation: number;
}

/**
 * Reads a pin ref; `undefined` for a ref that is none (a working ref, an owner marker, a foreign or unrecognised name).
 *
 * @example Tell pins from other tags
 * ```ts
 * import { parsePinRef } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const tags = ["v1.0", "tether.0a1b2c3d.ddecc24da8d57402", "tether.ws.0a1b2c3d.relabel"];
 * assert.deepEqual(tags.map((t) => parsePinRef(t)?.id), [undefined, "0a1b2c3d.ddecc24da8d57402", undefined]);
 * ```
 */
export function parsePinRef(ref: string): PinName | undefined {
  if (!ref.startsWith(PIN_PREFIX) || ref.startsWith(WORKING_REF_PREFIX) || ref.startsWith(OWNER_PREFIX)) {
    return undefined;
  }
  const [dataset = "", token = "", generation, ...rest] = ref.slice(PIN_PREFIX.length).split(".");
  if (dataset === "" || token === "" || rest.length > 0) return undefined;
  if (generation === undefined) return { id: `${dataset}.${token}`, dataset, generation: 1 };
  return /^[0-9]+$/.test(generation)
    ? { id: `${dataset}.${token}`, dataset, generation: Number(generation) }
    : undefined;
}

/**
 * Returns a bookmark's slug: the bookmark itself when every character is in `[0-9A-Za-z_-]` and none of `-` is at an end,
 * else its cleaned form with 6 hex digits of the exact name (formats §3).
 */
export function bookmarkSlug(bookmark: string): string {
  const clean = bookmark.replace(/[^0-9A-Za-z_-]+/gu, "-").replace(/^-+|-+$/g, "");
  if (clean === bookmark && clean !== "") return clean;
  return `${clean || "bm"}-${framedHash([canonical(bookmark)], 8).slice(0, 6)}`;
}

/**
 * Returns the working ref `tether.ws.<dataset>.<slug>` of a bookmark.
 *
 * @example Find the branch of a bookmark
 * ```ts
 * import { workingRefName } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.equal(workingRefName("0a1b2c3d", "relabel"), "tether.ws.0a1b2c3d.relabel");
 * assert.equal(workingRefName("0a1b2c3d", "feat/x"), "tether.ws.0a1b2c3d.feat-x-cdd300");
 * ```
 */
export function workingRefName(datasetId: string, bookmark: string): string {
  return `${WORKING_REF_PREFIX}${datasetId}.${bookmarkSlug(bookmark)}`;
}

/**
 * A working ref read back.
 *
 * @example Find the dataset that a branch belongs to
 * ```ts
 * import { parseWorkingRef, type WorkingRefName } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const name: WorkingRefName | undefined = parseWorkingRef("tether.ws.0a1b2c3d.relabel.2");
 * assert.deepEqual(name, { type: "bookmark", dataset: "0a1b2c3d", slug: "relabel", generation: 2 });
 * ```
 */
export type WorkingRefName =
  | { readonly type: "bookmark"; readonly dataset: string; readonly slug: string; readonly generation: number }
  | { readonly type: "legacy"; readonly dataset: string; readonly workspace: string; readonly tail: string };

/**
 * Reads a working ref; `undefined` when it is not one of tether's (formats §3, Δ19: the generation is read after the
 * id).
 *
 * @example Tell tether's branches from others
 * ```ts
 * import { parseWorkingRef } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.equal(parseWorkingRef("main"), undefined);
 * assert.equal(parseWorkingRef("tether.ws.0a1b2c3d.relabel")?.dataset, "0a1b2c3d");
 * ```
 */
export function parseWorkingRef(ref: string): WorkingRefName | undefined {
  if (!ref.startsWith(WORKING_REF_PREFIX)) return undefined;
  const body = ref.slice(WORKING_REF_PREFIX.length);
  const dot = body.indexOf(".");
  const dataset = body.slice(0, Math.max(dot, 0));
  let rest = dot < 0 ? "" : body.slice(dot + 1);
  if (!isDatasetId(dataset) || rest === "") return undefined;
  let generation = 1;
  const sibling = /^(.+)\.([0-9]+)$/.exec(rest);
  if (sibling) [rest, generation] = [sibling[1] ?? "", Number(sibling[2])];
  const legacy = /^([0-9a-f]{8})\.(.+)$/.exec(rest);
  if (legacy) return { type: "legacy", dataset, workspace: legacy[1] ?? "", tail: legacy[2] ?? "" };
  return { type: "bookmark", dataset, slug: rest, generation };
}

/**
 * Returns the bookmark slug a working ref stands for; `undefined` for a legacy or foreign ref.
 *
 * @example Find the bookmark of a branch
 * ```ts
 * import { workingRefBookmark } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.equal(workingRefBookmark("tether.ws.0a1b2c3d.relabel"), "relabel");
 * assert.equal(workingRefBookmark("main"), undefined);
 * ```
 */
export function workingRefBookmark(ref: string): string | undefined {
  const name = parseWorkingRef(ref);
  return name?.type === "bookmark" ? name.slug : undefined;
}
