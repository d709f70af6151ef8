/**
 * What an operation that was killed left behind, and how it is finished or closed (formats §17, L37).
 *
 * A commit may have written its manifests although the working state does not know of them, and git may have made its commit
 * although nobody was left to say so.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { type OpEntry, planActions, planContext } from "../files/journal.ts";
import { entryOf, parseWorkspace, type WorkspaceState } from "../files/workspace.ts";
import { operands, shellQuote } from "../io/shell.ts";
import { isJsonObject, type JsonObject } from "../model/json.ts";
import { type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import { manifestsOf } from "../revision.ts";
import { staleKeys, type Standing, staticsFor } from "../state.ts";

/** Returns the operations that a process left started, oldest first, without the steps of others. */
export async function unfinished(ctx: Context): Promise<OpEntry[]> {
  return (await ctx.journal.read()).filter((e) => e.status === "started" && e.parent === null);
}

/**
 * Returns the newest operations, oldest first, as far as they never finished and are `alike`: the same command again goes on
 * with what they began.
 */
export async function begunBefore(ctx: Context, alike: (entry: OpEntry) => boolean): Promise<OpEntry[]> {
  const entries = (await ctx.journal.read()).filter((e) => e.parent === null && e.result["rolled_back"] !== true);
  const begun: OpEntry[] = [];
  for (const entry of entries.reverse()) {
    if (entry.status !== "started" || !alike(entry)) break;
    begun.unshift(entry);
  }
  return begun;
}

/**
 * Returns a standing whose base states are those that unfinished commits of this checkout were about to record. Without
 * them the branches would count as stale, and the commit that was killed could not be made again.
 */
export async function withUnfinished(ctx: Context, standing: Standing): Promise<Standing> {
  const stale = staleKeys(standing);
  if (stale.length === 0) return standing;
  const { workspace, objects } = standing;
  const baseStates: Record<string, State> = { ...workspace.baseStates };
  for (const entry of await ctx.journal.read()) {
    if (entry.status !== "started" || !isCommit(entry)) continue;
    const before = workspaceOf(entry.pre["workspace"]);
    if (!before) continue;
    for (const key of stale) {
      const object = objects.get(key);
      const volatile = standing.statics.get(object?.kind ?? "")?.volatileKeys ?? new Set<string>();
      const same = (a: State | null | undefined, b: State | null | undefined) => sameContent(a, b, volatile);
      // Only while the branch is the one that commit read, and nothing was decided about it since.
      if (entryOf(before.workingRefs, key) !== entryOf(workspace.workingRefs, key)) continue;
      if (!same(entryOf(before.baseStates, key), entryOf(workspace.baseStates, key))) continue;
      const state = entryOf(statesOf(entry), key);
      if (object?.state && isJsonObject(state) && same(state, object.state)) baseStates[key] = object.state;
    }
  }
  return { ...standing, workspace: { ...workspace, baseStates } };
}

function workspaceOf(text: unknown): WorkspaceState | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return parseWorkspace(text, "the journal");
  } catch {
    // Written by a version whose files this one does not read: then nothing is known of that commit.
    return undefined;
  }
}

/** Takes over the base states of unfinished commits, so that their entries can be completed. Call it with the lock held. */
export async function keepBaseStates(ctx: Context): Promise<void> {
  const { baseStates } = (await withUnfinished(ctx, {
    objects: ctx.objects,
    workspace: ctx.workspace,
    onTrunk: ctx.onTrunk,
    statics: await staticsFor(ctx.objects.values(), ctx.backends),
  })).workspace;
  await ctx.saveWorkspace({ ...ctx.workspace, baseStates });
}

/** Completes the entries of commits that version control made after their process had died. Returns those. */
export async function completeLanded(ctx: Context): Promise<OpEntry[]> {
  const landed: OpEntry[] = [];
  for (const entry of (await unfinished(ctx)).filter(isCommit)) {
    const commit = await landedAs(ctx, entry);
    if (commit === undefined) continue;
    await keepBaseStates(ctx);
    const recorded = recordingOf(entry).filter((a) => paramsOf(a)["recoverable"] !== false);
    await ctx.journal.close(entry.id, {
      vcs_commit: commit,
      pinned: Object.fromEntries(recorded.map((a) => [String(a["key"]), paramsOf(a)["pin_id"] ?? null])),
      unrecoverable: recordingOf(entry).filter((a) => paramsOf(a)["recoverable"] === false).map((a) =>
        String(a["key"])
      ),
    });
    landed.push(entry);
  }
  return landed;
}

/** Returns the commit under the working copy if it is the one that an unfinished operation was about to make. */
async function landedAs(ctx: Context, entry: OpEntry): Promise<string | undefined> {
  const was = entry.pre["vcs"];
  if (!isJsonObject(was)) return undefined;
  const before = was["kind"] === "jj" ? was["parent"] : was["commit"];
  const { commit } = await ctx.position();
  if (commit === null || commit === before) return undefined;
  const [info] = await ctx.vcs.commitInfos([commit]);
  if (info === undefined || (info.parents[0] ?? null) !== before) return undefined;
  const recorded = await manifestsOf(ctx, commit);
  const states = statesOf(entry);
  for (const [key, state] of Object.entries(states)) {
    if (!await holds(ctx, recorded.get(key), state)) return undefined;
  }
  return commit;
}

