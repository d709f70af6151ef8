/**
 * Stores of the kind `delta` for the conformance suite: real tables in a temporary folder.
 *
 * @module
 */

import { type BackendHarness, localSpellings } from "../../backends/conformance/mod.ts";
import { DEFAULT_SETTINGS, type Locator } from "../../backends/backend.ts";
import { deltaStatics } from "../../backends/delta/statics.ts";
import { createDelta, type DeltaData } from "../helpers/delta_data.ts";

/** Returns a harness over local tables. Needs permission to read and write the temporary folder. */
export async function deltaHarness(): Promise<BackendHarness> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-delta-" }));
  const backend = await deltaStatics.open(DEFAULT_SETTINGS);
  const tables = new Map<string, DeltaData>();
  let rows = 0;
  function table(locator: Locator): DeltaData {
    const found = tables.get(String(locator["uri"]));
    if (!found) throw new TypeError(`No table at ${locator["uri"]}`);
    return found;
  }
  return {
    backend,
    module: { url: new URL("../../backends/delta/statics.ts", import.meta.url), name: "deltaStatics" },
    async newObject() {
      const uri = `${folder}/table ${tables.size}`;
      tables.set(uri, await createDelta(uri));
      return { uri };
    },
    async mutate(locator) {
      await table(locator).append([++rows]);
    },
    secondClient: () => deltaStatics.open(DEFAULT_SETTINGS),
    spellings(locator) {
      const { same, different } = localSpellings(String(locator["uri"]));
      const toLocators = (uris: readonly string[]): Locator[] => uris.map((uri) => ({ uri }));
      return {
        same: [...toLocators(same), { path: String(locator["uri"]) }, { ...locator, at: "0", region: "eu-west-1" }],
        different: toLocators(different),
      };
    },
    async breakStore(locator, how) {
      const uri = String(locator["uri"]);
      // Root reads everything, and a local folder is never offline.
      if (how === "offline" || (how === "forbidden" && Deno.uid() === 0)) return undefined;
      if (how === "absent") await Deno.rename(uri, `${uri} away`);
      else await Deno.chmod(`${uri}/_delta_log`, 0o000);
      return {
        async [Symbol.asyncDispose]() {
          if (how === "absent") await Deno.rename(`${uri} away`, uri);
          else await Deno.chmod(`${uri}/_delta_log`, 0o755);
        },
      };
    },
    async expire(locator, state) {
      const data = table(locator);
      await data.checkpoint();
      await data.cleanLog(Number(state["version"]) + 1);
    },
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
