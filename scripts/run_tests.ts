/**
 * Runs the tests: fetches what they need, runs them and the documentation's examples, and ends with `N passed, N failed`
 * from the runner's own count. A skipped test is a failure in CI; elsewhere it is counted. Not named `test.ts`: the runner
 * would take it for a test.
 *
 * @module
 */

import { LANCE_ADDON } from "../backends/native.ts";
import { installAddon } from "./addons.ts";
import { cacheFolder } from "./cache.ts";
import { installPeer } from "./peer.ts";
import { dirname } from "node:path";

const files = Deno.args.filter((a) => !a.startsWith("-"));
const flags = Deno.args.filter((a) => a.startsWith("-"));
const inCi = (Deno.env.get("CI") ?? "") !== "";

const needs: readonly [string, () => Promise<unknown>][] = [
  ["the Lance addon", () => installAddon(LANCE_ADDON)],
  ["the Python implementation", installPeer],
];
for (const [name, install] of needs) {
  try {
    await install();
  } catch (error) {
    print(Deno.stderr, `Cannot install ${name}: ${error instanceof Error ? error.message : error}\n`);
    if (inCi) Deno.exit(1);
  }
}

const child = new Deno.Command(Deno.execPath(), {
  // Tests move HOME; what was installed above must be found all the same.
  env: { XDG_CACHE_HOME: dirname(cacheFolder()) },
  args: ["test", "-A", "--no-check", "--parallel", ...(files.length > 0 ? files : ["--doc"]), ...flags],
  stdin: "null",
  stdout: "piped",
  stderr: "inherit",
}).spawn();

let tail = "";
for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
  print(Deno.stdout, chunk);
  tail = (tail + chunk).slice(-4000);
}
const { code } = await child.status;

// deno-lint-ignore no-control-regex
const plain = tail.replace(/\x1b\[[0-9;]*m/g, "");
const summary = /(\d+) passed(?: \((\d+) steps?\))? \| (\d+) failed(?: \((\d+) steps?\))?(?: \| (\d+) ignored)?/.exec(
  plain,
);
if (!summary) {
  print(Deno.stderr, "Cannot find the runner's summary\n");
  Deno.exit(code || 1);
}
const [, passed = "0", , failed = "0", , ignored = "0"] = summary;
const skipped = ignored === "0" ? "" : `, ${ignored} skipped`;
print(Deno.stdout, `\n${passed} passed, ${failed} failed${skipped}\n`);
if (inCi && ignored !== "0") {
  print(Deno.stderr, "A skipped test is a failure in CI\n");
  Deno.exit(1);
}
Deno.exit(code);

function print(stream: { writeSync(p: Uint8Array): number }, text: string): void {
  stream.writeSync(new TextEncoder().encode(text));
}
