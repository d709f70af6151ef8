/**
 * Deleting a folder that is a store: whoever knows its path finds either all of it or nothing, and what somebody wrote until
 * the last moment brings it back.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { messageOf } from "../../engine/model/errors.ts";
import { fsError, isNotFound } from "./fs_error.ts";

/** What is known of a folder to delete. */
export interface Doomed {
  readonly kind: string;
  /** Absolute, without links. */
  readonly folder: string;
  /** As the user spells it. */
  readonly label: string;
  /** Checks, where the folder was moved to, that it may still go; throws if not. */
  check(aside: string): Promise<void>;
}

/**
 * Moves a folder aside, checks it there and removes it. Once moved it is seen through: an abort would leave it aside.
 *
 * @throws what `check` throws, with the folder back in its place.
 * @throws {BackendError} if it cannot be put back, naming where it is.
 */
export async function deleteFolderAside(doomed: Doomed): Promise<void> {
  const { kind, folder, label } = doomed;
  const aside = asideOf(folder, "deleted");
  try {
    await Deno.rename(folder, aside);
  } catch (error) {
    throw fsError(error, { kind, action: "delete", path: label, access: "write" });
  }
  try {
    await doomed.check(aside);
  } catch (error) {
    await putBack(doomed, aside, error);
    throw error;
  }
  try {
    await Deno.remove(aside, { recursive: true });
  } catch (error) {
    throw fsError(error, { kind, action: "delete", path: aside, access: "write" });
  }
}

/** Returns a name beside a folder that nobody else uses. */
export function asideOf(folder: string, why: "created" | "deleted"): string {
  return join(dirname(folder), `.${basename(folder)}.tether-${why}-${crypto.randomUUID()}`);
}

async function putBack({ kind, folder, label }: Doomed, aside: string, cause: unknown): Promise<void> {
  try {
    // A folder that somebody made there meanwhile must not be replaced, not even an empty one.
    if (await lstatOf(folder)) throw new Deno.errors.AlreadyExists("something is there now");
    await Deno.rename(aside, folder);
  } catch (error) {
    throw new BackendError(`Cannot put "${label}" back: ${messageOf(error)}; it is at "${aside}"`, {
      kind,
      hints: ["Move it back by hand; nothing of it was removed"],
      cause,
    });
  }
}

/** Returns what lies at a path, links not followed; `undefined` when nothing does. */
export async function lstatOf(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.lstat(path);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
