/**
 * What a store's refusal or failure is raised as (backends §1.9).
 *
 * @module
 */

import type { Json } from "./json.ts";
import { type ErrorOptions, TetherError } from "./errors.ts";
import { redact } from "./redact.ts";

/**
 * Codes of {@link BackendError}.
 *
 * @example Decide by code
 * ```ts
 * import { UnavailableError, type BackendErrorCode } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const worthWaiting: ReadonlySet<string> = new Set<BackendErrorCode>(["unavailable", "unstable"]);
 * assert(worthWaiting.has(new UnavailableError("Cannot list tags: 503", { kind: "icechunk" }).code));
 * ```
 */
export type BackendErrorCode =
  | "capability"
  | "ref-moved"
  | "merge-conflict"
  | "store-not-found"
  | "state-gone"
  | "ref-conflict"
  | "credentials"
  | "forbidden"
  | "sandbox"
  | "unavailable"
  | "unknown-outcome"
  | "unstable"
  | "locator"
  | "library";

/**
 * Options of every backend error.
 *
 * @example Name the kind, and the object where it is known
 * ```ts
 * import { BackendError, type BackendErrorOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const options: BackendErrorOptions = { kind: "lance", key: "features" };
 * assert.equal(new BackendError('Cannot list tags of "/f.lance"', options).key, "features");
 * ```
 */
export interface BackendErrorOptions extends ErrorOptions {
  /** The backend kind. */
  readonly kind: string;
  /** The object's key, when known. */
  readonly key?: string;
}

/**
 * The store said no. The message begins with `[key]` or `[kind]`.
 *
 * @example Turn a library's failure into one of tether's
 * ```ts
 * import { BackendError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const cause = new Error("unexpected end of file");
 * const error = new BackendError(`Cannot read the table: ${cause.message}`, { kind: "delta", key: "table", cause });
 * assert.equal(error.message, "[table] Cannot read the table: unexpected end of file");
 * assert.equal(error.retryable, false);
 * ```
 */
export class BackendError extends TetherError {
  /** The backend kind. */
  readonly kind: string;
  /** The object's key, when known. */
  readonly key: string | undefined;
  /** The message without its label. */
  readonly reason: string;
  /** Whether the same call may work later. */
  readonly retryable: boolean;

  /**
   * Takes the sentence without its label; the code is `library`, the error not retryable, unless the options say so.
   */
  constructor(reason: string, options: BackendErrorOptions & { retryable?: boolean }) {
    const label = options.key ?? options.kind;
    // What no store is to blame for has none.
    super(label === "" ? reason : `[${label}] ${reason}`, { code: "library", ...options });
    this.kind = options.kind;
    this.key = options.key;
    this.reason = redact(reason);
    this.retryable = options.retryable ?? false;
  }
}

/**
 * The kind cannot do this.
 *
 * @example Ask a folder for its history
 * ```ts
 * import { CapabilityError, Dataset } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: await Deno.makeTempDir() } });
 * await assert.rejects(ds.log("raw"), CapabilityError);
 * ```
 */
export class CapabilityError extends BackendError {
  /** The code is `capability`. */
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "capability", ...options });
  }
}

/**
 * A conditional move found another head than the one expected; nothing moved.
 *
 * @example See what a branch was expected to be, and what it is
 * ```ts
 * import { RefMovedError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const error = new RefMovedError('Cannot move "main": head is version=8, expected version=7', {
 *   kind: "lance",
 *   ref: "main",
 *   expected: { version: 7 },
 *   found: { version: 8 },
 * });
 * assert.deepEqual(error.details, { ref: "main", expected: { version: 7 }, found: { version: 8 } });
 * ```
 */
export class RefMovedError extends BackendError {
  /** The ref concerned. */
  readonly ref: string;
  /** The head that was expected; `null` for "absent". */
  readonly expected: Json;
  /** The head that was found; `null` for "absent". */
  readonly found: Json;

  /** The code is `ref-moved`; both heads also go into `details`. */
  constructor(reason: string, options: BackendErrorOptions & { ref: string; expected: Json; found: Json }) {
    super(reason, {
      code: "ref-moved",
      ...options,
      details: { ref: options.ref, expected: options.expected, found: options.found, ...options.details },
    });
    this.ref = options.ref;
    this.expected = options.expected;
    this.found = options.found;
  }
}

/**
 * A native merge met conflicts; nothing was written.
 *
 * @example List what conflicts
 * ```ts
 * import { MergeConflict } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const error = new MergeConflict('Cannot merge "relabel" into "main"', { kind: "git", conflicts: ["plate1.csv"] });
 * assert.deepEqual(error.conflicts, ["plate1.csv"]);
 * ```
 */
export class MergeConflict extends BackendError {
  /** The units in conflict, such as paths or tables. */
  readonly conflicts: readonly string[];

  /** The code is `merge-conflict`; the units also go into `details`. */
  constructor(reason: string, options: BackendErrorOptions & { conflicts: readonly string[] }) {
    super(reason, {
      code: "merge-conflict",
      ...options,
      details: { conflicts: options.conflicts, ...options.details },
    });
    this.conflicts = options.conflicts;
  }
}

