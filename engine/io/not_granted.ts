/**
 * What the runtime did not grant, as one of our errors (L38).
 *
 * @module
 */

import { messageOf } from "../model/errors.ts";
import { SandboxError } from "../model/backend_errors.ts";
import { shellQuote } from "./shell.ts";

/** Returns an error of the runtime that nobody foresaw as one that names what was asked for, and the flag that grants it. */
export function notGranted(error: Error): SandboxError {
  const message = messageOf(error).split("\n")[0] ?? "";
  const [, what, value] = /^Requires (\w+) access(?: to "(.*)")?/.exec(message) ?? [];
  if (what === undefined) return new SandboxError(`Cannot go on: ${message}`, { kind: "", flags: [], cause: error });
  const flag = value === undefined ? `--allow-${what}` : `--allow-${what}=${value}`;
  const remedy = Deno.build.standalone
    ? "This program was built without that permission: use a build that has it"
    : `Run it with ${shellQuote(flag)}`;
  const subject = value === undefined ? `${what} access` : `${what} access to "${value}"`;
  return new SandboxError(`Cannot go on: ${subject} was not granted`, {
    kind: "",
    flags: [flag],
    hints: [remedy],
    cause: error,
  });
}

/** Calls a function; what the runtime did not grant it is a {@link SandboxError}. */
export async function granted<T>(fn: () => Promise<T>): Promise<T> {
  try {
    return await fn();
  } catch (error) {
    throw error instanceof Deno.errors.NotCapable ? notGranted(error) : error;
  }
}
