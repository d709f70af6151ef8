/**
 * The kind `lance`: tables of the Lance format, read and forked without native code (backends §3.5).
 *
 * @module
 */

import type {
  BackendSettings,
  BackendStatics,
  Expected,
  HistoryEntry,
  Locator,
  ObjectBackend,
  ObjectDiff,
  Op,
  Pin,
  Retention,
  Source,
  State,
  Target,
  Verdict,
} from "../backend.ts";
import { RefConflictError, StateGoneError } from "../../engine/model/backend_errors.ts";
import { renderState } from "../../engine/model/render_state.ts";
import { canonicalUri } from "../../engine/io/paths.ts";
import { mapLimit } from "../../engine/io/pool.ts";
import { parsePinRef, refForPin, WORKING_REF_PREFIX } from "../../engine/model/names.ts";
import { howToInstall, LANCE_ADDON } from "../native.ts";
import { blockersOf, fork, removeBranch } from "./_fork.ts";
import { diffManifests, history } from "./_history.ts";
import type { Manifest } from "./_manifest.ts";
import {
  detachedAt,
  locate,
  newestOf,
  pinned,
  type Position,
  positionOf,
  requireHead,
  samePosition,
  stateOf,
} from "./_positions.ts";
import { branchNames, createTag, deleteTag, readTag, tagNames } from "./_refs.ts";
import {
  baseOf,
  exclusively,
  KIND,
  MAIN,
  openTable,
  readManifestOf,
  readVersion,
  requireTable,
  type Table,
  uriOf,
} from "./_table.ts";
import { verify } from "./_verify.ts";
import { LanceHandle } from "./handle.ts";
import { lanceStatics } from "./statics.ts";

/** Backend of the kind `lance`. */
export class LanceBackend implements ObjectBackend {
  readonly statics: BackendStatics = lanceStatics;
  readonly #settings: BackendSettings;
  readonly #now: () => Date;

  constructor(settings: BackendSettings) {
    this.#settings = settings;
    this.#now = settings.now ?? (() => new Date());
  }

  identity(locator: Locator): Locator {
    return { uri: canonicalUri(uriOf(locator)) };
  }

  baseBranch(locator: Locator): string {
    return baseOf(locator);
  }

  async limitations(): Promise<string | undefined> {
    const how = await howToInstall(LANCE_ADDON);
    return how === undefined ? undefined : `versioned here, and not opened by programs: ${how}`;
  }

  async validateLocator(locator: Locator, op: Op = {}): Promise<readonly string[]> {
    op.signal?.throwIfAborted();
    this.#open(locator);
    return await Promise.resolve([]);
  }

  async fingerprint(locator: Locator, ref: string | undefined, op: Op = {}): Promise<State> {
    op.signal?.throwIfAborted();
    const table = this.#open(locator);
    const detached = ref === undefined ? await detachedAt(table, locator, op) : undefined;
    return stateOf(detached ?? await requireHead(table, ref ?? baseOf(locator), op));
  }

