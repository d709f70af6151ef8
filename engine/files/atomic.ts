/**
 * Reading whole files and replacing them atomically (formats §17, L34).
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { ConfigError, messageOf, TetherError } from "../model/errors.ts";
import { mendHints } from "./_mend.ts";

const encoder = new TextEncoder();

/** Options of {@link writeAtomic}. */
export interface WriteAtomicOptions {
  /**
   * Where the temporary file goes; made when missing. It goes beside the target when this folder lies on another file
   * system, is a symbolic link, or cannot be written.
   * @default {the target's folder}
   */
  readonly tempDir?: string;
  /** Permission bits. @default {those of the file replaced, else what the umask leaves} */
  readonly mode?: number;
  /**
   * Whether the text must survive a power cut.
   * @default {true}
   */
  readonly durable?: boolean;
  /**
   * Whether the rename is made durable too; `false` for a caller that writes many files and syncs their folder once.
   * @default {true}
   */
  readonly syncFolder?: boolean;
}

/**
 * Replaces a file: a reader sees the old text or the new one, also after a crash. The folder must exist. Needs write
 * permission for the file's folder and `tempDir`.
 *
 * @throws {TetherError} `read-only`, `disk-full` or `unwritable`; then the old text is still there.
 */
export async function writeAtomic(
  path: string,
  data: string | Uint8Array,
  options: WriteAtomicOptions = {},
): Promise<void> {
  try {
    await replace(path, data, options);
  } catch (error) {
    throw writeError(path, error);
  }
}

async function replace(path: string, data: string | Uint8Array, options: WriteAtomicOptions): Promise<void> {
  const { tempDir, durable = true } = options;
  const mode = options.mode ?? await modeOf(path);
  const how = { durable, ...(mode === undefined ? {} : { mode }) };
  const folder = dirname(path);
  const elsewhere = tempDir === undefined || tempDir === folder
    ? undefined
    : await tryWriteTemp(tempDir, path, data, how);
  if (elsewhere === undefined || !await tryRename(elsewhere, path)) {
    const temp = await writeTemp(folder, path, data, how);
    if (!await tryRename(temp, path)) throw new Error(`Cannot rename "${temp}" within its folder`);
  }
  if (durable && options.syncFolder !== false) await syncFolder(folder);
}

/** Writes a temporary file for a target into a folder, and returns its path. */
export async function writeTemp(
  folder: string,
  target: string,
  data: string | Uint8Array,
  options: Pick<WriteAtomicOptions, "mode" | "durable"> = {},
): Promise<string> {
  const { mode, durable = true } = options;
  const temp = join(folder, `.${basename(target).slice(0, 100)}.${crypto.randomUUID().slice(0, 8)}.tmp`);
  const file = await Deno.open(temp, { write: true, createNew: true, ...(mode === undefined ? {} : { mode }) });
  try {
    await writeAll(file, typeof data === "string" ? encoder.encode(data) : data);
    if (durable) await file.sync();
  } catch (error) {
    file.close();
    await removeIfThere(temp);
    throw error;
  }
  file.close();
  // The umask may have taken bits off the mode at creation.
  if (mode !== undefined && Deno.build.os !== "windows") await Deno.chmod(temp, mode);
  return temp;
}

/** Tells whether a name is one that {@link writeTemp} gives, or an earlier tether gave. */
export function isTemporary(name: string): boolean {
  return /^\..+\.tmp$/.test(name);
}

/** Writes all of some bytes. */
export async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += await file.write(bytes.subarray(written));
}

/** Makes the entries of a folder durable, where the system can. */
export async function syncFolder(folder: string): Promise<void> {
  let file: Deno.FsFile;
  try {
    file = await Deno.open(folder, { read: true });
  } catch {
    // Windows cannot open folders; the rename itself is done.
    return;
  }
  try {
    await file.sync();
  } catch {
    // Some network file systems refuse to sync a folder.
  } finally {
    file.close();
  }
}

