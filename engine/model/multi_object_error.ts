/**
 * The failures of several objects as one error (commands §6).
 *
 * @module
 */

import { BackendError } from "./backend_errors.ts";
import { type ErrorOptions, messageOf, TetherError } from "./errors.ts";

/**
 * Several objects failed; `errors` has each by object key.
 *
 * @example Look at the failures one by one
 * ```ts
 * import { Dataset, MultiObjectError } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "a", kind: "file", locator: { uri: `${cwd}-a` } });
 * await ds.add({ key: "b", kind: "file", locator: { uri: `${cwd}-b` } });
 *
 * const error = await ds.snapshot().catch((e: unknown) => e);
 * if (!(error instanceof MultiObjectError)) throw error;
 * assert.deepEqual([...error.errors.keys()], ["a", "b"]);
 * ```
 */
export class MultiObjectError extends TetherError {
  /** Each failure by object key. */
  readonly errors: ReadonlyMap<string, Error>;
  /** What was done all the same, when something was. */
  readonly report: unknown;

  /** Joins the failures to one sentence, ordered by key, and their hints to one list; the code is `multi-object`. */
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

/** Returns an error's text without the `[kind]` label of a backend's errors. */
export function reasonOf(error: unknown): string {
  return error instanceof BackendError ? error.reason : messageOf(error);
}
