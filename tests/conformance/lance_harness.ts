/**
 * Stores of the kind `lance` for the conformance suite: real tables, written by LanceDB.
 *
 * @module
 */

import { type BackendHarness, localSpellings } from "../../backends/conformance/mod.ts";
import { DEFAULT_SETTINGS, type Locator } from "../../backends/backend.ts";
import { lanceStatics } from "../../backends/lance/statics.ts";
import { appendLanceRows, createLanceTable } from "../helpers/lance_data.ts";
import { manifestKey } from "../../backends/lance/_table.ts";

/** Returns a harness over local tables. Needs the native addon and a temporary folder. */
export async function lanceHarness(): Promise<BackendHarness> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-lance-" }));
  const backend = await lanceStatics.open(DEFAULT_SETTINGS);
  let tables = 0;
  let rows = 0;
  return {
    backend,
    module: {
      url: new URL("../../backends/lance/statics.ts", import.meta.url),
      name: "lanceStatics",
    },
    async newObject() {
      const uri = `${folder}/table ${++tables}.lance`;
      await createLanceTable(uri, [{ id: 0, name: "first" }]);
      return { uri };
    },
    async mutate(locator, ref) {
      const id = ++rows;
      await appendLanceRows(String(locator["uri"]), [{ id, name: `row ${id}` }], { branch: ref ?? "main" });
    },
    secondClient: () => lanceStatics.open(DEFAULT_SETTINGS),
    spellings(locator) {
      const { same, different } = localSpellings(String(locator["uri"]));
      const toLocators = (uris: readonly string[]): Locator[] => uris.map((uri) => ({ uri }));
      return {
        same: [...toLocators(same), { path: String(locator["uri"]) }, {
          ...locator,
          branch: "x",
          at: "1",
          region: "r",
        }],
        different: toLocators(different),
      };
    },
    async breakStore(locator, how) {
      const uri = String(locator["uri"]);
      // Root reads everything, and a local folder is never offline.
      if (how === "offline" || (how === "forbidden" && Deno.uid() === 0)) return undefined;
      if (how === "absent") await Deno.rename(uri, `${uri} away`);
      else await Deno.chmod(uri, 0o000);
      return {
        async [Symbol.asyncDispose]() {
          if (how === "absent") await Deno.rename(`${uri} away`, uri);
          else await Deno.chmod(uri, 0o755);
        },
      };
    },
    async expire(locator, state) {
      const key = manifestKey(String(state["branch"]), BigInt(state["version"] as number));
      await Deno.remove(`${locator["uri"]}/${key}`);
    },
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
