/**
 * Bounded fan-out.
 *
 * @module
 */

/** One outcome of {@link mapSettled}. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error };

/**
 * Calls `fn` for every item, at most `limit` at a time, and returns every outcome in input order. Once the signal is
 * aborted no further call starts; the calls not made have the signal's reason as their error.
 */
export async function mapSettled<I, O>(
  items: readonly I[],
  limit: number,
  fn: (item: I, index: number) => Promise<O>,
  signal?: AbortSignal,
): Promise<Outcome<O>[]> {
  const outcomes: Outcome<O>[] = new Array(items.length);
  let next = 0;
  async function worker(): Promise<void> {
    while (next < items.length) {
      const index = next++;
      try {
        signal?.throwIfAborted();
        outcomes[index] = { ok: true, value: await fn(items[index] as I, index) };
      } catch (error) {
        outcomes[index] = { ok: false, error: error instanceof Error ? error : new Error(String(error)) };
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return outcomes;
}

/** As {@link mapSettled}, but rejects with the first failure once all started calls have settled. */
export async function mapLimit<I, O>(
  items: readonly I[],
  limit: number,
  fn: (item: I, index: number) => Promise<O>,
  signal?: AbortSignal,
): Promise<O[]> {
  const outcomes = await mapSettled(items, limit, fn, signal);
  return outcomes.map((o) => {
    if (!o.ok) throw o.error;
    return o.value;
  });
}

/** Runs calls one after another: each starts when the one before has settled. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();

  /** Runs `fn` alone. */
  run<T>(fn: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(fn, fn);
    this.#tail = result.catch(() => {});
    return result;
  }
}
