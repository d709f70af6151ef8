/**
 * A local folder as an {@link ObjectStorage}.
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { compareCodePoints } from "../../engine/model/json.ts";
import { sha256 } from "../../engine/model/hash.ts";
import { BackendError, CapabilityError } from "../../engine/model/backend_errors.ts";
import { localPath } from "../../engine/io/paths.ts";
import { Mutex } from "../../engine/io/pool.ts";
import { dirname, join } from "node:path";
import { fsError, isAlreadyExists, isNotFound } from "./fs_error.ts";
import { LOCK_FILE, lockFolder } from "./folder_lock.ts";
import type { ByteRange, FolderListing, ObjectInfo, ObjectStorage, PutOutcome, StoredObject } from "./storage.ts";

/**
 * Returns the path of an address on this machine: what every kind says of one that is not (formats §6.3).
 *
 * @throws {CapabilityError} if it names an object store or a server.
 */
export function requireLocal(uri: string, kind: string): string {
  const path = localPath(uri);
  if (path !== undefined) return path;
  throw new CapabilityError(`Cannot use "${uri}": this version of tether reaches local paths only for this kind`, {
    kind,
    hints: ["Register a copy on the local disk, by its path"],
  });
}

/**
 * Reads and writes files below a folder. Writes are atomic (temporary file, sync, rename) and conditional ones are
 * serialised by a lock on the folder among all processes of this implementation, so they do not count as `conditional`:
 * other programs know nothing of the lock (L32). Needs read and, for writes, write permission for the folder.
 */
export class LocalStorage implements ObjectStorage {
  readonly root: string;
  readonly conditional = false;
  readonly #kind: string;
  readonly #mutex = new Mutex();
  /** Whether a caller of {@link LocalStorage.locked} holds the lock for this view. */
  readonly #held: boolean;

  /** @param root the folder's absolute path; it need not exist. */
  constructor(root: string, options: { readonly kind: string; readonly held?: boolean }) {
    this.root = root;
    this.#kind = options.kind;
    this.#held = options.held ?? false;
  }

  async get(key: string, op?: Op): Promise<StoredObject | undefined> {
    op?.signal?.throwIfAborted();
    const path = this.#path(key);
    try {
      using file = await Deno.open(path, { read: true });
      const { mtime } = await file.stat();
      return new LocalObject(await readAll(file), mtime ?? undefined);
    } catch (error) {
      return this.#absent(error, "read", path);
    }
  }

  async getRange(key: string, range: ByteRange, op?: Op): Promise<Uint8Array<ArrayBuffer> | undefined> {
    op?.signal?.throwIfAborted();
    const path = this.#path(key);
    try {
      using file = await Deno.open(path, { read: true });
      const { size } = await file.stat();
      const start = "suffix" in range ? Math.max(0, size - range.suffix) : Math.min(range.start, size);
      const end = "suffix" in range ? size : Math.min(range.end ?? size, size);
      await file.seek(start, Deno.SeekMode.Start);
      return await readAll(file, Math.max(0, end - start));
    } catch (error) {
      return this.#absent(error, "read", path);
    }
  }

  async head(key: string, op?: Op): Promise<ObjectInfo | undefined> {
    op?.signal?.throwIfAborted();
    const path = this.#path(key);
    try {
      const info = await Deno.stat(path);
      return info.isFile ? infoOf(key, info) : undefined;
    } catch (error) {
      return this.#absent(error, "read", path);
    }
  }

