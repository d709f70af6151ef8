/**
 * `upgrade`: brings an older dataset to this tether's format, in one commit (commands §5.25, formats §16).
 *
 * @module
 */

import { dirname, join } from "node:path";
import type { Context } from "../context.ts";
import { removeIfThere, writeAtomic } from "../files/atomic.ts";
import { DATASET_VERSION, updateConfig } from "../files/config.ts";
import { ensureGitignore, makeFolder } from "../files/layout.ts";
import { readListing, writeListing } from "../files/listings.ts";
import { asError, ConfigError, StalePlanError } from "../model/errors.ts";
import { MultiObjectError, reasonOf } from "../model/multi_object_error.ts";
import { canonical } from "../model/hash.ts";
import type { JsonObject } from "../model/json.ts";
import type { Locator } from "../model/manifest.ts";
import { operate, withLocks } from "../plan/operation.ts";
import type { Action, Plan } from "../plan/plan.ts";
import { actionsOf, checkPlan } from "../plan/preconditions.ts";
import { settle } from "../plan/settle.ts";
import { type CallOptions, type Report, withJson } from "../reports/report.ts";
import { commitPaths } from "./commit_paths.ts";
import { pickSignal } from "./snapshot.ts";
import { identityNow, planUpgrade, upgradeMessage, type UpgradeRequest } from "./upgrade_plan.ts";

/**
 * Options of {@link Dataset.upgrade}.
 *
 * @example Rewrite what jj calls immutable, too
 * ```ts
 * import type { UpgradeOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const options: UpgradeOptions = { ignoreImmutable: true };
 * assert(options.ignoreImmutable);
 * ```
 */
export interface UpgradeOptions extends CallOptions {
  /**
   * Also rewrites commits that jj calls immutable. No step from version 4 rewrites any.
   * @default {false}
   */
  readonly ignoreImmutable?: boolean;
}

/**
 * Report of `upgrade`.
 *
 * @example Nothing to do for a dataset of this format
 * ```ts
 * import { Dataset, type UpgradeReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd, { allowOlder: true });
 * const report: UpgradeReport = await ds.upgrade();
 * assert.deepEqual([report.fromVersion, report.toVersion, report.vcsCommit], [5, 5, null]);
 * ```
 */
export interface UpgradeReport extends Report {
  /** The format before. */
  readonly fromVersion: number;
  /** The format now. */
  readonly toVersion: number;
  /** Keys whose manifests changed or moved. */
  readonly rewrittenManifests: readonly string[];
  /** How many entries of this clone's indexes got another identity. */
  readonly rewrittenIndexes: number;
  /** Names of listings that were copied to the name their object has now. */
  readonly copiedListings: readonly string[];
  /** What failed, and why. */
  readonly failed: Readonly<Record<string, string>>;
  /** The commit that was made; `null` when nothing had to change. */
  readonly vcsCommit: string | null;
  /** What is worth knowing. */
  readonly notes: readonly string[];
  /** What the user should know though nothing failed. */
  readonly warnings: readonly string[];
}

/** Plans and applies under one hold of the locks. */
export function upgrade(ctx: Context, options: UpgradeOptions = {}): Promise<UpgradeReport> {
  return locked(ctx, options, async () => {
    const plan = await planUpgrade(ctx, options);
    await checkPlan(ctx, plan, "upgrade");
    return await apply(ctx, plan);
  });
}

/** Applies a saved plan. */
export function applyUpgrade(ctx: Context, plan: Plan, options: CallOptions = {}): Promise<UpgradeReport> {
  return locked(ctx, options, async () => {
    await checkPlan(ctx, plan, "upgrade");
    await requireSameSteps(ctx, plan);
    return await apply(ctx, plan);
  });
}

/**
 * Checks what applying a saved plan checks beyond its preconditions: it binds to the version alone, so what it would do is
 * compared as a whole.
 *
 * @throws {StalePlanError} if the dataset needs other steps now.
 */
export async function requireSameSteps(ctx: Context, plan: Plan): Promise<void> {
  const request: UpgradeRequest = { ignoreImmutable: plan.context["ignore_immutable"] === true };
  const now = await planUpgrade(ctx, request);
  if (canonical(now.actions as unknown as JsonObject[]) === canonical(plan.actions as unknown as JsonObject[])) return;
  throw new StalePlanError("Cannot apply the plan: the dataset needs other steps now", {
    hints: ["tether upgrade --dry-run"],
  });
}

function locked<T>(ctx: Context, options: CallOptions, fn: () => Promise<T>): Promise<T> {
  return withLocks(ctx, { command: "upgrade", repository: true, ...pickSignal(options) }, fn);
}

interface Done {
  readonly manifests: Set<string>;
  readonly listings: string[];
  indexes: number;
  readonly failed: Map<string, Error>;
  commit: string | null;
}

