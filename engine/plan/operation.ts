/**
 * The one way to write: locks, then the journal entry, then the steps, then the completion mark (architecture, rule 2).
 * A command supplies the steps; it opens no journal and no lock itself.
 *
 * @module
 */

import { join } from "node:path";
import type { Context } from "../context.ts";
import { DATASET_VERSION } from "../files/config.ts";
import { sweepTemporary } from "../files/layout.ts";
import { acquireLock } from "../files/lock.ts";
import type { RunningOp } from "../files/journal.ts";
import { redact } from "../model/redact.ts";
import { CommitStateUnknownError } from "../model/backend_errors.ts";
import { ConfigError, messageOf, TetherError } from "../model/errors.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import type { JsonObject } from "../model/json.ts";
import type { Plan } from "./plan.ts";
import { settle } from "./settle.ts";

/** Which locks a command takes. */
export interface LockOptions {
  readonly command: string;
  /** Whether the lock that all checkouts share is taken too. */
  readonly repository: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Runs `fn` under the checkout lock, and the repository lock after it, with manifests and workspace read again.
 * Writing calls of one process queue before the file lock. Not re-entrant: only a command's outermost function takes locks.
 */
export function withLocks<T>(ctx: Context, options: LockOptions, fn: () => Promise<T>): Promise<T> {
  return ctx.writers.run(async () => {
    const common = { command: options.command, ...(options.signal ? { signal: options.signal } : {}) };
    await using _checkout = await acquireLock(ctx.paths.lock, {
      ...common,
      hintPath: join(ctx.paths.cache, "lock.json"),
      timeoutMs: ctx.lockTimeoutMs,
    });
    const shared = ctx.vcs.location.sharedDir;
    await using _repository = options.repository
      ? await acquireLock(join(shared, "tether.lock"), {
        ...common,
        hintPath: join(shared, "tether-lock.json"),
        timeoutMs: 2 * ctx.lockTimeoutMs,
      })
      : undefined;
    await ctx.refresh();
    await sweepTemporary(ctx.paths, ctx.env.now(), {
      leftovers: ctx.manifests.leftovers,
      ...(options.repository ? { shared } : {}),
    });
    requireFormat(ctx, options.command);
    return await fn();
  });
}

/** An older dataset that was opened all the same is changed by `upgrade` alone. */
function requireFormat(ctx: Context, command: string): void {
  const { version } = ctx.config;
  if (version === DATASET_VERSION || command === "upgrade") return;
  throw new ConfigError(
    `Cannot ${command}: the dataset was opened at version ${version}, and this tether writes ${DATASET_VERSION}`,
    { code: "version-older", hints: ["tether upgrade"] },
  );
}

/** What a finished operation leaves: its journal result, and what the caller wants of it. */
export interface Finished<T> {
  readonly result: JsonObject;
  /** Merged over the entry's `pre`. */
  readonly pre?: JsonObject;
  readonly value: T;
  /** Raised once the journal has the result: the operation took effect, and yet something failed. */
  readonly error?: Error;
  /**
   * What failed of steps that stand by themselves: then no older entry is finished by this one. One whose outcome is not known
   * leaves this one open too (L08).
   */
  readonly failures?: Iterable<unknown>;
}

/** One operation to run. */
export interface OperationSpec {
  readonly command: string;
  readonly plan?: Plan;
  /** What must be known to take the operation back. */
  readonly pre: JsonObject;
  readonly parent?: string;
  /** The operation that this one takes back. */
  readonly undoes?: string;
}

/**
 * Journals an operation and runs its steps. The entry is durable before the first step. When the steps fail, `compensate`
 * takes back what it safely can and says what the journal records besides the failure; an outcome that is not known leaves the entry open, so
 * that nothing it may have written is ever released (L08).
 */
export async function operate<T>(
  ctx: Context,
  spec: OperationSpec,
  steps: {
    run(op: RunningOp): Promise<Finished<T>>;
    compensate?(error: unknown): Promise<JsonObject>;
  },
): Promise<T> {
  const op = await ctx.journal.start({
    command: spec.command,
    pre: spec.pre,
    ...(spec.plan ? { plan: spec.plan.toJSON() } : {}),
    ...(spec.parent === undefined ? {} : { parent: spec.parent }),
    ...(spec.undoes === undefined ? {} : { undoes: spec.undoes }),
  });
  let finished: Finished<T>;
  try {
    await ctx.env.boundary?.("journal");
    finished = await steps.run(op);
  } catch (error) {
    if (outcomeUnknown(error)) throw error;
    throw await closeFailed(op, error, steps.compensate);
  }
  await ctx.env.boundary?.("done");
  const failures = [...finished.failures ?? []];
  if (![finished.error, ...failures].some(outcomeUnknown)) await op.done(finished.result, finished.pre);
  if (finished.error) throw finished.error;
  // What failed here may be what the older entry left undone.
  if (failures.length === 0) await settle(ctx, { ...spec, id: op.id });
  return finished.value;
}

/**
 * Takes back what can be, completes the entry of an operation that failed, and returns what to raise. Where even that fails,
 * the entry stays open: what it names counts as referenced until the command is run again.
 */
async function closeFailed(
  op: RunningOp,
  error: unknown,
  compensate: ((error: unknown) => Promise<JsonObject>) | undefined,
): Promise<unknown> {
  let result: JsonObject;
  try {
    result = await compensate?.(error) ?? {};
  } catch (undoing) {
    // An interrupt stays one; it has no words of its own.
    if (!(error instanceof TetherError)) return error;
    return new TetherError(`${error.message}; and taking back what was done failed: ${messageOf(undoing)}`, {
      code: "half-done",
      hints: [...error.hints, "tether status"],
      details: error.details,
      cause: error,
    });
  }
  try {
    // Exact texts and refs are journaled as they are; what a program said may hold a secret (L39).
    await op.done({ ...result, failed: redact(messageOf(error)) });
  } catch {
    // Everything is as it was; only the journal cannot say so yet. The user hears of what failed first.
  }
  return error;
}

/** Tells whether a failure leaves open what was written. */
export function outcomeUnknown(error: unknown): boolean {
  if (error instanceof MultiObjectError) return [...error.errors.values()].some(outcomeUnknown);
  return error instanceof CommitStateUnknownError;
}
