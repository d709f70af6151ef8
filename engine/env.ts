/**
 * What the engine gets from outside: clock, ids, environment. Tests fix all of it (style §2).
 *
 * @module
 */

/** The outside world, as the engine sees it. */
export interface EngineEnv {
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

/** The real world. */
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
