/**
 * What a backend declares that it touches (backends §4), and what it is given. Imported through `backend.ts`.
 *
 * @module
 */

import type { JsonObject } from "../engine/model/json.ts";

/**
 * How much a command will do with an object, for its permission declaration (backends §4).
 *
 * @example Ask what writing to branches takes
 * ```ts
 * import { type Access, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const access: Access = "refs";
 * const { flags } = await ds.permissions({ access });
 * assert(flags.some((f) => f.startsWith("--allow-write=")));
 * ```
 */
export type Access = "read" | "refs" | "lifecycle";

/**
 * What a backend touches at one locator. Paths are absolute; hosts carry their port.
 *
 * @example Declare a server and its credentials
 * ```ts
 * import type { PermissionNeeds } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const needs: PermissionNeeds = {
 *   net: ["db.example.org:5432"],
 *   read: [],
 *   write: [],
 *   env: ["PGUSER", "PGPASSWORD"],
 *   run: [],
 *   ffi: [],
 *   sys: [],
 *   ambient: false,
 * };
 * assert.deepEqual(needs.net, ["db.example.org:5432"]);
 * ```
 */
export interface PermissionNeeds {
  /** `host:port`, or `*.suffix:port`. */
  readonly net: readonly string[];
  /** Files or folders; a folder includes what is below it. */
  readonly read: readonly string[];
  /** Files or folders; a folder includes what is below it. */
  readonly write: readonly string[];
  /** Names of variables; `PREFIX*` is all that begin so. */
  readonly env: readonly string[];
  /** Programs, by name or absolute path. */
  readonly run: readonly string[];
  /** Native libraries. */
  readonly ffi: readonly string[];
  /** Names of Deno's `--allow-sys`, such as `osRelease`. */
  readonly sys: readonly string[];
  /** Native code or a subprocess does I/O that Deno's checks do not see. */
  readonly ambient: boolean;
}

/**
 * Needs that add nothing; spread it and name what differs.
 *
 * @example Declare that one file is read
 * ```ts
 * import { NO_NEEDS } from "@tether/tether/backend";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual({ ...NO_NEEDS, read: ["/a.note"] }.net, []);
 * ```
 */
export const NO_NEEDS: PermissionNeeds = {
  net: [],
  read: [],
  write: [],
  env: [],
  run: [],
  ffi: [],
  sys: [],
  ambient: false,
};

/**
 * What a backend is given: configuration from `tether.toml` and `secrets.toml`, and where it may keep caches.
 *
 * @example Open a backend with credentials for one bucket
 * ```ts
 * import type { BackendSettings } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const settings: BackendSettings = {
 *   config: {},
 *   rules: [{ prefix: "s3://lab", exact: false, options: { profile: "lab" } }],
 *   cacheDir: "/home/ada/lab/.tether/cache",
 * };
 * assert.equal(settings.rules[0]?.options["profile"], "lab");
 * ```
 */
export interface BackendSettings {
  /** `[backends.<kind>]` of tether.toml (allow-listed keys only) with secrets.toml merged over it, secrets winning. */
  readonly config: JsonObject;
  /** `[uris."<prefix>"]` and `[objects."<key>"]` of secrets.toml, the latter as exact URIs. */
  readonly rules: readonly SecretRule[];
  /** `.tether/cache` of this checkout; absent when it cannot be written. Caches cost only speed. */
  readonly cacheDir?: string;
  /** Absolute path of the dataset root; a relative path of an old manifest is resolved against it. */
  readonly datasetRoot?: string;
  /** Root of the checkout the dataset is in: a git object may not lie inside it. */
  readonly checkoutRoot?: string;
  /** Programs chosen by `secrets.toml` or the environment; by name from PATH when absent. */
  readonly programs?: { readonly git?: string; readonly jj?: string };
  /** Values of the variables the kind declared; a backend reads no other environment. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * The clock.
   * @default {() => new Date()}
   */
  readonly now?: () => Date;
  /**
   * Takes a sentence the user must read though nothing failed, such as what a fingerprint leaves out. A backend in a worker
   * has none.
   * @default {() => {}}
   */
  readonly warn?: (text: string) => void;
}

/**
 * Settings that need nothing but the defaults.
 *
 * @example Open a kind as it comes
 * ```ts
 * import { DEFAULT_SETTINGS } from "@tether/tether/backend";
 * import { memoryStatics } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * await using backend = await memoryStatics.open(DEFAULT_SETTINGS);
 * assert.equal(backend.statics.kind, "memory");
 * ```
 */
export const DEFAULT_SETTINGS: BackendSettings = { config: {}, rules: [] };

/**
 * Credentials and options for every store whose URI lies at or below a prefix (DIV-3).
 *
 * @example Give one store an endpoint of its own
 * ```ts
 * import type { SecretRule } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const rule: SecretRule = { prefix: "s3://lab/a", exact: true, options: { endpoint_url: "https://s3.example.org" } };
 * assert(rule.exact);
 * ```
 */
export interface SecretRule {
  /** A URI; the rule holds at it and below it, never in the middle of a name. */
  readonly prefix: string;
  /** Whether the rule holds for exactly this URI only. */
  readonly exact: boolean;
  /** As the kind takes them, such as `profile` or `endpoint_url`. */
  readonly options: JsonObject;
}
