/**
 * Where `new` goes: which bookmark, at which revision, with which manifests (commands §5.10).
 *
 * @module
 */

import { join } from "node:path";
import type { Position } from "../../vcs/adapter.ts";
import type { Context } from "../context.ts";
import { planContext } from "../files/journal.ts";
import { ConfigError, StaleWorkingCopyError, VcsError } from "../model/errors.ts";
import type { ObjectManifest } from "../model/manifest.ts";
import { bookmarkSlug, workingRefName } from "../model/names.ts";
import { operands, shellQuote } from "../io/shell.ts";
import { bookmarkHolders } from "../checkouts.ts";
import { datasetRootAt } from "../history/dataset_at.ts";
import { manifestsOf } from "../revision.ts";
import { requireSettled } from "./commit_plan.ts";
import { unfinished } from "./unfinished.ts";

/**
 * What the user asked `new` for.
 *
 * @example Start a bookmark with all its branches
 * ```ts
 * import { Dataset, type NewRequest } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 *
 * const request: NewRequest = { bookmark: "relabel", eager: true };
 * assert.deepEqual(Object.keys((await ds.new(request)).workingRefs), ["m"]);
 * ```
 */
export interface NewRequest {
  /**
   * Where to go: a bookmark, or any commit, which makes the checkout read-only.
   * @default {stay}
   */
  readonly rev?: string;
  /** Creates this bookmark, at `rev` or here. */
  readonly bookmark?: string;
  /**
   * Works on a bookmark that another live checkout holds, and on branches with its writes.
   * @default {false}
   */
  readonly shared?: boolean;
  /**
   * Keeps the branches as they are, and only takes in what the manifests say now.
   * @default {false}
   */
  readonly keep?: boolean;
  /**
   * Makes all branches now; otherwise the first writable open makes each.
   * @default {`[new] fork` of tether.toml}
   */
  readonly eager?: boolean;
  /**
   * Waits also with branches of states that no pin holds.
   * @default {false}
   */
  readonly deferRecord?: boolean;
  /**
   * Throws away writes that no commit recorded.
   * @default {false}
   */
  readonly discard?: boolean;
  /**
   * Takes branches the stores already have for the bookmark, whatever they hold.
   * @default {false}
   */
  readonly adopt?: boolean;
}

/** What the VCS has to do. */
export type VcsMove =
  | { readonly type: "stay" }
  | { readonly type: "switch"; readonly bookmark: string }
  | { readonly type: "park"; readonly commit: string }
  | { readonly type: "create"; readonly bookmark: string; readonly commit: string | undefined };

/** Where `new` goes. */
export interface NewTarget {
  /** `null`: no bookmark, a read-only checkout. */
  readonly bookmark: string | null;
  readonly trunk: boolean;
  readonly move: VcsMove;
  /** The revision whose manifests count; `null` for the working tree. */
  readonly rev: string | null;
  readonly objects: ReadonlyMap<string, ObjectManifest>;
  /** Workspace ids of other live checkouts on the bookmark. */
  readonly holders: readonly string[];
}

/** Refuses flags that contradict each other, before anything is read (L42). */
export function checkNewRequest(r: NewRequest): void {
  for (const [name, value] of [["revision", r.rev], ["bookmark", r.bookmark]] as const) {
    if (value !== undefined && value.trim() === "") {
      throw new ConfigError(`Cannot go to an empty ${name}`, { code: "empty", hints: ["tether new --help"] });
    }
  }
  const clash = (a: string, b: string): never => {
    throw new ConfigError(`Cannot combine ${a} with ${b}`, { code: "flags", hints: ["tether new --help"] });
  };
  if (r.adopt && r.keep) clash("--adopt", "--keep");
  if (r.adopt && r.discard) clash("--adopt", "--discard");
  if (r.keep && r.discard) clash("--keep", "--discard");
  // What is kept as it is has no branch to make.
  if (r.keep && r.eager) clash("--keep", "--eager");
  if (r.keep && r.bookmark !== undefined) clash("--keep", "--bookmark");
  if (r.deferRecord && r.eager) clash("--defer-record", "--eager");
}

