/**
 * Object keys and the selectors that name them (formats §5, commands §1.5).
 *
 * @module
 */

import { ConfigError } from "./errors.ts";
import { compareCodePoints } from "./json.ts";

// Control characters, and every Unicode space but the plain one.
// deno-lint-ignore no-control-regex
const FORBIDDEN = /[\u0000-\u001f]|[^\S ]|[\u0085]/u;

/** Returns why a text is no key; `undefined` when it is one. */
export function keyProblem(key: string): string | undefined {
  if (key === "") return "it is empty";
  if (!key.isWellFormed()) return "it is not valid Unicode";
  if (key.includes("\\")) return "it holds a backslash";
  if (FORBIDDEN.test(key)) return "it holds a control character or a space other than a plain one";
  for (const segment of key.split("/")) {
    if (segment === "") return "it begins or ends with a slash, or has two in a row";
    if (segment === "." || segment === "..") return `it holds the segment "${segment}"`;
    if (/^[A-Za-z]:/.test(segment)) return `its segment "${segment}" begins like a drive letter`;
  }
  return undefined;
}

/**
 * Checks a key as read from a manifest.
 *
 * @throws {ConfigError} if it is not a key.
 */
export function checkKey(key: string): string {
  const problem = keyProblem(key);
  if (problem) throw new ConfigError(`Cannot use ${JSON.stringify(key)} as a key: ${problem}`, { code: "key" });
  return key;
}

// Characters that the disks of some systems leave out of names.
const IGNORABLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f]/g;

/**
 * Tells whether version control refuses a folder of this name because some disk takes it for its own: `.git` and `.jj` in any
 * letter case, with what Windows cuts off behind them, and the short name `git~1`.
 */
function isVcsFolder(segment: string): boolean {
  const name = segment.replace(IGNORABLE, "").toLowerCase().replace(/:.*$/, "").replace(/[. ]+$/, "");
  return [".git", "git~1", ".jj"].includes(name);
}

/**
 * Returns why a checkout on Windows could not hold a key's manifest; `undefined` when it could. Such keys are allowed
 * (formats §5), and worth a warning.
 */
export function windowsProblem(key: string): string | undefined {
  const segments = key.split("/");
  for (const [i, segment] of segments.entries()) {
    if (/[<>:"|?*]/.test(segment)) return `"${segment}" holds a character that is not allowed there`;
    if (/^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\.|$)/i.test(segment)) {
      return `"${segment}" is the name of a device there`;
    }
    if (i < segments.length - 1 && /[. ]$/.test(segment)) return `the end of "${segment}" is cut off there`;
  }
  return undefined;
}

/**
 * Checks a new key against the rules for all disks: no segment but the last may end in `.toml` or be a folder that version
 * control keeps for itself, and no existing key may differ only by case or Unicode normalisation (L20, formats §5).
 *
 * @throws {ConfigError} naming the other key.
 */
export function checkNewKey(key: string, existing: Iterable<string>): string {
  checkKey(key);
  const segments = key.split("/");
  const directory = segments.slice(0, -1).find((s) => s.toLowerCase().endsWith(".toml"));
  if (directory !== undefined) {
    throw new ConfigError(
      `Cannot use ${JSON.stringify(key)} as a key: its folder "${directory}" would look like a manifest`,
      { code: "key" },
    );
  }
  const reserved = segments.slice(0, -1).find(isVcsFolder);
  if (reserved !== undefined) {
    throw new ConfigError(
      `Cannot use ${JSON.stringify(key)} as a key: version control commits no folder named "${reserved}"`,
      { code: "key", hints: ["Give another key: tether add KEY LOCATOR --kind KIND"] },
    );
  }
  for (const segment of segments) {
    if (new TextEncoder().encode(segment).length > 240) {
      throw new ConfigError(`Cannot use ${JSON.stringify(key)} as a key: a segment is longer than 240 bytes`, {
        code: "key",
      });
    }
  }
  const folded = foldKey(key);
  for (const other of existing) {
    if (other === key) continue;
    if (foldKey(other) === folded) {
      throw new ConfigError(
        `Cannot use ${JSON.stringify(key)} as a key: on some disks it is the same file as ${JSON.stringify(other)}`,
        { code: "key", details: { other } },
      );
    }
    // The key "a" is the file "a.toml", so "a.toml/b" shadows it; that is refused above for either order of adding.
  }
  return key;
}

/** Returns a key as a case-insensitive, normalising disk sees it. */
export function foldKey(key: string): string {
  return key.normalize("NFC").toLowerCase().normalize("NFC");
}

/** Returns the manifest's path of a key, relative to the dataset root and with `/`. */
export function manifestPath(key: string): string {
  return `.tether/objects/${key}.toml`;
}

/** Returns the key that a manifest's path stands for, wherever its dataset lies. The key inside the file may be another. */
export function keyOfPath(path: string): string {
  const folder = ".tether/objects/";
  const at = path.startsWith(folder) ? 0 : path.indexOf(`/${folder}`) + 1;
  return path.slice(at + folder.length, -".toml".length);
}

/**
 * Resolves selectors against a universe of keys: a key in full, or everything below `prefix/`. None selects all.
 * The result is sorted and has no duplicates.
 *
 * @throws {ConfigError} if a selector matches nothing; all such are named together.
 */
export function selectKeys(selectors: readonly string[] | undefined, universe: Iterable<string>): string[] {
  const keys = [...universe].sort(compareCodePoints);
  if (!selectors || selectors.length === 0) return keys;
  const chosen = new Set<string>();
  const unknown: string[] = [];
  const empty: string[] = [];
  for (const selector of selectors) {
    const matches = selector.endsWith("/")
      ? keys.filter((k) => k.startsWith(selector))
      : keys.filter((k) => k === selector);
    if (matches.length === 0) (selector.endsWith("/") ? empty : unknown).push(selector);
    for (const key of matches) chosen.add(key);
  }
  if (unknown.length + empty.length > 0) {
    const parts = [];
    if (unknown.length > 0) parts.push(`no object ${unknown.map((k) => JSON.stringify(k)).join(", ")}`);
    if (empty.length > 0) parts.push(`no object below ${empty.map((k) => JSON.stringify(k)).join(", ")}`);
    throw new ConfigError(`Cannot select objects: ${parts.join("; ")}`, {
      code: "selector",
      hints: ["tether status"],
      details: { unknown, empty },
    });
  }
  return keys.filter((k) => chosen.has(k));
}

/** Returns the key derived from a locator: its last segment less the first matching suffix; `undefined` if that is no key. */
export function derivedKey(uri: string, suffixes: readonly string[]): string | undefined {
  const last = uri.replace(/\/+$/, "").split("/").at(-1) ?? "";
  const suffix = suffixes.find((s) => last.toLowerCase().endsWith(s) && last.length > s.length);
  const key = suffix ? last.slice(0, -suffix.length) : last;
  return keyProblem(key) === undefined ? key : undefined;
}
