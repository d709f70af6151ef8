/**
 * The library's reads and writes, done by an {@link ObjectStorage}: so the runtime's permissions govern them, writes are
 * conditional, and errors keep their type on the way through the library.
 *
 * @module
 */

import type {
  Storage,
  StorageCopyObjectArgs,
  StorageDeleteBatchArgs,
  StorageDeleteObjectsResult,
  StorageGetModifiedResult,
  StorageGetObjectConditionalArgs,
  StorageGetObjectRangeArgs,
  StorageGetObjectResponse,
  StorageListInfo,
  StoragePutObjectArgs,
  StorageVersionedUpdateResult,
} from "@earthmover/icechunk-wasm32-wasi";
import { asError } from "../../engine/model/errors.ts";
import type { ObjectStorage, PutOutcome, StoredObject } from "../storage/storage.ts";
import type { Library } from "./library.ts";

/** The part of an object storage that the library uses. */
export type LibraryStorage = Pick<
  ObjectStorage,
  "get" | "getRange" | "head" | "list" | "put" | "putIfAbsent" | "putIfMatch" | "delete"
>;

/** Errors thrown to the library, which keeps only their text; each travels as a number that finds it again. */
export class ThrownErrors {
  static readonly #MOST = 1000;
  readonly #errors = new Map<number, Error>();
  #next = 0;

  /** Remembers an error and returns what to throw in its place. */
  wrap(error: unknown): Error {
    const id = this.#next++;
    this.#errors.set(id, asError(error));
    // The library may swallow an error: the oldest are forgotten.
    this.#errors.delete(id - ThrownErrors.#MOST);
    return new Error(`tether-error-${id}.`);
  }

  /** Returns the error whose number a text of the library contains. */
  find(text: string): Error | undefined {
    const id = /tether-error-([0-9]+)\./.exec(text)?.[1];
    return id === undefined ? undefined : this.#errors.get(Number(id));
  }
}

/** Returns a library storage over one of ours. What it throws to the library is kept in `errors`. */
export function libraryStorage(library: Library, storage: LibraryStorage, errors: ThrownErrors): Storage {
  // The library calls back with an error first, which it never sets.
  function callback<A, R>(fn: (args: A) => Promise<R>): (error: unknown, args: A) => Promise<R> {
    return async (_error, args) => {
      try {
        return await fn(args);
      } catch (error) {
        throw error instanceof ObjectNotFound ? error : errors.wrap(error);
      }
    };
  }
  const callbacks = {
    // A store that refuses writes says so when written to, in words of its own.
    canWrite: callback(() => Promise.resolve(true)),
    getObjectRange: callback((a: StorageGetObjectRangeArgs) => read(storage, a)),
    putObject: callback((a: StoragePutObjectArgs) => write(storage, a)),
    copyObject: callback((a: StorageCopyObjectArgs) => copy(storage, a)),
    listObjects: callback((prefix: string) => list(storage, prefix)),
    deleteBatch: callback((a: StorageDeleteBatchArgs) => deleteBatch(storage, a)),
    getObjectLastModified: callback((path: string) => lastModified(storage, path)),
    getObjectConditional: callback((a: StorageGetObjectConditionalArgs) => readIfChanged(storage, a)),
  };
  // The declared type of the callbacks leaves out the error that they are really called with first.
  return library.Storage.newCustom(callbacks as unknown as Parameters<Library["Storage"]["newCustom"]>[0]);
}

/** "Does not exist", in the words by which the library tells it from other failures. */
class ObjectNotFound extends Error {
  constructor(path: string) {
    super(`ObjectNotFound: ${path}`);
  }
}

async function read(storage: LibraryStorage, args: StorageGetObjectRangeArgs): Promise<StorageGetObjectResponse> {
  const { path, rangeStart: start, rangeEnd: end } = args;
  if (start === undefined && end === undefined) {
    const object = await storage.get(path);
    if (!object) throw new ObjectNotFound(path);
    return { data: asBuffer(object.bytes), version: versionOf(object) };
  }
  const bytes = await storage.getRange(path, { start: start ?? 0, ...(end === undefined ? {} : { end }) });
  if (!bytes) throw new ObjectNotFound(path);
  return { data: asBuffer(bytes), version: {} };
}

async function readIfChanged(
  storage: LibraryStorage,
  args: StorageGetObjectConditionalArgs,
): Promise<StorageGetModifiedResult> {
  const object = await storage.get(args.path);
  if (!object) throw new ObjectNotFound(args.path);
  if (args.previousVersion?.etag === object.version) return { kind: "on_latest_version" };
  return { kind: "modified", data: asBuffer(object.bytes), newVersion: versionOf(object) };
}

/** Without `previousVersion` whatever was there is replaced; an empty one stands for "does not exist yet". */
async function write(storage: LibraryStorage, args: StoragePutObjectArgs): Promise<StorageVersionedUpdateResult> {
  const { path, previousVersion } = args;
  // The library reuses the memory as soon as this call waits.
  const bytes = new Uint8Array(args.data);
  if (!previousVersion) return updated({ written: true, version: await storage.put(path, bytes) });
  const version = previousVersion.etag;
  if (version === undefined) return updated(await storage.putIfAbsent(path, bytes));
  return updated(await storage.putIfMatch(path, bytes, { version }));
}

async function copy(storage: LibraryStorage, args: StorageCopyObjectArgs): Promise<StorageVersionedUpdateResult> {
  const object = await storage.get(args.from);
  const wanted = args.version.etag;
  if (!object || (wanted !== undefined && object.version !== wanted)) return updated({ written: false });
  return updated({ written: true, version: await storage.put(args.to, object.bytes) });
}

async function list(storage: LibraryStorage, prefix: string): Promise<StorageListInfo[]> {
  const folder = prefix.replace(/\/+$/, "");
  const found: StorageListInfo[] = [];
  for await (const { key, size, modified } of storage.list(folder)) {
    found.push({
      id: folder === "" ? key : key.slice(folder.length + 1),
      createdAt: modified ?? new Date(0),
      sizeBytes: size,
    });
  }
  return found;
}

async function deleteBatch(
  storage: LibraryStorage,
  args: StorageDeleteBatchArgs,
): Promise<StorageDeleteObjectsResult> {
  const folder = args.prefix.replace(/\/+$/, "");
  let deletedBytes = 0;
  for (const { id, size } of args.batch) {
    await storage.delete(folder === "" ? id : `${folder}/${id}`);
    deletedBytes += size;
  }
  return { deletedObjects: args.batch.length, deletedBytes };
}

async function lastModified(storage: LibraryStorage, path: string): Promise<Date> {
  const info = await storage.head(path);
  if (!info) throw new ObjectNotFound(path);
  return info.modified ?? new Date(0);
}

function updated(outcome: PutOutcome): StorageVersionedUpdateResult {
  return outcome.written
    ? { kind: "updated", newVersion: { etag: outcome.version } }
    : { kind: "not_on_latest_version" };
}

function versionOf(object: StoredObject): { etag: string } {
  return { etag: object.version };
}

/** The library asks for a Buffer and takes any view of bytes. */
function asBuffer(bytes: Uint8Array): Buffer {
  return bytes as Buffer;
}
