/**
 * Taking back what an operation did to manifests, listings and the dataset's commits.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { writeListing } from "../files/listings.ts";
import { TetherError } from "../model/errors.ts";
import { isJsonObject, type JsonObject } from "../model/json.ts";
import { commitPaths } from "./commit_paths.ts";
import { waysOut } from "./edits.ts";
import { type Outcome, type Target, texts } from "./undo_input.ts";
import { revertFields } from "./undo_fields.ts";

/** Takes a dataset commit back: its manifests become edits, its pins stay. Returns what the journal records. */
export async function revertCommit(ctx: Context, target: Target, outcome: Outcome): Promise<JsonObject> {
  const commit = target.entry.result["vcs_commit"];
  if (typeof commit !== "string") {
    await revertManifests(ctx, target, outcome);
    return {};
  }
  const { commit: here } = await ctx.position();
  if (target.begun && here !== commit && await isParent(ctx, here, commit)) return { uncommitted: commit };
  if (here !== commit) {
    throw new TetherError(
      `Cannot undo "${target.entry.id}": the working copy does not stand on its commit ${commit.slice(0, 12)} any more`,
      {
        code: "not-undoable",
        hints: [
          ctx.vcs.kind === "jj" ? `jj revert -r ${commit.slice(0, 12)} --onto @-` : `git revert ${commit.slice(0, 12)}`,
        ],
      },
    );
  }
  const paths = await commitPaths(ctx, { objects: [...ctx.objects.values()] });
  const before = target.entry.pre["vcs"];
  await ctx.vcs.uncommit(commit, paths, isJsonObject(before) ? before : {});
  await ctx.env.boundary?.("uncommit");
  await ctx.refresh();
  outcome.restored.push(`commit ${commit.slice(0, 12)} is taken back; its manifests are edits now, its pins stay`);
  outcome.hints.push(...waysOut(ctx, await ctx.vcs.dirty(paths)));
  return { uncommitted: commit };
}

async function isParent(ctx: Context, parent: string | null, commit: string): Promise<boolean> {
  const [info] = await ctx.vcs.commitInfos([commit]);
  return info !== undefined && (info.parents[0] ?? null) === parent;
}

/** Puts manifests back as they were, those that nothing changed since, and the working state with them. */
export async function revertManifests(ctx: Context, target: Target, outcome: Outcome): Promise<void> {
  const before = target.entry.pre["objects"];
  const touchedLater = new Set(
    target.later.flatMap((e) => isJsonObject(e.pre["objects"]) ? Object.keys(e.pre["objects"]) : []),
  );
  for (const [key, text] of Object.entries(isJsonObject(before) ? before : {})) {
    if (touchedLater.has(key)) {
      outcome.skipped.push(`manifest of "${key}": changed since`);
      continue;
    }
    if (typeof text === "string" && text.includes("***")) {
      outcome.skipped.push(`manifest of "${key}": it held a secret, which the journal does not keep`);
      continue;
    }
    if (typeof text === "string") {
      await ctx.manifests.writeText(key, text);
      outcome.restored.push(`the manifest of "${key}" is what it was`);
    } else {
      await ctx.manifests.remove(key);
      outcome.restored.push(`"${key}" is not registered any more`);
    }
    await ctx.env.boundary?.(`manifest ${key}`);
  }
  await ctx.refresh();
  await revertWorkspace(ctx, target, outcome);
}

/** Puts back the fields of the working state that still hold what the operation left. */
export async function revertWorkspace(ctx: Context, target: Target, outcome: Outcome): Promise<void> {
  if (!target.before) return;
  const { before, after } = target;
  const reverted = revertFields({ before, after, now: ctx.workspace, reset: resetBy(target) });
  await ctx.saveWorkspace(reverted.workspace);
  outcome.restored.push(...reverted.restored);
  outcome.skipped.push(...reverted.skipped);
}

/** The keys whose branches the operation reset, with those that share one. */
function resetBy({ entry: { result }, after }: Target): ReadonlySet<string> {
  const refs = new Set(texts(result["reset"]).flatMap((key) => after.workingRefs[key] ?? []));
  return new Set(Object.keys(after.workingRefs).filter((key) => refs.has(after.workingRefs[key] ?? "")));
}

/** Brings forgotten refs and deleted listings back; what left the stores is gone. */
export async function revertGc(ctx: Context, target: Target, outcome: Outcome): Promise<void> {
  const { result } = target.entry;
  const prefix = ctx.vcs.location.rel === "." ? "" : `${ctx.vcs.location.rel}/`;
  const { commit } = await ctx.position();
  for (const name of texts(result["deleted_listings"])) {
    const bytes = commit === null ? undefined : await ctx.vcs.fileAt(commit, `${prefix}.tether/listings/${name}`);
    if (bytes === undefined) outcome.irreversible.push(`listing ${name}: the current commit does not have it`);
    else {
      await writeListing(ctx.paths, name, new TextDecoder().decode(bytes));
      outcome.restored.push(`listing ${name} is back`);
    }
  }
  await revertWorkspace(ctx, target, outcome);
  for (const [kind, ids] of pairs(result["unpinned"])) {
    outcome.irreversible.push(
      ...ids.map((id) =>
        `pin ${id} of ${kind} was released: tether repair --all-history makes it again while its state lasts`
      ),
    );
  }
  for (const [key, refs] of pairs(result["deleted_working_refs"])) {
    outcome.irreversible.push(...refs.map((ref) => `branch ${ref} of "${key}" was deleted`));
  }
  const stores = result["deleted_stores"];
  for (const key of isJsonObject(stores) ? Object.keys(stores) : []) {
    outcome.irreversible.push(`the store of "${key}" was deleted`);
  }
}

function pairs(value: JsonObject[string] | undefined): [string, string[]][] {
  return isJsonObject(value) ? Object.entries(value).map(([k, v]) => [k, texts(v)]) : [];
}
