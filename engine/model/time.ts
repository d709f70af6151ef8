/**
 * How moments are written in files and reports: ISO 8601 in UTC with the offset `+00:00` (formats §6.1, §11, §12).
 *
 * @module
 */

/** Returns a moment to the second, such as `2026-11-30T01:45:23+00:00`. */
export function isoSeconds(moment: Date): string {
  return moment.toISOString().slice(0, 19) + "+00:00";
}

/** Returns a moment with six fractional digits, such as `2026-11-30T01:45:23.565000+00:00`. */
export function isoMicros(moment: Date): string {
  return moment.toISOString().slice(0, 23) + "000+00:00";
}
