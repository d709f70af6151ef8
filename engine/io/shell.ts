/**
 * Quoting of values in commands that people paste (L41).
 *
 * @module
 */

/** Returns a value as one word of a POSIX shell. */
export function shellQuote(value: string): string {
  return /^[A-Za-z0-9_./:@%+=,~^-]+$/.test(value) && !value.startsWith("~")
    ? value
    : `'${value.replaceAll("'", `'\\''`)}'`;
}

/** Returns user values as arguments after `--`, each quoted. */
export function operands(values: readonly string[]): string {
  return values.length === 0 ? "" : `-- ${values.map(shellQuote).join(" ")}`;
}
