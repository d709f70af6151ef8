/**
 * What a command must not have changed: every file below a folder, by its content.
 *
 * @module
 */

import assert from "node:assert/strict";

/** Locks and caches may come and go; git refreshes its index by itself, and collects objects that no ref reaches. */
const VOLATILE =
  /\/\.tether\/(cache(\/|$)|lock$)|\/tether(\.lock$|-lock\.json$|-cache(\/|$))|\/\.git\/(index$|objects(\/|$))/;

/** Returns every file, folder and link below a folder that is data: by path, with its content or target. */
export async function everything(folder: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  async function visit(path: string): Promise<void> {
    for await (const entry of Deno.readDir(path)) {
      const inner = `${path}/${entry.name}`;
      if (VOLATILE.test(inner)) continue;
      if (entry.isSymlink) found.set(inner, `-> ${await Deno.readLink(inner)}`);
      else if (entry.isDirectory) {
        found.set(inner, "folder");
        await visit(inner);
      } else found.set(inner, new TextDecoder("latin1").decode(await Deno.readFile(inner)));
    }
  }
  await visit(folder);
  return new Map([...found].sort(([a], [b]) => a < b ? -1 : 1));
}

/** Asserts that everything below a folder is as it was. */
export async function assertUnchanged(
  folder: string,
  before: ReadonlyMap<string, string>,
  message: string,
): Promise<void> {
  const after = await everything(folder);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter((p) => before.get(p) !== after.get(p));
  assert.deepEqual(changed, [], message);
}
