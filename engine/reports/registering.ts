/**
 * Reports of the commands that register objects and kinds: `init add remove set backends`.
 *
 * @module
 */

import type { Tier } from "../../backends/backend.ts";
import type { Locator, Policy } from "../model/manifest.ts";
import type { Report } from "./report.ts";

/** Report of `init`. */
export interface InitReport extends Report {
  /** The dataset's root folder, symbolic links resolved. */
  readonly root: string;
  /** 8 hex digits, part of every native ref. */
  readonly datasetId: string;
  /** The bookmark that stands for upstream. */
  readonly trunk: string;
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/**
 * Report of `add`.
 *
 * @example See the key and the address an object got
 * ```ts
 * import { type AddReport, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const uri = await Deno.makeTempDir({ prefix: "plate1-" });
 * const report: AddReport = await ds.add({ kind: "file", locator: { uri } });
 * assert(report.derivedKey && uri.endsWith(report.key));
 * ```
 */
export interface AddReport extends Report {
  /** What the object is called in this dataset. */
  readonly key: string;
  /** The backend kind. */
  readonly kind: string;
  /** The address as it was registered: local paths absolute. */
  readonly locator: Locator;
  /** The dataset's defaults with the given fields over them. */
  readonly policy: Policy;
  /** The position of its history it was registered at; `null` for the newest. */
  readonly at: string | null;
  /** Whether tether made the store. */
  readonly created: boolean;
  /** Whether the key came from the locator. */
  readonly derivedKey: boolean;
  /** What the author should look at, such as a path that does not exist. */
  readonly warnings: readonly string[];
  /** What is worth knowing, such as that the kind is experimental. */
  readonly notes: readonly string[];
}

/**
 * Report of `remove`.
 *
 * @example Take an object out of the dataset
 * ```ts
 * import { Dataset, type RemoveReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: "/data/raw" } });
 * const report: RemoveReport = await ds.remove("raw");
 * assert.deepEqual([report.removed, ds.objects.size], ["raw", 0]);
 * ```
 */
export interface RemoveReport extends Report {
  /** The key; the store itself is untouched. */
  readonly removed: string;
}

/**
 * One changed policy field.
 *
 * @example Read one change of a policy
 * ```ts
 * import type { FieldChange } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const change: FieldChange = { from: "native", to: "record" };
 * assert.equal(`${change.from} -> ${change.to}`, "native -> record");
 * ```
 */
export interface FieldChange {
  /** The value before. */
  readonly from: string;
  /** The value now. */
  readonly to: string;
}

/**
 * Report of `set`.
 *
 * @example Stop pinning an object
 * ```ts
 * import { Dataset, type SetReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "scratch", kind: "memory", locator: { system: "scratch" } });
 * const report: SetReport = await ds.setPolicy(["scratch"], { pin: "record" });
 * assert.deepEqual(report.changed, { scratch: { pin: { from: "native", to: "record" } } });
 * ```
 */
export interface SetReport extends Report {
  /** The fields that changed, by key and by field: `file` or `pin`. */
  readonly changed: Readonly<Record<string, Readonly<Record<string, FieldChange>>>>;
  /** Keys that had the policy already. */
  readonly unchanged: readonly string[];
}

/**
 * One kind, as `backends` lists it.
 *
 * @example Look for kinds that need something installed
 * ```ts
 * import { type BackendReport, listBackends } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const broken: readonly BackendReport[] = (await listBackends()).kinds.filter((k) => !k.installed);
 * assert(broken.every((k) => k.note !== null));
 * ```
 */
export interface BackendReport {
  /** What to type after `--kind`. */
  readonly kind: string;
  /** Whether its driver loads here. */
  readonly installed: boolean;
  /** `stable`, or `experimental` for a kind that only ever met a stand-in of its service. */
  readonly maturity: string | null;
  /** How far the kind goes; one object may go less far. */
  readonly tier: Tier | null;
  /** In the order of {@link CAPABILITIES}. */
  readonly capabilities: readonly string[];
  /** Why a kind is not whole here, and how to mend that. */
  readonly note: string | null;
}

/**
 * Report of `backends`.
 *
 * @example List the kinds that have branches
 * ```ts
 * import { type BackendsReport, listBackends } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const report: BackendsReport = await listBackends();
 * const forkable = report.kinds.filter((k) => k.tier === "forkable").map((k) => k.kind);
 * assert(forkable.includes("git"));
 * ```
 */
export interface BackendsReport extends Report {
  /** Every known kind, sorted by name. */
  readonly kinds: readonly BackendReport[];
}
