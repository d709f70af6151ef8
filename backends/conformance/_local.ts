/** What holds for every store that lies on the local disk, and can be tried without the harness. */

import { isAbsolute, join } from "node:path";
import { isInside, localPath } from "../../engine/io/paths.ts";
import type { Locator, ObjectBackend } from "../backend.ts";
import { localSpellings, type Obstruction } from "./harness.ts";

/** A local store: the locator's field and the absolute path in it. */
interface LocalStore {
  readonly field: string;
  readonly path: string;
}

/** Returns where a store lies on the local disk; `undefined` for a remote one and for paths behind a prefix. */
function localStore(backend: ObjectBackend, locator: Locator): LocalStore | undefined {
  for (const field of backend.statics.localPathKeys) {
    const value = locator[field];
    const path = typeof value === "string" ? localPath(value) : undefined;
    if (path !== undefined && isAbsolute(path)) return { field, path };
  }
  return undefined;
}

/** Spellings of a locator: those of the same store, and lookalikes. */
export interface Spellings extends AsyncDisposable {
  readonly same: readonly Locator[];
  readonly different: readonly Locator[];
}

/** Returns the spellings of a local store, one of them through a symbolic link; empty for a remote one. */
export async function spellingsOf(backend: ObjectBackend, locator: Locator): Promise<Spellings> {
  const store = localStore(backend, locator);
  // Behind a prefix the text itself is the identity.
  if (!store || backend.statics.localPathPrefixes.length > 0) {
    return { same: [], different: [], [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const { field, path } = store;
  const folder = await Deno.makeTempDir();
  await Deno.symlink(join(path, ".."), join(folder, "link"));
  const linked = join(folder, "link", path.slice(join(path, "..").length));
  const spellings = localSpellings(path);
  const put = (text: string): Locator => ({ ...locator, [field]: text });
  return {
    same: [...spellings.same, linked].map(put),
    different: spellings.different.map(put),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Returns the files of a local store that this process holds open, where the system can tell. */
export function heldFiles(backend: ObjectBackend, locator: Locator): readonly string[] {
  const store = localStore(backend, locator);
  if (!store || Deno.build.os !== "linux") return [];
  const root = Deno.realPathSync(store.path);
  return [...Deno.readDirSync("/proc/self/fd")].flatMap(({ name }) => {
    try {
      const target = Deno.readLinkSync(`/proc/self/fd/${name}`);
      return isInside(target, root) ? [target] : [];
    } catch {
      // Closed meanwhile: the listing itself is one of the descriptors.
      return [];
    }
  });
}

/** Returns what must make the deletion of a local store refuse; empty for a remote one. */
export function localObstructions(backend: ObjectBackend, locator: Locator): readonly Obstruction[] {
  const store = localStore(backend, locator);
  if (!store) return [];
  const { path } = store;
  return [
    {
      name: "foreign file",
      async place() {
        const file = join(path, "conformance-foreign");
        await Deno.writeTextFile(file, "data", { createNew: true });
        return { [Symbol.asyncDispose]: () => Deno.remove(file) };
      },
    },
    {
      name: "symlinked root",
      async place() {
        const moved = `${path}.moved`;
        await Deno.rename(path, moved);
        await Deno.symlink(moved, path);
        return {
          async [Symbol.asyncDispose]() {
            await Deno.remove(path);
            await Deno.rename(moved, path);
          },
        };
      },
    },
  ];
}