async function apply(ctx: Context, plan: Plan): Promise<UpgradeReport> {
  const done: Done = { manifests: new Set(), listings: [], indexes: 0, failed: new Map(), commit: null };
  const from = Number(plan.context["from"]);
  if (!plan.isEmpty) {
    const pre = { workspace: await ctx.workspaceFile.text() };
    const before = await textsBefore(ctx);
    await operate(ctx, { command: "upgrade", plan, pre }, {
      async run() {
        await rewrite(ctx, plan, done);
        await commit(ctx, from, done);
        return { result: json(from, done), value: undefined };
      },
      async compensate() {
        await putBack(ctx, plan, before);
        return { stopped: true };
      },
    });
  } else await settle(ctx, { command: "upgrade", plan });
  const data = {
    fromVersion: from,
    toVersion: DATASET_VERSION,
    rewrittenManifests: [...done.manifests].sort(),
    rewrittenIndexes: done.indexes,
    copiedListings: done.listings,
    failed: Object.fromEntries([...done.failed].map(([what, error]) => [what, reasonOf(error)])),
    vcsCommit: done.commit,
    notes: plan.notes,
    warnings: [...ctx.warnings],
  };
  const report = withJson(data, () => json(from, done));
  if (done.failed.size === 0) return report;
  throw new MultiObjectError("Cannot finish the upgrade: its files are written, and not committed", done.failed, {
    code: "partial",
    hints: [ctx.vcs.kind === "git" ? "git add -A && git commit" : "jj commit"],
    report,
  });
}

/** Returns what the files that may change hold now, by path; `null` for one that is not there. */
async function textsBefore(ctx: Context): Promise<Map<string, string | null>> {
  const files = [...ctx.objects.keys()].map((key) => ctx.manifests.fileOf(key));
  const texts = [ctx.paths.config, ctx.paths.gitignore, ...files].map(async (path) => {
    try {
      return [path, await Deno.readTextFile(path)] as const;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      return [path, null] as const;
    }
  });
  return new Map(await Promise.all(texts));
}

/** Makes the files what they were, so that the upgrade can be run again. Copied listings do no harm. */
async function putBack(ctx: Context, plan: Plan, before: ReadonlyMap<string, string | null>): Promise<void> {
  for (const a of actionsOf(plan, "rename-manifest")) {
    const to = join(ctx.root, a.target);
    if (!before.has(to)) await removeIfThere(to);
  }
  for (const [path, text] of before) {
    if (text === null) await removeIfThere(path);
    else await writeAtomic(path, text, { tempDir: ctx.paths.cache });
  }
}

/** Changes the files of the working tree; each step finds those it has changed before, so that it can be run again. */
async function rewrite(ctx: Context, plan: Plan, done: Done): Promise<void> {
  for (const a of actionsOf(plan, "copy-listing")) await copyListing(ctx, a, done);
  for (const a of actionsOf(plan, "rename-manifest")) {
    await renameManifest(ctx, a);
    await ctx.env.boundary?.(`renamed ${a.key}`);
    done.manifests.add(a.key);
  }
  await ctx.refresh();
  const moved = actionsOf(plan, "rewrite-locator").map((a) => ({
    ...ctx.object(a.key),
    locator: a.params["locator"] as Locator,
  }));
  if (moved.length > 0) await ctx.saveManifests(moved);
  for (const { key } of moved) done.manifests.add(key);
  await ctx.env.boundary?.("manifests");
  const identities = new Map<string, Locator>();
  for (const entry of [...await ctx.indexes.touched(), ...await ctx.indexes.created()]) {
    const identity = await identityNow(ctx, entry.kind, entry.locator);
    if (identity !== undefined) identities.set(canonical([entry.kind, entry.locator]), identity);
  }
  done.indexes = await ctx.indexes.reidentify((entry) => identities.get(canonical([entry.kind, entry.locator])));
  await ensureGitignore(ctx.root, "create");
  // Last: until then the dataset counts as the old one, and the upgrade can be run again.
  await updateConfig(ctx.root, { tether: { version: DATASET_VERSION } });
  await ctx.env.boundary?.("version");
}

async function copyListing(ctx: Context, a: Action, done: Done): Promise<void> {
  const text = await readListing(ctx.paths, String(a.params["from"]));
  if (text === undefined) return;
  await writeListing(ctx.paths, a.target, text);
  done.listings.push(a.target);
}

async function renameManifest(ctx: Context, a: Action): Promise<void> {
  const [from, to] = [join(ctx.root, String(a.params["from"])), join(ctx.root, a.target)];
  await makeFolder(ctx.root, dirname(to));
  try {
    await Deno.lstat(to);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return await Deno.rename(from, to);
  }
  throw new ConfigError(`Cannot move the manifest of "${a.key}": "${a.target}" is there already`, {
    code: "duplicate-key",
    hints: ["Remove one of the two files"],
  });
}

async function commit(ctx: Context, from: number, done: Done): Promise<void> {
  try {
    const { bookmarks } = await ctx.position();
    const own = ctx.workspace.bookmark;
    const bookmark = own !== null && bookmarks.includes(own) ? own : bookmarks[0] ?? "";
    const paths = await commitPaths(ctx, { objects: [] });
    await ctx.vcs.dirty(paths);
    done.commit = await ctx.vcs.commit({ message: upgradeMessage(from), paths, bookmark });
    await ctx.env.boundary?.("vcs-commit");
  } catch (error) {
    done.failed.set("vcs-commit", asError(error));
  }
}

function json(from: number, done: Done): JsonObject {
  return {
    from_version: from,
    to_version: DATASET_VERSION,
    renamed_pins: {},
    renamed_branches: {},
    rewritten_commits: {},
    refingerprinted: [],
    rewritten_manifests: [...done.manifests].sort(),
    rewritten_indexes: done.indexes > 0 ? { entries: done.indexes } : {},
    copied_listings: [...done.listings],
    failed: Object.fromEntries([...done.failed].map(([what, error]) => [what, reasonOf(error)])),
    vcs_commit: done.commit,
  };
}
