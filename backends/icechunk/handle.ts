/**
 * A handle on one place of an Icechunk repository.
 *
 * @module
 */

import type { Session } from "@earthmover/icechunk-wasm32-wasi";
import type { Handle, HandleJson } from "../backend.ts";
import { BackendError } from "../../engine/model/errors.ts";
import type { Place } from "./_refs.ts";
import { Store } from "./_repository.ts";
import { Lease } from "./library.ts";
import type { ObjectStorage } from "../storage/storage.ts";
import { KIND } from "./_locator.ts";

/** Handle of the kind `icechunk`. */
export class IcechunkHandle implements Handle {
  readonly type = "IcechunkHandle";
  readonly key: string;
  readonly readOnly: boolean;
  readonly #place: Place;
  readonly #lease = new Lease();
  readonly #store: Store;
  #session: Promise<Session> | undefined;
  #disposed = false;

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
  get session(): Promise<Session> {
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
