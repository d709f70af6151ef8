/**
 * The one place that starts child processes: argument arrays, no prompt, a chosen environment (L16, L38, L41).
 *
 * @module
 */

import { redact } from "../model/redact.ts";

/** Which environment a child gets. */
export type ChildEnv =
  /** Only what is listed; for backends' children. `LC_ALL=C` is added. */
  | { readonly type: "only"; readonly env: Readonly<Record<string, string>> }
  /** The user's environment less some names; for the dataset's own git and jj, whose hooks run under it. */
  | {
    readonly type: "inherit";
    readonly without: (name: string) => boolean;
    readonly extra?: Readonly<Record<string, string>>;
  };

/** Options of {@link run}. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env: ChildEnv;
  /** Text or bytes for standard input; nothing by default. Standard input of this process is never passed on. */
  readonly stdin?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** A finished child. */
export interface RunResult {
  readonly code: number;
  readonly stdout: Uint8Array<ArrayBuffer>;
  /** Standard error, redacted and trimmed. */
  readonly stderr: string;
  /** Standard output as UTF-8. */
  text(): string;
}

/** Called with each program and its arguments right before it starts; tests count child processes with it. */
export type SpawnObserver = (program: string, args: readonly string[]) => void;

const observers = new Set<SpawnObserver>();

/** Calls `observer` for every child from now on; the returned function ends that. */
export function observeSpawns(observer: SpawnObserver): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}

/** Returns the variables a child gets, with the loader's variables removed: a scoped run grant forbids them. */
export function childEnvironment(env: ChildEnv): Record<string, string> {
  if (env.type === "only") return { ...env.env, LC_ALL: "C" };
  const all = Object.entries(Deno.env.toObject());
  const kept = all.filter(([name]) => !/^(LD_|DYLD_)/.test(name) && !env.without(name));
  return { ...Object.fromEntries(kept), ...env.extra, [ANCESTORS]: [...ancestors(), Deno.pid].join(",") };
}

/** Names the tether processes that a hook runs under, so that a tether in it does not wait for their locks (L27). */
const ANCESTORS = "TETHER_ANCESTORS";

/** Returns the ids of the tether processes that this one was started under. */
export function ancestors(): number[] {
  if (Deno.permissions.querySync({ name: "env", variable: ANCESTORS }).state !== "granted") return [];
  return (Deno.env.get(ANCESTORS) ?? "").split(",").filter((id) => /^\d+$/.test(id)).map(Number);
}

/** Starts a child that stays alive, such as `git cat-file --batch`. The caller ends it. */
export function spawn(
  program: string,
  args: readonly string[],
  options: Omit<RunOptions, "stdin">,
): Deno.ChildProcess {
  for (const observer of observers) observer(program, args);
  return new Deno.Command(program, {
    args: [...args],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: childEnvironment(options.env),
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  }).spawn();
}

/**
 * Runs a child to its end and returns its exit code and output.
 *
 * @throws {Deno.errors.NotFound} if the program does not exist.
 * @throws {Deno.errors.NotCapable} if starting it was not granted.
 */
export async function run(program: string, args: readonly string[], options: RunOptions): Promise<RunResult> {
  for (const observer of observers) observer(program, args);
  const child = new Deno.Command(program, {
    args: [...args],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: childEnvironment(options.env),
    clearEnv: true,
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  }).spawn();
  const feeding = options.stdin === undefined ? Promise.resolve() : feed(child, options.stdin);
  underWay.add(child);
  const [output] = await Promise.all([child.output(), feeding]).finally(() => underWay.delete(child));
  const stdout = output.stdout as Uint8Array<ArrayBuffer>;
  return {
    code: output.code,
    stdout,
    stderr: redact(new TextDecoder().decode(output.stderr)).trim(),
    text: () => new TextDecoder().decode(stdout),
  };
}

const underWay = new Set<Deno.ChildProcess>();

/**
 * Ends every child that {@link run} waits for, and what those started, such as hooks: first asking, so that git removes its
 * lock files, and after a second by force. Returns how many children there were. Best effort where the list of processes cannot
 * be read, or signalling others was not granted.
 */
export async function endChildren(): Promise<number> {
  const children = [...underWay];
  const started = await descendants(children.map((child) => child.pid));
  const signal = (name: Deno.Signal): void => {
    for (const child of children) attempt(() => child.kill(name));
    for (const pid of started) attempt(() => Deno.kill(pid, name));
  };
  signal("SIGTERM");
  const ended = Promise.allSettled(children.map((child) => child.status));
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1000))]);
  signal("SIGKILL");
  return children.length;
}

function attempt(send: () => void): void {
  try {
    send();
  } catch {
    // It ended by itself, or signalling was not granted.
  }
}

/** Returns the processes that some processes started, and so on down; none where the system does not list them in `/proc`. */
async function descendants(of: readonly number[]): Promise<number[]> {
  const parents = new Map<number, number>();
  try {
    for await (const { name } of Deno.readDir("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const stat = await Deno.readTextFile(`/proc/${name}/stat`).catch(() => "");
      // The name of a program may hold anything, parentheses too; what follows the last one is numbers.
      const parent = stat.slice(stat.lastIndexOf(")") + 1).trim().split(" ")[1];
      if (parent !== undefined) parents.set(Number(name), Number(parent));
    }
  } catch {
    return [];
  }
  const found: number[] = [];
  for (let level = of; level.length > 0;) {
    level = [...parents].filter(([, parent]) => level.includes(parent)).map(([pid]) => pid);
    found.push(...level);
  }
  return found;
}

async function feed(child: Deno.ChildProcess, input: string | Uint8Array): Promise<void> {
  const writer = child.stdin.getWriter();
  try {
    await writer.write(typeof input === "string" ? new TextEncoder().encode(input) : input);
    await writer.close();
  } catch {
    // The child ended without reading all of it; its exit code tells the story.
  }
}
