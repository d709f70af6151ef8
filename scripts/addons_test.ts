import { strict as assert } from "node:assert";
import { ConfigError } from "../engine/model/errors.ts";
import { type Addon, loadAddon } from "../backends/native.ts";
import { installAddon } from "./addons.ts";
import { dirname, join } from "node:path";

// Any small package does; this one is a part of the real addon.
const ADDON: Addon = { kind: "lance", package: "reflect-metadata", version: "0.2.2" };

Deno.test("[L33] an addon is installed whole and once, by several at a time, and then loads", async () => {
  const cache = await Deno.makeTempDir({ prefix: "tether-addons-" });
  try {
    const options = { env: (name: string) => name === "XDG_CACHE_HOME" ? cache : undefined };
    const folders = await Promise.all([1, 2, 3].map(() => installAddon(ADDON, options)));
    const wanted = join(cache, "tether", "addons", "lance-0.2.2");
    assert.deepEqual(new Set(folders), new Set([wanted]));
    const entries = await Array.fromAsync(Deno.readDir(dirname(wanted)));
    assert.deepEqual(entries.map((e) => e.name), ["lance-0.2.2"], "nothing temporary is left");
    await loadAddon(ADDON, options);
    const { ino } = await Deno.stat(wanted);
    assert.equal(await installAddon(ADDON, options), wanted);
    assert.equal((await Deno.stat(wanted)).ino, ino, "what is there is left alone");
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
});

Deno.test("[L33] an addon that cannot be had leaves nothing behind", async () => {
  const cache = await Deno.makeTempDir({ prefix: "tether-addons-" });
  try {
    const options = { env: (name: string) => name === "HOME" ? cache : undefined };
    await assert.rejects(installAddon({ ...ADDON, version: "0.0.0-none" }, options), ConfigError);
    const parent = join(cache, ".cache", "tether", "addons");
    assert.deepEqual(await Array.fromAsync(Deno.readDir(parent)), []);
    await assert.rejects(installAddon(ADDON, { env: () => undefined }), ConfigError);
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
});
