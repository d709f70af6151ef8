/**
 * What git and jj have in common as programs: their environment, whether they are new enough, and why one did not start
 * (formats §15.1, L16).
 *
 * @module
 */

import { dirname, isAbsolute, join } from "node:path";
import { parseJson, writeJson } from "../engine/model/json.ts";
import { VcsError } from "../engine/model/errors.ts";

/** One of the two programs. */
export interface Program {
  readonly kind: "git" | "jj";
  /** By path or by name. */
  readonly program: string;
  /** Root of the checkout. */
  readonly root: string;
}

/** The oldest version of each that will do. */
const MINIMUM = { git: [2, 38, 0], jj: [0, 43, 0] } as const;

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

/** Tells whether no child may have a variable, since it would lead it to another repository. */
export function isLocalVariable(name: string): boolean {
  return LOCAL_VARIABLES.has(name) || /^GIT_CONFIG_(KEY|VALUE)_/.test(name);
}

/** Returns the folder of caches in a repository's own folder, which no commit can bring (L40). */
export function cacheFolder(sharedDir: string): string {
  return join(sharedDir, "tether-cache");
}

/** Banners by program file, for this process. */
const known = new Map<string, string>();

/**
 * Checks the version of a program. Asking costs a child, so the answer is remembered by the program's file. A banner that
 * names no version passes.
 *
 * @param ask Returns what the program says of its version.
 * @throws {VcsError} naming the version found, if it is older than git 2.38.0 or jj 0.43.0.
 */
export async function checkVersion(
  { kind, program, root }: Program,
  options: { readonly cacheDir: string | undefined; readonly ask: () => Promise<string> },
): Promise<void> {
  const file = await identifyProgram(program, root);
  const cache = options.cacheDir === undefined ? undefined : join(options.cacheDir, `${kind}-version.json`);
  let banner = file === undefined ? undefined : known.get(file) ?? await remembered(cache, file);
  if (banner === undefined) {
    banner = (await options.ask()).trim();
    if (file !== undefined) await remember(cache, file, banner);
  }
  if (file !== undefined) known.set(file, banner);
  const minimum = MINIMUM[kind];
  const version = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(banner);
  if (!version || !isOlder(version.slice(1).map((part) => Number(part ?? 0)), minimum)) return;
  throw new VcsError(`Cannot use ${kind} ${version[0]} at "${program}": tether needs ${minimum.join(".")} or newer`, {
    code: "vcs-too-old",
    hints: [`Install a newer ${kind}`, howToName(kind)],
    details: { found: version[0], needed: minimum.join(".") },
  });
}

function isOlder(version: readonly number[], minimum: readonly number[]): boolean {
  for (const [i, least] of minimum.entries()) {
    const part = version[i] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}

/** Returns the error of a program that never ran. */
export function startFailure(error: unknown, { kind, program }: Program): unknown {
  // Deno says so of the folder to run in, too: that of another checkout may be gone.
  const missing = error instanceof Deno.errors.NotFound ? /No such cwd '(.+)'/s.exec(error.message)?.[1] : undefined;
  if (missing !== undefined) {
    return new VcsError(`Cannot look into the checkout at "${missing}": it is not there`, {
      code: "no-checkout",
      hints: ["Mount its disk", ...(kind === "git" ? ["git worktree unlock PATH && git worktree prune"] : [])],
      cause: error,
    });
  }
  if (error instanceof Deno.errors.NotFound) {
    return new VcsError(`Cannot run "${program}": there is no such program`, {
      code: "vcs-program",
      hints: [`Install ${kind} ${MINIMUM[kind].slice(0, 2).join(".")} or newer`, howToName(kind)],
      cause: error,
    });
  }
  if (error instanceof Deno.errors.NotCapable && /env access/.test(error.message)) {
    return new VcsError(`Cannot run "${program}": reading the environment it runs in was not granted`, {
      code: "vcs-program",
      hints: ["--allow-env"],
      details: { flags: ["--allow-env"] },
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
    return new VcsError(`Cannot run "${program}": it is not executable`, {
      code: "vcs-program",
      hints: [howToName(kind)],
      cause: error,
    });
  }
  return error;
}

function howToName(kind: Program["kind"]): string {
  return `Name it with TETHER_${kind.toUpperCase()} or ${kind}_path under [vcs] in .tether/secrets.toml`;
}

/** Returns path, time and size of a program's file; `undefined` when it cannot be looked at. */
async function identifyProgram(program: string, cwd: string): Promise<string | undefined> {
  for (const path of candidates(program, cwd)) {
    try {
      const { isFile, mtime, size } = await Deno.stat(path);
      if (isFile) return `${path}:${mtime?.getTime()}:${size}`;
    } catch {
      // Not there, or looking was not granted: then the version is asked each time.
    }
  }
  return undefined;
}

function candidates(program: string, cwd: string): string[] {
  if (isAbsolute(program)) return [program];
  if (program.includes("/")) return [join(cwd, program)];
  try {
    return (Deno.env.get("PATH") ?? "").split(":").filter(isAbsolute).map((folder) => join(folder, program));
  } catch {
    // Reading PATH was not granted.
    return [];
  }
}

async function remembered(cache: string | undefined, file: string): Promise<string | undefined> {
  if (cache === undefined) return undefined;
  try {
    const stored = parseJson(await Deno.readTextFile(cache));
    if (stored === null || typeof stored !== "object" || !("file" in stored) || stored["file"] !== file) {
      return undefined;
    }
    return typeof stored["banner"] === "string" ? stored["banner"] : undefined;
  } catch {
    // Absent, unreadable or torn: a cache costs speed only (L26).
    return undefined;
  }
}

async function remember(cache: string | undefined, file: string, banner: string): Promise<void> {
  if (cache === undefined) return;
  const temporary = `${cache}.${crypto.randomUUID()}.tmp`;
  try {
    await Deno.mkdir(dirname(cache), { recursive: true });
    await Deno.writeTextFile(temporary, writeJson({ file, banner }) + "\n");
    await Deno.rename(temporary, cache);
  } catch {
    // A checkout that cannot be written (L26).
  }
}