/** Removes a file; it is fine when it is gone. */
export async function removeIfThere(path: string): Promise<boolean> {
  try {
    await Deno.remove(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/**
 * Reads a regular file as UTF-8; `undefined` when there is none. A symbolic link is not followed where `noFollow` is set:
 * what a clone brings must not lead outside it (L40).
 *
 * @throws {ConfigError} if it is not a regular file, too large, or not UTF-8.
 */
export async function readText(
  path: string,
  options: {
    /** How errors call the file. */
    readonly name: string;
    /** Largest size in bytes. */
    readonly maxBytes: number;
    /** Refuses a symbolic link. @default {false} */
    readonly noFollow?: boolean;
  },
): Promise<string | undefined> {
  let bytes: Uint8Array;
  try {
    const info = await (options.noFollow ? Deno.lstat(path) : Deno.stat(path));
    if (!info.isFile) throw unreadable(options.name, info.isSymlink ? "it is a symbolic link" : "it is not a file");
    if (info.size > options.maxBytes) throw unreadable(options.name, `it is larger than ${options.maxBytes} bytes`);
    bytes = await Deno.readFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    if (error instanceof ConfigError) throw error;
    throw unreadable(options.name, messageOf(error), error);
  }
  try {
    // The byte-order mark stays: callers that give a text back give it back whole.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw unreadable(options.name, "it is not UTF-8", error);
  }
}

function unreadable(name: string, reason: string, cause?: unknown): ConfigError {
  const hints = isReadOnly(cause) ? ["Run it as a user who may read it"] : mendHints(name);
  return new ConfigError(`Cannot read "${name}": ${reason}`, {
    code: "unreadable",
    hints,
    details: { file: name },
    cause,
  });
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    const mode = (await Deno.stat(path)).mode;
    return mode === null ? undefined : mode & 0o777;
  } catch {
    // No file yet: the umask decides.
    return undefined;
  }
}

async function tryWriteTemp(
  folder: string,
  target: string,
  data: string | Uint8Array,
  options: Pick<WriteAtomicOptions, "mode" | "durable">,
): Promise<string | undefined> {
  try {
    await Deno.mkdir(folder, { recursive: true });
    // A clone could bring the folder as a link to somewhere else.
    if (!(await Deno.lstat(folder)).isDirectory) return undefined;
    return await writeTemp(folder, target, data, options);
  } catch (error) {
    if (isReadOnly(error) || error instanceof Deno.errors.AlreadyExists) return undefined;
    throw error;
  }
}

/** Renames; `false`, with the temporary file removed, when the two lie on different file systems. */
async function tryRename(temp: string, path: string): Promise<boolean> {
  try {
    await Deno.rename(temp, path);
    return true;
  } catch (error) {
    await removeIfThere(temp);
    if (codeOf(error) === "EXDEV") return false;
    throw error;
  }
}

/** Returns the error to throw for one that writing a file met. Tether's own and the runtime's refusals pass through. */
export function writeError(path: string, error: unknown): Error {
  if (error instanceof TetherError || error instanceof Deno.errors.NotCapable) return error;
  const [code, hint] = isReadOnly(error)
    ? ["read-only", "Run it as a user who may write there"]
    : isFull(error)
    ? ["disk-full", "Make room on that disk, then run the command again"]
    : error instanceof Deno.errors.IsADirectory
    ? ["unwritable", "Move the folder of that name away: tether needs a file there"]
    : ["unwritable", undefined];
  return new TetherError(`Cannot write "${path}": ${messageOf(error)}`, {
    code,
    hints: hint === undefined ? [] : [hint],
    details: { file: path },
    cause: error,
  });
}

/** Tells whether an error says that a disk is full, a quota used up, or a file as long as one may be. */
function isFull(error: unknown): boolean {
  // The last of the three comes without its code.
  return ["ENOSPC", "EDQUOT"].includes(codeOf(error) ?? "") || /\(os error 27\)/.test(messageOf(error));
}

/** Tells whether an error says that something cannot be written at all: no permission, or a read-only file system. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable ||
    (error instanceof TetherError && error.code === "read-only") ||
    ["EROFS", "EACCES", "EPERM"].includes(codeOf(error) ?? "");
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
