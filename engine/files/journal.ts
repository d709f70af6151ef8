/**
 * The operation journal `.tether/ops.jsonl`: what `ops` shows, what `undo` reads, and what a killed operation leaves behind
 * (formats §11, L37).
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../model/json.ts";
import { parsePinRef } from "../model/names.ts";
import { redactRecord } from "../model/redact.ts";
import { isoSeconds } from "../model/time.ts";
import { appendLine, readRecords } from "./_json_lines.ts";

/** One operation, with its progress and completion folded in. */
export interface OpEntry {
  /** 12 hex digits. */
  readonly id: string;
  /** When it started: ISO 8601 UTC, to the second. */
  readonly at: string;
  readonly command: string;
  /** The plan it applied; `null` for an operation without one. */
  readonly plan: JsonObject | null;
  readonly result: JsonObject;
  /** What was there before, for undo. */
  readonly pre: JsonObject;
  /** The entry this one undoes. */
  readonly undoes: string | null;
  /** The entry that undid this one. */
  readonly undoneBy: string | null;
  /** `started` for an operation that runs, or was killed. */
  readonly status: "started" | "done";
  /** The entry this one is a part of. */
  readonly parent: string | null;
  /** Steps that took effect, in order; each has an `action`. */
  readonly progress: readonly JsonObject[];
}

/** What an entry begins with. */
export interface OpStart {
  readonly command: string;
  readonly plan?: JsonObject | null;
  readonly pre?: JsonObject;
  readonly parent?: string | null;
  readonly undoes?: string | null;
}

/** An operation whose entry is started. */
export interface RunningOp {
  readonly id: string;
  /** Records a step that has taken effect; durable when it returns. */
  progress(step: JsonObject & { readonly action: string }): Promise<void>;
  /**
   * Completes the entry. `pre` is merged over the one it started with. Completing an undo marks its target undone, unless
   * the result has `failed`.
   */
  done(result: JsonObject, pre?: JsonObject): Promise<void>;
}

/** One checkout's journal. */
export class Journal {
  readonly #path: string;
  readonly #now: () => Date;
  readonly #newId: () => string;
  /** What was read last. The file only grows, so it says the same while it is as long. */
  #last: { readonly stamp: string; readonly entries: readonly OpEntry[] } | undefined;

  constructor(path: string, options: { readonly now?: () => Date; readonly newId?: () => string } = {}) {
    this.#path = path;
    this.#now = options.now ?? (() => new Date());
    this.#newId = options.newId ?? (() => crypto.randomUUID().replaceAll("-", "").slice(0, 12));
  }