/** Decides where to go. Reads version control only. */
export async function resolveTarget(ctx: Context, request: NewRequest): Promise<NewTarget> {
  const here = await ctx.position();
  const { rev } = request;
  // Staying put during a rebase or merge would bind branches to a commit that is about to change, and git leaves none.
  const what = request.bookmark ?? rev;
  await requireSettled(ctx, what === undefined ? "start here" : `go to "${what}"`);
  const target = request.bookmark !== undefined
    ? await toNewBookmark(ctx, request.bookmark, rev)
    : rev !== undefined
    ? await toRevision(ctx, rev)
    : await stay(ctx, here, request.keep === true);
  const trunk = target.bookmark === ctx.config.trunk;
  if (request.adopt && (trunk || target.bookmark === null)) {
    throw new ConfigError(`Cannot adopt branches on ${trunk ? "the trunk" : "no bookmark"}: it has none of its own`, {
      code: "flags",
    });
  }
  if (target.bookmark !== null && !trunk) checkBranchName(ctx, target.bookmark);
  const holders = target.bookmark === null || trunk ? [] : await bookmarkHolders(ctx, target.bookmark);
  if (holders.length > 0 && !request.shared) {
    throw new StaleWorkingCopyError(
      `Cannot work on bookmark "${target.bookmark}": held by ${
        holders.map((h) => h.slice(0, 8)).join(", ")
      }, another live checkout`,
      {
        code: "bookmark-held",
        hints: [
          ...(ctx.vcs.kind === "git" ? [] : [sharing(request)]),
          `tether new -b NAME ${operands([target.bookmark ?? ""])}`,
        ],
        details: { bookmark: target.bookmark, holders },
      },
    );
  }
  if (target.rev === null) {
    ctx.requireWholeManifests();
    return { ...target, trunk, objects: ctx.objects, holders };
  }
  const commit = await ctx.vcs.resolve(target.rev);
  await refuseElsewhere(ctx, target.rev, commit);
  return { ...target, trunk, objects: await manifestsOf(ctx, commit, ctx.vcs.location.rel), holders };
}

/** The same request, joining whoever holds the bookmark. */
function sharing({ rev, bookmark, keep, discard, eager, deferRecord }: NewRequest): string {
  const flags = Object.entries({ keep, discard, eager, "defer-record": deferRecord }).flatMap(([name, on]) =>
    on === true ? [`--${name}`] : []
  );
  const create = bookmark === undefined ? [] : [`-b ${shellQuote(bookmark)}`];
  return ["tether new", ...create, ...flags, "--shared", operands(rev === undefined ? [] : [rev])]
    .filter((word) => word !== "").join(" ");
}

/** Refuses a revision in which the dataset lies at another place: what was set up here would be outside of it. */
async function refuseElsewhere(ctx: Context, rev: string, commit: string): Promise<void> {
  const { root, rel } = ctx.vcs.location;
  const there = await datasetRootAt(ctx.vcs, commit, ctx.config.datasetId);
  if (there === rel) return;
  const place = join(root, there);
  throw new ConfigError(`Cannot go to "${rev}": the dataset lies in "${place}" there, not in "${ctx.root}"`, {
    code: "moved",
    hints: [
      `${ctx.vcs.kind === "git" ? "git switch" : "jj new"} ${operands([rev])} && cd ${operands([place])} && tether new`,
    ],
  });
}

type Destination = Pick<NewTarget, "bookmark" | "move" | "rev">;

async function stay(ctx: Context, here: Position, keep: boolean): Promise<Destination> {
  const own = ctx.workspace.bookmark;
  const bookmark = keep ? own : choose(ctx, here.bookmarks) ?? own;
  // jj moves the bookmark along when something is committed; git would leave it where it is.
  if (bookmark === null || here.bookmarks.includes(bookmark) || ctx.vcs.kind === "jj") {
    return { bookmark, move: { type: "stay" }, rev: null };
  }
  return await comeBack(ctx, here, bookmark);
}

/** Returns to the bookmark of this checkout where that leaves no commit behind (L18). */
async function comeBack(ctx: Context, here: Position, bookmark: string): Promise<Destination> {
  const at = (await ctx.vcs.bookmarks()).get(bookmark);
  const on = here.bookmarks.length > 0 ? here.bookmarks.map((b) => `"${b}"`).join(", ") : "no bookmark";
  if (!at) {
    throw new StaleWorkingCopyError(`Cannot start here: the working copy is on ${on}, and "${bookmark}" is gone`, {
      hints: [`tether new -b ${shellQuote(bookmark)}`],
    });
  }
  if (here.bookmarks.length > 0 || here.commit === null || !await ctx.vcs.isAncestor(here.commit, at)) {
    throw new StaleWorkingCopyError(`Cannot start here: the working copy is on ${on}, not on "${bookmark}"`, {
      hints: ["tether new -b NAME", `tether new ${operands([bookmark])}`],
      details: { commit: here.commit, bookmark },
    });
  }
  return { bookmark, move: { type: "switch", bookmark }, rev: here.commit === at ? null : bookmark };
}

/** The workspace's own bookmark if it is there, else the trunk, else the only one, else none. */
function choose(ctx: Context, candidates: readonly string[]): string | null {
  const own = ctx.workspace.bookmark;
  if (own !== null && candidates.includes(own)) return own;
  if (candidates.includes(ctx.config.trunk)) return ctx.config.trunk;
  return candidates.length === 1 ? candidates[0] ?? null : null;
}

