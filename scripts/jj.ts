/**
 * Builds jj, which some tests run, into the cache folder: about ten minutes on two processors. Prints where it is.
 *
 * @module
 */

import { cacheFolder } from "./cache.ts";

/** The version that is tested with. */
export const JJ_VERSION = "0.45.1";

/** Returns the path of the program, whether it is there or not. */
export function jjPath(): string {
  return `${cacheFolder()}/jj-${JJ_VERSION}/bin/jj`;
}

/** Builds jj unless it is there; it appears whole or not at all. @throws {Error} saying what failed. */
export async function installJj(): Promise<string> {
  if (await isThere()) return jjPath();
  await Deno.mkdir(cacheFolder(), { recursive: true });
  const temporary = await Deno.makeTempDir({ dir: cacheFolder(), prefix: `.jj-${JJ_VERSION}.` });
  try {
    const { success, stderr } = await new Deno.Command("cargo", {
      args: ["install", `jj-cli@${JJ_VERSION}`, "--locked", "--bin", "jj", "--quiet", "--root", temporary],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    if (!success) throw new Error(`cargo install jj-cli failed: ${new TextDecoder().decode(stderr).trim()}`);
    await Deno.rename(temporary, `${cacheFolder()}/jj-${JJ_VERSION}`).catch(async (error: unknown) => {
      // Another process was faster; its build is as good.
      if (!await isThere()) throw error;
    });
  } finally {
    await Deno.remove(temporary, { recursive: true }).catch(() => {});
  }
  return jjPath();
}

async function isThere(): Promise<boolean> {
  return await Deno.stat(jjPath()).then((info) => info.isFile, () => false);
}

if (import.meta.main) await Deno.stdout.write(new TextEncoder().encode(await installJj() + "\n"));