  async verify(
    locator: Locator,
    state: State,
    pin: Pin | undefined,
    options: Op & { readonly deep: boolean },
  ): Promise<Verdict> {
    options.signal?.throwIfAborted();
    return await verify(this.#open(locator), { state, pin }, options);
  }

  async verifyPins(
    locator: Locator,
    items: readonly { readonly state: State; readonly pin: Pin }[],
    op: Op = {},
  ): Promise<readonly Verdict[]> {
    op.signal?.throwIfAborted();
    const table = this.#open(locator);
    return await mapLimit(items, lanceStatics.concurrency, (item) => verify(table, item, { ...op, deep: false }));
  }

  async openHandle(
    locator: Locator,
    target: Target,
    options: Op & { readonly readOnly: boolean },
  ): Promise<LanceHandle> {
    options.signal?.throwIfAborted();
    const table = this.#open(locator);
    const { tag, position, branch } = await this.#target(table, { locator, target }, options);
    return new LanceHandle({
      uri: table.uri,
      root: table.root,
      position,
      readOnly: branch === undefined || options.readOnly,
      ...(tag === undefined ? {} : { tag }),
    });
  }

  async retention(locator: Locator, state: State, options: Op & { readonly capturedAt?: Date }): Promise<Retention> {
    const { config } = await this.#manifest(this.#open(locator), state, options);
    const interval = config.get("lance.auto_cleanup.interval");
    if (interval === undefined) return { rule: "kept until somebody cleans up old versions", enforced: "operator" };
    const age = config.get("lance.auto_cleanup.older_than");
    const kept = config.get("lance.auto_cleanup.retain_versions");
    const limits = [age && `older than ${age}`, kept && `beyond the last ${kept}`].filter((limit) =>
      limit !== undefined
    );
    return {
      rule: `every ${interval} commits versions ${limits.join(" and ") || "older than Lance's default"} are removed`,
      enforced: "automatic",
    };
  }

  async pin(locator: Locator, state: State, pinId: string, op: Op = {}): Promise<Pin> {
    op.signal?.throwIfAborted();
    const table = this.#open(locator);
    const position = positionOf(state);
    const ref = refForPin(pinId);
    // A branch must not be deleted between the look at it and the tag that holds it.
    const run = <T>(fn: (table: Table) => Promise<T>) =>
      position.branch === MAIN ? fn(table) : exclusively(table, fn, op);
    return await run(async (held) => {
      const file = await locate(held, position, op);
      if (!await readTag(held, ref, op)) {
        const manifestSize = (await readVersion(held, file, op)).bytes.length;
        op.signal?.throwIfAborted();
        const tag = { name: ref, branch: position.branch, version: position.version, manifestSize, now: this.#now() };
        if (await createTag(held, tag)) return { id: pinId, ref, created: true };
      }
      const found = await readTag(held, ref, op);
      if (found && samePosition(found, position)) return { id: pinId, ref, created: false };
      throw new RefConflictError(
        `Cannot pin ${renderState(state)} of "${table.uri}": "${ref}" is at ${renderState(found && stateOf(found))}`,
        { kind: KIND },
      );
    });
  }

  async unpin(locator: Locator, pin: Pin, op: Op = {}): Promise<void> {
    op.signal?.throwIfAborted();
    const table = this.#open(locator);
    await deleteTag(table, pin.ref, op);
    if (await readTag(table, pin.ref, {})) {
      throw new RefConflictError(`Cannot delete pin "${pin.ref}" of "${table.uri}": it is still there`, { kind: KIND });
    }
  }

  async listPins(locator: Locator, op: Op = {}): Promise<ReadonlySet<string>> {
    const table = await this.#existing(locator, op);
    return new Set((await tagNames(table, op)).flatMap((name) => parsePinRef(name)?.id ?? []));
  }

  async fork(
    locator: Locator,
    from: Source,
    name: string,
    options: Op & { readonly expected?: Expected } = {},
  ): Promise<string> {
    options.signal?.throwIfAborted();
    return await fork(this.#open(locator), from, { ...options, name, now: this.#now });
  }

  async deleteWorkingRef(locator: Locator, ref: string, op: Op = {}): Promise<void> {
    op.signal?.throwIfAborted();
    if (ref !== baseOf(locator)) await removeBranch(this.#open(locator), ref, op);
  }

  async listWorkingRefs(locator: Locator, op: Op = {}): Promise<readonly string[]> {
    const table = await this.#existing(locator, op);
    return (await branchNames(table, op)).filter((name) => name.startsWith(WORKING_REF_PREFIX));
  }

  async workingRefBlockers(
    locator: Locator,
    ref: string,
    options: Op & { readonly ignoring?: ReadonlySet<string> } = {},
  ): Promise<string | undefined> {
    return await blockersOf(await this.#existing(locator, options), ref, options);
  }

  async history(
    locator: Locator,
    options: Op & { readonly ref?: string; readonly limit: number },
  ): Promise<readonly HistoryEntry[]> {
    options.signal?.throwIfAborted();
    const table = this.#open(locator);
    const detached = options.ref === undefined ? await detachedAt(table, locator, options) : undefined;
    const from = detached ?? await this.#newest(table, options.ref ?? baseOf(locator), options);
    return await history(table, from, options);
  }

  async diff(locator: Locator, a: State, b: State, options: Op = {}): Promise<ObjectDiff> {
    options.signal?.throwIfAborted();
    const table = this.#open(locator);
    return diffManifests(await this.#manifest(table, a, options), await this.#manifest(table, b, options));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #open(locator: Locator): Table {
    return openTable(locator, this.#settings);
  }

  async #existing(locator: Locator, op: Op): Promise<Table> {
    op.signal?.throwIfAborted();
    const table = this.#open(locator);
    await requireTable(table, op);
    return table;
  }

  async #manifest(table: Table, state: State, op: Op): Promise<Manifest> {
    const file = await locate(table, positionOf(state), op);
    return await readManifestOf(table, file, op);
  }

  /** The newest version of a branch, under its own name even when nobody wrote to it. */
  async #newest(table: Table, branch: string, op: Op): Promise<Position> {
    const newest = await newestOf(table, branch, op);
    if (newest) return newest.position;
    throw new StateGoneError(`Cannot read branch "${branch}" of "${table.uri}": it does not exist`, { kind: KIND });
  }

  /** What a target names; `branch` when it is one that can be written to. */
  async #target(
    table: Table,
    what: { readonly locator: Locator; readonly target: Target },
    op: Op,
  ): Promise<{ readonly position: Position; readonly branch?: string; readonly tag?: string }> {
    const { locator, target } = what;
    switch (target.on) {
      case "pin":
        return { position: await pinned(table, target.pin.ref, op), tag: target.pin.ref };
      case "state": {
        const position = positionOf(target.state);
        await locate(table, position, op);
        return { position };
      }
      case "base": {
        const detached = await detachedAt(table, locator, op);
        if (detached) return { position: detached };
        const branch = baseOf(locator);
        return { position: await this.#newest(table, branch, op), branch };
      }
      case "ref":
        return { position: await this.#newest(table, target.ref, op), branch: target.ref };
    }
  }
}
