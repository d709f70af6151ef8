/**
 * How two states of a file or folder differ (backends §3.1).
 *
 * @module
 */

import { type Change, MAX_DIFF_ENTRIES, type ObjectDiff, type State } from "../backend.ts";
import { compareCodePoints, jsonEqual } from "../../engine/model/json.ts";
import { listingLines } from "./_listing.ts";
import type { RowLine } from "./_rows.ts";

/** The stored listings of both sides. */
export type Listings = readonly [string | undefined, string | undefined];

/** Compares two states by their listings, or by what the states say where there is none. */
export function diffStates(
  a: State,
  b: State,
  options: { readonly label: string; readonly listings: Listings },
): ObjectDiff {
  if (!isFolder(a) && !isFolder(b)) return diffSingle(a, b, options.label);
  const tally = new Tally("files");
  if (jsonEqual(a, b)) return tally.finish("");
  const missing = (["a", "b"] as const).filter((_, i) => options.listings[i] === undefined);
  if (missing.length > 0) return summary(a, b, `side ${missing.join(" and side ")} has no stored listing`);
  try {
    mergeLines(tally, listingLines(options.listings[0] ?? ""), listingLines(options.listings[1] ?? ""));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return summary(a, b, "a stored listing cannot be read");
  }
  return tally.finish("");
}

/** Returns a difference in bytes with its sign, such as `+1.5 KiB`. */
export function signedSize(bytes: number): string {
  const sign = bytes < 0 ? "-" : "+";
  let size = Math.abs(bytes);
  if (size < 1024) return `${sign}${size} B`;
  for (const unit of ["KiB", "MiB", "GiB", "TiB"]) {
    size /= 1024;
    if (size < 1024) return `${sign}${size.toFixed(1)} ${unit}`;
  }
  return `${sign}${(size / 1024).toFixed(1)} PiB`;
}

class Tally {
  readonly #unit: string;
  readonly #counts = { added: 0, removed: 0, modified: 0 };
  readonly #entries: Change[] = [];

  constructor(unit: string) {
    this.#unit = unit;
  }

  add(path: string, change: "added" | "removed" | "modified", detail: string): void {
    this.#counts[change]++;
    if (this.#entries.length < MAX_DIFF_ENTRIES) this.#entries.push({ path, change, detail });
  }

  finish(note: string): ObjectDiff {
    const { added, removed, modified } = this.#counts;
    const truncated = added + removed + modified > this.#entries.length;
    return { unit: this.#unit, added, removed, modified, entries: this.#entries, truncated, note };
  }
}

/** Both sides are sorted by path, as every listing is. */
function mergeLines(tally: Tally, a: Generator<RowLine>, b: Generator<RowLine>): void {
  let [x, y] = [a.next(), b.next()];
  while (!x.done || !y.done) {
    const order = x.done ? 1 : y.done ? -1 : compareCodePoints(x.value.path, y.value.path);
    if (!x.done && order < 0) tally.add(x.value.path, "removed", signedSize(-x.value.size));
    else if (!y.done && order > 0) tally.add(y.value.path, "added", signedSize(y.value.size));
    else if (!x.done && !y.done && x.value.token !== y.value.token) {
      tally.add(x.value.path, "modified", signedSize(y.value.size - x.value.size));
    }
    if (order <= 0) x = a.next();
    if (order >= 0) y = b.next();
  }
}

function summary(a: State, b: State, note: string): ObjectDiff {
  const tally = new Tally("files");
  const detail = `${sideText(a)} -> ${sideText(b)}, ${signedSize(numberOf(b, "size") - numberOf(a, "size"))}`;
  tally.add("(summary)", "modified", detail);
  return tally.finish(note);
}

function sideText(state: State): string {
  return isFolder(state) ? `${numberOf(state, "count")} files` : "a single file";
}

function diffSingle(a: State, b: State, label: string): ObjectDiff {
  const tally = new Tally("objects");
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !jsonEqual(a[name], b[name]));
  const details = names.map((name) =>
    name === "size"
      ? `size ${signedSize(numberOf(b, name) - numberOf(a, name))}`
      : `${name} ${short(a, name)} -> ${short(b, name)}`
  );
  if (details.length > 0) tally.add(label, "modified", details.join(", "));
  return tally.finish("");
}

function isFolder(state: State): boolean {
  return state["type"] === "dir" || state["type"] === "prefix";
}

function numberOf(state: State, name: string): number {
  const value = state[name];
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0;
}

function short(state: State, name: string): string {
  const value = state[name];
  return value === undefined ? "none" : String(value).slice(0, 12);
}
