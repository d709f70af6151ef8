/**
 * The outside world of a command line, in memory: what was printed, and nothing read from the environment.
 *
 * @module
 */

import { Context, type World } from "./context.ts";
import { runCli } from "./program.ts";
import type { Stream } from "./stream.ts";
import { Ui } from "./ui.ts";

/** A stream that keeps what it is given. */
export class MemoryStream implements Stream {
  readonly terminal: boolean;
  readonly columns: number | undefined;
  text = "";

  constructor(terminal = false) {
    this.terminal = terminal;
    this.columns = terminal ? 80 : undefined;
  }

  write(text: string): void {
    this.text += text;
  }
}

/** A world in memory. */
export interface TestWorld extends World {
  readonly stdout: MemoryStream;
  readonly stderr: MemoryStream;
  /** Folders that `-C` entered. */
  readonly entered: readonly string[];
}

/** Makes a world. */
export function testWorld(options: {
  readonly env?: Readonly<Record<string, string>>;
  /** Lines of standard input. */
  readonly input?: readonly string[];
  readonly terminal?: boolean;
} = {}): TestWorld {
  const entered: string[] = [];
  const input = [...options.input ?? []];
  return {
    stdout: new MemoryStream(options.terminal),
    stderr: new MemoryStream(options.terminal),
    env: (name) => options.env?.[name],
    readLine: () => Promise.resolve(input.shift()),
    chdir: (path) => {
      if (path.startsWith("/missing")) throw new Deno.errors.NotFound(path);
      entered.push(path);
    },
    signal: new AbortController().signal,
    entered,
  };
}

/** Makes a context in a world. */
export function testContext(world: World = testWorld()): Context {
  return new Context(world, new Ui(world));
}

/** What a run printed, and how it ended. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in a world. */
export async function runIn(world: TestWorld, args: readonly string[]): Promise<Outcome> {
  const code = await runCli(args, world);
  return { code, stdout: world.stdout.text, stderr: world.stderr.text };
}
