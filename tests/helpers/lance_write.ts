/**
 * A program that writes to a Lance table through a handle and prints one line of JSON: what native code says on standard
 * output would stand beside it. Arguments: the table's path and a branch.
 *
 * @module
 */

import { DEFAULT_SETTINGS } from "../../backends/backend.ts";
import { LanceBackend } from "../../backends/lance/lance.ts";

const [uri = "", ref = ""] = Deno.args;
await using backend = new LanceBackend(DEFAULT_SETTINGS);
await using handle = await backend.openHandle({ uri }, { on: "ref", ref }, { readOnly: false });
const table = await handle.table();
await table.add([{ id: 77, name: "through the handle" }]);
// A version that is not there makes LanceDB complain.
const complaint = await table.checkout(999).then(() => "none", (error: Error) => error.name);
const line = JSON.stringify({ rows: await table.countRows(), complaint });
await Deno.stdout.write(new TextEncoder().encode(line));