/**
 * The locator names no store.
 *
 * @example Tell a store that does not exist from one that does not answer
 * ```ts
 * import { BackendError, StoreNotFoundError, UnavailableError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const status = (e: BackendError): string => e instanceof StoreNotFoundError ? "missing" : "unknown";
 * assert.equal(status(new StoreNotFoundError('Cannot open "/f.lance": there is none', { kind: "lance" })), "missing");
 * assert.equal(status(new UnavailableError('Cannot open "s3://lab/f": 503', { kind: "lance" })), "unknown");
 * ```
 */
export class StoreNotFoundError extends BackendError {
  /** The code is `store-not-found`. */
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "store-not-found", ...options });
  }
}

/**
 * The store exists; the state or ref asked for does not any more.
 *
 * @example Say that a version was cleaned up
 * ```ts
 * import { StateGoneError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const error = new StateGoneError('Cannot open version 3 of "/t": its log was cleaned', { kind: "delta", key: "t" });
 * assert.equal(error.toJSON()["code"], "state-gone");
 * ```
 */
export class StateGoneError extends BackendError {
  /** The code is `state-gone`. */
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "state-gone", ...options });
  }
}

/**
 * A ref exists at another state, or the store refused to delete it.
 *
 * @example Refuse a pin whose name is taken
 * ```ts
 * import { RefConflictError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const error = new RefConflictError('Cannot pin "tether.0a1b2c3d.2ef86ad1bc61fed0": it is at version 6', {
 *   kind: "lance",
 *   key: "features",
 *   hints: ["tether verify features"],
 * });
 * assert.equal(error.code, "ref-conflict");
 * ```
 */
export class RefConflictError extends BackendError {
  /** The code is `ref-conflict`. */
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "ref-conflict", ...options });
  }
}

/**
 * No usable credentials.
 *
 * @example Say what would help
 * ```ts
 * import { CredentialsError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const error = new CredentialsError('Cannot read "s3://lab/a": no credentials', {
 *   kind: "icechunk",
 *   hints: ['Put a profile under [uris."s3://lab"] in .tether/secrets.toml'],
 * });
 * assert.equal(error.message, '[icechunk] Cannot read "s3://lab/a": no credentials');
 * ```
 */
export class CredentialsError extends BackendError {
  /** The code is `credentials`. */
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "credentials", ...options });
  }
}

/**
 * The store or the file system refused access.
 *
 * @example Keep what the system said
 * ```ts
 * import { PermissionDeniedError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const cause = new Deno.errors.PermissionDenied("EACCES");
 * const error = new PermissionDeniedError('Cannot list "/raw/plate1"', { kind: "file", cause });
 * assert.equal(error.cause, cause);
 * ```
 */
export class PermissionDeniedError extends BackendError {
  /** The code is `forbidden`. */
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "forbidden", ...options });
  }
}

/**
 * The process was not granted what the object needs; `flags` has the exact Deno flags.
 *
 * @example Print the flags that are missing
 * ```ts
 * import { SandboxError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const error = new SandboxError('Cannot read "/data": it was not granted', {
 *   kind: "file",
 *   flags: ["--allow-read=/data"],
 * });
 * assert.deepEqual(error.flags, ["--allow-read=/data"]);
 * ```
 */
export class SandboxError extends BackendError {
  /** Flags such as `--allow-read=/data`. */
  readonly flags: readonly string[];

  /** The code is `sandbox`; the flags also go into `details`. */
  constructor(reason: string, options: BackendErrorOptions & { flags: readonly string[] }) {
    super(reason, { code: "sandbox", ...options, details: { flags: options.flags, ...options.details } });
    this.flags = options.flags;
  }
}

/**
 * The store did not answer, or answered that it is busy. Retryable.
 *
 * @example Retry what may work later
 * ```ts
 * import { BackendError, UnavailableError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const error: unknown = new UnavailableError('Cannot list tags of "s3://lab/a": 503', { kind: "icechunk" });
 * assert(error instanceof BackendError && error.retryable);
 * ```
 */
export class UnavailableError extends BackendError {
  /** The code is `unavailable`, the error retryable. */
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "unavailable", retryable: true, ...options });
  }
}

/**
 * A write may or may not have landed; read again before deciding anything.
 *
 * @example Do not retry a write whose answer was lost
 * ```ts
 * import { CommitStateUnknownError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const error = new CommitStateUnknownError('Cannot tell whether "main" moved: no answer', { kind: "iceberg" });
 * assert.equal(error.retryable, false);
 * ```
 */
export class CommitStateUnknownError extends BackendError {
  /** The code is `unknown-outcome`; never retryable, since the write may have landed. */
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "unknown-outcome", ...options });
  }
}

/**
 * The thing changed while it was read. Retryable.
 *
 * @example Read again
 * ```ts
 * import { ConcurrentChangeError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const error = new ConcurrentChangeError('Cannot read "/raw": it changed while it was read', { kind: "file" });
 * assert(error.retryable);
 * ```
 */
export class ConcurrentChangeError extends BackendError {
  /** The code is `unstable`, the error retryable. */
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "unstable", retryable: true, ...options });
  }
}

/**
 * The locator was refused before any store was contacted.
 *
 * @example Register an address that can be none
 * ```ts
 * import { Dataset, InvalidLocatorError } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await assert.rejects(ds.add({ key: "all", kind: "file", locator: { uri: cwd } }), InvalidLocatorError);
 * ```
 */
export class InvalidLocatorError extends BackendError {
  /** The code is `locator`. */
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "locator", ...options });
  }
}
