/**
 * Retries with full jitter, for calls that may be repeated safely (backends §1.9).
 *
 * @module
 */

/** Options of {@link retry}. */
export interface RetryOptions {
  /** Whether an error may go away by itself. */
  readonly isRetriable: (error: unknown) => boolean;
  /** Calls in all. @default {8} */
  readonly attempts?: number;
  /** First delay in milliseconds; doubles each time. @default {500} */
  readonly baseMs?: number;
  /** Longest delay in milliseconds. @default {30000} */
  readonly capMs?: number;
  /** Milliseconds the store asked to wait, capped at one minute; replaces the computed delay. */
  readonly retryAfterMs?: (error: unknown) => number | undefined;
  readonly signal?: AbortSignal;
  /** Returns a number in [0, 1). @default {Math.random} */
  readonly random?: () => number;
}

/** Calls `fn` until it succeeds, fails for good, or runs out of attempts. Only for calls that are idempotent. */
export async function retry<T>(fn: () => Promise<T>, options: RetryOptions): Promise<T> {
  const attempts = options.attempts ?? 8;
  for (let attempt = 1;; attempt++) {
    options.signal?.throwIfAborted();
    try {
      return await fn();
    } catch (error) {
      if (attempt >= attempts || !options.isRetriable(error)) throw error;
      const backoff = Math.min(options.capMs ?? 30_000, (options.baseMs ?? 500) * 2 ** (attempt - 1));
      const asked = options.retryAfterMs?.(error);
      const wait = asked === undefined ? backoff * (options.random ?? Math.random)() : Math.min(asked, 60_000);
      await sleep(wait, options.signal);
    }
  }
}

/** Waits some milliseconds; rejects with the signal's reason when aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    function stop(): void {
      clearTimeout(timer);
      reject(signal?.reason);
    }
    signal?.addEventListener("abort", stop, { once: true });
  });
}
