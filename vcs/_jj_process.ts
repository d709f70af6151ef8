/**
 * How jj is run: options, environment and failures (formats §15.1; L16, L17, L41).
 *
 * @module
 */

import { run, type RunResult } from "../engine/io/process.ts";
import { VcsError } from "../engine/model/errors.ts";
import { checkVersion, isLocalVariable, type Program, startFailure } from "./_program.ts";

const PREFIX = ["--color=never", "--no-pager", "--config", 'ui.color="never"', "--config", 'ui.paginate="never"'];

/** Fields of a record, records, and items of a field: none can be part of a name or an id. */
export const US = "\x1f";
export const RS = "\x1e";
export const GS = "\x1d";

/** Options of every call. */
interface CallOptions {
  /** What the call is for, as it continues "Cannot ": `list the bookmarks`. */
  readonly doing: string;
  /** Exit codes that are answers. @default {[0]} */
  readonly codes?: readonly number[];
}

/** Options of {@link Jj.read}. */
export interface ReadOptions extends CallOptions {
  /** The operation to read at: none is made, and concurrent ones are not merged (L17). */
  readonly operation: string;
  /** A file with the user's settings, where they matter. @default {none count} */
  readonly config?: string;
}

/** Options of {@link Jj.write}. */
export interface WriteOptions extends CallOptions {
  /** A file with the user's settings. */
  readonly config: string;
  /** A file with settings that win over all others. */
  readonly overlay: string;
}

/** One jj program at one checkout. */
export class Jj implements Program {
  readonly kind = "jj";
  readonly program: string;
  readonly root: string;
  readonly #signal: AbortSignal | undefined;

  constructor(program: string, root: string, options: { readonly signal?: AbortSignal } = {}) {
    this.program = program;
    this.root = root;
    this.#signal = options.signal;
  }

  /**
   * Runs a command that only reads. It neither snapshots the working copy nor leaves an operation.
   *
   * @throws {VcsError} if jj cannot be started, or ends with a code that is no answer.
   */
  read(args: readonly string[], options: ReadOptions): Promise<RunResult> {
    const at = ["--ignore-working-copy", `--at-operation=${options.operation}`];
    return this.#run([...at, ...args], { ...options, config: options.config ?? "" });
  }

  /** Runs a command that snapshots the working copy and may write. An abort does not stop it half-way. */
  write(args: readonly string[], options: WriteOptions): Promise<RunResult> {
    return this.#run([`--config-file=${options.overlay}`, ...args], { ...options, writes: true });
  }

  /** Runs a command that looks at no commit, with the user's own settings. */
  ask(args: readonly string[], options: CallOptions): Promise<RunResult> {
    return this.#run(["--ignore-working-copy", ...args], options);
  }

  /** Checks that jj is new enough. @throws {VcsError} if it is not. */
  checkVersion(cacheDir: string | undefined): Promise<void> {
    const ask = async (): Promise<string> =>
      (await this.ask(["--version"], { doing: "ask jj for its version" })).text();
    return checkVersion(this, { cacheDir, ask });
  }

  async #run(
    args: readonly string[],
    options: CallOptions & { readonly config?: string; readonly writes?: boolean },
  ): Promise<RunResult> {
    const signal = options.writes ? undefined : this.#signal;
    let result: RunResult;
    try {
      result = await run(this.program, [...PREFIX, `--repository=${this.root}`, ...args], {
        cwd: this.root,
        env: {
          type: "inherit",
          without: isLocalVariable,
          ...(options.config === undefined ? {} : { extra: { JJ_CONFIG: options.config } }),
        },
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      throw startFailure(error, this);
    }
    signal?.throwIfAborted();
    if ((options.codes ?? [0]).includes(result.code)) return result;
    throw jjFailure(options.doing, result);
  }
}

/** What jj's words stand for, by a stable code. */
const CODES: readonly (readonly [RegExp, string])[] = [
  [/working copy is stale/, "stale-working-copy"],
  [/is immutable/, "immutable-commit"],
];

/** What helps where jj's own words do not say it. */
const WAYS_OUT: readonly (readonly [RegExp, readonly string[]])[] = [
  // Its folder stays when jj forgets a workspace.
  [/doesn't have a working-copy commit/, ["jj workspace list", "jj workspace add --revision=BOOKMARK FOLDER"]],
  [/is immutable/, ["jj config get 'revset-aliases.\"immutable_heads()\"'"]],
];

/** Returns the error of a jj that ended badly. Commands that its hints name are the ways out. */
function jjFailure(doing: string, { stderr, code }: RunResult): VcsError {
  const lines = stderr.split("\n");
  const said = lines.filter((line) => /^(Error|Config error|error|Caused by): /.test(line))
    .map((line) => line.replace(/^(Error|Config error|error|Caused by): /, "").replace(/\.$/, ""));
  const hints = lines.filter((line) => line.startsWith("Hint: "))
    .flatMap((line) => [...line.matchAll(/`(jj [^`]+)`/g)].flatMap(([, command]) => command ?? []));
  return new VcsError(`Cannot ${doing}: ${said.join(": ") || stderr || `jj ended with code ${code}`}`, {
    code: CODES.find(([pattern]) => pattern.test(stderr))?.[1] ?? "vcs",
    hints: [...hints, ...WAYS_OUT.filter(([pattern]) => pattern.test(stderr)).flatMap(([, ways]) => ways)],
    details: { exit_code: code },
  });
}

/** Returns a name or a path as a string of jj's revset and fileset languages. */
export function jjString(text: string): string {
  const escapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return `"${text.replace(/["\\]/g, "\\$&").replace(/[\n\r\t]/g, (c) => escapes[c] ?? c)}"`;
}
