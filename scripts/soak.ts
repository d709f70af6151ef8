/**
 * Runs the model test until a time is up, and prints how to repeat what fails.
 *
 * `deno task soak [SECONDS] [SEED] [git|jj]`: an hour, a random seed and both in turn unless told otherwise. Ends with 1 after
 * a failure.
 *
 * @module
 */

import fc from "fast-check";
import { runSequence, sequences, type Tally } from "../tests/model/_run.ts";
import { removeTemplate } from "../tests/model/_world.ts";

const [seconds = "3600", first, only] = Deno.args;
const end = performance.now() + Number(seconds) * 1000;
const tally: Tally = new Map();
let seed = first === undefined ? Math.trunc(Math.random() * 2 ** 31) : Number(first);
let failures = 0;
print(`from seed ${seed}\n`);
for (; performance.now() < end; seed++) {
  const system = only === "git" || only === "jj" ? only : seed % 2 === 0 ? "git" : "jj";
  const details = await fc.check(
    fc.asyncProperty(
      sequences(tally, { system, most: 60 }),
      fc.nat({ max: 3 }),
      (commands, n) => runSequence(commands, { system, git: n === 0 }),
    ),
    { seed, numRuns: 10, interruptAfterTimeLimit: Math.max(1, end - performance.now()), markInterruptAsFailure: false },
  );
  if (!details.failed || details.counterexample === null) continue;
  failures++;
  print(`${system}: ${fc.defaultReportMessage(details)}\n${messageOf(details.errorInstance)}\n`);
}
await removeTemplate();
print(`${[...tally].sort().map(([what, times]) => `${String(times).padStart(6)} ${what}`).join("\n")}\n`);
print(`${failures} failed; next seed ${seed}\n`);
Deno.exit(failures === 0 ? 0 : 1);

function messageOf(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}
