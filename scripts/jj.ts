/**
 * Builds jj, which some tests run, into the cache folder: about ten minutes on two processors. Prints where it is.
 *
 * Without an argument it is the version that is tested with; `deno run -A scripts/jj.ts 0.43.0` builds another one.
 *
 * @module
 */

import { cacheFolder } from "./cache.ts";

/** The version that is tested with. */
export const JJ_VERSION = "0.45.1";

/** The oldest version that is supported; the tests that are about jj alone run with it too. */
export const OLDEST_JJ_VERSION = "0.43.0";

/** The variable by which a run of the tests chooses another version. */
export const JJ_VERSION_VARIABLE = "TETHER_TEST_JJ_VERSION";

/** Returns the path of the program, whether it is there or not. */
export function jjPath(version: string = Deno.env.get(JJ_VERSION_VARIABLE) ?? JJ_VERSION): string {
  return `${cacheFolder()}/jj-${version}/bin/jj`;
}

/** Quicker to build, and fast enough: a test starts jj on repositories of a few files. */
const PROFILE = {
  CARGO_PROFILE_RELEASE_OPT_LEVEL: "1",
  CARGO_PROFILE_RELEASE_LTO: "off",
  CARGO_PROFILE_RELEASE_CODEGEN_UNITS: "16",
  CARGO_PROFILE_RELEASE_DEBUG: "0",
};

/** Builds jj unless it is there; it appears whole or not at all. @throws {Error} saying what failed. */
export async function installJj(version: string = JJ_VERSION): Promise<string> {
  const path = jjPath(version);
  if (await isFile(path)) return path;
  await Deno.mkdir(cacheFolder(), { recursive: true });
  const temporary = await Deno.makeTempDir({ dir: cacheFolder(), prefix: `.jj-${version}.` });
  try {
    const { success, stderr } = await new Deno.Command("cargo", {
      args: ["install", `jj-cli@${version}`, "--locked", "--bin", "jj", "--quiet", "--root", temporary],
      env: PROFILE,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    if (!success) throw new Error(`cargo install jj-cli failed: ${new TextDecoder().decode(stderr).trim()}`);
    await Deno.rename(temporary, `${cacheFolder()}/jj-${version}`).catch(async (error: unknown) => {
      // Another process was faster; its build is as good.
      if (!await isFile(path)) throw error;
    });
  } finally {
    await Deno.remove(temporary, { recursive: true }).catch(() => {});
  }
  return path;
}

async function isFile(path: string): Promise<boolean> {
  return await Deno.stat(path).then((info) => info.isFile, () => false);
}

if (import.meta.main) await Deno.stdout.write(new TextEncoder().encode(await installJj(Deno.args[0]) + "\n"));
