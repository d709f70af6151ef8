/**
 * The command line as a process: its streams, its environment, the signals that interrupt it, and what native code prints.
 *
 * @module
 */

import { readVariable } from "../engine/env.ts";
import { endChildren } from "../engine/io/process.ts";
import { EXIT, type World } from "./context.ts";
import { runCli } from "./program.ts";
import { unlessInterrupted } from "./interrupt.ts";
import { type Stream, streamOf } from "./stream.ts";
import { errorLines } from "./errors.ts";

/** Runs a command line in this process and returns the exit code. */
export async function runProcess(args: readonly string[], stdout: Stream): Promise<number> {
  const stderr = streamOf(Deno.stderr, { deaf: true });
  divertConsole();
  endQuietly(stderr);
  const interrupts = watchInterrupts(stderr);
  const world: World = {
    stdout,
    stderr,
    env: grantedVariable,
    readLine: () => unlessInterrupted(readLine, interrupts.signal),
    chdir: (path) => Deno.chdir(path),
    signal: interrupts.signal,
  };
  try {
    return await runCli(args, world);
  } finally {
    interrupts.stop();
  }
}

/** Reads a variable without the question that the runtime would ask on a terminal. */
function grantedVariable(name: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? readVariable(name) : undefined;
}

/** Standard output is ours alone (Δ8): what libraries log goes to standard error. */
function divertConsole(): void {
  const { error } = globalThis.console;
  Object.assign(globalThis.console, {
    log: error,
    info: error,
    debug: error,
    dir: error,
    dirxml: error,
    table: error,
    count: error,
    group: error,
    groupCollapsed: error,
    timeLog: error,
    timeEnd: error,
  });
}

/** A failure that nobody waits for is one line too, not a dump of the stack. */
function endQuietly(stderr: Stream): void {
  const report = (event: Event, reason: unknown) => {
    event.preventDefault();
    const debug = grantedVariable("TETHER_DEBUG") === "1";
    for (const line of errorLines(reason, { debug })) stderr.write(line.text + "\n");
    Deno.exit(EXIT.failed);
  };
  globalThis.addEventListener("unhandledrejection", (event) => report(event, event.reason));
  globalThis.addEventListener("error", (event) => report(event, event.error));
}

/** How long a command may take to put things in order once its children were ended, in milliseconds. */
const GRACE_MS = 5000;

/**
 * The first interrupt aborts the signal: no new work starts, the write in flight ends and is journaled. The second one ends
 * what was started, such as git and its hooks, so that nothing lands later, and then the process: after a moment in which it
 * can take back what git did not do, or at once where there was nothing to end. A third does not wait. The journal survives
 * all of it (L37).
 */
function watchInterrupts(stderr: Stream): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const signals: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  const stop = (): never => {
    stderr.write("error: Stopped at once: what was under way may be half done\nhint: tether status\n");
    Deno.exit(EXIT.interrupted);
  };
  let interrupts = 0;
  const listener = async () => {
    interrupts++;
    if (interrupts > 2) stop();
    if (interrupts === 2) {
      if (await endChildren() === 0) stop();
      setTimeout(stop, GRACE_MS);
      return;
    }
    if (stderr.terminal) stderr.write("\r\x1b[Kinterrupted: ending what is under way; once more to stop at once\n");
    controller.abort(new DOMException("Interrupted", "AbortError"));
  };
  for (const signal of signals) Deno.addSignalListener(signal, listener);
  return {
    signal: controller.signal,
    stop: () => signals.forEach((signal) => Deno.removeSignalListener(signal, listener)),
  };
}

/** Reads standard input up to the end of a line, or of the input. */
async function readLine(): Promise<string | undefined> {
  const bytes: number[] = [];
  const one = new Uint8Array(1);
  while (await Deno.stdin.read(one) !== null) {
    if (one[0] === 0x0a) return new TextDecoder().decode(new Uint8Array(bytes));
    bytes.push(one[0] ?? 0);
  }
  return bytes.length === 0 ? undefined : new TextDecoder().decode(new Uint8Array(bytes));
}
