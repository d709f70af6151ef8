/**
 * Local paths inside locators: which strings are local, and the one spelling of each (formats §6.3, backends §1.4).
 *
 * @module
 */

import { dirname, isAbsolute, join, normalize, resolve } from "node:path";

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

/**
 * Returns the local path a locator string spells; `undefined` for a remote one. `file:` URLs are not percent-decoded, and
 * `#`, `?` and `%` are ordinary characters.
 *
 * @example Tell a path from a bucket
 * ```ts
 * import { localPath } from "@tether/tether/backend";
 * import assert from "node:assert/strict";
 *
 * assert.equal(localPath("file:///data/a"), "/data/a");
 * assert.equal(localPath("s3://lab/a"), undefined);
 * ```
 */
export function localPath(text: string): string | undefined {
  if (text.startsWith("file:")) {
    const rest = text.slice("file:".length);
    if (!rest.startsWith("//")) return rest;
    const slash = rest.indexOf("/", 2);
    const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
    if (authority !== "" && authority !== "localhost") return undefined;
    return slash < 0 ? "/" : rest.slice(slash);
  }
  if (isAbsolute(text)) return text;
  return SCHEME.test(text) ? undefined : text;
}

/**
 * Returns the one spelling of a local path, or a remote URI unchanged. Symbolic links of the longest existing prefix are
 * resolved; what does not exist is appended. Needs read permission for the path and the links on the way; without it, or
 * for a relative path, the result is lexical.
 *
 * @example Give two spellings of one folder one identity
 * ```ts
 * import { canonicalUri } from "@tether/tether/backend";
 * import assert from "node:assert/strict";
 *
 * assert.equal(canonicalUri("file:///nowhere/a/./b/"), canonicalUri("/nowhere/a/b"));
 * ```
 */
export function canonicalUri(text: string): string {
  const local = localPath(text);
  if (local === undefined) return text;
  return isAbsolute(local) ? resolveExisting(local) : trimSlash(normalize(local));
}

/** Resolves symbolic links like POSIX `realpath`, without requiring that the path exists. */
export function resolveExisting(path: string): string {
  // Not normalised first: "link/.." is the parent of the link's target, not the folder the link lies in.
  return walk(path.split("/"), []) ?? resolve(path);
}

/** Follows the links of a path and notes them in `links`; `undefined` when there are too many, as in a cycle. */
function walk(segments: readonly string[], links: string[]): string | undefined {
  if (links.length > 40) return undefined;
  let at = "/";
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i] ?? "";
    if (segment === "" || segment === ".") continue;
    if (segment === "..") {
      at = dirname(at);
      continue;
    }
    const next = at === "/" ? `/${segment}` : `${at}/${segment}`;
    let target: string | undefined;
    try {
      target = Deno.lstatSync(next).isSymlink ? Deno.readLinkSync(next) : undefined;
    } catch {
      // Missing or not readable: the rest is lexical, as the contract of an identity that never throws wants.
      target = undefined;
    }
    if (target === undefined) {
      at = next;
      continue;
    }
    links.push(next);
    const base = isAbsolute(target) ? target.split("/") : [...at.split("/"), ...target.split("/")];
    return walk([...base, ...segments.slice(i + 1)], links);
  }
  return at;
}

/**
 * Makes the local value of a locator field absolute, as `add` stores it: a leading `~` is the home folder, a relative path
 * is resolved against `base` with symbolic links followed, an absolute one loses its trailing slashes, a URL is left alone.
 */
export function absoluteLocal(
  text: string,
  options: { readonly base: string; readonly home?: string; readonly prefixes?: readonly string[] },
): string {
  const prefix = [...(options.prefixes ?? [])].sort((a, b) => b.length - a.length).find((p) => text.startsWith(p)) ??
    "";
  let path = text.slice(prefix.length);
  if (path.startsWith("file:") || (SCHEME.test(path) && !isAbsolute(path)) || path === "") return text;
  if (options.home !== undefined && (path === "~" || path.startsWith("~/"))) path = options.home + path.slice(1);
  if (!isAbsolute(path)) path = resolveExisting(join(options.base, path));
  return prefix + trimSlash(path);
}

function trimSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, "") || "/" : path;
}

/** Tells whether a path is another one or lies below it; both absolute and resolved. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : folder + "/");
}

/**
 * Returns a path, what it resolves to and the symbolic links on the way: what reading it needs permission for.
 *
 * @example Declare what reading a file takes
 * ```ts
 * import { pathAndLinks } from "@tether/tether/backend";
 * import assert from "node:assert/strict";
 *
 * const folder = await Deno.realPath(await Deno.makeTempDir());
 * await Deno.symlink("a.txt", `${folder}/link`);
 * assert.deepEqual(pathAndLinks(`${folder}/link`), [`${folder}/link`, `${folder}/a.txt`]);
 * ```
 */
export function pathAndLinks(path: string): string[] {
  const spelled = trimSlash(path);
  const links: string[] = [];
  const resolved = walk(spelled.split("/"), links) ?? resolve(spelled);
  return [...new Set([spelled, resolved, ...links])];
}

/** Returns a path without trailing slashes, so that a link in its last place is seen as one. */
export function leafOf(path: string): string {
  return path.replace(/(?<=.)(?:\/+\.?)+$/, "");
}
