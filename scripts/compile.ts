/**
 * Makes the executable `dist/tether` with the Deno that runs this, or with another one.
 *
 * ```sh
 * deno task compile
 * ```
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { errorLines } from "../cli/errors.ts";
import { run } from "../engine/io/process.ts";
import { ConfigError } from "../engine/model/errors.ts";

/** Modules that are started by URL, which the compiler does not follow. */
const STARTED_BY_URL = ["backends/icechunk/_worker.ts", "engine/host/worker_entry.ts"];

/** How to compile. */
export interface CompileOptions {
  /** Where the executable goes. @default {"dist/tether" in the repository} */
  readonly output?: string;
  /** The compiler. @default {the Deno that runs this} */
  readonly deno?: string;
  /** The runtime part (`denort`) to build on, where the compiler cannot fetch its own. */
  readonly denort?: string;
}

/**
 * Makes the executable and returns its path. The compiler downloads its runtime part once for each version of Deno.
 *
 * @throws {ConfigError} with what the compiler said, as one line.
 */
export async function compile(options: CompileOptions = {}): Promise<string> {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const output = options.output ?? `${root}dist/tether`;
  const { denort } = options;
  const args = [
    "compile",
    "--quiet",
    "--no-check",
    "--allow-all",
    "--no-prompt",
    ...STARTED_BY_URL.flatMap((path) => ["--include", path]),
    "--output",
    output,
    "main.ts",
  ];
  const { code, stderr } = await run(options.deno ?? Deno.execPath(), args, {
    cwd: root,
    env: {
      type: "inherit",
      without: () => false,
      extra: { NO_COLOR: "1", ...denort === undefined ? {} : { DENORT_BIN: denort } },
    },
  });
  if (code === 0) return output;
  const [said = ""] = stderr.split("Stack backtrace:");
  throw new ConfigError(`Cannot make "${output}": ${said.replace(/^error: /, "").trim().replaceAll(/\s+/g, " ")}`, {
    hints: ["Where the runtime cannot be downloaded: DENORT_BIN=/path/to/denort deno task compile"],
  });
}

if (import.meta.main) {
  try {
    await Deno.stdout.write(new TextEncoder().encode(await compile() + "\n"));
  } catch (error) {
    for (const { text } of errorLines(error)) await Deno.stderr.write(new TextEncoder().encode(text + "\n"));
    Deno.exit(1);
  }
}
