/**
 * `undo`: takes back tether's last operation, as far as nothing was built on it (commands §5.16).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { type OpEntry, planContext } from "../files/journal.ts";
import { parseWorkspace } from "../files/workspace.ts";
import { renderState } from "../model/render_state.ts";
import { TetherError } from "../model/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../model/json.ts";
import { operate, withLocks } from "../plan/operation.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { UndoReport } from "../reports/moving.ts";
import { summary } from "./ops.ts";
import { pickSignal } from "./snapshot.ts";
import { revertBranches } from "./undo_branches.ts";
import { closing, finishing } from "./unfinished.ts";
import type { Outcome, Target } from "./undo_input.ts";
import { revertCommit, revertGc, revertManifests } from "./undo_files.ts";

/**
 * Options of {@link undo}.
 *
 * @example Take one operation back, whatever came after it
 * ```ts
 * import { Dataset, type UndoOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: "/data/raw" } });
 * await ds.add({ key: "more", kind: "file", locator: { uri: "/data/more" } });
 * const { ops } = await ds.ops();
 *
 * const options: UndoOptions = { op: ops.at(-1)?.id ?? "" };
 * await ds.undo(options);
 * assert.deepEqual([...ds.objects.keys()], ["more"]);
 * ```
 */
export interface UndoOptions extends CallOptions {
  /**
   * Id of the operation, or the beginning of it.
   * @default {the newest that is neither an undo nor undone}
   */
  readonly op?: string;
  /**
   * Deletes branches the operation made although they were written to.
   * @default {false}
   */
  readonly discard?: boolean;
}

/** Takes an operation back. The report says what could not be: `irreversible` and `skipped`. */
export function undo(ctx: Context, options: UndoOptions = {}): Promise<UndoReport> {
  return withLocks(ctx, { command: "undo", repository: true, ...pickSignal(options) }, async () => {
    const entries = await ctx.journal.read();
    const entry = choose(entries, options.op);
    await requireUndoable(ctx, entry, entries);
    const target = targetOf(ctx, entries, entry, options);
    options.signal?.throwIfAborted();
    const pre: JsonObject = { workspace: await ctx.workspaceFile.text(), target: entry.id };
    const { outcome, id } = await operate(ctx, { command: "undo", pre, undoes: entry.id }, {
      async run(op) {
        const outcome: Outcome = { restored: [], irreversible: [], skipped: [], hints: [] };
        const extra = await revert(ctx, target, outcome);
        if (outcome.restored.length === 0) {
          if (!target.begun) throw nothingReversed(entry, outcome, before(entries, entry));
          outcome.restored.push("an interrupted undo had taken it back already");
        }
        const { hints: _, ...told } = outcome;
        return { result: { summary: summary(entry), ...told, ...extra }, value: { outcome, id: op.id } };
      },
    });
    const data = { undone: entry.id, command: entry.command, undoId: id, summary: summary(entry), ...outcome };
    return withJson({ ...data, complete: outcome.irreversible.length === 0 }, () => ({
      undone: data.undone,
      command: data.command,
      undo_id: id,
      restored: outcome.restored,
      irreversible: outcome.irreversible,
      skipped: outcome.skipped,
    }));
  });
}

function nothingReversed(entry: OpEntry, outcome: Outcome, hints: readonly string[]): TetherError {
  const why = [...outcome.irreversible, ...outcome.skipped].join("; ");
  return new TetherError(`Cannot undo "${entry.id}" (${entry.command}): ${why || "it left nothing behind"}`, {
    code: "not-undoable",
    hints: why === "" ? hints : outcome.hints,
    details: { irreversible: outcome.irreversible, skipped: outcome.skipped },
  });
}

