/**
 * Keys of `tether.toml` that look like a known one and are not: what they were meant to set stays at its default.
 *
 * Keys that resemble none are ignored without a word: a newer tether may have written them (formats §4, §16).
 *
 * @module
 */

import { isTable, type TomlTable, writeKey } from "./toml.ts";

/** The tables and their keys; those of `backends` are kinds, of which there may be any. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  tether: ["version"],
  dataset: ["id"],
  snapshot: ["auto"],
  verify: ["on_status"],
  new: ["fork"],
  defaults: ["file", "pin"],
  // The programs are refused here, not unknown.
  vcs: ["trunk", "prefer", "git_path", "jj_path"],
  backends: [],
  import: ["query"],
};

/** Returns a sentence for each key that was probably meant to be another one. */
export function misspelt(document: TomlTable, name: string): string[] {
  return unknownKeys(document).flatMap((path) => {
    const known = meant(path);
    if (known === undefined) return [];
    return [`Ignores "${writeKey(path)}" in "${name}": there is no such key; did you mean "${writeKey(known)}"?`];
  });
}

function unknownKeys(document: TomlTable): string[][] {
  return Object.entries(document).flatMap(([table, value]) => {
    const known = Object.hasOwn(KNOWN, table) ? KNOWN[table] : undefined;
    if (known === undefined) return [[table]];
    if (table === "backends" || !isTable(value)) return [];
    return Object.keys(value).filter((key) => !known.includes(key)).map((key) => [table, key]);
  });
}

/** Returns the nearest known key: a table for a table, a key of the same table, or that key in the table it belongs to. */
function meant([table = "", key]: readonly string[]): readonly string[] | undefined {
  const all = Object.entries(KNOWN).flatMap(([t, keys]) => keys.map((k) => [t, k]));
  const elsewhere = all.find(([, k]) => k === (key ?? table));
  if (key === undefined) {
    const near = nearest(table, Object.keys(KNOWN));
    return near === undefined ? elsewhere : [near];
  }
  const near = nearest(key, KNOWN[table] ?? []);
  return near === undefined ? elsewhere : [table, near];
}

function nearest(word: string, candidates: readonly string[]): string | undefined {
  const near = candidates
    .map((known) => ({ known, distance: distance(word.toLowerCase(), known) }))
    .filter((c) => c.distance <= (c.known.length < 6 ? 1 : 2))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.known;
}

/** How many letters differ: inserted, left out, replaced, or swapped with their neighbour. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const costs = [(last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1)];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) costs.push((before[j - 2] ?? 0) + 1);
      row.push(Math.min(...costs));
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
