/**
 * The `tether` program.
 *
 * ```sh
 * deno run --no-prompt -A main.ts status
 * ```
 *
 * @module
 */

import { streamOf } from "./cli/stream.ts";
import { VERSION } from "./engine/version.ts";

/**
 * Runs a command line without the program's name, and returns the exit code. The version and the overview load nothing
 * but themselves.
 *
 * @example Ask for the version
 * ```ts
 * import { main } from "@tether/tether/cli";
 * import assert from "node:assert/strict";
 *
 * assert.equal(await main(["--version"]), 0);
 * ```
 */
export async function main(args: readonly string[]): Promise<number> {
  const stdout = streamOf(Deno.stdout);
  const [only] = args.length === 1 ? args : [];
  if (only === "--version") {
    stdout.write(`tether ${VERSION}\n`);
    return 0;
  }
  if (only === "--help" || only === "-h") {
    const { overview } = await import("./cli/overview.ts");
    stdout.write(overview());
    return 0;
  }
  const { runProcess } = await import("./cli/process.ts");
  return await runProcess(args, stdout);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
