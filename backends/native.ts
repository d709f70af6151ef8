/**
 * Finds and loads native addons at run time: from a folder beside the executable, or from the user's cache. Specifiers are
 * computed, so that nothing is downloaded or bundled with the program; a missing addon disables only what needs it (L33).
 *
 * @module
 */

import { ConfigError, messageOf } from "../engine/model/errors.ts";
import { SandboxError } from "../engine/model/backend_errors.ts";
import { shellQuote } from "../engine/io/shell.ts";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** A native package in the one version that tether works with. */
export interface Addon {
  /** The backend kind it serves. */
  readonly kind: string;
  /** npm package. */
  readonly package: string;
  /** Exact version. */
  readonly version: string;
}

/** LanceDB: opens the table of a Lance handle. */
export const LANCE_ADDON: Addon = { kind: "lance", package: "@lancedb/lancedb", version: "0.31.0" };

/** Options of {@link loadAddon}. */
export interface LoadAddonOptions {
  /** The environment. @default {the process's own, as far as it may be read} */
  readonly env?: (name: string) => string | undefined;
}

const loaded = new Map<string, unknown>();

/** Returns the name of an addon's folder, such as `lance-0.31.0`: another version never takes its place. */
export function addonFolderName(addon: Addon): string {
  return `${addon.kind}-${addon.version}`;
}

/**
 * Returns the user's folder of an addon, `$XDG_CACHE_HOME` or `~/.cache` being the root; `undefined` when neither variable
 * is set. Reads them if it may.
 */
export function addonCacheFolder(addon: Addon, env: (name: string) => string | undefined): string | undefined {
  const home = env("HOME");
  const cache = env("XDG_CACHE_HOME") || (home && join(home, ".cache"));
  return cache ? join(cache, "tether", "addons", addonFolderName(addon)) : undefined;
}

/**
 * Loads an addon. Needs read permission for its folder, ffi for its library and, unless it lies beside the executable, env
 * for `HOME` and `XDG_CACHE_HOME`. What it then does is outside the runtime's permissions.
 *
 * @throws {ConfigError} if it is not installed, naming where it was looked for and the command that installs it.
 * @throws {SandboxError} if the process was not granted what loading needs.
 */
export async function loadAddon(addon: Addon, options: LoadAddonOptions = {}): Promise<unknown> {
  const folders = candidates(addon, options.env ?? await readableEnvironment());
  for (const folder of folders) {
    if (loaded.has(folder)) return loaded.get(folder);
    if (!await isInstalled(addon, folder)) continue;
    const module = requireFrom(addon, folder);
    loaded.set(folder, module);
    return module;
  }
  const looked = folders.map((folder) => JSON.stringify(folder)).join(" or ");
  throw new ConfigError(
    `Cannot load the native part of "${addon.kind}": ${addon.package} ${addon.version} is not installed in ${looked}`,
    {
      code: "addon-missing",
      hints: installHints(addon, folders.at(-1)),
      details: { package: addon.package, version: addon.version, looked: folders },
    },
  );
}

/**
 * Returns how to get an addon that is not installed; `undefined` when it is, or when looking was not granted. Loads nothing.
 */
export async function howToInstall(addon: Addon): Promise<string | undefined> {
  const folders = candidates(addon, await readableEnvironment());
  for (const folder of folders) {
    try {
      if (await isInstalled(addon, folder)) return undefined;
    } catch {
      // What may not be looked at is said by whoever loads it.
      return undefined;
    }
  }
  return `${addon.package} ${addon.version} is not installed: ${installHints(addon, folders.at(-1)).join(" or ")}`;
}

function candidates(addon: Addon, env: (name: string) => string | undefined): string[] {
  const folders: string[] = [];
  // Under `deno run` the executable is Deno's own, and nothing of ours lies beside it.
  if (Deno.build.standalone) folders.push(join(dirname(Deno.execPath()), "addons", addonFolderName(addon)));
  const cache = addonCacheFolder(addon, env);
  if (cache !== undefined) folders.push(cache);
  if (folders.length === 0) throw notGranted(addon, ["--allow-env=HOME,XDG_CACHE_HOME"], undefined);
  return folders;
}

async function readableEnvironment(): Promise<(name: string) => string | undefined> {
  const values = new Map<string, string | undefined>();
  for (const variable of ["HOME", "XDG_CACHE_HOME"]) {
    const { state } = await Deno.permissions.query({ name: "env", variable });
    if (state === "granted") values.set(variable, Deno.env.get(variable));
  }
  return (name) => values.get(name);
}

async function isInstalled(addon: Addon, folder: string): Promise<boolean> {
  try {
    return (await Deno.stat(join(folder, "package.json"))).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    if (error instanceof Deno.errors.NotCapable) throw notGranted(addon, loadFlags(folder), error);
    throw new ConfigError(`Cannot load the native part of "${addon.kind}": ${messageOf(error)}`, {
      code: "addon-broken",
      cause: error,
      details: { folder },
    });
  }
}

function requireFrom(addon: Addon, folder: string): unknown {
  try {
    return createRequire(join(folder, "package.json"))(addon.package);
  } catch (error) {
    if (isNotCapable(error)) throw notGranted(addon, loadFlags(folder), error);
    throw new ConfigError(
      `Cannot load the native part of "${addon.kind}" from "${folder}": ${messageOf(error)}`,
      {
        code: "addon-broken",
        cause: error,
        hints: [`rm -r ${shellQuote(folder)}`, ...installHints(addon, folder)],
        details: { folder },
      },
    );
  }
}

function isNotCapable(error: unknown): boolean {
  // Loaders of addons wrap the refusals they met in an error of their own.
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof Deno.errors.NotCapable || /Requires \w+ access/.test(at.message)) return true;
  }
  return false;
}

function loadFlags(folder: string): string[] {
  return [
    `--allow-read=${folder},/usr/bin/ldd`,
    `--allow-ffi=${folder}`,
    "--allow-env=HOME,XDG_CACHE_HOME,NAPI_RS_*",
  ];
}

function notGranted(addon: Addon, flags: readonly string[], cause: unknown): SandboxError {
  return new SandboxError(`Cannot load ${addon.package} ${addon.version}: tether was not granted what it needs`, {
    kind: addon.kind,
    flags,
    hints: [`Run with ${flags.join(" ")}`],
    ...(cause === undefined ? {} : { cause }),
  });
}

function installHints(addon: Addon, folder: string | undefined): string[] {
  const npm = `npm install --prefix ${shellQuote(folder ?? ".")} ${addon.package}@${addon.version}`;
  return Deno.build.standalone ? [npm] : ["deno task addons", npm];
}
