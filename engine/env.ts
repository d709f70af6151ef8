/**
 * What the engine gets from outside: clock, ids, environment. Tests fix all of it (style §2).
 *
 * @module
 */

/**
 * The outside world, as the engine sees it.
 *
 * @example Stop the clock
 * ```ts
 * import { Dataset, type EngineEnv, REAL_ENV } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const env: EngineEnv = { ...REAL_ENV, now: () => new Date("2026-01-01T00:00:00Z") };
 * await using frozen = await Dataset.open(cwd, { env });
 * await frozen.add({ key: "raw", kind: "file", locator: { uri: "/data" } });
 * assert.equal((await frozen.ops()).ops[0]?.at, "2026-01-01T00:00:00+00:00");
 * ```
 */
export interface EngineEnv {
  /** The clock of the journal, plans and manifests. */
  now(): Date;
  /** 32 random lower-case hex digits (a UUIDv4 without dashes). */
  randomHex(): string;
  /** A variable of the environment; `undefined` when unset, or when reading it was not granted. */
  variable(name: string): string | undefined;
  /** Called at each boundary between two writes; a test may kill the process there (L37). */
  readonly boundary?: (step: string) => void | Promise<void>;
}

/** Reads a variable; one that was not granted counts as unset. Asks the runtime first, so that it never prompts (L38). */
export function readVariable(name: string): string | undefined {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted"
    ? Deno.env.get(name)
    : undefined;
}

/**
 * The real world.
 *
 * @example Make an id
 * ```ts
 * import { REAL_ENV } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * assert.match(REAL_ENV.randomHex(), /^[0-9a-f]{32}$/);
 * ```
 */
export const REAL_ENV: EngineEnv = {
  now: () => new Date(),
  randomHex: () => crypto.randomUUID().replaceAll("-", ""),
  variable: readVariable,
};

/** Returns a time as the journal and plans have it: UTC, whole seconds, `+00:00`. */
export function seconds(time: Date): string {
  return time.toISOString().slice(0, 19) + "+00:00";
}

/** Returns a time as manifests have it: UTC, six fractional digits, `+00:00` (formats §6.1). */
export function micros(time: Date): string {
  return time.toISOString().slice(0, 23) + "000+00:00";
}
