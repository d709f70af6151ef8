/**
 * Whether a git is new enough (formats §15.1). Asking costs a child, so the answer is remembered by the program's file.
 *
 * @module
 */

import { dirname, isAbsolute, join } from "node:path";
import { parseJson, writeJson } from "../engine/model/json.ts";
import { VcsError } from "../engine/model/errors.ts";
import type { Git } from "./_git_process.ts";

const MINIMUM = [2, 38, 0];

/** Banners by program file, for this process. */
const known = new Map<string, string>();

/**
 * Checks the version of a git. A banner that names no version passes.
 *
 * @throws {VcsError} naming the version found, if it is older than 2.38.0.
 */
export async function checkGitVersion(git: Git, cacheDir: string | undefined): Promise<void> {
  const file = await identifyProgram(git.program, git.root);
  const cache = cacheDir === undefined ? undefined : join(cacheDir, "git-version.json");
  let banner = file === undefined ? undefined : known.get(file) ?? await remembered(cache, file);
  if (banner === undefined) {
    banner = (await git.run(["--version"], { doing: "ask git for its version" })).text().trim();
    if (file !== undefined) await remember(cache, file, banner);
  }
  if (file !== undefined) known.set(file, banner);
  const version = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(banner);
  if (!version || !isOlder(version.slice(1).map((part) => Number(part ?? 0)))) return;
  throw new VcsError(`Cannot use git ${version[0]} at "${git.program}": tether needs ${MINIMUM.join(".")} or newer`, {
    code: "vcs-too-old",
    hints: ["Install a newer git", "Name one with TETHER_GIT or git_path under [vcs] in .tether/secrets.toml"],
    details: { found: version[0], needed: MINIMUM.join(".") },
  });
}

function isOlder(version: readonly number[]): boolean {
  for (const [i, least] of MINIMUM.entries()) {
    const part = version[i] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
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
