/**
 * Every error tether raises on purpose. Each has a stable `code`, a sentence, hints (commands to paste) and details
 * (commands §6, backends §1.9).
 *
 * @module
 */

import type { JsonObject } from "./json.ts";
import { redact, redactJson } from "./redact.ts";

/**
 * Options of every tether error.
 *
 * @example Give an error a code, a way out and facts
 * ```ts
 * import { ConfigError, type ErrorOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const options: ErrorOptions = { code: "value", hints: ["tether set --pin record raw"], details: { line: 7 } };
 * const error = new ConfigError('Cannot use "tether.toml": defaults.pin is "none"', options);
 * assert.deepEqual([error.code, error.details], ["value", { line: 7 }]);
 * ```
 */
export interface ErrorOptions {
  /** Stable machine-readable code. @default {the one of the class} */
  readonly code?: string;
  /** What to do next: commands the user can paste, or one short sentence each. @default {[]} */
  readonly hints?: readonly string[];
  /** Facts about the failure, for programs. @default {{}} */
  readonly details?: JsonObject;
  /** The error this one was made of. */
  readonly cause?: unknown;
}

/**
 * Base of all errors that tether raises on purpose.
 *
 * @example Tell failures of tether from others
 * ```ts
 * import { Dataset, TetherError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const error = await Dataset.open("/").catch((e: unknown) => e);
 * if (!(error instanceof TetherError)) throw error;
 * assert.equal(error.code, "no-dataset");
 * assert.deepEqual(error.hints, ["tether init"]);
 * ```
 */
export class TetherError extends Error {
  /** Stable machine-readable code. */
  readonly code: string;
  /** What to do next. */
  readonly hints: readonly string[];
  /** Facts about the failure. */
  readonly details: JsonObject;

  /**
   * Takes the sentence: what could not be done and to what. The code is `error` unless the options name one. Secrets in
   * sentence, hints and details are masked (L39).
   */
  constructor(message: string, options: ErrorOptions = {}) {
    super(redact(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code ?? "error";
    this.hints = (options.hints ?? []).map(redact);
    this.details = redactJson(options.details ?? {}) as JsonObject;
  }

  /** Returns the error as JSON: name, code, message, hints, details and the cause's message. */
  toJSON(): JsonObject {
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      hints: this.hints,
      details: this.details,
      cause: this.cause === undefined ? null : redact(messageOf(this.cause)),
    };
  }
}

/**
 * Bad configuration, manifest, selector, key, tracked file or version.
 *
 * @example Meet a file that is no plan
 * ```ts
 * import { ConfigError, Plan } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.throws(() => Plan.fromJSON("not JSON"), ConfigError);
 * ```
 */
export class ConfigError extends TetherError {
  /** The code is `config` unless the options name a narrower one. */
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "config", ...options });
  }
}

/**
 * git or jj failed, is too old, is conflicted, or a hook refused.
 *
 * @example Look for a repository where there is none
 * ```ts
 * import { detectVcs, VcsError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * await assert.rejects(detectVcs("/"), VcsError);
 * ```
 */
export class VcsError extends TetherError {
  /** The code is `vcs` unless the options name a narrower one. */
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "vcs", ...options });
  }
}

/**
 * A lock could not be had in time.
 *
 * @example Meet another tether at work in the checkout
 * ```ts
 * import { Dataset, LockError } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * using lock = await Deno.open(`${cwd}/.tether/lock`, { create: true, write: true });
 * await lock.lock(true);
 *
 * await using second = await Dataset.open(cwd, { lockTimeoutMs: 10 });
 * await assert.rejects(second.add({ key: "raw", kind: "file", locator: { uri: "/data" } }), LockError);
 * ```
 */
export class LockError extends TetherError {
  /** The code is `locked`. */
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "locked", ...options });
  }
}

/**
 * A plan no longer matches the world, was edited, or was made by another tether.
 *
 * @example Load a plan that another version made
 * ```ts
 * import { Plan, StalePlanError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.throws(() => Plan.fromJSON('{"tether_version": "0.1.0b7"}'), StalePlanError);
 * ```
 */
export class StalePlanError extends TetherError {
  /** The code is `stale-plan`. */
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "stale-plan", ...options });
  }
}

/**
 * Forks no longer match the manifests, or the working copy left the bookmark.
 *
 * @example Commit after git left the bookmark
 * ```ts
 * import { Dataset, StaleWorkingCopyError } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * execSync("git checkout -q -b elsewhere", { cwd });
 * await assert.rejects(ds.commit({ message: "Load" }), StaleWorkingCopyError);
 * ```
 */
export class StaleWorkingCopyError extends TetherError {
  /** The code is `stale-working-copy` unless the options name a narrower one. */
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "stale-working-copy", ...options });
  }
}

/**
 * The bytes of an object with `file = "immutable"` changed.
 *
 * @example Notice a change of raw data
 * ```ts
 * import { Dataset, ImmutableObjectModifiedError, MultiObjectError } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const uri = await Deno.makeTempFile();
 * await ds.add({ key: "raw", kind: "file", locator: { uri } });
 * await ds.commit({ message: "Baseline" });
 *
 * await Deno.writeTextFile(uri, "overwritten");
 * const error = await ds.snapshot().catch((e: unknown) => e);
 * assert(error instanceof MultiObjectError && error.errors.get("raw") instanceof ImmutableObjectModifiedError);
 * ```
 */
export class ImmutableObjectModifiedError extends TetherError {
  /** The code is `immutable-modified`. */
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "immutable-modified", ...options });
  }
}

/**
 * `commit --strict` met an Observed object.
 *
 * @example Insist that every state can be read back
 * ```ts
 * import { Dataset, UnpinnedStateError } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempFile() } });
 * await assert.rejects(ds.commit({ message: "Load", strict: true }), UnpinnedStateError);
 * ```
 */
export class UnpinnedStateError extends TetherError {
  /** The code is `unpinned-state`. */
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "unpinned-state", ...options });
  }
}

/**
 * A pin points at another state than the one recorded.
 *
 * @example Tell a moved pin from a missing one
 * ```ts
 * import { PinDriftError, StateGoneError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const isDamage = (e: unknown): boolean => e instanceof PinDriftError || e instanceof StateGoneError;
 * assert(isDamage(new PinDriftError('Cannot open "code" at revision "v1": its pin points elsewhere')));
 * ```
 */
export class PinDriftError extends TetherError {
  /** The code is `pin-drift`. */
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "pin-drift", ...options });
  }
}

/** Returns the text of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns anything thrown as an Error. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