function choose(entries: readonly OpEntry[], id: string | undefined): OpEntry {
  if (id !== undefined) {
    if (id.trim() === "") {
      throw new TetherError("Cannot undo an operation without an id", { code: "empty", hints: ["tether ops"] });
    }
    const found = entries.filter((e) => e.id.startsWith(id));
    const [entry] = found;
    if (found.length > 1) {
      throw new TetherError(`Cannot undo "${id}": ${found.length} operations begin so`, { hints: ["tether ops"] });
    }
    if (!entry) {
      throw new TetherError(`Cannot undo "${id}": there is no such operation`, {
        code: "no-op",
        hints: ["tether ops"],
      });
    }
    const by = entry.result["finished_by"];
    if (typeof by === "string") {
      throw new TetherError(`Cannot undo "${entry.id}": it was interrupted, and "${by}" finished it`, {
        code: "not-undoable",
        hints: [`tether undo ${by}`],
      });
    }
    if (entry.undoneBy === entry.id) {
      throw new TetherError(`Cannot undo "${entry.id}": it was interrupted, and left nothing of its own`, {
        code: "not-undoable",
      });
    }
    if (entry.undoneBy !== null) {
      throw new TetherError(`Cannot undo "${entry.id}": "${entry.undoneBy}" undid it already`, { code: "undone" });
    }
    return entry;
  }
  const last = entries.findLast(stands);
  if (!last) {
    throw new TetherError("Cannot undo: no operation is left to undo", { code: "no-op", hints: ["tether ops"] });
  }
  return last;
}

/** Whether an operation can be the newest one. A step of another is taken back with it, or not at all. */
function stands(entry: OpEntry): boolean {
  return entry.command !== "undo" && entry.undoneBy === null && entry.parent === null;
}

/** Why there is nothing of an operation to take back, if there is not. */
function leftNothing({ command, result }: OpEntry): string | undefined {
  if (result["rolled_back"] === true) return "it failed and was taken back";
  const moved = (field: string): boolean => isJsonObject(result[field]) && Object.keys(result[field]).length > 0;
  // One that broke off says so in words, and nothing of what had landed.
  const told = command === "promote" && isJsonObject(result["failed"]);
  if (!told || moved("fast_forwarded") || moved("merged") || typeof result["trunk_moved"] === "string") {
    return undefined;
  }
  return "nothing landed";
}

/**
 * Tells of an abandon or a drop that version control refused: its own undo would take back something else. Asked of version
 * control, since a run that failed may have got that far.
 */
async function tookNoCommit(ctx: Context, { command, result, pre, plan }: OpEntry): Promise<string | undefined> {
  if (typeof result["failed"] !== "string" || (command !== "abandon" && command !== "drop")) return undefined;
  const named = pre["commits"] ?? planContext(plan)["commits"];
  const commits = Array.isArray(named) ? named.map(String) : [];
  if (commits.length === 0 || (await ctx.vcs.vanished(commits)).length > 0) return undefined;
  return "it failed, and every commit is still there";
}

/** The command that takes back what came before an operation of which nothing is left. Nobody asked for that one, so it is not done. */
function before(entries: readonly OpEntry[], entry: OpEntry): string[] {
  const last = entries.slice(0, entries.indexOf(entry)).findLast((e) => stands(e) && leftNothing(e) === undefined);
  return last ? [`tether undo ${last.id}`] : [];
}

/** Why a kind of operation cannot be taken back, and what to do instead. */
const REFUSED: Readonly<Record<string, readonly [why: string, ...hints: string[]]>> = {
  promote: ["upstream branches moved, and others may build on them", "tether ops --json"],
  repair: ["a mended pin or branch is what the manifests say", "tether verify"],
  upgrade: ["refs and history were rewritten", "tether verify --all-history"],
  abandon: [
    "only the VCS can bring commits back",
    "git reflog",
    "jj undo",
    "tether repair --all-history",
  ],
  drop: [
    "only the VCS can bring commits back",
    "git branch NAME COMMIT",
    "jj undo",
    "tether repair --all-history",
    "tether new NAME",
  ],
  "forget-workspace": ["the checkout is gone", "git worktree add PATH BOOKMARK", "jj workspace add PATH"],
  undo: ["it is an undo itself", "Run the command of that operation again"],
};