  /** Reads every entry, oldest first. Lines that cannot be read are skipped. Needs read permission only. */
  async read(): Promise<readonly OpEntry[]> {
    const stamp = await stampOf(this.#path);
    if (this.#last && this.#last.stamp === stamp) return this.#last.entries;
    const entries = foldEntries(await readRecords(this.#path));
    // A file that grew while it was read is read again the next time.
    this.#last = stamp === undefined ? undefined : { stamp, entries };
    return entries;
  }

  /** Starts an entry. It is durable when this returns: before the first side effect (L37). */
  async start(entry: OpStart): Promise<RunningOp> {
    const path = this.#path;
    const id = this.#newId();
    const undoes = entry.undoes ?? null;
    await append(path, this.#line(id, entry, "started", {}));
    return {
      id,
      progress: (step) => append(path, { progress: id, ...step }),
      done: (result, pre = {}) => {
        const mark: JsonObject = undoes === null || Object.hasOwn(result, "failed") ? {} : { undone: undoes, by: id };
        return append(path, { done: id, result, pre, ...mark });
      },
    };
  }

  /** Records an operation that touched the working tree only, once it is done. Returns the entry's id. */
  async record(entry: OpStart & { readonly result: JsonObject }): Promise<string> {
    const id = this.#newId();
    await append(this.#path, this.#line(id, entry, "done", entry.result));
    return id;
  }

  /**
   * Completes an entry that a killed process left started. With `by`, an operation that finished its work or took its place,
   * it counts as undone by that one: there is nothing of its own left to take back.
   */
  async close(id: string, result: JsonObject, options: { readonly by?: string } = {}): Promise<void> {
    const mark: JsonObject = options.by === undefined ? {} : { undone: id, by: options.by };
    await append(this.#path, { done: id, result, pre: {}, ...mark });
  }

  /** Notes that the user knows that the commit of an operation is gone. A step like any other, so that every version reads on. */
  async acknowledge(id: string): Promise<void> {
    await append(this.#path, { progress: id, action: ACKNOWLEDGED });
  }

  #line(id: string, entry: OpStart, status: OpEntry["status"], result: JsonObject): JsonObject {
    return {
      id,
      at: isoSeconds(this.#now()),
      command: entry.command,
      plan: entry.plan ?? null,
      result,
      pre: entry.pre ?? {},
      undoes: entry.undoes ?? null,
      undone_by: null,
      status,
      parent: entry.parent ?? null,
      progress: [],
    };
  }
}

/** The step that says that the user knows of a vanished commit. */
const ACKNOWLEDGED = "ack";

/** Tells whether the user knows that the commit of an operation is gone. */
export function isAcknowledged(entry: OpEntry): boolean {
  return entry.progress.some((step) => step["action"] === ACKNOWLEDGED);
}

/** Appends a record with the secrets in it masked (L39). */
function append(path: string, record: JsonObject): Promise<void> {
  return appendLine(path, redactRecord(record));
}

/** Returns what changes whenever something is appended; `undefined` when there is no file. */
async function stampOf(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtime } = await Deno.lstat(path);
    return [ino, size, mtime?.getTime()].join(":");
  } catch {
    // Absent, or not to be looked at: reading it says so.
    return undefined;
  }
}

/** Makes entries of journal lines: progress, completions and undo marks go to the entry they name. */
export function foldEntries(lines: readonly JsonObject[]): OpEntry[] {
  const entries = new Map<string, OpEntry & { readonly progress: JsonObject[] }>();
  function change(id: Json | undefined, patch: (entry: OpEntry) => Partial<OpEntry>): void {
    const entry = typeof id === "string" ? entries.get(id) : undefined;
    if (entry) entries.set(entry.id, { ...entry, ...patch(entry), progress: entry.progress });
  }
  for (const line of lines) {
    if (Object.hasOwn(line, "command")) {
      const entry = readEntry(line);
      if (entry) entries.set(entry.id, entry);
      continue;
    }
    if (typeof line["progress"] === "string") {
      const { progress: id, ...step } = line;
      entries.get(id as string)?.progress.push(step);
      continue;
    }
    change(line["done"], (entry) => ({
      status: "done",
      result: asObject(line["result"]),
      pre: { ...entry.pre, ...asObject(line["pre"]) },
    }));
    const by = line["by"];
    change(line["undone"], () => ({ undoneBy: typeof by === "string" ? by : null }));
  }
  return [...entries.values()];
}

function readEntry(line: JsonObject): (OpEntry & { readonly progress: JsonObject[] }) | undefined {
  const { id, at, command, plan } = line as Record<string, Json>;
  if (typeof id !== "string" || typeof command !== "string") return undefined;
  return {
    id,
    at: typeof at === "string" ? at : "",
    command,
    plan: isJsonObject(plan) ? plan : null,
    result: asObject(line["result"]),
    pre: asObject(line["pre"]),
    undoes: asText(line["undoes"]),
    undoneBy: asText(line["undone_by"]),
    status: line["status"] === "started" ? "started" : "done",
    parent: asText(line["parent"]),
    progress: Array.isArray(line["progress"]) ? line["progress"].filter(isJsonObject) : [],
  };
}

/** Returns the ids of pins that operations still running, or killed, made or meant to make: they count as referenced. */
export function inFlightPinIds(entries: readonly OpEntry[]): Set<string> {
  const ids = new Set<string>();
  for (const entry of entries) {
    if (entry.status !== "started") continue;
    for (const action of planActions(entry.plan)) {
      const id = asObject(action["params"])["pin_id"];
      if (isPinning(action["op"]) && typeof id === "string") ids.add(id);
    }
    for (const step of entry.progress) if (isPinning(step["action"])) { for (const id of pinIdsOf(step)) ids.add(id); }
  }
  return ids;
}

/** A pin this clone made, as {@link seedPins} finds it. */
export interface SeededPin {
  readonly pinId: string;
  /** The backend kind; empty when the journal does not say. */
  readonly kind: string;
  readonly key: string;
}

/**
 * Returns the pins that the operations of every live checkout made and none has released since, for a clone whose index of
 * pins does not exist yet (formats §11, §12).
 */
export function seedPins(entries: readonly OpEntry[]): SeededPin[] {
  const pins = new Map<string, SeededPin>();
  const ordered = [...entries].sort((a, b) => a.at < b.at ? -1 : a.at > b.at ? 1 : 0);
  for (const entry of ordered) {
    if (entry.result["rolled_back"] === true) continue;
    for (const step of entry.progress) {
      const made = step["action"] === "pin" || (step["action"] === "repin" && step["created"] === true);
      for (const id of pinIdsOf(step)) {
        if (step["action"] === "unpin") pins.delete(id);
        else if (made) {
          const action = planActions(entry.plan).find((a) => asObject(a["params"])["pin_id"] === id);
          const key = asText(step["key"]) ?? asText(action?.["key"]) ?? "";
          pins.set(id, { pinId: id, kind: asText(action?.["kind"]) ?? "", key });
        }
      }
    }
  }
  return [...pins.values()];
}

/** Returns what a journaled plan was made for; empty where the entry has none. */
export function planContext(plan: OpEntry["plan"]): JsonObject {
  return asObject(plan?.["context"]);
}

/** Returns the actions of a journaled plan; none where the entry has none. */
export function planActions(plan: OpEntry["plan"]): JsonObject[] {
  const actions = plan?.["actions"];
  return Array.isArray(actions) ? actions.filter(isJsonObject) : [];
}

function isPinning(verb: Json | undefined): boolean {
  return verb === "pin" || verb === "repin";
}

function pinIdsOf(step: JsonObject): string[] {
  return [step["ref"], step["target"]].flatMap((ref) => typeof ref === "string" ? parsePinRef(ref)?.id ?? [] : []);
}

function asObject(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function asText(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}
