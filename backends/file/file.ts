/**
 * The kind `file` on the local disk (backends §3.1).
 *
 * @module
 */

import {
  atOf,
  type BackendSettings,
  type BackendStatics,
  type Handle,
  type Locator,
  makeHandle,
  type ObjectBackend,
  type ObjectDiff,
  type Op,
  type Pin,
  type State,
  type Target,
  type Verdict,
} from "../backend.ts";
import {
  BackendError,
  CapabilityError,
  InvalidLocatorError,
  StoreNotFoundError,
} from "../../engine/model/backend_errors.ts";
import { renderState } from "../../engine/model/render_state.ts";
import { requireLocal } from "../storage/local.ts";
import { canonicalUri, resolveExisting } from "../../engine/io/paths.ts";
import { jsonEqual } from "../../engine/model/json.ts";
import { fsError } from "../storage/fs_error.ts";
import { isAbsolute } from "node:path";
import { createFolder, deleteFolder, holdsOnlyMarker, readOwner } from "./_create.ts";
import { diffStates } from "./_diff.ts";
import { type Fingerprint, fingerprintPath } from "./_fingerprint.ts";
import { listingText } from "./_listing.ts";
import { fileStatics, locatorUri } from "./statics.ts";
import { join, namesWarning } from "./_walk.ts";

const KIND = "file";
/** Rows kept in memory between calls, of all objects; about 150 bytes each. */
const MAX_RECENT_ROWS = 1_000_000;

/**
 * Backend of the kind `file`. States are hashes of content: nothing older than what is on the disk can be read back. Object
 * stores are refused.
 */
export class FileBackend implements ObjectBackend {
  readonly statics: BackendStatics = fileStatics;
  readonly #settings: BackendSettings;
  /** The latest fingerprint of each path, in order of time. */
  readonly #recent = new Map<string, Fingerprint>();

  constructor(settings: BackendSettings) {
    this.#settings = settings;
  }

  identity(locator: Locator): Locator {
    return { uri: canonicalUri(locatorUri(locator)) };
  }

  baseBranch(_locator: Locator): string {
    return "main";
  }

  // deno-lint-ignore require-await -- a refusal must be a rejection
  async validateLocator(locator: Locator): Promise<readonly string[]> {
    if (locatorUri(locator) === "") {
      throw new InvalidLocatorError("Cannot use a locator without a path", { kind: KIND });
    }
    if (atOf(locator) !== undefined) {
      throw new InvalidLocatorError(`Cannot use "at" with "${locatorUri(locator)}": files have no history`, {
        kind: KIND,
      });
    }
    this.#localPath(locator);
    return namesWarning(Deno.version.deno, Deno.build.os);
  }

