import { strict as assert } from "node:assert";
import { ConfigError } from "../engine/model/errors.ts";
import { SandboxError } from "../engine/model/backend_errors.ts";
import { type Addon, addonCacheFolder, loadAddon } from "./native.ts";
import { join } from "node:path";

const ADDON: Addon = { kind: "lance", package: "@example/absent", version: "1.2.3" };

/** Calls `fn` with a cache of its own: the folder of addons, and how to load one from there. */
async function withCache(
  fn: (folder: string, load: (addon: Addon) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const cache = await Deno.makeTempDir({ prefix: "tether-addons-" });
  const env = (name: string) => name === "XDG_CACHE_HOME" ? cache : undefined;
  try {
    await fn(join(cache, "tether", "addons"), (addon) => loadAddon(addon, { env }));
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}

/** Lays an npm package out as an installation does. */
async function install(folder: string, source: string, addon: Addon = ADDON): Promise<void> {
  const home = join(folder, `${addon.kind}-${addon.version}`);
  const module = join(home, "node_modules", addon.package);
  await Deno.mkdir(module, { recursive: true });
  await Deno.writeTextFile(join(home, "package.json"), "{}");
  await Deno.writeTextFile(join(module, "package.json"), '{"main": "index.js"}');
  await Deno.writeTextFile(join(module, "index.js"), source);
}

Deno.test("[L33] a missing addon is named, with where it was looked for and what installs it", async () => {
  await withCache(async (folder, load) => {
    const place = join(folder, "lance-1.2.3");
    await assert.rejects(load(ADDON), (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.equal(error.code, "addon-missing");
      assert.ok(error.message.includes("@example/absent 1.2.3") && error.message.includes(place), error.message);
      assert.deepEqual(error.hints, ["deno task addons", `npm install --prefix ${place} @example/absent@1.2.3`]);
      return true;
    });
  });
});

Deno.test("[L33] an addon is loaded once, and only in its own version", async () => {
  await withCache(async (folder, load) => {
    await install(folder, "globalThis.loads = (globalThis.loads ?? 0) + 1; module.exports = { answer: 42 };");
    const module = await load(ADDON);
    assert.deepEqual(module, { answer: 42 });
    assert.equal(await load(ADDON), module);
    assert.equal((globalThis as { loads?: number }).loads, 1);
    await assert.rejects(load({ ...ADDON, version: "1.2.4" }), ConfigError);
  });
});

Deno.test("[L33] an addon that does not load disables only itself, and the error carries the cause", async () => {
  await withCache(async (folder, load) => {
    await install(folder, 'throw new Error("libm.so.6: version not found");');
    await assert.rejects(load(ADDON), (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.equal(error.code, "addon-broken");
      assert.match(error.message, /libm\.so\.6/);
      assert.equal(error.hints[0], `rm -r ${join(folder, "lance-1.2.3")}`);
      return true;
    });
  });
});

Deno.test("[L38] without the environment the addon is refused with the flag that grants it", {
  permissions: { env: false, read: true },
}, async () => {
  await assert.rejects(loadAddon(ADDON), (error: unknown) => {
    assert.ok(error instanceof SandboxError);
    assert.deepEqual(error.flags, ["--allow-env=HOME,XDG_CACHE_HOME"]);
    return true;
  });
});

Deno.test("[L38] without read permission the addon is refused with every flag that loading needs", {
  permissions: { env: ["HOME", "XDG_CACHE_HOME"], read: false },
}, async () => {
  await assert.rejects(loadAddon(ADDON), (error: unknown) => {
    assert.ok(error instanceof SandboxError);
    assert.deepEqual(error.flags.map((flag) => flag.split("=")[0]), ["--allow-read", "--allow-ffi", "--allow-env"]);
    return true;
  });
});

Deno.test("an addon's folder follows XDG_CACHE_HOME, then HOME", () => {
  const folder = (env: Record<string, string>) => addonCacheFolder(ADDON, (name) => env[name]);
  assert.equal(folder({ XDG_CACHE_HOME: "/c", HOME: "/h" }), "/c/tether/addons/lance-1.2.3");
  assert.equal(folder({ XDG_CACHE_HOME: "", HOME: "/h" }), "/h/.cache/tether/addons/lance-1.2.3");
  assert.equal(folder({}), undefined);
});