async function toNewBookmark(ctx: Context, name: string, rev: string | undefined): Promise<Destination> {
  const bookmarks = await ctx.vcs.bookmarks();
  if (bookmarks.has(name) && await wasBegun(ctx, name, rev)) return await toRevision(ctx, name);
  if (bookmarks.has(name)) {
    throw new ConfigError(`Cannot create bookmark "${name}": it exists`, {
      code: "bookmark-exists",
      hints: [`tether new ${operands([name])}`],
    });
  }
  const problem = await ctx.vcs.bookmarkProblem(name);
  if (problem) {
    throw new ConfigError(`Cannot create bookmark "${name}": ${problem}`, {
      code: "bookmark-name",
      hints: ["tether new -b NAME, with another name"],
    });
  }
  if (name !== ctx.config.trunk) refuseSharedSlug(ctx, name, bookmarks.keys());
  const commit = rev === undefined ? undefined : await ctx.vcs.resolve(rev);
  const here = (await ctx.position()).commit;
  return {
    bookmark: name,
    move: { type: "create", bookmark: name, commit },
    // Creating a bookmark where the working copy is keeps the working tree, edits included.
    rev: commit === undefined || commit === here ? null : commit,
  };
}

/** Whether creating this bookmark was interrupted: then the same command goes on, wherever it was (L37). */
async function wasBegun(ctx: Context, name: string, rev: string | undefined): Promise<boolean> {
  return (await unfinished(ctx)).some(({ command, plan }) => {
    const context = planContext(plan);
    return command === "new" && context["create"] === true && context["bookmark"] === name &&
      context["rev"] === (rev ?? null);
  });
}

async function toRevision(ctx: Context, rev: string): Promise<Destination> {
  const here = await ctx.position();
  const bookmarks = await ctx.vcs.bookmarks();
  if (here.bookmarks.includes(rev)) return { bookmark: rev, move: { type: "stay" }, rev: null };
  if (bookmarks.has(rev)) {
    if (bookmarks.get(rev) === null) {
      throw new VcsError(`Cannot go to bookmark "${rev}": it is conflicted`, {
        hints: [`jj bookmark set ${shellQuote(rev)} -r REV`],
      });
    }
    return { bookmark: rev, move: { type: "switch", bookmark: rev }, rev };
  }
  const commit = await resolveOrSuggest(ctx, rev);
  const there = [...bookmarks].filter(([, at]) => at === commit).map(([name]) => name);
  const bookmark = choose(ctx, there);
  if (bookmark !== null) {
    const move: VcsMove = here.bookmarks.includes(bookmark) ? { type: "stay" } : { type: "switch", bookmark };
    return { bookmark, move, rev: move.type === "stay" ? null : bookmark };
  }
  if (commit === here.commit && here.bookmarks.length === 0) {
    return { bookmark: null, move: { type: "stay" }, rev: null };
  }
  return { bookmark: null, move: { type: "park", commit }, rev: commit };
}

/** Resolves a revision. Of one that there is not, a bookmark may have been meant that is still to be made. */
async function resolveOrSuggest(ctx: Context, rev: string): Promise<string> {
  try {
    return await ctx.vcs.resolve(rev);
  } catch (error) {
    if (!(error instanceof VcsError) || error.code !== "no-revision" || await ctx.vcs.bookmarkProblem(rev)) throw error;
    const { message, code, hints, details } = error;
    throw new VcsError(message, {
      code,
      hints: await fetched(ctx, rev) ?? [`tether new -b ${shellQuote(rev)}`, ...hints],
      details,
      cause: error,
    });
  }
}

/** Returns what makes a bookmark of one that a remote has: a new one of that name would begin here instead. */
async function fetched(ctx: Context, name: string): Promise<readonly string[] | undefined> {
  const [remote] = await ctx.vcs.remoteBookmarks(name);
  if (remote === undefined) return undefined;
  const make = ctx.vcs.kind === "git"
    ? `git branch ${operands([name, remote])}`
    : `jj bookmark track ${shellQuote(`${name}@${remote.slice(0, remote.lastIndexOf(name) - 1)}`)}`;
  return [make, `tether new ${operands([name])}`];
}

/** Refuses a bookmark whose branch name another one has, also in another letter case (L19). */
function refuseSharedSlug(ctx: Context, name: string, others: Iterable<string>): void {
  const slug = bookmarkSlug(name).toLowerCase();
  for (const other of others) {
    if (other === name || other === ctx.config.trunk) continue;
    const theirs = bookmarkSlug(other);
    if (theirs.toLowerCase() !== slug) continue;
    const how = theirs === bookmarkSlug(name)
      ? "the same branch name"
      : "the same branch name on disks that ignore letter case";
    throw new ConfigError(
      `Cannot create bookmark "${name}": bookmark "${other}" has ${how}, "${
        workingRefName(ctx.config.datasetId, other)
      }"`,
      {
        code: "bookmark-name",
        hints: ["tether new -b NAME"],
        details: { other },
      },
    );
  }
}

/** Refuses names that some system cannot hold (backends §1.3). */
function checkBranchName(ctx: Context, bookmark: string): void {
  const ref = workingRefName(ctx.config.datasetId, bookmark);
  if (ref.endsWith(".lock")) {
    throw new ConfigError(
      `Cannot work on bookmark "${bookmark}": git, Lance and Dolt refuse branch names ending in ".lock"`,
      {
        code: "bookmark-name",
      },
    );
  }
  if (ref.length > 200) {
    throw new ConfigError(
      `Cannot work on bookmark "${bookmark}": its branch name would be ${ref.length} bytes long, 200 is the most`,
      {
        code: "bookmark-name",
      },
    );
  }
}
