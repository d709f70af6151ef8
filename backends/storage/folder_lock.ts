/**
 * A lock on a folder itself: it needs no further permission, leaves no file behind and dies with its holder (L27, L32).
 *
 * @module
 */

import { UnavailableError } from "../../engine/model/backend_errors.ts";
import { type Patience, tryFlock } from "../../engine/io/flock.ts";
import { sleep } from "../../engine/io/retry.ts";
import { join } from "node:path";

/** The file that is locked where a folder cannot be; its mere existence means nothing. */
export const LOCK_FILE = ".tether-lock";

/** Options of {@link lockFolder}. */
export interface FolderLockOptions {
  /** The backend kind, for messages. */
  readonly kind: string;
  readonly signal?: AbortSignal;
  /** How long to wait for another holder, in milliseconds. @default {30000} */
  readonly timeoutMs?: number;
}

/**
 * Takes the exclusive lock of a folder, which excludes this process's other holders too. Dispose to release it. Needs
 * read permission for the folder, and write permission where only a file can be locked.
 *
 * @throws {UnavailableError} if another holder keeps it for too long.
 * @throws {Deno.errors.NotFound} if the folder does not exist.
 */
export async function lockFolder(folder: string, options: FolderLockOptions): Promise<Disposable> {
  const deadline = Date.now() + (options.timeoutMs ?? 30_000);
  for (let pause = 1;; pause = Math.min(pause * 2, 40)) {
    options.signal?.throwIfAborted();
    const held = await tryLock(folder, { ms: deadline - Date.now(), signal: options.signal });
    if (held) return held;
    if (Date.now() >= deadline) {
      throw new UnavailableError(`Cannot lock "${folder}": another process keeps it locked`, {
        kind: options.kind,
        details: { path: folder },
      });
    }
    await sleep(pause * (0.5 + Math.random()), options.signal);
  }
}

async function tryLock(folder: string, patience: Patience): Promise<Disposable | undefined> {
  const file = await openLockable(folder, patience);
  if (!file) return undefined;
  try {
    // The folder may have been deleted and made anew before the lock was had: then it excludes nobody.
    const [held, named] = [await file.handle.stat(), await Deno.stat(file.path)];
    if (held.ino === named.ino && held.dev === named.dev) return { [Symbol.dispose]: () => file.handle.close() };
  } catch (error) {
    file.handle.close();
    throw error;
  }
  file.handle.close();
  return undefined;
}

async function openLockable(
  folder: string,
  patience: Patience,
): Promise<{ handle: Deno.FsFile; path: string } | undefined> {
  const handle = await Deno.open(folder, { read: true });
  try {
    if (await tryFlock(handle, patience)) return { handle, path: folder };
    handle.close();
    return undefined;
  } catch {
    // This file system locks no folders (NFS wants a writable descriptor).
    handle.close();
  }
  const path = join(folder, LOCK_FILE);
  const file = await Deno.open(path, { append: true, create: true });
  try {
    if (await tryFlock(file, patience)) return { handle: file, path };
  } catch (error) {
    file.close();
    throw error;
  }
  file.close();
  return undefined;
}
