/**
 * Folders and backends for the tests of this folder.
 *
 * @module
 */

import type { BackendSettings, ObjectBackend } from "../backend.ts";
import { fileStatics } from "./statics.ts";

/** A folder that is removed with all its content when disposed. */
export interface Temporary extends AsyncDisposable {
  readonly path: string;
  /** Writes a file below it, with the folders on the way. */
  write(path: string, content: string | Uint8Array): Promise<void>;
}

/** Makes a temporary folder. */
export async function temporary(): Promise<Temporary> {
  const path = await Deno.realPath(await Deno.makeTempDir({ prefix: "tether-file-" }));
  return {
    path,
    async write(name, content) {
      const full = `${path}/${name}`;
      await Deno.mkdir(full.slice(0, full.lastIndexOf("/")), { recursive: true });
      await Deno.writeFile(full, typeof content === "string" ? new TextEncoder().encode(content) : content);
    },
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

/** Opens the backend. */
export function openFile(settings: Partial<BackendSettings> = {}): Promise<ObjectBackend> {
  return fileStatics.open({ config: {}, rules: [], ...settings });
}

/** Runs a shell script in a folder: for what the runtime cannot do, such as names that are not UTF-8. */
export async function shell(folder: string, script: string): Promise<void> {
  const command = new Deno.Command("sh", { args: ["-euc", script], cwd: folder, env: { LC_ALL: "C" }, clearEnv: true });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** Replaces a function of the runtime until disposed, to act in the middle of what calls it. */
export function intercept<K extends keyof typeof Deno>(
  name: K,
  make: (original: (typeof Deno)[K]) => (typeof Deno)[K],
): Disposable {
  const original = Deno[name];
  Object.defineProperty(Deno, name, { value: make(original), configurable: true, writable: true });
  return {
    [Symbol.dispose]: () =>
      void Object.defineProperty(Deno, name, { value: original, configurable: true, writable: true }),
  };
}
