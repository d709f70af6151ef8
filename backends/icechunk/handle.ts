/**
 * A handle on one place of an Icechunk repository.
 *
 * @module
 */

import type { Session } from "@earthmover/icechunk-wasm32-wasi";
import type { Handle, HandleJson } from "../backend.ts";
import { BackendError } from "../../engine/model/backend_errors.ts";
import type { Place } from "./_refs.ts";
import { Store } from "./_repository.ts";
import { Lease } from "./library.ts";
import type { ObjectStorage } from "../storage/storage.ts";
import { KIND } from "./_locator.ts";

/**
 * The library's session, whole. Spelled so because the check of the documentation wants no type of another package.
 *
 * @example Read a chunk
 * ```ts
 * import type { IcechunkSession } from "@tether/tether";
 *
 * async function readChunk(session: IcechunkSession, key: string): Promise<Uint8Array | null> {
 *   return await session.store.get(key);
 * }
 * ```
 */
export type IcechunkSession = InstanceType<typeof import("@earthmover/icechunk-wasm32-wasi")["Session"]>;

/**
 * Handle of the kind `icechunk`: a session of the library, on the branch or snapshot that was opened.
 *
 * @example Write a chunk and commit it natively
 * ```ts
 * import type { IcechunkHandle, OpenedHandle } from "@tether/tether";
 * import type { Buffer } from "node:buffer";
 *
 * async function writeChunk(opened: OpenedHandle, key: string, bytes: Buffer): Promise<string> {
 *   if (opened.type !== "IcechunkHandle") throw new TypeError(`${opened.object} is no Icechunk repository`);
 *   const session = await (opened.native as IcechunkHandle).session;
 *   await session.store.set(key, bytes);
 *   return await session.commit(`Write ${key}`);
 * }
 * ```
 */
export class IcechunkHandle implements Handle {
  /** Class name. */
  readonly type = "IcechunkHandle";
  /** The repository's address as the locator spells it. */
  readonly key: string;
  /** Whether {@link IcechunkHandle.session} can only be read. */
  readonly readOnly: boolean;
  readonly #place: Place;
  readonly #lease = new Lease();
  readonly #store: Store;
  #session: Promise<Session> | undefined;
  #disposed = false;

  /** @internal Backends make handles. */
  constructor(o: {
    readonly uri: string;
    readonly storage: ObjectStorage;
    readonly place: Place;
    readonly readOnly: boolean;
  }) {
    this.key = o.uri;
    this.readOnly = o.readOnly;
    this.#place = o.place;
    this.#store = new Store({ uri: o.uri, storage: o.storage, lease: this.#lease, configured: !o.readOnly });
  }

  /** Returns `uri#tag`, `uri#branch` or `uri#snapshot`, the first that there is. */
  address(): string {
    const { tag, branch, snapshot } = this.#place;
    return `${this.key}#${tag ?? branch ?? snapshot}`;
  }

  /** Returns the handle as plain data. */
  toJSON(): HandleJson {
    const { tag, branch, snapshot } = this.#place;
    return {
      key: this.key,
      read_only: this.readOnly,
      address: this.address(),
      type: this.type,
      kind: KIND,
      native: {
        uri: this.key,
        ...(branch === undefined ? {} : { branch }),
        ...(tag === undefined ? {} : { tag }),
        snapshot_id: snapshot,
      },
    };
  }

  /**
   * The library's session, opened on first use: on the branch when the handle is writable, else on the snapshot. Its
   * `store` takes Zarr keys. It works until the handle is disposed. Needs read, and to write also write permission for the
   * repository.
   *
   * @throws {StateGoneError} if the branch or snapshot went away meanwhile.
   * @throws {CapabilityError} if it is to write, and the repository's configuration names stores this build of the
   * library does not know.
   */
  get session(): Promise<IcechunkSession> {
    if (this.#disposed) {
      return Promise.reject(new BackendError(`Cannot open "${this.address()}": the handle was closed`, { kind: KIND }));
    }
    return this.#session ??= this.#open();
  }

  /** Ends the session; what was not committed is gone. Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    await this.#lease[Symbol.asyncDispose]();
  }

  async #open(): Promise<Session> {
    const { branch, snapshot } = this.#place;
    return await this.#store.use(
      { what: `open "${branch ?? snapshot}"` },
      (r) =>
        !this.readOnly && branch !== undefined
          ? r.writableSession(branch)
          : r.readonlySession({ snapshotId: snapshot }),
    );
  }
}
