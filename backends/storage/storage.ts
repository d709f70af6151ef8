/**
 * What Icechunk, Lance and Delta need of the place their files are in: a local folder or an object store (backends
 * §3.4-§3.6). Keys are `/`-separated and relative to the root.
 *
 * @module
 */

import type { Op } from "../backend.ts";

/** What is known of an object without reading it. */
export interface ObjectInfo {
  /** Key relative to the root. */
  readonly key: string;
  /** Size in bytes. */
  readonly size: number;
  /** When it was last written, by the store's clock; absent when the store does not say. A hint, never a version. */
  readonly modified?: Date;
}

/** An object's bytes, and the version to make a later write conditional on. */
export interface StoredObject {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly modified?: Date;
  /** Opaque: an ETag or generation of a store, the SHA-256 of the bytes of a local file (L21). */
  readonly version: string;
}

/** Part of an object; `end` is exclusive and the rest of the object when absent. A part beyond the end is cut short. */
export type ByteRange =
  | { readonly start: number; readonly end?: number }
  /** The last bytes of the object. */
  | { readonly suffix: number };

/** One level of keys: names without the folder, sorted by code point. */
export interface FolderListing {
  readonly folders: readonly string[];
  readonly objects: readonly ObjectInfo[];
}

/** What became of a conditional write. When it was refused, nothing was written. */
export type PutOutcome = { readonly written: true; readonly version: string } | { readonly written: false };

/**
 * Reads and conditional writes below one root. `undefined` means that an object authoritatively does not exist; whatever
 * could not be told is thrown as an error of `engine/model/errors.ts`.
 */
export interface ObjectStorage extends AsyncDisposable {
  /** The root as its locator spells it, for messages. */
  readonly root: string;
  /** Whether a conditional write is atomic against every writer, other programs included (L32). */
  readonly conditional: boolean;

  get(key: string, op?: Op): Promise<StoredObject | undefined>;
  getRange(key: string, range: ByteRange, op?: Op): Promise<Uint8Array<ArrayBuffer> | undefined>;
  head(key: string, op?: Op): Promise<ObjectInfo | undefined>;
  /** Every object below a folder, at any depth and in no promised order; nothing when it does not exist. `""` is the root. */
  list(folder: string, op?: Op): AsyncIterable<ObjectInfo>;
  /**
   * The objects and folders right below a folder; empty when it does not exist. With `from` only names that sort at or
   * after it, which spares a long log its beginning.
   */
  listFolder(folder: string, options?: Op & { readonly from?: string }): Promise<FolderListing>;
  /** The names of the objects right below a folder, sorted; cheaper than {@link ObjectStorage.listFolder} on a disk. */
  listNames(folder: string, op?: Op): Promise<readonly string[]>;

  /** Writes an object, whatever was there. Returns its version. */
  put(key: string, bytes: Uint8Array, op?: Op): Promise<string>;
  /** Writes an object that does not exist yet. */
  putIfAbsent(key: string, bytes: Uint8Array, op?: Op): Promise<PutOutcome>;
  /** Writes an object that still has the version a {@link ObjectStorage.get} returned; an absent one is refused. */
  putIfMatch(key: string, bytes: Uint8Array, options: Op & { readonly version: string }): Promise<PutOutcome>;
  /**
   * Deletes an object; already gone is success. With `version` only while it still has that version.
   *
   * @returns whether the object is gone now.
   */
  delete(key: string, options?: Op & { readonly version?: string }): Promise<boolean>;
  /** Deletes every object below a folder, and the folder itself where there are such; already gone is success. */
  deleteFolder(folder: string, op?: Op): Promise<void>;
}
