/**
 * Stores of the kind `file` for the conformance suite: folders of a temporary one.
 *
 * @module
 */

import { type BackendHarness, localSpellings, type Obstruction } from "../../backends/conformance/mod.ts";
import { DEFAULT_SETTINGS, type Locator } from "../../backends/backend.ts";
import { fileStatics } from "../../backends/file/statics.ts";

/** Returns a harness over local folders. Needs permission to read and write the temporary folder. */
export async function fileHarness(): Promise<BackendHarness> {
  const temporary = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-file-" }));
  const backend = await fileStatics.open(DEFAULT_SETTINGS);
  let made = 0;
  let writes = 0;
  return {
    backend,
    module: { url: new URL("../../backends/file/statics.ts", import.meta.url), name: "fileStatics" },
    async newObject() {
      const uri = `${temporary}/données ${++made}`;
      await Deno.mkdir(`${uri}/sub`, { recursive: true });
      await Deno.writeTextFile(`${uri}/sub/a.txt`, "a");
      await Deno.symlink("sub", `${uri}/link`);
      return { uri };
    },
    freshLocator: () => Promise.resolve({ uri: `${temporary}/parent ${++made}/fresh` }),
    mutate: (locator) => Deno.writeTextFile(`${pathOf(locator)}/file-${++writes}`, String(writes)),
    secondClient: () => fileStatics.open(DEFAULT_SETTINGS),
    spellings(locator) {
      const { same, different } = localSpellings(pathOf(locator));
      const toLocators = (uris: readonly string[]): Locator[] => uris.map((uri) => ({ uri }));
      return {
        same: [...toLocators(same), { path: pathOf(locator) }, { ...locator, region: "eu-west-1" }],
        different: toLocators(different),
      };
    },
    async breakStore(locator, how) {
      const path = pathOf(locator);
      // Root reads everything, and a local folder is never offline.
      if (how === "offline" || (how === "forbidden" && Deno.uid() === 0)) return undefined;
      if (how === "absent") await Deno.rename(path, `${path} away`);
      else await Deno.chmod(path, 0o000);
      return {
        async [Symbol.asyncDispose]() {
          if (how === "absent") await Deno.rename(`${path} away`, path);
          else await Deno.chmod(path, 0o755);
        },
      };
    },
    obstructions: (locator) => obstructions(pathOf(locator)),
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]();
      await Deno.remove(temporary, { recursive: true });
    },
  };
}

function obstructions(path: string): readonly Obstruction[] {
  return [
    { name: "foreign file", place: () => placed(`${path}/.DS_Store`, (at) => Deno.writeTextFile(at, "")) },
    { name: "foreign empty folder", place: () => placed(`${path}/sub`, (at) => Deno.mkdir(at)) },
    { name: "dangling link", place: () => placed(`${path}/link`, (at) => Deno.symlink("nowhere", at)) },
    {
      name: "symlinked root",
      async place() {
        await Deno.rename(path, `${path} real`);
        await Deno.symlink(`${path} real`, path);
        return {
          async [Symbol.asyncDispose]() {
            await Deno.remove(path);
            await Deno.rename(`${path} real`, path);
          },
        };
      },
    },
  ];
}

async function placed(path: string, make: (path: string) => Promise<void>): Promise<AsyncDisposable> {
  await make(path);
  return { [Symbol.asyncDispose]: () => Deno.remove(path) };
}

function pathOf(locator: Locator): string {
  return String(locator["uri"]);
}
