/**
 * `.tether/workspace.toml`: what this checkout works on, and what it last saw (formats §8).
 *
 * @module
 */

import { dirname } from "node:path";
import { ConfigError } from "../model/errors.ts";
import type { JsonObject } from "../model/json.ts";
import type { State } from "../model/manifest.ts";
import { Fields } from "./_fields.ts";
import { isReadOnly, readText, removeIfThere, syncFolder, writeAll, writeAtomic, writeTemp } from "./atomic.ts";
import { type DatasetPaths, datasetPaths, usableCache } from "./layout.ts";
import { readsBackAs, readToml, type TomlTable, writeToml } from "./toml.ts";

const MAX_BYTES = 256 * 1024 * 1024;
const NAME = ".tether/workspace.toml";

/**
 * An object that the last fan-out could not read.
 *
 * @example See why an object could not be read
 * ```ts
 * import { Dataset, type SnapshotError } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: `${cwd}-nowhere` } });
 * await ds.status({ snapshot: true });
 * const error: SnapshotError | undefined = ds.workspace.lastSnapshotErrors["raw"];
 * assert.equal(error?.ref, "");
 * ```
 */
export interface SnapshotError {
  /** The ref that would have been read; empty for upstream. */
  readonly ref: string;
  /** The error's sentence. */
  readonly error: string;
}

/**
 * The working state of a checkout. Look keys up with {@link entryOf}: an object may be named `constructor`.
 *
 * @example See what this checkout works on
 * ```ts
 * import { Dataset, type WorkspaceState } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 * await ds.new({ bookmark: "relabel" });
 *
 * const workspace: WorkspaceState = ds.workspace;
 * assert.deepEqual([workspace.bookmark, Object.keys(workspace.pendingForks)], ["relabel", ["m"]]);
 * ```
 */
export interface WorkspaceState {
  /** 32 hex digits; binds plans to this checkout. */
  readonly workspaceId: string;
  /** The bookmark worked on; `null` for a read-only checkout. */
  readonly bookmark: string | null;
  /** When the last fan-out was: ISO 8601; `null` for never. */
  readonly lastSnapshotAt: string | null;
  /** Branches that exist, by object key. */
  readonly workingRefs: Readonly<Record<string, string>>;
  /** Branches decided on but not made. */
  readonly pendingForks: Readonly<Record<string, string>>;
  /** Heads that `new` agreed to reset, for pending forks whose branch existed. */
  readonly pendingResets: Readonly<Record<string, State>>;
  /** The state each working branch started at. */
  readonly forkPoints: Readonly<Record<string, State>>;
  /** The committed state each branch stands for. */
  readonly baseStates: Readonly<Record<string, State>>;
  /** States as last read. */
  readonly lastSnapshot: Readonly<Record<string, State>>;
  /** Objects that the last fan-out could not read, by key. */
  readonly lastSnapshotErrors: Readonly<Record<string, SnapshotError>>;
}

/** Returns the entry of a key, and nothing that a record merely inherits. */
export function entryOf<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Returns the state of a checkout that nothing was done in yet. */
export function newWorkspace(workspaceId: string, bookmark: string | null = null): WorkspaceState {
  return {
    workspaceId,
    bookmark,
    lastSnapshotAt: null,
    workingRefs: {},
    pendingForks: {},
    pendingResets: {},
    forkPoints: {},
    baseStates: {},
    lastSnapshot: {},
    lastSnapshotErrors: {},
  };
}

/**
 * Reads a workspace file. Every field is optional; a missing id is the empty string.
 *
 * @throws {ConfigError} naming file and path of a wrong value.
 */
export function parseWorkspace(text: string, name: string): WorkspaceState {
  const fields = new Fields(readToml(text, name, { maxLength: MAX_BYTES }), name);
  const refs = (key: string) => fields.table(key).record((table, k) => table.requiredText(k));
  const states = (key: string) => fields.table(key).record((table, k): JsonObject => table.object(k) ?? {});
  const workspaceId = fields.anyText("workspace_id") ?? "";
  if (!/^[0-9a-f]{32}$|^$/.test(workspaceId)) {
    throw fields.problem("workspace_id", "it is not 32 lower-case hex digits");
  }
  return {
    workspaceId,
    bookmark: fields.text("bookmark") ?? null,
    lastSnapshotAt: fields.time("last_snapshot_at") ?? null,
    workingRefs: refs("working_refs"),
    pendingForks: refs("pending_forks"),
    pendingResets: states("pending_resets"),
    forkPoints: states("fork_points"),
    baseStates: states("base_states"),
    lastSnapshot: states("last_snapshot"),
    lastSnapshotErrors: fields.table("last_snapshot_errors").record((table, k): SnapshotError => {
      const entry = table.table(k);
      return { ref: entry.anyText("ref") ?? "", error: entry.anyText("error") ?? "" };
    }),
  };
}

