/**
 * Locks that the operating system drops with the process: BSD `flock` on files that stay empty and are never deleted
 * (formats §17, L27).
 *
 * @module
 */

import { dirname } from "node:path";
import { systemReason } from "../io/system_error.ts";
import { LockError } from "../model/errors.ts";
import { type Json, type JsonObject, parseJson, writeJson } from "../model/json.ts";
import { isoSeconds } from "../model/time.ts";
import { type Patience, tryFlock } from "../io/flock.ts";
import { ancestors } from "../io/process.ts";
import { sleep } from "../io/retry.ts";
import { isReadOnly, removeIfThere, writeAtomic, writeError } from "./atomic.ts";

const POLL_MS = 50;

/** Options of {@link acquireLock}. */
export interface LockOptions {
  /** The file beside the lock that says who holds it. Written once the lock is held; its absence is fine. */
  readonly hintPath: string;
  /** What the holder does, as others will read it. */
  readonly command: string;
  /** How long to wait for another holder, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Called once when the lock is not free at once, with what is known of the holder. */
  readonly onWait?: (holder: string) => void;
}

/**
 * Takes an exclusive lock; disposing gives it up. It also excludes other tasks of this process, and is not re-entrant.
 * Needs write permission for the lock file.
 *
 * @throws {LockError} `locked` when it is still held after `timeoutMs`, naming the holder; `no-locks` when the file system
 * has none; `read-only` when the lock file cannot be written.
 */
export async function acquireLock(path: string, options: LockOptions): Promise<AsyncDisposable> {
  const deadline = performance.now() + options.timeoutMs;
  let waiting = false;
  while (true) {
    options.signal?.throwIfAborted();
    const left = deadline - performance.now();
    const patience = { ms: waiting ? left : Math.min(left, POLL_MS), signal: options.signal };
    const file = await tryAcquire(path, patience);
    if (file) {
      await writeHint(options);
      return { [Symbol.asyncDispose]: () => release(file, options.hintPath) };
    }
    if (performance.now() >= deadline) throw await heldError(path, options);
    if (!waiting) {
      waiting = true;
      await refuseOwnParent(path, options);
      options.onWait?.(describeHolder(await readHint(options.hintPath)));
    }
    await sleep(POLL_MS, options.signal);
  }
}

/** A hook of the holder would wait for what waits for the hook. */
async function refuseOwnParent(path: string, options: LockOptions): Promise<void> {
  const hint = await readHint(options.hintPath);
  const pid = hint?.["pid"];
  if (typeof pid !== "number" || hint?.["host"] !== hostName() || !ancestors().includes(pid)) return;
  throw new LockError(
    `Cannot lock "${path}": this runs in a hook of the tether that holds it: ${describeHolder(hint)}`,
    {
      code: "locked",
      hints: ["Run it once that command is over: in its hooks only commands that read work"],
      details: { lock: path, holder: hint },
    },
  );
}

/** Tells whether a lock is held right now. A lock that cannot be looked at counts as free. Needs read permission only. */
export async function isHeld(path: string): Promise<boolean> {
  try {
    using file = await Deno.open(path, { read: true });
    return !await tryFlock(file, { ms: POLL_MS });
  } catch {
    // Never locked yet, or not to be read.
    return false;
  }
}

/** Opens and locks the file; `undefined` while another holds it. A runtime that can only wait does so with patience. */
async function tryAcquire(path: string, patience: Patience): Promise<Deno.FsFile | undefined> {
  while (true) {
    const file = await openLock(path);
    let held = false;
    try {
      held = await tryLock(file, path, patience);
      if (!held) return undefined;
      // The file may have been replaced between opening and locking; then this lock excludes nobody.
      if (await stillNamed(file, path)) return file;
      held = false;
    } finally {
      if (!held) file.close();
    }
  }
}

async function openLock(path: string): Promise<Deno.FsFile> {
  try {
    await Deno.mkdir(dirname(path), { recursive: true });
    return await Deno.open(path, { append: true, create: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable || !isReadOnly(error)) throw writeError(path, error);
    throw new LockError(`Cannot lock "${path}": the file cannot be written: ${systemReason(error)}`, {
      code: "read-only",
      hints: ["Reading works here as it is: to change anything, run it as a user who may write there"],
      details: { lock: path },
      cause: error,
    });
  }
}

async function tryLock(file: Deno.FsFile, path: string, patience: Patience): Promise<boolean> {
  try {
    return await tryFlock(file, patience);
  } catch (error) {
    throw new LockError(`Cannot lock "${path}": this file system has no locks: ${systemReason(error)}`, {
      code: "no-locks",
      hints: ["Keep the checkout on a file system with flock, such as a local disk"],
      details: { lock: path },
      cause: error,
    });
  }
}

async function stillNamed(file: Deno.FsFile, path: string): Promise<boolean> {
  const mine = await file.stat();
  try {
    const named = await Deno.stat(path);
    return mine.ino === named.ino && mine.dev === named.dev;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function release(file: Deno.FsFile, hintPath: string): Promise<void> {
  try {
    // Before the lock is free: afterwards the hint may be the next holder's.
    await removeIfThere(hintPath);
  } catch {
    // A stale hint only names a holder that is gone.
  } finally {
    file.close();
  }
}

async function writeHint(options: LockOptions): Promise<void> {
  const hint = { pid: Deno.pid, host: hostName(), command: options.command, since: isoSeconds(new Date()) };
  const folder = dirname(options.hintPath);
  try {
    await Deno.mkdir(folder, { recursive: true });
    // A clone could bring the folder as a link to somewhere else.
    if (!(await Deno.lstat(folder)).isDirectory) return;
    await writeAtomic(options.hintPath, writeJson(hint) + "\n", { durable: false });
  } catch {
    // Only a courtesy to those who wait.
  }
}

/** Returns the hint, unless there is none, it is malformed, or its process is known to be gone. */
async function readHint(path: string): Promise<JsonObject | undefined> {
  try {
    const hint = parseJson(await Deno.readTextFile(path)) as JsonObject | null;
    const pid = hint?.["pid"];
    if (!hint || typeof pid !== "number") return undefined;
    return await isGone(pid, hint["host"]) ? undefined : hint;
  } catch {
    return undefined;
  }
}

/** Tells whether a process is known to be gone: only where `/proc` of the same host can be looked into. */
async function isGone(pid: number, host: Json | undefined): Promise<boolean> {
  if (host === null || host !== hostName() || pid === Deno.pid) return false;
  try {
    await Deno.stat("/proc/self");
  } catch {
    return false;
  }
  try {
    await Deno.stat(`/proc/${pid}`);
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

function describeHolder(hint: JsonObject | undefined): string {
  if (!hint) return "another tether holds it";
  // The text comes from a file: nothing in it may steer a terminal.
  const [pid, host, command, since] = ["pid", "host", "command", "since"].map((field) =>
    String(hint[field] ?? "unknown").replace(/[^ -~]/g, "?").slice(0, 200)
  );
  return `process ${pid} on host ${host} holds it, running "${command}" since ${since}`;
}

async function heldError(path: string, options: LockOptions): Promise<LockError> {
  const hint = await readHint(options.hintPath);
  const seconds = Math.round(options.timeoutMs / 1000);
  return new LockError(`Cannot lock "${path}" within ${seconds} s: ${describeHolder(hint)}`, {
    code: "locked",
    hints: ["Wait for it to finish, then run the command again"],
    details: { lock: path, holder: hint ?? null },
  });
}

function hostName(): string | null {
  try {
    return Deno.hostname();
  } catch {
    // Not permitted: then nothing is known about the processes that hints name.
    return null;
  }
}
