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
  return { ...Object.fromEntries(kept), ...env.extra };
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
  const [output] = await Promise.all([child.output(), feeding]);
  const stdout = output.stdout as Uint8Array<ArrayBuffer>;
  return {
    code: output.code,
    stdout,
    stderr: redact(new TextDecoder().decode(output.stderr)).trim(),
    text: () => new TextDecoder().decode(stdout),
  };
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
