/**
 * `flock` on an open file, by whatever the runtime has for it.
 *
 * @module
 */

import { sleep } from "./retry.ts";

/** How long a lock may be waited for where it can only be waited for. */
export interface Patience {
  /** Milliseconds. */
  readonly ms: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes the exclusive lock of an open file if nobody holds it, and tells whether it did. Deno 2.6 can only wait for a lock:
 * there this waits with patience. A caller who is told `false` closes the file, and a lock that comes later goes with it.
 *
 * @throws {Error} as the file system does that has no locks.
 */
export async function tryFlock(file: Deno.FsFile, patience: Patience): Promise<boolean> {
  if (typeof file.tryLock === "function") return await file.tryLock(true);
  const over = new AbortController();
  const signal = patience.signal ? AbortSignal.any([over.signal, patience.signal]) : over.signal;
  const locked = file.lock(true).then(() => true);
  const tooLate = sleep(Math.max(patience.ms, 1), signal).then(() => false, () => false);
  try {
    return await Promise.race([locked, tooLate]);
  } finally {
    over.abort();
    locked.catch(() => {});
  }
}