  async fingerprint(locator: Locator, ref: string | undefined, op?: Op): Promise<State> {
    op?.signal?.throwIfAborted();
    if (ref !== undefined) throw noBranches(locator, `the ref "${ref}"`);
    return (await this.#read(locator, op)).state;
  }

  async verify(
    locator: Locator,
    state: State,
    _pin: Pin | undefined,
    options: Op & { readonly deep: boolean },
  ): Promise<Verdict> {
    try {
      const found = await this.fingerprint(locator, undefined, options);
      if (jsonEqual(found, state)) return { status: "ok" };
      return { status: "drifted", message: `content is ${renderState(found)}, recorded was ${renderState(state)}` };
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      const status = error instanceof StoreNotFoundError ? "missing" : "unknown";
      return { status, message: error.reason, cause: error };
    }
  }

  async openHandle(locator: Locator, target: Target, options: Op & { readonly readOnly: boolean }): Promise<Handle> {
    options.signal?.throwIfAborted();
    if (target.on === "ref" || target.on === "pin") throw noBranches(locator, `a ${target.on}`);
    if (!options.readOnly) {
      throw new CapabilityError(`Cannot open "${locatorUri(locator)}" for writing: write to the path itself`, {
        kind: KIND,
      });
    }
    const root = this.#root(locator);
    try {
      await Deno.stat(root);
    } catch (error) {
      throw fsError(error, { kind: KIND, action: "open", path: root });
    }
    const uri = locatorUri(locator);
    return makeHandle({ type: "FileHandle", kind: KIND, key: uri, readOnly: true, address: uri, native: { uri } });
  }

  async listing(locator: Locator, state: State, op?: Op): Promise<string | undefined> {
    op?.signal?.throwIfAborted();
    if (state["type"] !== "dir") return undefined;
    const root = this.#root(locator);
    const recent = this.#recent.get(root);
    const { rows, digest } = recent && recent.digest === state["digest"] ? recent : await this.#read(locator, op);
    return digest === state["digest"] ? listingText(rows) : undefined;
  }

  // deno-lint-ignore require-await -- a refusal must be a rejection
  async diff(
    locator: Locator,
    a: State,
    b: State,
    options?: Op & { readonly listings?: readonly [string | undefined, string | undefined] },
  ): Promise<ObjectDiff> {
    options?.signal?.throwIfAborted();
    return diffStates(a, b, {
      label: locatorUri(locator),
      listings: options?.listings ?? [undefined, undefined],
    });
  }

  async create(locator: Locator, options: Op & { readonly owner: string }): Promise<State> {
    options.signal?.throwIfAborted();
    await createFolder(this.#localPath(locator), options.owner);
    return await this.fingerprint(locator, undefined);
  }

  async owner(locator: Locator, op?: Op): Promise<string | undefined> {
    op?.signal?.throwIfAborted();
    return await readOwner(this.#root(locator));
  }

  async isRefEmpty(locator: Locator, options?: Op): Promise<boolean | undefined> {
    options?.signal?.throwIfAborted();
    return await holdsOnlyMarker(this.#root(locator));
  }

  async deleteStore(locator: Locator, options: Op & { readonly owner: string }): Promise<void> {
    options.signal?.throwIfAborted();
    await deleteFolder(this.#localPath(locator), options.owner);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#recent.clear();
    return Promise.resolve();
  }

  async #read(locator: Locator, op: Op | undefined): Promise<Fingerprint> {
    if (atOf(locator) !== undefined) throw noBranches(locator, `"at"`);
    const root = this.#root(locator);
    const known = this.#recent.get(root);
    const read = await fingerprintPath(root, {
      ...op,
      known: known?.rows.asKnown(known.digest),
      cacheDir: this.#settings.cacheDir,
      now: () => this.#settings.now?.().getTime() ?? Date.now(),
      warn: this.#settings.warn,
    });
    this.#remember(root, read);
    return read;
  }

  /** Keeps what the next fingerprint and the listing of a commit start from, within bounds. */
  #remember(root: string, read: Fingerprint): void {
    this.#recent.delete(root);
    this.#recent.set(root, read);
    let rows = 0;
    for (const [path, recent] of [...this.#recent].reverse()) {
      rows += recent.rows.length;
      if (rows > MAX_RECENT_ROWS && path !== root) this.#recent.delete(path);
    }
  }

  /** Returns the absolute path of a locator, with its links resolved. */
  #root(locator: Locator): string {
    return resolveExisting(this.#localPath(locator));
  }

  #localPath(locator: Locator): string {
    const uri = locatorUri(locator);
    const path = requireLocal(uri, KIND);
    if (path !== "" && isAbsolute(path)) return path;
    const base = this.#settings.datasetRoot;
    if (path === "" || base === undefined) {
      throw new InvalidLocatorError(`Cannot use "${uri}" as a path: it is not absolute`, { kind: KIND });
    }
    return join(base, path);
  }
}

function noBranches(locator: Locator, what: string): CapabilityError {
  return new CapabilityError(
    `Cannot use ${what} with "${locatorUri(locator)}": files have no branches and no history`,
    {
      kind: KIND,
    },
  );
}