async function holds(ctx: Context, object: ObjectManifest | undefined, state: unknown): Promise<boolean> {
  if (!object?.state || !isJsonObject(state as JsonObject)) return false;
  const statics = (await staticsFor([object], ctx.backends)).get(object.kind);
  return sameContent(object.state, state as State, statics?.volatileKeys ?? new Set());
}

/** What unfinished commits had written into manifests: the commit that takes them in finishes those. */
export interface Written {
  /** Text of each such manifest before, by key; `null` where there was none. */
  readonly before: ReadonlyMap<string, string | null>;
  /** Ids of the entries. */
  readonly by: readonly string[];
}

/** Finds the manifests that unfinished commits wrote and that still say so. */
export async function writtenByUnfinished(ctx: Context): Promise<Written> {
  const before = new Map<string, string | null>();
  const by: string[] = [];
  for (const entry of (await unfinished(ctx)).filter(isCommit)) {
    const states = statesOf(entry);
    const texts = isJsonObject(entry.pre["objects"]) ? entry.pre["objects"] : {};
    for (const action of recordingOf(entry)) {
      const key = String(action["key"]);
      const object = ctx.objects.get(key);
      const text = texts[key];
      if (!await holds(ctx, object, states[key]) || await ctx.manifests.text(key) === text) continue;
      if (!before.has(key)) before.set(key, typeof text === "string" ? text : null);
      if (!by.includes(entry.id)) by.push(entry.id);
    }
  }
  return { before, by };
}

function isCommit(entry: OpEntry): boolean {
  return entry.command === "commit" || entry.command === "pull";
}

function statesOf(entry: OpEntry): JsonObject {
  const { states } = planContext(entry.plan);
  return isJsonObject(states) ? states : {};
}

function recordingOf(entry: OpEntry): JsonObject[] {
  return planActions(entry.plan).filter((a) => a["op"] === "pin" || a["op"] === "record");
}

function paramsOf(action: JsonObject): JsonObject {
  return isJsonObject(action["params"]) ? action["params"] : {};
}

/** Returns the command that finishes an interrupted operation. */
export function finishing(entry: OpEntry): string {
  const context = planContext(entry.plan);
  const named = (...values: unknown[]): string[] => values.filter((v) => typeof v === "string" && v !== "") as string[];
  const flag = (name: string): string[] => context[name] === true ? [`--${name.replaceAll("_", "-")}`] : [];
  const command = (words: readonly string[], positional: readonly string[] = []): string =>
    ["tether", ...words, ...(positional.length > 0 ? [operands(positional)] : [])].join(" ");
  const keys = Array.isArray(context["keys"]) ? context["keys"].map(String) : [];
  const acted = [...new Set(planActions(entry.plan).flatMap((a) => named(a["key"])))];
  switch (entry.command) {
    case "commit":
      return command(["commit", "-m", shellQuote(named(context["message"])[0] ?? "MESSAGE")], keys);
    case "pull":
      return command(["pull"], keys);
    case "new": {
      const flags = ["shared", "keep", "eager", "discard", "adopt"].flatMap(flag);
      const [bookmark = ""] = named(context["bookmark"]);
      const create = context["create"] === true ? ["-b", shellQuote(bookmark)] : [];
      return command(["new", ...create, ...flags], named(context["rev"]));
    }
    case "fork":
      return "tether new";
    case "restore": {
      const [from] = named(context["from_rev"]);
      const source = from === undefined
        ? ["--at", shellQuote(named(context["at"])[0] ?? "REF")]
        : ["--from", shellQuote(from)];
      return command(["restore", ...source, ...flag("discard")], acted);
    }
    case "promote":
      return command(["promote"], context["subset"] === true ? acted : []);
    case "gc":
      return command([
        "gc",
        "--no-dry-run",
        ...["prune_bookmarks", "force_prune", "release_foreign", "delete_stores"].flatMap(flag),
      ]);
    case "drop":
      return entry.progress.some((p) => p["action"] === "delete-bookmark")
        ? command(["gc", "--prune-bookmarks", "--no-dry-run", ...["force_prune", "delete_stores"].flatMap(flag)])
        : command(
          ["drop", "--no-dry-run", ...["force_prune", "delete_stores"].flatMap(flag)],
          named(context["bookmark"]),
        );
    case "abandon": {
      if (entry.progress.some((p) => p["action"] === "abandon")) return "tether gc --no-dry-run";
      const commits = entry.pre["commits"];
      return command(["abandon"], Array.isArray(commits) ? named(...commits) : ["REV"]);
    }
    case "add":
      return creating(entry) ?? "tether gc --delete-stores";
    case "forget-workspace":
      return command(["forget-workspace"], named(context["workspace"]));
    case "undo":
      return command(["undo"], named(entry.undoes));
    default:
      return `tether ${entry.command}`;
  }
}

/** The `add --create` that was interrupted, where its address is one text. */
function creating({ pre }: OpEntry): string | undefined {
  const { store, objects } = pre;
  if (!isJsonObject(store) || !isJsonObject(store["locator"]) || !isJsonObject(objects)) return undefined;
  const [key] = Object.keys(objects);
  const { uri, ...rest } = store["locator"];
  if (key === undefined || typeof uri !== "string" || Object.keys(rest).length > 0) return undefined;
  return `tether add --create --kind ${String(store["kind"])} ${operands([key, uri])}`;
}

/** Returns the command that closes an operation which nothing finishes. */
export function closing(entry: OpEntry): string {
  return `tether repair --close ${entry.id}`;
}
