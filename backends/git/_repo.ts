/**
 * Which repository a locator names, and what it may hold: a locator arrives with every clone and is not trusted (L40).
 *
 * @module
 */

import { atOf, type BackendSettings, type Locator, type State } from "../backend.ts";
import { BackendError, InvalidLocatorError, StoreNotFoundError } from "../../engine/model/backend_errors.ts";
import { renderState } from "../../engine/model/render_state.ts";
import { canonicalUri, isInside } from "../../engine/io/paths.ts";
import { fsError, isNotFound } from "../storage/fs_error.ts";
import { isAbsolute, join } from "node:path";

/** The kind's name. */
export const KIND = "git";

/** A locator that was checked. */
export interface Address {
  /** As the locator spells it: the label and address. */
  readonly path: string;
  /** Absolute, symbolic links resolved. */
  readonly root: string;
  /** The base branch or another revision; `undefined` for HEAD. */
  readonly ref: string | undefined;
  /** The revision the object is detached at. */
  readonly at: string | undefined;
  /** A remote pins are pushed to: a name, or a URL from secrets.toml. */
  readonly remote: { readonly type: "name" | "url"; readonly text: string } | undefined;
}

/**
 * Checks a locator. Touches nothing but symbolic links.
 *
 * @throws {InvalidLocatorError} if a field is none that a clone may bring.
 */
export function parseLocator(locator: Locator, settings: BackendSettings): Address {
  const path = pathOf(locator);
  if (path === "") refuse("Cannot use the locator: it has no path", ["Give the repository's folder as `path`"]);
  if (path.includes("://") || !isAbsolute(path)) {
    refuse(`Cannot use "${path}": a git object is an absolute local path`, [
      "Clone the repository and give its folder",
    ]);
  }
  const root = canonicalUri(path);
  if (settings.checkoutRoot !== undefined && isInside(root, canonicalUri(settings.checkoutRoot))) {
    refuse(`Cannot use "${path}": it lies in the dataset's own checkout, which brings its configuration along`, [
      "Move the repository out of the checkout",
    ]);
  }
  const ref = textOf(locator, "ref")?.replace(/^refs\/heads\//, "");
  const at = atOf(locator);
  for (const [name, value] of [["path", path], ["ref", ref], ["at", at]] as const) {
    if (value?.startsWith("-") || /\p{Cc}/u.test(value ?? "")) refuse(`Cannot use "${value}" as ${name} of "${path}"`);
  }
  return {
    path,
    root,
    ref: ref === "HEAD" ? undefined : ref,
    at,
    remote: remoteOf(locator, root, settings),
  };
}

/** Returns the locator's path: `path`, else `uri`; empty when there is neither. */
export function pathOf(locator: Locator): string {
  return textOf(locator, "path") ?? textOf(locator, "uri") ?? "";
}

/** A repository that was found. */
export interface Repo extends Address {
  /** Whether the path is the repository itself, without a checkout. */
  readonly bare: boolean;
}

/**
 * Checks a locator and finds its repository. The path must be the repository's own root: git would search upwards from it
 * and might find another one.
 *
 * @throws {InvalidLocatorError} as {@link parseLocator}.
 * @throws {StoreNotFoundError} if there is no repository.
 */
export async function openRepo(locator: Locator, settings: BackendSettings): Promise<Repo> {
  const address = parseLocator(locator, settings);
  const { root } = address;
  if (await exists(join(root, ".git"))) return { ...address, bare: false };
  if (await exists(join(root, "HEAD")) && await exists(join(root, "objects"))) return { ...address, bare: true };
  if (!await exists(root)) {
    throw new StoreNotFoundError(`Cannot open "${address.path}": there is no such folder`, { kind: KIND });
  }
  throw new StoreNotFoundError(`Cannot open "${address.path}": it is not the root of a git repository`, {
    kind: KIND,
    hints: ["Register the folder that holds the repository's .git"],
  });
}

/** Tells whether something lies at a path. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw fsError(error, { kind: KIND, action: "read", path });
  }
}

/**
 * Returns the commit of a state.
 *
 * @throws {BackendError} if it is not 40 or 64 hex digits.
 */
export function shaOf(state: State): string {
  const sha = state["sha"];
  if (typeof sha === "string" && isSha(sha)) return sha;
  throw new BackendError(`Cannot use the state "${renderState(state)}": it names no commit`, { kind: KIND });
}

/** Tells whether a text is a full object id, of SHA-1 or SHA-256. */
export function isSha(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

function remoteOf(locator: Locator, root: string, settings: BackendSettings): Address["remote"] {
  const rule = settings.rules.find((r) => r.exact && canonicalUri(r.prefix) === root && "remote" in r.options);
  const url = rule?.options["remote"];
  if (typeof url === "string" && url.trim() !== "" && !url.startsWith("-")) return { type: "url", text: url };
  const name = textOf(locator, "remote");
  if (name === undefined) return undefined;
  // What is no plain name could be an address, and git takes an address wherever it takes a name.
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_.+-]*(?:\/[\p{L}\p{N}_.+-]+)*$/u.test(name) || name.includes("..")) {
    refuse(`Cannot use "${name}" as a remote: a locator may only name a remote that the repository has`, [
      'Put a URL into .tether/secrets.toml, as `remote` of `[objects."<key>"]`',
    ]);
  }
  return { type: "name", text: name };
}

function textOf(locator: Locator, name: string): string | undefined {
  const value = locator[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") refuse(`Cannot use the locator: its ${name} is no text`);
  return value.trim() === "" ? undefined : value;
}

function refuse(reason: string, hints: readonly string[] = []): never {
  throw new InvalidLocatorError(reason, { kind: KIND, hints });
}
