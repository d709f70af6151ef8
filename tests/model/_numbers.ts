/**
 * The random numbers of one command. What they stand for depends on the world as it is when the command is given, so that a
 * sequence still makes sense when it is shortened.
 *
 * @module
 */

/** A few numbers and flags. */
export interface Numbers {
  /** Which checkout. */
  readonly place: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly f: readonly boolean[];
}

/** Returns the nth of some values, counted around. */
export function pick<T>(values: readonly T[], n: number): T {
  return values[n % values.length] as T;
}
