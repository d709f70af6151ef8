/**
 * Installs the native addons that tether can use into the user's cache, with Deno alone: no npm, no install scripts.
 *
 * ```sh
 * deno task addons
 * ```
 *
 * @module
 */

import { type Addon, addonCacheFolder, LANCE_ADDON, type LoadAddonOptions } from "../backends/native.ts";
import { ConfigError } from "../engine/model/errors.ts";
import { run } from "../engine/io/process.ts";
import { basename, dirname, join } from "node:path";

/** What `package.json` of an addon's folder asks for beside the addon itself. */
interface Recipe {
  readonly addon: Addon;
  /** Peers, which Deno does not install by itself, in versions that the addon takes. */
  readonly dependencies: Readonly<Record<string, string>>;
  /** Optional packages that tether never loads, each with a tiny one in its place: they are 500 MB. */
  readonly unused: readonly string[];
}

const RECIPES: readonly Recipe[] = [{
  addon: LANCE_ADDON,
  dependencies: { "apache-arrow": "18.1.0" },
  unused: [
    "@huggingface/transformers",
    "openai",
    "@lancedb/lancedb-linux-x64-musl",
    "@lancedb/lancedb-linux-arm64-musl",
  ],
}];
const PLACEHOLDER = "npm:reflect-metadata@0.2.2";

/**
 * Installs an addon into the user's cache unless it is there, and returns its folder. It appears there complete or not at
 * all, and several processes may do this at once. Needs env `HOME` and `XDG_CACHE_HOME`, read and write for the cache, run
 * for Deno itself, which downloads from the npm registry.
 *
 * @throws {ConfigError} if there is no cache folder or the installation fails.
 */
export async function installAddon(addon: Addon, options: LoadAddonOptions = {}): Promise<string> {
  const folder = addonCacheFolder(addon, options.env ?? ((name) => Deno.env.get(name)));
  if (folder === undefined) {
    throw new ConfigError(`Cannot install ${addon.package}: HOME is not set`, { hints: ["export HOME=…"] });
  }
  if (await isThere(folder)) return folder;
  await Deno.mkdir(dirname(folder), { recursive: true });
  const temporary = await Deno.makeTempDir({ dir: dirname(folder), prefix: `.${basename(folder)}.` });
  try {
    await fill(temporary, addon);
    await Deno.rename(temporary, folder).catch(async (error: unknown) => {
      // Another process was faster; its installation is as good.
      if (!await isThere(folder)) throw error;
    });
  } finally {
    await Deno.remove(temporary, { recursive: true }).catch(() => {});
  }
  return folder;
}

async function fill(folder: string, addon: Addon): Promise<void> {
  const recipe = RECIPES.find((r) => r.addon.package === addon.package);
  await writeJsonFile(join(folder, "package.json"), {
    name: `tether-addon-${addon.kind}`,
    private: true,
    dependencies: { [addon.package]: addon.version, ...recipe?.dependencies },
    overrides: Object.fromEntries((recipe?.unused ?? []).map((name) => [name, PLACEHOLDER])),
  });
  // A configuration of its own: one further up would not be meant for this folder.
  await writeJsonFile(join(folder, "deno.json"), { nodeModulesDir: "auto" });
  const result = await run(Deno.execPath(), ["install", "--quiet"], {
    cwd: folder,
    env: { type: "inherit", without: () => false },
  });
  if (result.code === 0 && await isThere(join(folder, "node_modules", addon.package))) return;
  throw new ConfigError(`Cannot install ${addon.package} ${addon.version}: ${result.stderr || "nothing came"}`, {
    code: "addon-missing",
  });
}

async function writeJsonFile(path: string, value: unknown): Promise<void> {
  await Deno.writeTextFile(path, JSON.stringify(value, null, 2) + "\n");
}

async function isThere(folder: string): Promise<boolean> {
  try {
    return (await Deno.stat(join(folder, "package.json"))).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

if (import.meta.main) {
  for (const { addon } of RECIPES) {
    const folder = await installAddon(addon);
    await Deno.stdout.write(new TextEncoder().encode(`${addon.package} ${addon.version} is in ${folder}\n`));
  }
}
