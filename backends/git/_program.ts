/**
 * Runs git on a repository that is not trusted: its hooks, monitors, filters and transports start no program (L40).
 *
 * @module
 */

import type { BackendSettings, Op } from "../backend.ts";
import {
  BackendError,
  type BackendErrorOptions,
  CredentialsError,
  PermissionDeniedError,
  SandboxError,
  StateGoneError,
  StoreNotFoundError,
  UnavailableError,
} from "../../engine/model/backend_errors.ts";
import { ConfigError } from "../../engine/model/errors.ts";
import { run, type RunOptions, type RunResult } from "../../engine/io/process.ts";
import { sleep } from "../../engine/io/retry.ts";
import { shellQuote } from "../../engine/io/shell.ts";
import { dirname } from "node:path";
import { KIND, type Repo } from "./_repo.ts";
import { GIT_VARIABLES } from "./statics.ts";

/** One setting that a call overrides. */
export type Setting = readonly [name: string, value: string];

/** Options of {@link Git.call}. */
export interface CallOptions extends Op {
  /** What the call is for, as in "Cannot read". */
  readonly action: string;
  /** Exit codes that are an answer. @default {[0]} */
  readonly answers?: readonly number[];
  readonly stdin?: string;
  /** Settings that win over the repository's. */
  readonly settings?: readonly Setting[];
  /** Whether the checkout is read or written; its place is the locator's, whatever the repository says. */
  readonly checkout?: boolean;
  /** Whether a remote may be contacted. Otherwise not even a missing object of a partial clone is fetched. */
  readonly transport?: boolean;
}

/** What every call gets; whoever wrote the repository's configuration cannot undo it. */
const SAFE: readonly string[] = [
  "core.fsmonitor=",
  "core.hooksPath=/dev/null",
  "core.pager=cat",
  "safe.bareRepository=explicit",
  "protocol.ext.allow=never",
  "gc.auto=0",
  "maintenance.auto=false",
  "commit.gpgSign=false",
  "push.gpgSign=false",
  "rerere.enabled=false",
  "submodule.recurse=false",
].flatMap((setting) => ["-c", setting]);

const PROTOCOLS = "file:git:http:https:ssh";
/** Git with `safe.bareRepository` and `merge-tree --write-tree`. */
const MINIMUM = [2, 38] as const;
const LOCK_TRIES = 4;
const LOCK_WAIT_MS = 250;

/** git, and jj where a repository has both. */
export class Git {
  readonly #git: string;
  readonly #jj: string;
  readonly #env: Readonly<Record<string, string>>;
  #checked: Promise<void> | undefined;

  constructor(settings: BackendSettings) {
    this.#git = settings.programs?.git ?? "git";
    this.#jj = settings.programs?.jj ?? "jj";
    this.#env = settings.env ?? declaredVariables();
  }

  /**
   * Runs git in a repository and returns its answer.
   *
   * @throws {BackendError} for an exit code that is no answer, by what git says.
   * @throws {ConfigError} if git is missing or too old.
   */
  async call(repo: Repo, args: readonly string[], options: CallOptions): Promise<RunResult> {
    options.signal?.throwIfAborted();
    this.#checked ??= this.#checkVersion();
    await this.#checked;
    for (let attempt = 1;; attempt++) {
      const result = await this.#start(this.#git, [...prefix(repo, options), ...args], {
        env: { type: "only", env: this.#environment(repo, options) },
        ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
        ...(options.signal ? { signal: options.signal } : {}),
      });
      options.signal?.throwIfAborted();
      if ((options.answers ?? [0]).includes(result.code)) return result;
      if (!isLocked(result.stderr) || attempt === LOCK_TRIES) throw failure(repo, result, options);
      await sleep(LOCK_WAIT_MS, options.signal);
    }
  }

  /** Returns the change id jj gives a commit; `undefined` when jj does not answer. */
  async changeId(repo: Repo, sha: string, op: Op): Promise<string | undefined> {
    const flags = ["--ignore-working-copy", "--no-pager", "--color=never", "--repository", repo.root];
    try {
      const result = await this.#start(
        this.#jj,
        [...flags, "log", "--no-graph", "--revisions", `commit_id("${sha}")`, "--template", "self.change_id()"],
        { env: { type: "only", env: this.#env }, ...(op.signal ? { signal: op.signal } : {}) },
      );
      const id = result.text().trim();
      return result.code === 0 && /^[a-z]+$/.test(id) ? id : undefined;
    } catch (error) {
      // The id is for people to read; a commit is named without it.
      if (op.signal?.aborted) throw error;
      return undefined;
    }
  }

  async #checkVersion(): Promise<void> {
    const result = await this.#start(this.#git, ["--version"], { env: { type: "only", env: this.#env } });
    const banner = result.text().trim();
    const match = /(\d+)\.(\d+)/.exec(banner);
    if (!match) return;
    const [major, minor] = [Number(match[1]), Number(match[2])];
    if (major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])) return;
    throw new ConfigError(
      `Cannot use "${this.#git}": it is "${banner}", tether needs git ${MINIMUM.join(".")} or later`,
      {
        code: "git-version",
      },
    );
  }

  async #start(program: string, args: readonly string[], options: RunOptions): Promise<RunResult> {
    try {
      return await run(program, args, options);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) {
        throw new ConfigError(`Cannot run "${program}": it is not installed`, {
          code: "program-missing",
          hints: ["Install git, or name it in TETHER_GIT"],
          cause: error,
        });
      }
      if (error instanceof Deno.errors.NotCapable) {
        const flags = [`--allow-run=${program}`];
        throw new SandboxError(`Cannot run "${program}": tether was not granted to start it`, {
          kind: KIND,
          flags,
          hints: flags.map((flag) => `Run with ${flag}`),
          cause: error,
        });
      }
      throw error;
    }
  }

  #environment(repo: Repo, options: CallOptions): Record<string, string> {
    const settings = options.settings ?? [];
    return {
      ...this.#env,
      GIT_TERMINAL_PROMPT: "0",
      GIT_ALLOW_PROTOCOL: options.transport ? PROTOCOLS : "none",
      GIT_NO_LAZY_FETCH: "1",
      GIT_CEILING_DIRECTORIES: dirname(repo.root),
      // By variable and not by -c: a name may hold an equals sign, which -c would split at.
      GIT_CONFIG_COUNT: String(settings.length),
      ...Object.fromEntries(settings.flatMap(([name, value], i) => [
        [`GIT_CONFIG_KEY_${i}`, name],
        [`GIT_CONFIG_VALUE_${i}`, value],
      ])),
    };
  }
}

