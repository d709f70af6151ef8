/**
 * How git is run on the dataset's own repository: options, environment and failures (formats §15.1, L16, L38, L40).
 *
 * @module
 */

import { type ChildEnv, run, type RunResult, spawn } from "../engine/io/process.ts";
import { shellQuote } from "../engine/io/shell.ts";
import { VcsError } from "../engine/model/errors.ts";

/** Variables that name a repository, an index or an object store: what git calls its local variables (L16). */
const LOCAL_VARIABLES: ReadonlySet<string> = new Set([
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_COMMON_DIR",
  "GIT_CONFIG",
  "GIT_CONFIG_COUNT",
  "GIT_CONFIG_PARAMETERS",
  "GIT_DIR",
  "GIT_GRAFT_FILE",
  "GIT_IMPLICIT_WORK_TREE",
  "GIT_INDEX_FILE",
  // Of git before 2.40.
  "GIT_INTERNAL_SUPER_PREFIX",
  "GIT_NO_REPLACE_OBJECTS",
  "GIT_OBJECT_DIRECTORY",
  "GIT_PREFIX",
  "GIT_REPLACE_REF_BASE",
  "GIT_SHALLOW_FILE",
  "GIT_WORK_TREE",
]);

const ENVIRONMENT: ChildEnv = {
  type: "inherit",
  without: (name) => LOCAL_VARIABLES.has(name) || /^GIT_CONFIG_(KEY|VALUE)_/.test(name),
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

/** One git program at one checkout. */
export class Git {
  /** The program, by path or by name. */
  readonly program: string;
  /** Root of the checkout. */
  readonly root: string;
  readonly #signal: AbortSignal | undefined;

  constructor(program: string, root: string, signal?: AbortSignal) {
    this.program = program;
    this.root = root;
    this.#signal = signal;
  }

  /** Returns the same program at another checkout. */
  at(root: string): Git {
    return new Git(this.program, root, this.#signal);
  }

  /**
   * Runs git to its end.
   *
   * @throws {VcsError} if it cannot be started, or ends with a code that is no answer.
   */
  async run(args: readonly string[], options: GitRunOptions): Promise<RunResult> {
    const full = [...PREFIX, ...(options.hooks ? [] : NO_HOOKS), ...args];
    const signal = options.writes ? undefined : this.#signal;
    let result: RunResult;
    try {
      result = await run(this.program, full, {
        cwd: options.cwd ?? this.root,
        env: ENVIRONMENT,
        ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      throw startFailure(error, this.program);
    }
    signal?.throwIfAborted();
    if ((options.codes ?? [0]).includes(result.code)) return result;
    throw gitFailure(options.doing, result.stderr, result.code);
  }

  /** Starts a child that answers many questions. @throws {VcsError} if it cannot be started. */
  spawn(args: readonly string[]): Deno.ChildProcess {
    try {
      return spawn(this.program, [...PREFIX, ...NO_HOOKS, ...args], { cwd: this.root, env: ENVIRONMENT });
    } catch (error) {
      throw startFailure(error, this.program);
    }
  }
}

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
  const detail = stderr.replace(/^(fatal|error): /, "") || `git ended with code ${code}`;
  const hints = WAYS_OUT.filter(([pattern]) => pattern.test(stderr)).flatMap(([, ways]) => ways);
  return new VcsError(`Cannot ${doing}: ${detail}`, { hints, details: { exit_code: code } });
}

/** What helps where git's own words do not say it. */
const WAYS_OUT: readonly (readonly [RegExp, readonly string[]])[] = [
  [/not a git repository/, [
    "git status",
    "git worktree repair in the main checkout, if this one is linked and was moved",
  ]],
  [/corrupt|missing (blob|tree|commit)|bad (object|tree)|unable to read/i, ["git fsck --full"]],
];

/** Returns the error of a git that never ran. */
export function startFailure(error: unknown, program: string): unknown {
  if (error instanceof Deno.errors.NotFound) {
    return new VcsError(`Cannot run "${program}": there is no such program`, {
      code: "vcs-program",
      hints: ["Install git 2.38 or newer", "Name it with TETHER_GIT or git_path under [vcs] in .tether/secrets.toml"],
      cause: error,
    });
  }
  if (error instanceof Deno.errors.NotCapable) {
    return new VcsError(`Cannot run "${program}": starting it was not granted`, {
      code: "vcs-program",
      hints: [`--allow-run=${program}`],
      details: { flags: [`--allow-run=${program}`] },
      cause: error,
    });
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    return new VcsError(`Cannot run "${program}": it is not executable`, { code: "vcs-program", cause: error });
  }
  return error;
}
