/**
 * The log of a Delta table: which versions exist, what each commit says, and which checkpoint a version is built on.
 *
 * @module
 */

import type { Op } from "../backend.ts";
import { BackendError, StateGoneError, StoreNotFoundError } from "../../engine/model/backend_errors.ts";
import { parseJson } from "../../engine/model/json.ts";
import { mapLimit } from "../../engine/io/pool.ts";
import { sleep } from "../../engine/io/retry.ts";
import type { ObjectInfo } from "../storage/storage.ts";
import { type Action, type ActionType, type CommitInfo, type Metadata, parseCommit } from "./_actions.ts";
import { readCheckpoint } from "./_checkpoint.ts";
import { changed, KIND, LOG, type Table } from "./_table.ts";

/** How many commits are read side by side. */
const PARALLEL = 16;

/** The state of the table at one version, in one or several files. */
export interface Checkpoint {
  readonly version: number;
  readonly files: readonly ObjectInfo[];
}

/** Options of {@link openLog}. */
export interface LogOptions extends Op {
  /**
   * A version the listing must reach back to. The whole log is listed when the newest checkpoint is beyond it.
   * @default {the head}
   */
  readonly reach?: number;
}

/**
 * Lists a table's log from its newest checkpoint on. The checkpoint that `_last_checkpoint` names only says where to
 * begin: the listing decides.
 *
 * @throws {StoreNotFoundError} if there is no table.
 * @throws {BackendError} if a version after the newest checkpoint is missing.
 */
export async function openLog(table: Table, options: LogOptions = {}): Promise<DeltaLog> {
  const reach = options.reach ?? Infinity;
  const hint = await readHint(table, options) ?? 0;
  const from = hint > reach ? 0 : hint;
  for (let attempt = 0;; attempt++) {
    let log = await list(table, { ...options, from });
    // The hint may name a checkpoint that is gone, or one that never was.
    if (from > 0 && !log.checkpoints.some((c) => c.version <= reach)) log = await list(table, { ...options, from: 0 });
    const head = log.head;
    if (head === undefined) {
      throw new StoreNotFoundError(`Cannot open "${table.uri}": it is no Delta table, its log is empty or missing`, {
        kind: KIND,
      });
    }
    const gap = firstMissing(log.commits, { after: log.checkpoints.at(-1)?.version ?? -1, through: head });
    if (gap === undefined) return new DeltaLog(table, { ...log, head });
    // A listing is no snapshot: it can show a commit and miss the one before, made while it ran.
    if (attempt > 0) {
      throw new BackendError(
        `Cannot read "${table.uri}": version ${gap} is missing from its log, which goes to ${head}`,
        {
          kind: KIND,
          details: { missing: gap, head },
        },
      );
    }
  }
}

/** A listed log. It describes the moment of the listing; later commits are not part of it. */
export class DeltaLog {
  readonly table: Table;
  /** The newest version. */
  readonly head: number;
  readonly #commits: ReadonlyMap<number, ObjectInfo>;
  readonly #checkpoints: readonly Checkpoint[];

  constructor(table: Table, data: Listing & { readonly head: number }) {
    this.table = table;
    this.head = data.head;
    this.#commits = data.commits;
    this.#checkpoints = data.checkpoints;
  }

