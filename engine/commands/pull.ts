/**
 * `pull`: brings the bookmark up to what its stores hold now, and commits what moved (commands §5.8).
 *
 * @module
 */

import type { Context } from "../context.ts";
import { ConfigError, StaleWorkingCopyError } from "../model/errors.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import { parseManifest } from "../files/manifests.ts";
import { manifestPath, selectKeys } from "../model/keys.ts";
import { type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import { operands } from "../io/shell.ts";
import { withLocks } from "../plan/operation.ts";
import type { Plan } from "../plan/plan.ts";
import { settle } from "../plan/settle.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { CommitReport, PullReport } from "../reports/moving.ts";
import { isForkable, type Standing, workingRefOf } from "../state.ts";
import { applyPlanned } from "./commit.ts";
import { commitPaths, listingOf } from "./commit_paths.ts";
import { planRecording, requireOnBookmark } from "./commit_plan.ts";
import { waysOut } from "./edits.ts";
import type { Outcomes } from "./fan_out.ts";
import { cacheStates, immutableDrift, pickSignal, readStates, standingOf, withoutFailed } from "./snapshot.ts";
import { completeLanded, writtenByUnfinished } from "./unfinished.ts";

/**
 * Options of {@link pull}.
 *
 * @example Take in one folder only
 * ```ts
 * import { Dataset, type PullOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const uri = await Deno.makeTempFile();
 * await ds.add({ key: "raw", kind: "file", locator: { uri }, policy: { file: "versioned" } });
 * await ds.commit({ message: "Baseline" });
 *
 * const options: PullOptions = { keys: ["raw"], message: "Nightly" };
 * assert.deepEqual((await ds.pull(options)).unchanged, ["raw"]);
 * ```
 */
export interface PullOptions extends CallOptions {
  /** The bookmark that is expected here; another one is refused. */
  readonly bookmark?: string;
  /**
   * Keys, and prefixes that end in `/`.
   * @default {every object}
   */
  readonly keys?: readonly string[];
  /**
   * The message of the commit.
   * @default {`pull <bookmark>: <n> object(s)`}
   */
  readonly message?: string;
}

/** Takes in what upstream holds now. */
export function pull(ctx: Context, options: PullOptions = {}): Promise<PullReport> {
  return withLocks(ctx, { command: "pull", repository: true, ...pickSignal(options) }, async () => {
    const { bookmark } = ctx.workspace;
    if (options.bookmark !== undefined && options.bookmark !== bookmark) {
      throw new StaleWorkingCopyError(`Cannot pull "${options.bookmark}": this checkout is on ${named(bookmark)}`, {
        hints: [`tether new ${operands([options.bookmark])}`],
      });
    }
    if (options.message !== undefined && options.message.trim() === "") {
      throw new ConfigError("Cannot commit without a message", { code: "message", hints: ["tether pull"] });
    }
    await requireOnBookmark(ctx, "pull");
    ctx.requireWholeManifests();
    await completeLanded(ctx);
    const keys = selectKeys(options.keys, ctx.objects.keys());
    const { before } = await writtenByUnfinished(ctx);
    await refuseEdits(ctx, keys, { ...options, written: before });
    const standing = await standingOf(ctx);
    const { targets, skipped } = chooseTargets(keys.map((k) => ctx.object(k)), standing);
    const read = await readStates(ctx, targets, { ...options, standing });
    // What was seen is kept, whether it can be taken in or not: the next status tells of it.
    if (ctx.workspaceFile.persistent) {
      await ctx.saveWorkspace(cacheStates(ctx.workspace, read, { standing, now: ctx.env.now() }));
    }
    if (read.errors.size > 0) {
      throw new MultiObjectError(`Cannot read ${read.errors.size} object(s) to pull`, read.errors, {
        hints: withoutFailed(targets, read.errors, "pull"),
      });
    }
    refuseDrift(targets, read.values, standing);
    return await take(ctx, { ...options, targets, skipped, read, standing, written: before });
  });
}

function named(bookmark: string | null): string {
  return bookmark === null ? "no bookmark" : `bookmark "${bookmark}"`;
}

/** A pull commits stores, not edits: those come first, or go. */
async function refuseEdits(
  ctx: Context,
  keys: readonly string[],
  options: PullOptions & Pick<Taking, "written">,
): Promise<void> {
  const whole = !options.keys || options.keys.length === 0;
  const paths = await commitPaths(ctx, { objects: keys.map((k) => ctx.object(k)), ...(whole ? {} : { keys }) });
  const own = await filesWritten(ctx, options.written);
  const dirty = (await ctx.vcs.dirty(paths)).filter((path) => !own.has(path));
  if (dirty.length === 0) return;
  throw new ConfigError(`Cannot pull over uncommitted edits of ${dirty.map((p) => `"${p}"`).join(", ")}`, {
    code: "uncommitted",
    hints: waysOut(ctx, dirty),
    details: { paths: dirty },
  });
}

/** Manifests and listings that interrupted operations wrote, by their paths from the VCS root. */
async function filesWritten(ctx: Context, written: Taking["written"]): Promise<Set<string>> {
  const { rel } = ctx.vcs.location;
  const files: string[] = [];
  for (const key of written.keys()) {
    const listing = await listingOf(ctx, ctx.object(key));
    files.push(manifestPath(key), ...listing === undefined ? [] : [`.tether/listings/${listing}`]);
  }
  return new Set(files.map((path) => rel === "." ? path : `${rel}/${path}`));
}

/** Which objects a pull reads: those with a branch here, and on the trunk everything else that was committed. */
function chooseTargets(
  objects: readonly ObjectManifest[],
  standing: Standing,
): { targets: ObjectManifest[]; skipped: Record<string, string> } {
  const targets: ObjectManifest[] = [];
  const skipped: Record<string, string> = {};
  for (const object of objects) {
    const working = workingRefOf(object, standing);
    if (object.state === null) skipped[object.key] = "never committed";
    else if (working.at === "ref" || standing.onTrunk) targets.push(object);
    else if (working.at === "pending") skipped[object.key] = "no branch yet";
    else if (isForkable(object, standing.statics.get(object.kind))) {
      skipped[object.key] = 'no branch here: "tether new" gives it one';
    } else skipped[object.key] = "moves on the trunk only";
  }
  return { targets, skipped };
}

function refuseDrift(
  targets: readonly ObjectManifest[],
  states: ReadonlyMap<string, State>,
  standing: Standing,
): void {
  const drifted = new Map<string, Error>();
  for (const object of targets) {
    const error = immutableDrift(object, states.get(object.key), standing);
    if (error) drifted.set(object.key, error);
  }
  if (drifted.size === 0) return;
  const keys = [...drifted.keys()];
  throw new MultiObjectError("Cannot pull changed immutable objects", drifted, {
    code: "immutable-modified",
    hints: [
      `tether set --file versioned ${operands(keys)}`,
      ...keys.map((k) => `tether remove ${operands([k])}`),
      "Add a removed object again to accept its content once",
    ],
  });
}

interface Taking extends PullOptions {
  readonly targets: readonly ObjectManifest[];
  readonly skipped: Readonly<Record<string, string>>;
  readonly read: Outcomes<State>;
  readonly standing: Standing;
  /** Manifests that an interrupted pull or commit wrote, with the text before: this one takes them in. */
  readonly written: ReadonlyMap<string, string | null>;
}

async function take(ctx: Context, taking: Taking): Promise<PullReport> {
  const { targets, read, standing } = taking;
  const moved = targets.filter((o) => {
    const volatile = standing.statics.get(o.kind)?.volatileKeys ?? new Set<string>();
    return taking.written.has(o.key) || !sameContent(read.values.get(o.key), o.state, volatile);
  });
  const { bookmark } = ctx.workspace;
  const before = new Map(moved.map((o) => {
    const text = taking.written.get(o.key);
    return [o.key, typeof text === "string" ? parseManifest(text, manifestPath(o.key)).state : o.state];
  }));
  const data = {
    bookmark: bookmark ?? "",
    committed: Object.fromEntries(
      moved.map((o) => [o.key, { from: before.get(o.key) ?? {}, to: read.values.get(o.key) ?? {} }]),
    ),
    unchanged: targets.filter((o) => !moved.includes(o)).map((o) => o.key),
    skipped: taking.skipped,
  };
  const committed = moved.length > 0 ? await record(ctx, taking, moved) : undefined;
  if (!committed) await settle(ctx, { command: "pull", plan: await planOf(ctx, taking, moved) });
  const vcsCommit = committed?.vcsCommit ?? null;
  const pinned = Object.fromEntries(
    Object.keys(committed?.pinned ?? {}).map((key) => [key, ctx.objects.get(key)?.pin?.id ?? null]),
  );
  const all = { ...data, vcsCommit, pinned, warnings: [...ctx.warnings] };
  return withJson(all, () => ({
    bookmark: all.bookmark,
    committed: all.committed,
    unchanged: all.unchanged,
    skipped: all.skipped,
    vcs_commit: vcsCommit,
    pinned,
  }));
}

/** Commits what moved, and nothing else. */
async function record(ctx: Context, taking: Taking, moved: readonly ObjectManifest[]): Promise<CommitReport> {
  const plan = await planOf(ctx, taking, moved);
  return await applyPlanned(ctx, plan, pickSignal(taking));
}

/** A selection stays one: its branches must not be split. A whole pull covers everything, moved or not. */
function selectionOf(taking: Taking): { readonly keys?: readonly string[] } {
  return taking.keys && taking.keys.length > 0 ? { keys: taking.targets.map((o) => o.key) } : {};
}

async function planOf(ctx: Context, taking: Taking, moved: readonly ObjectManifest[]): Promise<Plan> {
  return await planRecording(ctx, {
    message: taking.message ?? `pull ${ctx.workspace.bookmark}: ${moved.length} object${moved.length === 1 ? "" : "s"}`,
    ...selectionOf(taking),
    objects: taking.targets,
    states: new Map(taking.targets.map((o) => [o.key, taking.read.values.get(o.key) ?? o.state])),
    moving: taking.targets,
    pull: true,
    ...pickSignal(taking),
  });
}
