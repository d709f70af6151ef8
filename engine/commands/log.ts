/**
 * `log`: an object's own history, as its system keeps it (commands §5.14).
 *
 * @module
 */

import type { ObjectBackend } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { CapabilityError } from "../model/backend_errors.ts";
import { ConfigError } from "../model/errors.ts";
import { DEFAULT_POLICY, type Locator, type ObjectManifest } from "../model/manifest.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { LogReport } from "../reports/reading.ts";
import { workingRefOf } from "../state.ts";
import { requireStorePermissions } from "./granted.ts";
import { pickSignal, standingOf } from "./snapshot.ts";
import { absoluteLocator } from "./locators.ts";

/**
 * Options of {@link log}.
 *
 * @example Read the two newest entries of one branch
 * ```ts
 * import { Dataset, type LogOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const options: LogOptions = { ref: "main", limit: 2 };
 * const { entries } = await ds.logOf("memory", { system: "m" }, options);
 * assert.equal(entries.length, 1);
 * ```
 */
export interface LogOptions extends CallOptions {
  /**
   * A native ref of the store.
   * @default {the working ref, else `at`, else the base}
   */
  readonly ref?: string;
  /**
   * The most entries, from 1.
   * @default {20}
   */
  readonly limit?: number;
}

/** Reads the history of a registered object, newest first. */
export async function log(ctx: Context, key: string, options: LogOptions = {}): Promise<LogReport> {
  const object = ctx.object(key);
  const working = workingRefOf(object, await standingOf(ctx));
  const ref = options.ref ?? (working.at === "ref" ? working.ref : undefined);
  return await read(ctx, object, { ...options, ...(ref === undefined ? {} : { ref }) });
}

/** Reads the history of a store that need not be registered. */
export async function logOf(
  ctx: Context,
  store: { readonly kind: string; readonly locator: Locator },
  options: LogOptions = {},
): Promise<LogReport> {
  const statics = await ctx.backends.statics(store.kind);
  const locator = absoluteLocator(ctx, statics, store.locator);
  const object: ObjectManifest = {
    key: store.kind,
    kind: store.kind,
    locator,
    policy: DEFAULT_POLICY,
    state: null,
    pin: null,
    recoverable: true,
    origin: "adopted",
    capturedAt: null,
  };
  return await read(ctx, object, options);
}

async function read(ctx: Context, object: ObjectManifest, options: LogOptions): Promise<LogReport> {
  const limit = options.limit ?? 20;
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new ConfigError(`Cannot list ${limit} entries: a whole number from 1 is needed`, { code: "flags" });
  }
  if (options.ref !== undefined && options.ref.trim() === "") {
    throw new ConfigError("Cannot read the history of an empty ref", { code: "empty" });
  }
  await requireStorePermissions(ctx, [object], "read");
  const backend: ObjectBackend = await ctx.backends.get(object.kind);
  if (!backend.history) {
    throw new CapabilityError(`Cannot read the history of "${object.key}": its kind keeps none`, {
      kind: object.kind,
      key: object.key,
      hints: ["tether backends"],
    });
  }
  const entries = (await backend.history(object.locator, {
    limit,
    ...(options.ref === undefined ? {} : { ref: options.ref }),
    ...pickSignal(options),
  })).map((e) => ({ id: e.id, when: e.when ?? null, message: e.message, refs: e.refs }));
  return withJson({ entries }, () => entries.map((e) => ({ ...e })));
}