/**
 * Writes a workspace file. Keys of the previous text that this version does not know are kept, behind its own.
 *
 * @throws {ConfigError} if the text would not read back as meant.
 */
export function formatWorkspace(workspace: WorkspaceState, previous?: string): string {
  const tables: TomlTable = {
    working_refs: workspace.workingRefs,
    pending_forks: workspace.pendingForks,
    pending_resets: workspace.pendingResets,
    fork_points: workspace.forkPoints,
    base_states: workspace.baseStates,
    last_snapshot: workspace.lastSnapshot,
    last_snapshot_errors: workspace.lastSnapshotErrors as Readonly<Record<string, TomlTable & SnapshotError>>,
  };
  const own: TomlTable = {
    ...(workspace.workspaceId === "" ? {} : { workspace_id: workspace.workspaceId }),
    ...(workspace.bookmark === null ? {} : { bookmark: workspace.bookmark }),
    ...(workspace.lastSnapshotAt === null ? {} : { last_snapshot_at: workspace.lastSnapshotAt }),
    ...Object.fromEntries(Object.entries(tables).filter(([, table]) => Object.keys(table as TomlTable).length > 0)),
  };
  const known = new Set(["workspace_id", "bookmark", "last_snapshot_at", ...Object.keys(tables)]);
  const before = previous === undefined ? {} : readToml(previous, NAME, { maxLength: MAX_BYTES });
  const table: TomlTable = {
    ...own,
    ...Object.fromEntries(Object.entries(before).filter(([key]) => !known.has(key))),
  };
  const text = writeToml(table);
  if (!readsBackAs(text, table)) {
    throw new ConfigError(`Cannot write "${NAME}": its text would not read back as meant`, { code: "toml-rewrite" });
  }
  return text;
}

/** The workspace file of one checkout. */
export class WorkspaceFile {
  readonly #paths: DatasetPaths;
  readonly #newId: () => string;
  /** The id of a checkout whose file has none, or that cannot be written. */
  #mintedId: string | undefined;
  #persistent = false;

  /** `newId` makes an id of 32 hex digits. */
  constructor(root: string, newId: () => string = () => crypto.randomUUID().replaceAll("-", "")) {
    this.#paths = datasetPaths(root);
    this.#newId = newId;
  }

  /** Whether the id last read is on disk, so that a plan that names it will still apply in a later process. */
  get persistent(): boolean {
    return this.#persistent;
  }

  /**
   * Reads the state. Where there is no file yet this process claims the checkout by making one, or reads the one another
   * process made first; where nothing can be written the state stays in memory.
   *
   * @throws {ConfigError} if the file does not parse.
   */
  async read(): Promise<WorkspaceState> {
    let text = await this.text();
    if (text === null) {
      const fresh = newWorkspace(this.#minted());
      if (!await this.#claim(formatWorkspace(fresh))) {
        this.#persistent = false;
        return fresh;
      }
      text = await this.text() ?? formatWorkspace(fresh);
    }
    const state = parseWorkspace(text, NAME);
    this.#persistent = state.workspaceId !== "";
    return this.#persistent ? state : { ...state, workspaceId: this.#minted() };
  }

  /** Returns the exact text of the file; `null` when there is none. */
  async text(): Promise<string | null> {
    return await readText(this.#paths.workspace, { name: NAME, maxBytes: MAX_BYTES, noFollow: true }) ?? null;
  }

  /** Replaces the state. Keys this version does not know are kept. Call it with the checkout lock held. */
  async write(workspace: WorkspaceState): Promise<void> {
    const previous = await this.text();
    const text = formatWorkspace(workspace, previous ?? undefined);
    if (text !== previous) await writeAtomic(this.#paths.workspace, text, { tempDir: this.#paths.cache });
    this.#persistent = workspace.workspaceId !== "";
  }

  #minted(): string {
    return this.#mintedId ??= this.#newId();
  }

  /** Creates the file unless there is one; `false` when the checkout cannot be written. */
  async #claim(text: string): Promise<boolean> {
    const folder = dirname(this.#paths.workspace);
    try {
      const temp = await writeTemp(await usableCache(this.#paths) ?? folder, this.#paths.workspace, text);
      try {
        await this.#linkOrCreate(temp, text);
      } finally {
        await removeIfThere(temp);
      }
    } catch (error) {
      if (isReadOnly(error) || error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
    await syncFolder(folder);
    return true;
  }

  async #linkOrCreate(temp: string, text: string): Promise<void> {
    try {
      await Deno.link(temp, this.#paths.workspace);
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) return;
      // No hard links here, or the cache is on another file system: creating exclusively is the next best.
      await this.#create(text);
    }
  }

  async #create(text: string): Promise<void> {
    try {
      using file = await Deno.open(this.#paths.workspace, { write: true, createNew: true });
      await writeAll(file, new TextEncoder().encode(text));
      await file.sync();
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
}
