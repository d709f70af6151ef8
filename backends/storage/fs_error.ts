/**
 * Errors of the file system as tether's own (backends §1.9, §3.1).
 *
 * @module
 */

import {
  BackendError,
  type BackendErrorOptions,
  PermissionDeniedError,
  SandboxError,
  StoreNotFoundError,
  UnavailableError,
} from "../../engine/model/backend_errors.ts";
import { shellQuote } from "../../engine/io/shell.ts";
import { dirname } from "node:path";

/** What was attempted when the file system refused. */
export interface FsAttempt {
  /** The backend kind. */
  readonly kind: string;
  /** A verb, as in "Cannot read". */
  readonly action: string;
  readonly path: string;
  /** Which permission of the runtime the action needs. @default {"read"} */
  readonly access?: "read" | "write";
}

/** Tells whether an error is the file system's "does not exist", a missing or non-folder parent included. */
export function isNotFound(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    ["ENOENT", "ENOTDIR"].includes(codeOf(error));
}

/** Tells whether an error is the file system's "exists already". */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof Deno.errors.AlreadyExists || codeOf(error) === "EEXIST";
}

/** Returns the error to throw for one of the file system's; tether's own and an abort's pass through. */
export function fsError(error: unknown, attempt: FsAttempt): Error {
  if (error instanceof BackendError) return error;
  if (error instanceof DOMException && error.name === "AbortError") return error;
  const what = `Cannot ${attempt.action} "${attempt.path}"`;
  const options: BackendErrorOptions = { kind: attempt.kind, cause: error, details: { path: attempt.path } };
  if (error instanceof Deno.errors.NotCapable) {
    const flag = `--allow-${attempt.access ?? "read"}=${attempt.path}`;
    return new SandboxError(`${what}: tether was not granted ${attempt.access ?? "read"} access`, {
      ...options,
      flags: [flag],
      hints: [`Run with ${flag}`],
    });
  }
  if (isNotFound(error)) return new StoreNotFoundError(`${what}: it does not exist`, options);
  if (error instanceof Deno.errors.PermissionDenied || ["EACCES", "EPERM", "EROFS"].includes(codeOf(error))) {
    const hints = [`ls -ld ${shellQuote(dirname(attempt.path))}`];
    return new PermissionDeniedError(`${what}: the file system refuses access`, { ...options, hints });
  }
  const reason = error instanceof Error ? error.message : String(error);
  if (["ETIMEDOUT", "EBUSY", "ESTALE", "EIO"].includes(codeOf(error)) || error instanceof Deno.errors.TimedOut) {
    return new UnavailableError(`${what}: ${reason}`, options);
  }
  return new BackendError(`${what}: ${reason}`, options);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
