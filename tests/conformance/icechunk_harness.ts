/**
 * Stores of the kind `icechunk` for the conformance suite: real repositories with real arrays, in a temporary folder.
 *
 * @module
 */

import { type BackendHarness, localSpellings } from "../../backends/conformance/mod.ts";
import { DEFAULT_SETTINGS, type Locator } from "../../backends/backend.ts";
import { icechunkStatics } from "../../backends/icechunk/statics.ts";
import { createRepository, type RepositoryOptions, writeArray } from "../helpers/icechunk_data.ts";

/** Returns a harness over local repositories of one format. Needs a temporary folder. */
export async function icechunkHarness(options: Required<RepositoryOptions>): Promise<BackendHarness> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-icechunk-" }));
  const backend = await icechunkStatics.open(DEFAULT_SETTINGS);
  let repositories = 0;
  let writes = 0;
  return {
    backend,
    module: {
      url: new URL("../../backends/icechunk/statics.ts", import.meta.url),
      name: "icechunkStatics",
    },
    async newObject() {
      const uri = `${folder}/repository ${++repositories}.icechunk`;
      await createRepository(uri, options);
      return { uri };
    },
    async mutate(locator, ref) {
      const values = Array.from({ length: 300 }, (_, i) => i + ++writes);
      await writeArray(String(locator["uri"]), ref ?? "main", { name: "plate/scores", values, chunk: 150 });
    },
    // A place in a folder that is not there yet.
    freshLocator: () => Promise.resolve({ uri: `${folder}/fresh ${++repositories}/made.icechunk` }),
    secondClient: () => icechunkStatics.open(DEFAULT_SETTINGS),
    spellings(locator) {
      const { same, different } = localSpellings(String(locator["uri"]));
      const toLocators = (uris: readonly string[]): Locator[] => uris.map((uri) => ({ uri }));
      return {
        same: [
          ...toLocators(same),
          { path: String(locator["uri"]) },
          { ...locator, branch: "other", at: "x", region: "eu-west-1" },
        ],
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
      // What garbage collection leaves of a snapshot that nothing refers to.
      await Deno.remove(`${locator["uri"]}/snapshots/${state["snapshot_id"]}`);
    },
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
