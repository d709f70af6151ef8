/**
 * Asking many stores at once: side by side across stores, within each store as many calls as its kind allows.
 *
 * @module
 */

import type { ObjectBackend, Op } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { capabilitiesOf, storeOf, withKey } from "../kinds.ts";
import { mapSettled } from "../io/pool.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import type { ObjectManifest } from "../model/manifest.ts";
import type { CallOptions, Progress } from "../reports/report.ts";

/** The most calls in flight over all stores. */
const TOTAL = 64;

/** One object and its backend. */
export interface Bound {
  readonly object: ObjectManifest;
  readonly backend: ObjectBackend;
}

/** Outcomes by key. */
export interface Outcomes<T> {
  readonly values: ReadonlyMap<string, T>;
  readonly errors: ReadonlyMap<string, Error>;
}

/**
 * Calls `fn` for every object, with the options its backend is called with, and collects all outcomes. An object whose kind
 * is unknown or whose driver does not load fails by itself; the others go on.
 */
export async function eachObject<T>(
  ctx: Context,
  objects: readonly ObjectManifest[],
  options: CallOptions & { readonly verb: string; readonly fn: (bound: Bound, op: Op) => Promise<T> },
): Promise<Outcomes<T>> {
  const values = new Map<string, T>();
  const errors = new Map<string, Error>();
  let done = 0;
  const report = (within?: Progress["within"]): void =>
    options.onProgress?.({
      verb: options.verb,
      done,
      total: objects.length,
      ...(within === undefined ? {} : { within }),
    });
  report();
  const gates = new Map<string, Gate>();
  const outcomes = await mapSettled(objects, TOTAL, async (object) => {
    try {
      const backend = await ctx.backends.get(object.kind);
      const store = storeOf(backend, object.locator);
      let gate = gates.get(store);
      if (!gate) gates.set(store, gate = new Gate(backend.statics.concurrency));
      const op: Op = {
        ...(options.signal ? { signal: options.signal } : {}),
        ...(options.onProgress ? { onParts: (parts) => report({ ...parts, key: object.key }) } : {}),
      };
      return await gate.run(() => options.fn({ object, backend }, op));
    } finally {
      done++;
      report();
    }
  }, options.signal);
  outcomes.forEach((outcome, i) => {
    const key = objects[i]?.key ?? "";
    if (outcome.ok) values.set(key, outcome.value);
    else errors.set(key, withKey(outcome.error, key));
  });
  // An abort is not a failure of one object or another.
  options.signal?.throwIfAborted();
  return { values, errors };
}

/** As {@link eachObject}. @throws {MultiObjectError} naming every object that failed. */
export async function eachObjectOrThrow<T>(
  ctx: Context,
  objects: readonly ObjectManifest[],
  options: CallOptions & {
    readonly verb: string;
    /** What could not be done, such as `Cannot read 2 objects`. */
    readonly failure: string;
    readonly fn: (bound: Bound, op: Op) => Promise<T>;
  },
): Promise<ReadonlyMap<string, T>> {
  const { values, errors } = await eachObject(ctx, objects, options);
  if (errors.size > 0) throw new MultiObjectError(options.failure, errors);
  return values;
}

/** Returns objects with their backends, opening each kind once; failures by key. */
export function bind(ctx: Context, objects: readonly ObjectManifest[]): Promise<Outcomes<Bound>> {
  return eachObject(ctx, objects, { verb: "opening", fn: (bound) => Promise.resolve(bound) });
}

/** Tells whether an object gets a native pin at commit. */
export function wantsPin({ object, backend }: Bound): boolean {
  return capabilitiesOf(backend.statics, object).has("pin");
}

/** Lets a number of calls through at a time. */
class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(size: number) {
    this.#free = Math.max(1, size);
  }

  async run<T>(fn: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await fn();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
