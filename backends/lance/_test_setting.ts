/**
 * A table that LanceDB wrote and a backend to look at it with, for the tests of this folder.
 *
 * @module
 */

import { DEFAULT_SETTINGS, type Locator, type State } from "../backend.ts";
import { appendLanceRows, createLanceTable } from "../../tests/helpers/lance_data.ts";
import { LanceBackend } from "./lance.ts";

/** A working ref. */
export const REF = "tether.ws.0a1b2c3d.exp";
/** A pin id. */
export const PIN = "0a1b2c3d.00112233445566aa";

/** A backend, and a table of two versions that LanceDB wrote. */
export interface Setting extends AsyncDisposable {
  readonly backend: LanceBackend;
  readonly locator: Locator;
  readonly path: string;
  readonly folder: string;
}

/** Makes a table of two versions with three rows in a folder of its own. */
export async function setting(now?: () => Date): Promise<Setting> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-lance-" }));
  const path = `${folder}/plants.lance`;
  await createLanceTable(path, [{ id: 1, name: "fern" }, { id: 2, name: "moss" }]);
  await appendLanceRows(path, [{ id: 3, name: "oak" }]);
  return {
    backend: new LanceBackend({ ...DEFAULT_SETTINGS, ...(now ? { now } : {}) }),
    locator: { uri: path },
    path,
    folder,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Returns the state of the base, or of a branch. */
export async function head(s: Setting, ref?: string): Promise<State> {
  return await s.backend.fingerprint(s.locator, ref);
}

/** Forks a branch from the base's head. */
export async function fork(s: Setting, name: string = REF): Promise<string> {
  return await s.backend.fork(s.locator, { on: "state", state: await head(s) }, name);
}

/** Writes a row on a branch and returns its state. */
export async function write(s: Setting, branch: string): Promise<State> {
  await appendLanceRows(s.path, [{ id: 9, name: branch }], { branch });
  return await head(s, branch);
}
