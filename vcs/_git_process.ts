/**
 * How git is run on the dataset's own repository: options, environment and failures (formats §15.1, L16, L38, L40).
 *
 * @module
 */

import { type ChildEnv, run, type RunResult, spawn } from "../engine/io/process.ts";
import { shellQuote } from "../engine/io/shell.ts";
import { VcsError } from "../engine/model/errors.ts";
import { checkVersion, isLocalVariable, type Program, startFailure } from "./_program.ts";

const ENVIRONMENT: ChildEnv = {
  type: "inherit",
  without: isLocalVariable,
  extra: { GIT_TERMINAL_PROMPT: "0" },
};

const PREFIX = [
  "color.ui=never",
  "log.showSignature=false",
  "core.quotePath=false",
  "status.showUntrackedFiles=all",
  "core.fsmonitor=",
  "safe.bareRepository=explicit",
  "protocol.ext.allow=never",
].flatMap((setting) => ["-c", setting]);

const NO_HOOKS = ["-c", "core.hooksPath=/dev/null"];

/** Options of {@link Git.run}. */
export interface GitRunOptions {
  /** What the call is for, as it continues "Cannot ": `list the worktrees`. */
  readonly doing: string;
  /** Exit codes that are answers. @default {[0]} */
  readonly codes?: readonly number[];
  readonly stdin?: string | Uint8Array;
  /** Another checkout to run in. @default {the adapter's checkout} */
  readonly cwd?: string;
  /** Whether the user's hooks run: for the dataset's commit alone (formats §15.6). @default {false} */
  readonly hooks?: boolean;
  /** Whether the call writes, so that an abort does not stop it half-way. @default {false} */
  readonly writes?: boolean;
}

/** Options of {@link Git}. */
export interface GitOptions {
  /** Stops reads. */
  readonly signal?: AbortSignal;
  /** The git folder, where git must not look for it, as in a jj repository. @default {the one of the checkout} */
  readonly gitDir?: string;
}

/** One git program at one checkout. */
export class Git implements Program {
  readonly kind = "git";
  readonly program: string;
  readonly root: string;
  readonly #options: GitOptions;

  constructor(program: string, root: string, options: GitOptions = {}) {
    this.program = program;
    this.root = root;
    this.#options = options;
  }

  /** Returns the same program at another checkout. */
  at(root: string): Git {
    return new Git(this.program, root, this.#options);
  }

  /**
   * Runs git to its end.
   *
   * @throws {VcsError} if it cannot be started, or ends with a code that is no answer.
   */
  async run(args: readonly string[], options: GitRunOptions): Promise<RunResult> {
    const full = [...this.#prefix(), ...(options.hooks ? [] : NO_HOOKS), ...args];
    const signal = options.writes ? undefined : this.#options.signal;
    let result: RunResult;
    try {
      result = await run(this.program, full, {
        cwd: options.cwd ?? this.root,
        env: ENVIRONMENT,
        ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      throw startFailure(error, this);
    }
    signal?.throwIfAborted();
    if ((options.codes ?? [0]).includes(result.code)) return result;
    throw gitFailure(options.doing, result.stderr, result.code);
  }

  /** Checks that git is new enough. @throws {VcsError} if it is not. */
  checkVersion(cacheDir: string | undefined): Promise<void> {
    const ask = async (): Promise<string> =>
      (await this.run(["--version"], { doing: "ask git for its version" })).text();
    return checkVersion(this, { cacheDir, ask });
  }

  /** Starts a child that answers many questions. @throws {VcsError} if it cannot be started. */
  spawn(args: readonly string[]): Deno.ChildProcess {
    try {
      return spawn(this.program, [...this.#prefix(), ...NO_HOOKS, ...args], { cwd: this.root, env: ENVIRONMENT });
    } catch (error) {
      throw startFailure(error, this);
    }
  }

  #prefix(): readonly string[] {
    const { gitDir } = this.#options;
    return gitDir === undefined ? PREFIX : [...PREFIX, `--git-dir=${gitDir}`, `--work-tree=${this.root}`];
  }
}

/** The code of an error of which git said nothing: it always gives a reason itself, so a hook it ran did not. */
export const SILENT = "silent";

/** Returns the error of a git that ended badly. */
export function gitFailure(doing: string, stderr: string, code: number): VcsError {
  const foreign = /detected dubious ownership in repository at '(.*)'/.exec(stderr)?.[1];
  if (foreign !== undefined) {
    return new VcsError(`Cannot ${doing}: "${foreign}" belongs to another user`, {
      code: "not-owner",
      hints: [`git config --global --add safe.directory ${shellQuote(foreign)}`],
      details: { exit_code: code },
    });
  }
  const inTheWay = editsInTheWay(stderr);
  if (inTheWay.length > 0) {
    const files = inTheWay.map((path) => `"${path}"`).join(", ");
    return new VcsError(`Cannot ${doing}: changes without a commit would be overwritten: ${files}`, {
      code: "dirty",
      hints: ["tether commit -m MESSAGE", "git stash --include-untracked"],
      details: { exit_code: code, paths: inTheWay },
    });
  }
  const details = { exit_code: code };
  if (stderr === "") return new VcsError(`Cannot ${doing}: git ended with code ${code}`, { code: SILENT, details });
  const hints = WAYS_OUT.filter(([pattern]) => pattern.test(stderr)).flatMap(([, ways]) => ways);
  return new VcsError(`Cannot ${doing}: ${stderr.replace(/^(fatal|error): /, "")}`, { hints, details });
}

/** Returns the files that git lists, one a line, when going elsewhere would overwrite what nobody committed. */
function editsInTheWay(stderr: string): string[] {
  if (!/would be overwritten by (checkout|merge)/.test(stderr)) return [];
  return [...stderr.matchAll(/^\t(.+)$/gm)].map(([, path = ""]) => path);
}

/** What helps where git's own words do not say it. */
const WAYS_OUT: readonly (readonly [RegExp, readonly string[]])[] = [
  [/not a git repository/, [
    "git status",
    "git worktree repair in the main checkout, if this one is linked and was moved",
  ]],
  [/corrupt|missing (blob|tree|commit)|bad (object|tree)|unable to read/i, ["git fsck --full"]],
];
