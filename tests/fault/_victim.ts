/**
 * One command of a dataset, in a process that kills itself at a boundary between two writes, as a power cut would.
 *
 * Arguments: the dataset's root, the call as JSON, and the boundary, or `rename` and the name of a file; without a boundary the command runs to its end and every
 * boundary it passes is printed. A refusal ends with its own exit code.
 *
 * @module
 */

import { Dataset } from "../../engine/dataset.ts";
import { REAL_ENV } from "../../engine/env.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { type Call, perform, REFUSED } from "./_call.ts";

const [root = "", call = "", deadly] = Deno.args;

const env = {
  ...REAL_ENV,
  boundary(step: string): void {
    if (deadly === undefined) Deno.stdout.writeSync(new TextEncoder().encode(`${step}\n`));
    else if (step === deadly) Deno.kill(Deno.pid, "SIGKILL");
  },
};

// Between a temporary file and its rename, where no boundary is.
const target = deadly?.match(/^rename (.*)$/)?.[1];
if (target !== undefined) {
  const { rename } = Deno;
  Deno.rename = async (from, to) => {
    if (String(to).endsWith(`/${target}`)) Deno.kill(Deno.pid, "SIGKILL");
    await rename(from, to);
  };
}

const what = JSON.parse(call) as Call;
await using dataset = await Dataset.open(root, { env, allowOlder: what.command === "upgrade" });
try {
  await perform(dataset, what);
} catch (error) {
  if (!(error instanceof TetherError)) throw error;
  // A refusal, and not a crash.
  Deno.stderr.writeSync(new TextEncoder().encode(`${error.code}: ${error.message}`));
  Deno.exitCode = REFUSED;
}
