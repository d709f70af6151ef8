/**
 * The plan of `upgrade`: what an older dataset shows that this format has otherwise (commands §5.25, formats §16). Reads only.
 *
 * @module
 */

import { relative } from "node:path";
import type { Context } from "../context.ts";
import { seconds } from "../env.ts";
import { DATASET_VERSION, readConfig } from "../files/config.ts";
import { listListings } from "../files/listings.ts";
import { planActions, planContext } from "../files/journal.ts";
import { ConfigError } from "../model/errors.ts";
import { canonical, listingName } from "../model/hash.ts";
import { isJsonObject } from "../model/json.ts";
import { manifestPath } from "../model/keys.ts";
import { contentState, type Locator, type ObjectManifest } from "../model/manifest.ts";
import { type Action, Plan } from "../plan/plan.ts";
import { commitPaths } from "./commit_paths.ts";
import { action } from "./gc_input.ts";
import { absoluteLocator } from "./locators.ts";
import { unfinished } from "./unfinished.ts";

/** The oldest version this tether brings up to date by itself. */
export const OLDEST = 4;

/** What `upgrade` is asked to do. */
export interface UpgradeRequest {
  /** Also rewrites commits that jj calls immutable. No step from version 4 rewrites any. @default {false} */
  readonly ignoreImmutable?: boolean;
}

/**
 * Plans bringing the dataset to this tether's format. Without anything to do the plan is empty.
 *
 * @throws {ConfigError} if the format is too old, manifests are not committed, or there is no bookmark to commit on.
 */
export async function planUpgrade(ctx: Context, request: UpgradeRequest): Promise<Plan> {
  const { version } = await readConfig(ctx.root, { allowOlder: true });
  if (version < OLDEST) {
    throw new ConfigError(`Cannot upgrade the dataset: its format is version ${version}, and this tether begins at 4`, {
      code: "version-older",
      hints: ["Upgrade it with the Python tether 0.1.0b7, which brings every version to 5"],
      details: { version, supported: OLDEST },
    });
  }
  const current = version === DATASET_VERSION;
  const left = await leftOver(ctx);
  const from = current && left ? left.from : version;
  if (!current || left) {
    await requireCommitted(ctx, left?.written ?? new Set());
    await requireBookmark(ctx);
  }
  const actions = current ? left ? [commitStep(from)] : [] : await upgradeActions(ctx, from);
  return new Plan({
    command: "upgrade",
    createdAt: seconds(ctx.env.now()),
    context: {
      from,
      to: DATASET_VERSION,
      ignore_immutable: request.ignoreImmutable === true,
      steps: [...new Set(actions.map((a) => String(a.params["migration"])))],
    },
    notes: left
      ? ["goes on where an interrupted upgrade had got to"]
      : current
      ? [`the dataset is at version ${DATASET_VERSION} already`]
      : [
        "states that older versions recorded stay as they are; a commit that finds them otherwise records them anew",
        "other bookmarks have a tether.toml of their own: merge this one, or upgrade there too",
      ],
    preconditions: [{
      kind: "config_version",
      expected: version,
      key: null,
      params: {},
      detail: "Cannot apply the plan: the dataset is at version {observed} now",
    }],
    actions,
  });
}

/** What an upgrade wrote whose process died before the commit. */
interface LeftOver {
  /** The version it began at. */
  readonly from: number;
  /** The files it may have written, from the root of the repository. */
  readonly written: ReadonlySet<string>;
}

/** Finds what an interrupted upgrade wrote and nobody committed; `undefined` when there is nothing of the kind (L37). */
async function leftOver(ctx: Context): Promise<LeftOver | undefined> {
  const entry = (await unfinished(ctx)).findLast((e) => e.command === "upgrade");
  if (!entry) return undefined;
  const { rel } = ctx.vcs.location;
  const paths = planActions(entry.plan).flatMap((a) => {
    const params = isJsonObject(a["params"]) ? a["params"] : {};
    switch (a["op"]) {
      case "rename-manifest":
        return [String(params["from"]), String(a["target"])];
      case "rewrite-locator":
        return [manifestPath(String(a["key"]))];
      case "copy-listing":
        return [`.tether/listings/${a["target"]}`];
      default:
        return [];
    }
  });
  const written = new Set(
    ["tether.toml", ".tether/.gitignore", ...paths].map((path) => rel === "." ? path : `${rel}/${path}`),
  );
  const dirty = await ctx.vcs.dirty(await commitPaths(ctx, { objects: [] }));
  if (!dirty.some((path) => written.has(path))) return undefined;
  return { from: Number(planContext(entry.plan)["from"]), written };
}