async function requireUndoable(ctx: Context, entry: OpEntry, entries: readonly OpEntry[]): Promise<void> {
  if (entry.status === "started") {
    throw new TetherError(`Cannot undo "${entry.id}" (${entry.command}): it never finished`, {
      code: "incomplete",
      hints: [finishing(entry), closing(entry)],
    });
  }
  if (entry.parent !== null) {
    throw new TetherError(`Cannot undo "${entry.id}": it is a step of "${entry.parent}"`, { code: "not-undoable" });
  }
  const nothing = leftNothing(entry) ?? await tookNoCommit(ctx, entry);
  if (nothing !== undefined) {
    throw new TetherError(`Cannot undo "${entry.id}" (${entry.command}): ${nothing}`, {
      code: "not-undoable",
      hints: before(entries, entry),
    });
  }
  const refused = REFUSED[entry.command];
  if (!refused) return;
  const [why, ...hints] = refused;
  const heads = entry.command === "promote" ? movedHeads(entry) : "";
  throw new TetherError(`Cannot undo "${entry.id}" (${entry.command}): ${why}${heads}`, {
    code: "not-undoable",
    hints: hints.filter((hint) => !hint.startsWith(ctx.vcs.kind === "jj" ? "git " : "jj ")),
  });
}

/** Where the upstream branches were before a promote, and what it moved them to. */
function movedHeads({ pre, result }: OpEntry): string {
  const told = (label: string, heads: Json | undefined): string => {
    const found = isJsonObject(heads) ? Object.entries(heads) : [];
    const state = (s: Json): string => isJsonObject(s) ? renderState(s, { whole: true }) : "none";
    return found.length === 0 ? "" : `; ${label}: ${found.map(([key, s]) => `${key} ${state(s)}`).join(", ")}`;
  };
  const landed = [result["fast_forwarded"], result["merged"]].map((heads) => isJsonObject(heads) ? heads : {});
  return told("before", pre["base_states"]) + told("after", Object.assign({}, ...landed));
}

function targetOf(ctx: Context, entries: readonly OpEntry[], entry: OpEntry, options: UndoOptions): Target {
  const later = entries.slice(entries.indexOf(entry) + 1);
  const next = later.find((e) => typeof e.pre["workspace"] === "string")?.pre["workspace"];
  const before = entry.pre["workspace"];
  return {
    entry,
    later: later.filter((e) => e.undoneBy === null && e.command !== "undo"),
    before: typeof before === "string" ? parseWorkspace(before, `workspace before ${entry.id}`) : undefined,
    after: typeof next === "string" ? parseWorkspace(next, `workspace after ${entry.id}`) : ctx.workspace,
    discard: options.discard === true,
    begun: entries.some((e) => e.command === "undo" && e.status === "started" && e.undoes === entry.id),
  };
}

/** Takes the operation back and returns what the journal records besides. */
async function revert(ctx: Context, target: Target, outcome: Outcome): Promise<JsonObject> {
  switch (target.entry.command) {
    case "commit":
    case "pull":
      return await revertCommit(ctx, target, outcome);
    case "new":
    case "fork":
    case "restore":
      await revertBranches(ctx, target, outcome);
      return {};
    case "gc":
      await revertGc(ctx, target, outcome);
      return {};
    case "add":
      if (isJsonObject(target.entry.result["created"])) {
        await (await import("../experimental/undo_create.ts")).revertCreated(ctx, target, outcome);
        return {};
      }
      await revertManifests(ctx, target, outcome);
      return {};
    case "remove":
    case "set":
    case "import":
      await revertManifests(ctx, target, outcome);
      return {};
    default:
      throw new TetherError(`Cannot undo "${target.entry.id}": this tether does not know "${target.entry.command}"`);
  }
}
