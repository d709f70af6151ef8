/**
 * Runs the program as a user does, in a throw-away repository.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { type TempRepo, tempRepo } from "../helpers/repo.ts";

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));

/** How to run it. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input; nothing by default. */
  readonly input?: string;
  /** Permission flags of the runtime. @default {["-A"]} */
  readonly flags?: readonly string[];
  /** A program, with its arguments, that starts the runtime in its own place: see `tests/helpers/powers.ts`. */
  readonly through?: readonly string[];
  /** Whether the variables of `env` are all there are. @default {false} */
  readonly clearEnv?: boolean;
}

/** What a run printed, and how it ended. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program in a repository of its own, with a git repository `code` and a folder `plate` beside it as objects. */
export interface Lab extends AsyncDisposable {
  readonly repo: TempRepo;
  /** Runs the program in the repository. */
  tether(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** Runs it and expects exit code 0; returns standard output. */
  ok(args: readonly string[], options?: RunOptions): Promise<string>;
  /** Runs it with `--json` and expects one document and nothing else on standard output. */
  json(args: readonly string[], options?: RunOptions): Promise<unknown>;
  /** Absolute path of something beside the repository. */
  beside(name: string): string;
  /** Commits something new in the git repository `code`. */
  advance(message: string): Promise<string>;
}

/** Starts the program. */
export function spawnTether(
  args: readonly string[],
  options: RunOptions & { readonly cwd: string },
): Deno.ChildProcess {
  const [program = Deno.execPath(), ...rest] = [...options.through ?? [], Deno.execPath()];
  return new Deno.Command(program, {
    args: [...rest, "run", "--quiet", "--no-prompt", ...options.flags ?? ["-A"], MAIN, ...args],
    cwd: options.cwd,
    env: { ...options.env },
    clearEnv: options.clearEnv ?? false,
    stdin: options.input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Runs the program to its end. */
export async function runTether(args: readonly string[], options: RunOptions & { readonly cwd: string }): Promise<Ran> {
  const child = spawnTether(args, options);
  if (options.input !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(options.input));
    await writer.close();
  }
  const { code, stdout, stderr } = await child.output();
  return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
}

/** Makes a lab. With `init`, the repository is a dataset already. */
export async function lab(options: { readonly init?: boolean } = {}): Promise<Lab> {
  const repo = await tempRepo();
  const made: Lab = {
    repo,
    tether: (args, o = {}) => runTether(args, { cwd: repo.path, ...o }),
    async ok(args, o) {
      const ran = await made.tether(args, o);
      if (ran.code !== 0) {
        throw new Error(`tether ${args.join(" ")} ended with ${ran.code}: ${ran.stderr}${ran.stdout}`);
      }
      return ran.stdout;
    },
    json: async (args, o) => JSON.parse(await made.ok([...args, "--json"], o)),
    beside: (name) => `${repo.outer}/${name}`,
    async advance(message) {
      const code = made.beside("code");
      await repo.git(["commit", "--quiet", "--allow-empty", "-m", message], { cwd: code });
      return await repo.git(["rev-parse", "HEAD"], { cwd: code });
    },
    [Symbol.asyncDispose]: () => repo[Symbol.asyncDispose](),
  };
  await repo.git(["init", "--quiet", "--initial-branch=main", made.beside("code")], { cwd: repo.outer });
  await made.advance("first");
  await Deno.mkdir(made.beside("plate"));
  await Deno.writeTextFile(made.beside("plate/a.txt"), "hi\n");
  if (options.init) await made.ok(["init", "--dataset-id", "0a1b2c3d"]);
  return made;
}
