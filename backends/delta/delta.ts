/**
 * The kind `delta`: Delta Lake tables (backends §3.6). Their log alone is read; nothing is ever written, and a version is
 * kept only as long as the table's own retention keeps it.
 *
 * @module
 */

import {
  atOf,
  type BackendSettings,
  type BackendStatics,
  type Handle,
  type HistoryEntry,
  type Locator,
  type ObjectBackend,
  type ObjectDiff,
  type Op,
  type Pin,
  type Retention,
  type State,
  type Target,
  type Verdict,
} from "../backend.ts";
import {
  BackendError,
  CapabilityError,
  InvalidLocatorError,
  StateGoneError,
} from "../../engine/model/backend_errors.ts";
import { renderState } from "../../engine/model/render_state.ts";
import { canonicalUri } from "../../engine/io/paths.ts";
import { filesAt, findProblem } from "./_files.ts";
import { diffOf, historyOf, type VersionState } from "./_history.ts";
import { type DeltaLog, openLog } from "./_log.ts";
import { retentionOf } from "./_retention.ts";
import { KIND, openTable, uriOf } from "./_table.ts";
import { DeltaHandle } from "./handle.ts";
import { deltaStatics } from "./statics.ts";

/** A log file younger than this may still be replaced within one tick of a coarse clock (L21). */
const SETTLED_MS = 3000;

/** Backend of the kind `delta`. */
export class DeltaBackend implements ObjectBackend {
  readonly statics: BackendStatics = deltaStatics;
  readonly #settings: BackendSettings;
  /** Table ids by place, version and the stamp of the version's log file: old versions are asked for again and again. */
  readonly #tableIds = new Map<string, string>();

  constructor(settings: BackendSettings) {
    this.#settings = settings;
  }

  identity(locator: Locator): Locator {
    return { uri: canonicalUri(uriOf(locator)) };
  }

  /** A table has one line of versions and no branches; the name is for messages. */
  baseBranch(): string {
    return "main";
  }

  validateLocator(locator: Locator): Promise<readonly string[]> {
    try {
      openTable(locator, this.#settings);
      versionOf(locator);
      return Promise.resolve([]);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async fingerprint(locator: Locator, ref: string | undefined, op: Op = {}): Promise<State> {
    refuseRef(ref);
    const at = versionOf(locator);
    const log = await this.#log(locator, { ...op, reach: at });
    const version = at ?? log.head;
    return { version, table_id: await this.#tableId(log, version, op) };
  }

  async verify(
    locator: Locator,
    state: State,
    _pin: Pin | undefined,
    options: Op & { readonly deep: boolean },
  ): Promise<Verdict> {
    try {
      return await this.#verdict(locator, parseState(state), options);
    } catch (error) {
      if (!(error instanceof BackendError) || error instanceof CapabilityError) throw error;
      // Only the table itself can say that a version is gone. One that is not there may be a disk that is not mounted.
      const missing = error instanceof StateGoneError;
      return { status: missing ? "missing" : "unknown", message: error.reason, cause: error };
    }
  }

  async openHandle(locator: Locator, target: Target, options: Op & { readonly readOnly: boolean }): Promise<Handle> {
    if (target.on === "ref") refuseRef(target.ref);
    if (target.on === "pin") refuseRef(target.pin.ref);
    const wanted = target.on === "state" ? parseState(target.state) : undefined;
    const at = wanted?.version ?? versionOf(locator);
    const log = await this.#log(locator, { ...options, reach: at });
    const version = at ?? log.head;
    const tableId = await this.#tableId(log, version, options);
    if (wanted && tableId !== wanted.tableId) {
      throw new StateGoneError(
        `Cannot open version ${version} of "${log.table.uri}": another table lies there now, "${tableId}"`,
        { kind: KIND, details: { version, expected: wanted.tableId, found: tableId } },
      );
    }
    return new DeltaHandle(log.table, version);
  }

  async history(
    locator: Locator,
    options: Op & { readonly ref?: string; readonly limit: number },
  ): Promise<readonly HistoryEntry[]> {
    refuseRef(options.ref);
    const log = await this.#log(locator, { ...options, reach: 0 });
    const from = versionOf(locator) ?? log.head;
    return await historyOf(log, { ...options, from });
  }

  async diff(locator: Locator, a: State, b: State, op: Op = {}): Promise<ObjectDiff> {
    const sides = { a: parseState(a), b: parseState(b) };
    return await diffOf(await this.#log(locator, { ...op, reach: 0 }), sides, op);
  }

  async retention(locator: Locator, state: State, options: Op): Promise<Retention> {
    const { version } = parseState(state);
    return await retentionOf(await this.#log(locator, { ...options, reach: version }), version, options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  async #log(locator: Locator, options: Op & { readonly reach: number | undefined }): Promise<DeltaLog> {
    const { reach, ...op } = options;
    return await openLog(openTable(locator, this.#settings), { ...op, ...(reach === undefined ? {} : { reach }) });
  }

  async #verdict(locator: Locator, state: VersionState, options: Op & { readonly deep: boolean }): Promise<Verdict> {
    const log = await this.#log(locator, { ...options, reach: state.version });
    const { table, head } = log;
    if (await this.#tableId(log, head, options) !== state.tableId) {
      return { status: "drifted", message: "another table was made at the same place" };
    }
    if (head < state.version) {
      return { status: "missing", message: `the newest version is ${head}` };
    }
    if (await this.#tableId(log, state.version, options) !== state.tableId) {
      return { status: "drifted", message: `version ${state.version} belongs to another table` };
    }
    if (!options.deep) {
      return { status: "unknown", message: "the version is in the log; its files were not looked for" };
    }
    const problem = await findProblem(table, await filesAt(log, state.version, options), options);
    if (!problem) return { status: "ok" };
    return { status: problem.type === "gone" ? "missing" : "drifted", message: problem.detail };
  }

  async #tableId(log: DeltaLog, version: number, op: Op): Promise<string> {
    const stamp = log.stampOf(version);
    const settled = stamp !== undefined && Date.now() - stamp.modified.getTime() > SETTLED_MS;
    const key = `${log.table.root}\0${version}\0${stamp?.size}\0${stamp?.modified.getTime()}`;
    const known = this.#tableIds.get(key);
    if (known !== undefined && settled) {
      log.baseOf(version);
      return known;
    }
    const { id } = await log.metadataAt(version, op);
    if (settled) this.#tableIds.set(key, id);
    return id;
  }
}

/** Returns the version a locator is detached at. */
function versionOf(locator: Locator): number | undefined {
  const at = atOf(locator);
  if (at === undefined) return undefined;
  if (/^[0-9]+$/.test(at) && Number.isSafeInteger(Number(at))) return Number(at);
  throw new InvalidLocatorError(`Cannot use "${at}" as a position: a Delta version is a number`, { kind: KIND });
}

function parseState(state: State): VersionState {
  const { version, table_id: tableId } = state;
  if (typeof version === "number" && version >= 0 && typeof tableId === "string") return { version, tableId };
  throw new BackendError(`Cannot use the state "${renderState(state)}": it is none of a Delta table`, {
    kind: KIND,
  });
}

function refuseRef(ref: string | undefined): void {
  if (ref === undefined) return;
  throw new CapabilityError(`Cannot use "${ref}": a Delta table has no branches or tags`, { kind: KIND });
}
