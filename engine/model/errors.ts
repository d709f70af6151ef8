/**
 * Every error tether raises on purpose. Each has a stable `code`, a sentence, hints (commands to paste) and details
 * (commands §6, backends §1.9).
 *
 * @module
 */

import { Float, type Json, type JsonObject } from "./json.ts";

/** Options of every tether error. */
export interface ErrorOptions {
  /** Stable machine-readable code. */
  readonly code?: string;
  /** What to do next: commands the user can paste, or one short sentence each. */
  readonly hints?: readonly string[];
  /** Facts about the failure, for programs. */
  readonly details?: JsonObject;
  /** The error this one was made of. */
  readonly cause?: unknown;
}

/** Base of all errors that tether raises on purpose. */
export class TetherError extends Error {
  /** Stable machine-readable code. */
  readonly code: string;
  /** What to do next. */
  readonly hints: readonly string[];
  /** Facts about the failure. */
  readonly details: JsonObject;

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code ?? "error";
    this.hints = options.hints ?? [];
    this.details = options.details ?? {};
  }

  /** Returns the error as JSON: name, code, message, hints, details and the cause's message. */
  toJSON(): JsonObject {
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      hints: this.hints,
      details: this.details,
      cause: this.cause === undefined ? null : messageOf(this.cause),
    };
  }
}

/** Bad configuration, manifest, selector, key, tracked file or version. */
export class ConfigError extends TetherError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "config", ...options });
  }
}

/** git or jj failed, is too old, is conflicted, or a hook refused. */
export class VcsError extends TetherError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "vcs", ...options });
  }
}

/** A lock could not be had in time. */
export class LockError extends TetherError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "locked", ...options });
  }
}

/** A plan no longer matches the world, was edited, or was made by another tether. */
export class StalePlanError extends TetherError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "stale-plan", ...options });
  }
}

/** Forks no longer match the manifests, or the working copy left the bookmark. */
export class StaleWorkingCopyError extends TetherError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "stale-working-copy", ...options });
  }
}

/** The bytes of an object with `file = "immutable"` changed. */
export class ImmutableObjectModifiedError extends TetherError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "immutable-modified", ...options });
  }
}

/** `commit --strict` met an Observed object. */
export class UnpinnedStateError extends TetherError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "unpinned-state", ...options });
  }
}

/** A pin points at another state than the one recorded. */
export class PinDriftError extends TetherError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: "pin-drift", ...options });
  }
}

/** Several objects failed; `errors` has each by object key. */
export class MultiObjectError extends TetherError {
  /** Each failure by object key. */
  readonly errors: ReadonlyMap<string, Error>;
  /** What was done all the same, when something was. */
  readonly report: unknown;

  constructor(
    attempted: string,
    errors: ReadonlyMap<string, Error>,
    options: ErrorOptions & { report?: unknown } = {},
  ) {
    const entries = [...errors].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
    const list = entries.map(([key, error]) => `${key}: ${reasonOf(error)}`).join("; ");
    const hints = entries.flatMap(([, e]) => e instanceof TetherError ? e.hints : []);
    super(`${attempted}: (${list})`, {
      code: "multi-object",
      ...options,
      hints: [...new Set([...(options.hints ?? []), ...hints])],
      details: {
        ...options.details,
        errors: Object.fromEntries(entries.map(([key, e]) => [key, e instanceof TetherError ? e.toJSON() : e.message])),
      },
    });
    this.errors = new Map(entries);
    this.report = options.report;
  }
}

/** Codes of {@link BackendError}. */
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

/** Options of every backend error. */
export interface BackendErrorOptions extends ErrorOptions {
  /** The backend kind. */
  readonly kind: string;
  /** The object's key, when known. */
  readonly key?: string;
}

/** The store said no. The message begins with `[key]` or `[kind]`. */
export class BackendError extends TetherError {
  /** The backend kind. */
  readonly kind: string;
  /** The object's key, when known. */
  readonly key: string | undefined;
  /** The message without its label. */
  readonly reason: string;
  /** Whether the same call may work later. */
  readonly retryable: boolean;