  /**
   * Returns the newest checkpoint at or before a version; `undefined` when the version is built from commits alone.
   *
   * @throws {StateGoneError} if the version does not exist, or the log it is built from was cleaned up.
   */
  baseOf(version: number): Checkpoint | undefined {
    const name = `version ${version} of "${this.table.uri}"`;
    const options = { kind: KIND, details: { version, head: this.head } };
    if (version > this.head) throw new StateGoneError(`Cannot find ${name}: the newest is ${this.head}`, options);
    const base = this.#checkpoints.findLast((c) => c.version <= version);
    const missing = firstMissing(this.#commits, { after: base?.version ?? -1, through: version });
    if (missing === undefined) return base;
    throw new StateGoneError(`Cannot rebuild ${name}: version ${missing} is gone from the log`, options);
  }

  /** Returns what identifies the content of a version's log file as far as a listing can; `undefined` when it cannot. */
  stampOf(version: number): { readonly size: number; readonly modified: Date } | undefined {
    const info = this.#commits.get(version) ?? this.#checkpoints.find((c) => c.version === version)?.files[0];
    return info?.modified === undefined ? undefined : { size: info.size, modified: info.modified };
  }

  /** Tells whether a version's own commit is still in the log. */
  hasCommit(version: number): boolean {
    return this.#commits.has(version);
  }

  /** Returns the wanted actions of one commit. */
  async commit(version: number, wanted: readonly ActionType[], op: Op = {}): Promise<Action[]> {
    const key = commitKey(version);
    for (let attempt = 0;; attempt++) {
      const found = await this.table.storage.get(key, op);
      if (found === undefined) throw changed(this.table, key);
      const text = new TextDecoder().decode(found.bytes);
      try {
        // An empty file is a commit whose writer has only made the name.
        if (text.trim() !== "" || attempt > 0) return parseCommit(text, wanted);
      } catch (error) {
        if (attempt > 0) {
          throw new BackendError(`Cannot read version ${version} of "${this.table.uri}": its log entry is not JSON`, {
            kind: KIND,
            cause: error,
          });
        }
      }
      await sleep(50, op.signal);
    }
  }

  /** Returns the wanted actions of the commits after `after` up to `through`, oldest first. */
  async *commits(
    range: { readonly after: number; readonly through: number },
    wanted: readonly ActionType[],
    op: Op = {},
  ): AsyncIterable<readonly Action[]> {
    for (let from = range.after + 1; from <= range.through; from += PARALLEL) {
      const length = Math.min(PARALLEL, range.through - from + 1);
      yield* await mapLimit(
        Array.from({ length }, (_, i) => from + i),
        PARALLEL,
        (version) => this.commit(version, wanted, op),
        op.signal,
      );
    }
  }

  /** Returns the wanted actions of a checkpoint, sidecars included. */
  checkpoint(base: Checkpoint, wanted: readonly ActionType[], op: Op = {}): AsyncIterable<Action> {
    return readCheckpoint(this.table, base.files, { wanted, ...op });
  }

  /** Returns the metadata in force at a version. */
  async metadataAt(version: number, op: Op = {}): Promise<Metadata> {
    const base = this.baseOf(version);
    const oldest = (base?.version ?? -1) + 1;
    for (let through = version; through >= oldest; through -= PARALLEL) {
      const after = Math.max(oldest, through - PARALLEL + 1) - 1;
      let newest: Metadata | undefined;
      for await (const actions of this.commits({ after, through }, ["metaData"], op)) {
        newest = actions.findLast((a) => a.type === "metaData") ?? newest;
      }
      if (newest) return newest;
    }
    if (base) {
      for await (const action of this.checkpoint(base, ["metaData"], op)) {
        if (action.type === "metaData") return action;
      }
    }
    throw new BackendError(`Cannot read version ${version} of "${this.table.uri}": its log holds no metadata`, {
      kind: KIND,
    });
  }

  /** Returns what a commit says of itself, with the file's own time where it names none. */
  async commitInfo(version: number, op: Op = {}): Promise<CommitInfo> {
    const actions = await this.commit(version, ["commitInfo"], op);
    const info = actions.find((a) => a.type === "commitInfo");
    return {
      type: "commitInfo",
      operation: info?.operation ?? "",
      timestamp: info?.timestamp ?? this.stampOf(version)?.modified.getTime(),
      metrics: info?.metrics ?? {},
    };
  }
}

interface Listing {
  /** Undefined when nothing was found. */
  readonly head: number | undefined;
  readonly commits: ReadonlyMap<number, ObjectInfo>;
  /** Complete ones, oldest first. */
  readonly checkpoints: readonly Checkpoint[];
}

async function list(table: Table, options: Op & { readonly from: number }): Promise<Listing> {
  const { objects } = await table.storage.listFolder(LOG, { ...options, from: digits(options.from) });
  const commits = new Map<number, ObjectInfo>();
  const parts = new Map<string, { version: number; files: ObjectInfo[]; count: number }>();
  for (const info of objects) {
    const name = parseName(info.key.slice(LOG.length + 1));
    if (name === undefined) continue;
    if (name.type === "commit") {
      commits.set(name.version, info);
      continue;
    }
    const id = `${name.version} ${name.group}`;
    const group = parts.get(id) ?? { version: name.version, files: [], count: name.count };
    group.files.push(info);
    parts.set(id, group);
  }
  const checkpoints = [...parts.values()].filter((p) => p.files.length === p.count)
    .sort((a, b) => a.version - b.version);
  // The commit of the newest checkpoint may be cleaned up already.
  const head = [...commits.keys()].reduce((a, b) => Math.max(a, b), checkpoints.at(-1)?.version ?? -1);
  return { head: head < 0 ? undefined : head, commits, checkpoints };
}

type LogName =
  | { readonly type: "commit"; readonly version: number }
  | { readonly type: "checkpoint"; readonly version: number; readonly group: string; readonly count: number };

/** Reads a file name of the log; `undefined` for those that decide nothing (checksums, compacted commits, temporary files). */
export function parseName(name: string): LogName | undefined {
  const match = /^([0-9]{20})\.(?:(json)|checkpoint(?:\.([0-9]{10})\.([0-9]{10})|\.([0-9a-f-]{36}))?\.(parquet|json))$/
    .exec(name);
  const version = Number(match?.[1]);
  if (!match || !Number.isSafeInteger(version)) return undefined;
  const [, , commit, part, parts, uuid, format] = match;
  if (commit) return { type: "commit", version };
  // Only a checkpoint named by a UUID may be JSON.
  if (format === "json" && uuid === undefined) return undefined;
  if (part === undefined) return { type: "checkpoint", version, group: uuid ?? "", count: 1 };
  return { type: "checkpoint", version, group: parts ?? "", count: Number(parts) };
}

async function readHint(table: Table, op: Op): Promise<number | undefined> {
  const found = await table.storage.get(`${LOG}/_last_checkpoint`, op);
  if (found === undefined) return undefined;
  try {
    const hint = parseJson(new TextDecoder().decode(found.bytes));
    const version = hint !== null && typeof hint === "object" && "version" in hint ? hint["version"] : undefined;
    return typeof version === "number" && version >= 0 ? version : undefined;
  } catch {
    // A hint that does not parse costs a longer listing and nothing else.
    return undefined;
  }
}

function firstMissing(
  commits: ReadonlyMap<number, ObjectInfo>,
  range: { readonly after: number; readonly through: number },
): number | undefined {
  for (let version = range.after + 1; version <= range.through; version++) {
    if (!commits.has(version)) return version;
  }
  return undefined;
}

function commitKey(version: number): string {
  return `${LOG}/${digits(version)}.json`;
}

function digits(version: number): string {
  return String(version).padStart(20, "0");
}
