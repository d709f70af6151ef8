/**
 * Waits that an interrupt ends, though what is waited for cannot be cancelled (L37).
 *
 * @module
 */

/**
 * Waits for something that changes nothing: for input of a person, or of a pipe that nobody writes into.
 *
 * @throws {DOMException} when the signal is aborted first; whatever comes of the wait then is of no interest.
 */
export async function unlessInterrupted<T>(wait: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const interrupted = Promise.withResolvers<never>();
  const stop = (): void => interrupted.reject(signal.reason);
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([wait(), interrupted.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
