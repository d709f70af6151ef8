/**
 * Files set aside before they are replaced, so that putting them back needs no room on the disk (L37, L43).
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { messageOf, TetherError } from "../model/errors.ts";
import { removeIfThere, syncFolder, writeTemp } from "./atomic.ts";

/** Some files as they were. */
export class Aside {
  readonly #folder: string | undefined;
  /** Where each file's old content is; `undefined` for a file that did not exist. */
  readonly #kept = new Map<string, string | undefined>();

  /** `folder` holds the old content; without one it lies beside each file. */
  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** Sets a file aside by a second name, or by a copy where the system has none. The file itself stays where it is. */
  async keep(path: string): Promise<void> {
    if (this.#kept.has(path)) return;
    const folder = this.#folder ?? dirname(path);
    const other = join(folder, `.${basename(path).slice(0, 100)}.${crypto.randomUUID().slice(0, 8)}.tmp`);
    try {
      await Deno.link(path, other);
      this.#kept.set(path, other);
    } catch (error) {
      this.#kept.set(path, error instanceof Deno.errors.NotFound ? undefined : await copyOf(path, folder));
    }
  }

  /**
   * Puts every file back as it was, whatever became of the others.
   *
   * @throws {TetherError} `half-done`, naming those that could not be.
   */
  async restore(): Promise<void> {
    const failed: string[] = [];
    const folders = new Set([...this.#kept.keys()].map(dirname));
    let first: unknown;
    for (const [path, other] of this.#kept) {
      try {
        if (other === undefined) await removeIfThere(path);
        else await Deno.rename(other, path);
        this.#kept.delete(path);
      } catch (error) {
        first ??= error;
        failed.push(path);
      }
    }
    for (const folder of folders) await syncFolder(folder);
    if (failed.length === 0) return;
    throw new TetherError(`Cannot put ${failed.map((p) => `"${p}"`).join(", ")} back: ${messageOf(first)}`, {
      code: "half-done",
      details: { files: failed },
      cause: first,
    });
  }

  /** Forgets the old content. What cannot be removed is swept later. */
  async discard(): Promise<void> {
    for (const other of this.#kept.values()) {
      if (other !== undefined) await removeIfThere(other).catch(() => {});
    }
    this.#kept.clear();
  }
}

async function copyOf(path: string, folder: string): Promise<string> {
  return await writeTemp(folder, path, await Deno.readFile(path));
}
