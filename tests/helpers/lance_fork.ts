/**
 * A program that forks one branch of a Lance table from main, when told to begin, and prints how that went: a contender
 * of a race between processes. Arguments: the table's path and the branch.
 *
 * @module
 */

import { ABSENT, DEFAULT_SETTINGS } from "../../backends/backend.ts";
import { LanceBackend } from "../../backends/lance/lance.ts";
import { BackendError } from "../../engine/model/backend_errors.ts";

const [uri = "", name = ""] = Deno.args;
await using backend = new LanceBackend(DEFAULT_SETTINGS);
const state = await backend.fingerprint({ uri }, undefined);
await print("ready\n");
// A line on standard input is the starting gun.
await Deno.stdin.read(new Uint8Array(16));
try {
  await backend.fork({ uri }, { on: "state", state }, name, { expected: ABSENT });
  await print("won");
} catch (error) {
  await print(error instanceof BackendError ? error.code : String(error));
}

async function print(text: string): Promise<void> {
  await Deno.stdout.write(new TextEncoder().encode(text));
}