function prefix(repo: Repo, options: CallOptions): string[] {
  const place = repo.bare
    ? [`--git-dir=${repo.root}`]
    : ["-C", repo.root, ...(options.checkout ? [`--work-tree=${repo.root}`] : [])];
  return [...place, ...SAFE, "--no-pager", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs"];
}

function declaredVariables(): Record<string, string> {
  return Object.fromEntries(GIT_VARIABLES.flatMap((name) => {
    try {
      const value = Deno.env.get(name);
      return value === undefined ? [] : [[name, value]];
    } catch {
      // Not granted, so git does without it.
      return [];
    }
  }));
}

function isLocked(stderr: string): boolean {
  return /\.lock': File exists|Unable to create '.*\.lock'/.test(stderr) && !DENIED.test(stderr);
}

/** What the file system says to git: no lock of somebody else's, though it is the lock that cannot be made. */
const DENIED = /Permission denied|Read-only file system/;

/** What git says, and the error it is. The first match wins. */
const FAILURES: readonly [RegExp, new (reason: string, options: BackendErrorOptions) => BackendError][] = [
  [/dubious ownership/, PermissionDeniedError],
  [/Authentication failed|could not read (Username|Password)|terminal prompts disabled/, CredentialsError],
  [/Permission denied \(|Host key verification failed|returned error: 40[13]/, CredentialsError],
  [
    /Could not resolve|Connection (refused|timed out|reset)|Network is unreachable|returned error: 5\d\d/,
    UnavailableError,
  ],
  [/the remote end hung up|early EOF|unexpected disconnect|Failed to connect|Operation timed out/, UnavailableError],
  [/not a git repository|does not appear to be a git repository|[Rr]epository .* not found/, StoreNotFoundError],
  [/cannot change to .*No such file/, StoreNotFoundError],
  [DENIED, PermissionDeniedError],
  [/\.lock': File exists|Unable to create '.*\.lock'/, UnavailableError],
  [
    /bad object|unknown revision|bad revision|Needed a single revision|nonexistent object|Not a valid (?:object|commit) name|no such commit/,
    StateGoneError,
  ],
];

function failure(repo: Repo, result: RunResult, options: CallOptions): BackendError {
  const lines = result.stderr.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("hint:"));
  const told = lines.find((line) => /^(fatal|error|remote):/.test(line)) ?? lines.at(0);
  const detail = told?.replace(/^(fatal|error|remote):\s*/, "").replace(/\.$/, "") ?? `git ended with ${result.code}`;
  const known = FAILURES.find(([pattern]) => pattern.test(result.stderr))?.[1] ?? BackendError;
  const quoted = shellQuote(repo.root);
  const hints = /dubious ownership/.test(result.stderr)
    ? [`git config --global --add safe.directory ${quoted}`]
    : known === PermissionDeniedError
    ? [`ls -ld ${quoted}`]
    : [];
  return new known(`Cannot ${options.action} "${repo.path}": ${detail}`, {
    kind: KIND,
    hints,
    details: { path: repo.path, exit: result.code, stderr: result.stderr },
  });
}