  async *list(folder: string, op?: Op): AsyncIterable<ObjectInfo> {
    const pending = [folder];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const { folders, objects } = await this.listFolder(next, op);
      yield* objects;
      for (const name of folders) pending.push(next === "" ? name : `${next}/${name}`);
    }
  }

  async listFolder(folder: string, options?: Op & { readonly from?: string }): Promise<FolderListing> {
    options?.signal?.throwIfAborted();
    const from = options?.from ?? "";
    const path = folder === "" ? this.root : this.#path(folder);
    const folders: string[] = [];
    const objects: ObjectInfo[] = [];
    try {
      for await (const entry of Deno.readDir(path)) {
        if (entry.name === LOCK_FILE || isTemporary(entry.name) || compareCodePoints(entry.name, from) < 0) continue;
        const info = await statIfThere(join(path, entry.name));
        if (info?.isDirectory) folders.push(entry.name);
        else if (info?.isFile) objects.push(infoOf(folder === "" ? entry.name : `${folder}/${entry.name}`, info));
      }
    } catch (error) {
      if (!isNotFound(error)) throw this.#error(error, "list", path);
    }
    folders.sort(compareCodePoints);
    objects.sort((a, b) => compareCodePoints(a.key, b.key));
    return { folders, objects };
  }

  async listNames(folder: string, op?: Op): Promise<readonly string[]> {
    op?.signal?.throwIfAborted();
    const path = folder === "" ? this.root : this.#path(folder);
    const names: string[] = [];
    try {
      for await (const entry of Deno.readDir(path)) {
        if (!entry.isDirectory && entry.name !== LOCK_FILE && !isTemporary(entry.name)) names.push(entry.name);
      }
    } catch (error) {
      if (!isNotFound(error)) throw this.#error(error, "list", path);
    }
    return names.sort(compareCodePoints);
  }

  async put(key: string, bytes: Uint8Array, op?: Op): Promise<string> {
    op?.signal?.throwIfAborted();
    await this.#write(this.#path(key), bytes, Deno.rename);
    return sha256(bytes);
  }

  async putIfAbsent(key: string, bytes: Uint8Array, op?: Op): Promise<PutOutcome> {
    op?.signal?.throwIfAborted();
    try {
      await this.#write(this.#path(key), bytes, (from, to) => this.#linkOrMove(from, to, op));
      return { written: true, version: sha256(bytes) };
    } catch (error) {
      if (isAlreadyExists(error)) return { written: false };
      throw error;
    }
  }

  async putIfMatch(key: string, bytes: Uint8Array, options: Op & { readonly version: string }): Promise<PutOutcome> {
    return await this.locked(async () => {
      if ((await this.get(key, options))?.version !== options.version) return { written: false };
      return { written: true, version: await this.put(key, bytes) };
    }, options);
  }

  async delete(key: string, options?: Op & { readonly version?: string }): Promise<boolean> {
    options?.signal?.throwIfAborted();
    const version = options?.version;
    if (version === undefined) return await this.#remove(this.#path(key));
    return await this.locked(async () => {
      const found = await this.get(key, options);
      return found === undefined || (found.version === version && await this.#remove(this.#path(key)));
    }, options);
  }

  async deleteFolder(folder: string, op?: Op): Promise<void> {
    op?.signal?.throwIfAborted();
    const path = this.#path(folder);
    try {
      // Symbolic links are removed, never followed.
      await Deno.remove(path, { recursive: true });
    } catch (error) {
      if (!isNotFound(error)) throw this.#error(error, "delete", path, "write");
    }
  }

  /**
   * Runs `fn` while nobody else of this implementation changes the store by a conditional write or under this lock. `fn`
   * must use the storage it is given; the outer one would wait for its own lock.
   *
   * @throws {StoreNotFoundError} if the root does not exist.
   * @throws {UnavailableError} if another process keeps the lock for too long.
   */
  async locked<T>(fn: (storage: LocalStorage) => Promise<T>, op?: Op): Promise<T> {
    if (this.#held) return await fn(this);
    return await this.#mutex.run(async () => {
      using _lock = await this.#lock(op);
      return await fn(new LocalStorage(this.root, { kind: this.#kind, held: true }));
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async #lock(op: Op | undefined): Promise<Disposable> {
    try {
      return await lockFolder(this.root, { kind: this.#kind, ...op });
    } catch (error) {
      throw this.#error(error, "lock", this.root);
    }
  }

  async #remove(path: string): Promise<true> {
    try {
      await Deno.remove(path);
    } catch (error) {
      if (!isNotFound(error)) throw this.#error(error, "delete", path, "write");
    }
    return true;
  }

  /** Writes a temporary file beside `path` and gives it its name by `publish`. */
  async #write(path: string, bytes: Uint8Array, publish: (from: string, to: string) => Promise<void>): Promise<void> {
    const temporary = `${path}#${Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)}`;
    try {
      await Deno.mkdir(dirname(path), { recursive: true });
      using file = await Deno.open(temporary, { write: true, createNew: true });
      await writeAll(file, bytes);
      await file.sync();
      await publish(temporary, path);
    } catch (error) {
      throw isAlreadyExists(error) ? error : this.#error(error, "write", path, "write");
    } finally {
      // Gone after a rename; after a link or a failure it is ours to remove.
      await Deno.remove(temporary).catch(() => {});
    }
    await syncFolder(dirname(path));
  }

  async #linkOrMove(from: string, to: string, op: Op | undefined): Promise<void> {
    try {
      // A hard link refuses an existing name in one step, against writers that know nothing of our lock too.
      await Deno.link(from, to);
    } catch (error) {
      if (isAlreadyExists(error) || isNotFound(error)) throw error;
      // This file system has no hard links.
      await this.locked(async () => {
        if (await statIfThere(to)) throw new Deno.errors.AlreadyExists(to);
        await Deno.rename(from, to);
      }, op);
    }
  }

  #path(key: string): string {
    if (key === "" || key.split("/").some((s) => s === "" || s === "." || s === "..") || key.includes("\0")) {
      throw new BackendError(`Cannot use "${key}" as a key of "${this.root}": it names nothing below it`, {
        kind: this.#kind,
      });
    }
    return `${this.root === "/" ? "" : this.root}/${key}`;
  }

  #absent(error: unknown, action: string, path: string): undefined {
    // Reading a folder as an object is how a file system says that no object has this key.
    if (isNotFound(error) || error instanceof Deno.errors.IsADirectory) return undefined;
    throw this.#error(error, action, path);
  }

  #error(error: unknown, action: string, path: string, access: "read" | "write" = "read"): Error {
    return fsError(error, { kind: this.#kind, action, path, access });
  }
}

class LocalObject implements StoredObject {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly modified?: Date;
  #version: string | undefined;

  constructor(bytes: Uint8Array<ArrayBuffer>, modified: Date | undefined) {
    this.bytes = bytes;
    if (modified) this.modified = modified;
  }

  /** Made when first asked for: most reads never write back. */
  get version(): string {
    return this.#version ??= sha256(this.bytes);
  }
}

// Names that end so are skipped by the object-store library under Delta, Lance and Icechunk: a leftover harms nobody.
function isTemporary(name: string): boolean {
  return /^.+#\d+$/.test(name);
}

function infoOf(key: string, info: Deno.FileInfo): ObjectInfo {
  return { key, size: info.size, ...(info.mtime ? { modified: info.mtime } : {}) };
}

async function statIfThere(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function readAll(file: Deno.FsFile, length?: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length ?? (await file.stat()).size);
  let filled = 0;
  while (filled < bytes.length) {
    const n = await file.read(bytes.subarray(filled));
    if (n === null) break;
    filled += n;
  }
  return filled === bytes.length ? bytes : bytes.slice(0, filled);
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
}

async function syncFolder(folder: string): Promise<void> {
  try {
    using handle = await Deno.open(folder, { read: true });
    await handle.sync();
  } catch {
    // Some file systems sync no folders; the object itself is on disk.
  }
}
