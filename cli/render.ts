/**
 * How values read in human output: ages, times, short ids, columns, lists.
 *
 * @module
 */

import type { Line } from "./ui.ts";

/** Returns how long ago a time was: `42s ago`, `5m ago`, `3h ago`, `9d ago`; `never` for none. */
export function age(iso: string | null, now: Date): string {
  const seconds = iso === null ? Number.NaN : Math.floor((now.getTime() - Date.parse(iso)) / 1000);
  if (Number.isNaN(seconds)) return "never";
  // A clock that was set back must not print a negative age.
  const past = Math.max(0, seconds);
  if (past < 60) return `${past}s ago`;
  if (past < 3600) return `${Math.floor(past / 60)}m ago`;
  if (past < 86400) return `${Math.floor(past / 3600)}h ago`;
  return `${Math.floor(past / 86400)}d ago`;
}

/** Returns a time to the minute, in UTC: `2026-11-30 04:05`. A text that is no time is returned as it is. */
export function minute(iso: string | null): string {
  const time = new Date(iso ?? "");
  return Number.isNaN(time.getTime()) ? iso ?? "" : time.toISOString().slice(0, 16).replace("T", " ");
}

/** Returns the 12 characters a commit or hash is shown by. */
export function short(id: string): string {
  return id.slice(0, 12);
}

/** Returns the first line of a text, without the blanks around it. */
export function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0]?.trim() ?? "";
}

/** Returns rows as text with aligned columns, two spaces apart; the last column is not padded. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, cell.length));
  return rows.map((row) => row.map((cell, i) => i + 1 < row.length ? cell.padEnd(widths[i] ?? 0) : cell).join("  "));
}

/** Returns a count with its noun: `1 object`, `3 objects`. */
export function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** Turns texts into lines of standard output. */
export function lines(texts: Iterable<string>): Line[] {
  return [...texts].map((text) => ({ text }));
}

/** Returns a red line on standard error for each thing that failed, with the reason. */
export function failures(failed: Readonly<Record<string, string>>): Line[] {
  return Object.entries(failed).map(([what, why]) => ({ text: `FAILED ${what}: ${why}`, to: "err", style: "red" }));
}

/** Returns a line of advice on standard error. */
export function hint(text: string): Line {
  return { text: `hint: ${text}`, to: "err" };
}