  constructor(reason: string, options: BackendErrorOptions & { retryable?: boolean }) {
    super(`[${options.key ?? options.kind}] ${reason}`, { code: "library", ...options });
    this.kind = options.kind;
    this.key = options.key;
    this.reason = reason;
    this.retryable = options.retryable ?? false;
  }
}

/** The kind cannot do this. */
export class CapabilityError extends BackendError {
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "capability", ...options });
  }
}

/** A conditional move found another head than the one expected; nothing moved. */
export class RefMovedError extends BackendError {
  /** The ref concerned. */
  readonly ref: string;
  /** The head that was expected; `null` for "absent". */
  readonly expected: Json;
  /** The head that was found; `null` for "absent". */
  readonly found: Json;

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

/** A native merge met conflicts; nothing was written. */
export class MergeConflict extends BackendError {
  /** The units in conflict, such as paths or tables. */
  readonly conflicts: readonly string[];

  constructor(reason: string, options: BackendErrorOptions & { conflicts: readonly string[] }) {
    super(reason, {
      code: "merge-conflict",
      ...options,
      details: { conflicts: options.conflicts, ...options.details },
    });
    this.conflicts = options.conflicts;
  }
}

/** The locator names no store. */
export class StoreNotFoundError extends BackendError {
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "store-not-found", ...options });
  }
}

/** The store exists; the state or ref asked for does not any more. */
export class StateGoneError extends BackendError {
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "state-gone", ...options });
  }
}

/** A ref exists at another state, or the store refused to delete it. */
export class RefConflictError extends BackendError {
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "ref-conflict", ...options });
  }
}

/** No usable credentials. */
export class CredentialsError extends BackendError {
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "credentials", ...options });
  }
}

/** The store or the file system refused access. */
export class PermissionDeniedError extends BackendError {
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "forbidden", ...options });
  }
}

/** The process was not granted what the object needs; `flags` has the exact Deno flags. */
export class SandboxError extends BackendError {
  /** Flags such as `--allow-read=/data`. */
  readonly flags: readonly string[];

  constructor(reason: string, options: BackendErrorOptions & { flags: readonly string[] }) {
    super(reason, { code: "sandbox", ...options, details: { flags: options.flags, ...options.details } });
    this.flags = options.flags;
  }
}

/** The store did not answer, or answered that it is busy. Retryable. */
export class UnavailableError extends BackendError {
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "unavailable", retryable: true, ...options });
  }
}

/** A write may or may not have landed; read again before deciding anything. */
export class CommitStateUnknownError extends BackendError {
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "unknown-outcome", ...options });
  }
}

/** The thing changed while it was read. Retryable. */
export class ConcurrentChangeError extends BackendError {
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "unstable", retryable: true, ...options });
  }
}

/** The locator was refused before any store was contacted. */
export class InvalidLocatorError extends BackendError {
  constructor(reason: string, options: BackendErrorOptions) {
    super(reason, { code: "locator", ...options });
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

/** Renders a value for a message: states as `name=value` pairs with values cut to 16 characters (commands §3.5). */
export function renderState(state: JsonObject | null | undefined): string {
  if (!state) return "none";
  return Object.entries(state).map(([name, value]) => {
    const text = typeof value === "string"
      ? value
      : value !== null && typeof value === "object" && !(value instanceof Float)
      ? "{…}"
      : String(value);
    // By code points: half a surrogate pair could not be journaled.
    const characters = [...text];
    return `${name}=${characters.length > 16 ? characters.slice(0, 16).join("") + "…" : text}`;
  }).join(" ");
}

/** Returns an error's text without the `[kind]` label of a backend's errors. */
export function reasonOf(error: unknown): string {
  return error instanceof BackendError ? error.reason : messageOf(error);
}