/** What is not committed would be mixed with what the upgrade changes. */
async function requireCommitted(ctx: Context, written: ReadonlySet<string>): Promise<void> {
  ctx.requireWholeManifests();
  const dirty = (await ctx.vcs.dirty(await commitPaths(ctx, { objects: [] }))).filter((path) => !written.has(path));
  if (dirty.length === 0) return;
  throw new ConfigError(`Cannot upgrade the dataset: "${dirty[0]}" has changes that are not committed`, {
    code: "dirty",
    hints: ctx.vcs.kind === "git"
      ? ["git add -A && git commit", "git stash --include-untracked"]
      : ["jj commit", "jj new"],
  });
}

async function requireBookmark(ctx: Context): Promise<void> {
  const { bookmarks, blocked } = await ctx.position();
  if (!blocked && bookmarks.length > 0) return;
  throw new ConfigError(`Cannot upgrade the dataset: ${blocked?.reason ?? "no bookmark is underfoot to commit on"}`, {
    code: "no-bookmark",
    hints: blocked?.hints ?? (ctx.vcs.kind === "git" ? ["git switch BRANCH"] : ["jj new BOOKMARK"]),
  });
}

async function upgradeActions(ctx: Context, from: number): Promise<Action[]> {
  const actions: Action[] = [];
  const known = new Set(await listListings(ctx.paths));
  for (const object of ctx.objects.values()) {
    const at = relative(ctx.root, ctx.manifests.fileOf(object.key)).replaceAll("\\", "/");
    const wanted = manifestPath(object.key);
    if (at !== wanted) {
      actions.push(step("rename-manifest", "one manifest per key", object, {
        target: wanted,
        detail: `from ${at}`,
        params: { from: at },
      }));
    }
    const locator = await absolute(ctx, object.kind, object.locator);
    if (canonical(locator) !== canonical(object.locator)) {
      actions.push(step("rewrite-locator", "absolute paths", object, {
        target: String(locator["uri"] ?? locator["path"] ?? object.key),
        detail: `was ${String(object.locator["uri"] ?? object.locator["path"] ?? "")}`,
        params: { locator },
      }));
    }
    const copy = await listingCopy(ctx, object, { locator, known });
    if (copy) {
      actions.push(step("copy-listing", "identities", object, {
        target: copy.to,
        detail: `from ${copy.from}`,
        params: { from: copy.from },
      }));
    }
  }
  const entries = [...await ctx.indexes.touched(), ...await ctx.indexes.created()];
  for (const entry of entries) {
    const identity = await identityNow(ctx, entry.kind, entry.locator);
    if (identity === undefined || canonical(identity) === canonical(entry.identity)) continue;
    actions.push(
      action("rewrite-index", {
        key: entry.key,
        kind: entry.kind,
        target: canonical(identity),
        detail: `was ${canonical(entry.identity)}`,
        params: { migration: "identities" },
      }),
    );
  }
  return [...actions, commitStep(from)];
}

function commitStep(from: number): Action {
  return action("vcs-commit", {
    target: "tether.toml",
    detail: upgradeMessage(from),
    params: { migration: "version" },
  });
}

/** Returns the message of the commit an upgrade makes. */
export function upgradeMessage(from: number): string {
  return `tether upgrade: v${from} -> v${DATASET_VERSION}`;
}

function step(
  op: string,
  migration: string,
  object: ObjectManifest,
  rest: { readonly target: string; readonly detail: string; readonly params: Action["params"] },
): Action {
  return action(op, { key: object.key, kind: object.kind, ...rest, params: { ...rest.params, migration } });
}

/** Older manifests hold local paths relative to the dataset (formats §6.3). */
async function absolute(ctx: Context, kind: string, locator: Locator): Promise<Locator> {
  return absoluteLocator(ctx, await ctx.backends.statics(kind), locator, ctx.root);
}

/** Returns the identity a locator has in this format; `undefined` for a kind this tether does not have. */
export async function identityNow(ctx: Context, kind: string, locator: Locator): Promise<Locator | undefined> {
  try {
    const backend = await ctx.backends.get(kind);
    return backend.identity(await absolute(ctx, kind, locator));
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** A listing is found by a name that its object's identity goes into. */
async function listingCopy(
  ctx: Context,
  object: ObjectManifest,
  { locator, known }: { readonly locator: Locator; readonly known: ReadonlySet<string> },
): Promise<{ readonly from: string; readonly to: string } | undefined> {
  if (object.state === null) return undefined;
  const backend = await ctx.backends.get(object.kind);
  if (!backend.listing) return undefined;
  const content = contentState(object.state, backend.statics.volatileKeys);
  const nameFor = (identity: Locator): string => listingName({ kind: object.kind, identity, content });
  const to = nameFor(backend.identity(locator));
  if (known.has(to)) return undefined;
  // Before, the identity was the path as it was written.
  const from = [backend.identity(object.locator), object.locator].map(nameFor).find((name) => known.has(name));
  return from === undefined ? undefined : { from, to };
}
