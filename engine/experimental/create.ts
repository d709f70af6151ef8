/**
 * `add --create`: makes the store of a new object, and takes it away again when the rest of `add` fails (commands §5.2).
 * Experimental: a store that is deleted no `repair` brings back.
 *
 * @module
 */

import { ABSENT, checkExpected, type ObjectBackend, type State } from "../../backends/backend.ts";
import { requireStorePermissions } from "../commands/granted.ts";
import type { Context } from "../context.ts";
import type { OpEntry, RunningOp } from "../files/journal.ts";
import { parseWorkspace } from "../files/workspace.ts";
import { operands } from "../io/shell.ts";
import { capabilitiesOf } from "../kinds.ts";
import { CapabilityError } from "../model/backend_errors.ts";
import { messageOf, StaleWorkingCopyError } from "../model/errors.ts";
import { isJsonObject, jsonEqual, type JsonObject } from "../model/json.ts";
import { type Locator, locatorText, type ObjectManifest } from "../model/manifest.ts";
import { workingRefName } from "../model/names.ts";
import { operate } from "../plan/operation.ts";

/**
 * Returns the `add --create` of this checkout that was killed while it made a store, if that is the very one to be made now.
 */
export async function unfinishedCreation(
  ctx: Context,
  object: Pick<ObjectManifest, "key" | "kind" | "locator">,
): Promise<OpEntry | undefined> {
  const store = { kind: object.kind, identity: (await ctx.backends.get(object.kind)).identity(object.locator) };
  return (await ctx.journal.read()).findLast((e) => {
    const { objects, store: begun } = e.pre;
    return e.command === "add" && e.status === "started" && isJsonObject(objects) && object.key in objects &&
      isJsonObject(begun) && begun["kind"] === store.kind && jsonEqual(begun["identity"], store.identity);
  });
}

/** Completes the entries of killed runs whose store is finished, or gone. */
export async function closeUnfinished(ctx: Context, identity: JsonObject, why: string): Promise<void> {
  for (const e of await ctx.journal.read()) {
    const store = e.pre["store"];
    if (e.command !== "add" || e.status !== "started" || !isJsonObject(store)) continue;
    if (jsonEqual(store["identity"], identity)) await ctx.journal.close(e.id, { failed: why, rolled_back: true });
  }
}

/**
 * Makes the store of an object that is about to be registered, marked as this dataset's, and registers the object. Off the
 * trunk its branch is made at once. Call it with both locks held.
 *
 * @throws {CapabilityError} if tether cannot make a store there.
 */
export async function createStore(
  ctx: Context,
  object: ObjectManifest,
  workspace: Context["workspace"],
): Promise<void> {
  const backend = await requireCreatable(ctx, object);
  await requireStanding(ctx, object.key);
  await requireStorePermissions(ctx, [object], "lifecycle");
  const making = new Making(ctx, backend, { object, workspace });
  const before = await ctx.workspaceFile.text();
  const pre: JsonObject = { objects: { [object.key]: null }, workspace: before, store: making.store };
  const resumed = await unfinishedCreation(ctx, object) !== undefined;
  await operate(ctx, { command: "add", pre }, {
    run: async (op) => ({ result: await making.run(op, { resumed }), value: undefined }),
    compensate: () => making.takeBack(before),
  });
  if (resumed) await closeUnfinished(ctx, making.store.identity, "interrupted; a later add --create finished it");
}

async function requireCreatable(ctx: Context, object: ObjectManifest): Promise<ObjectBackend> {
  const statics = await ctx.backends.statics(object.kind);
  if (capabilitiesOf(statics, object).has("create")) return await ctx.backends.get(object.kind);
  throw new CapabilityError(
    `Cannot create "${locatorText(object.locator)}": tether makes no stores of kind "${object.kind}" there`,
    {
      kind: object.kind,
      key: object.key,
      hints: [
        `Make it with the system's own tools, then: tether add --kind ${object.kind} ${
          operands([object.key, locatorText(object.locator)])
        }`,
      ],
    },
  );
}

/** The branch that is made stands for the bookmark, so the working copy must be on it. */
async function requireStanding(ctx: Context, key: string): Promise<void> {
  const { bookmark } = ctx.workspace;
  const here = await ctx.position();
  if (here.blocked && !here.blocked.detachedOnly) {
    throw new StaleWorkingCopyError(`Cannot create the store of "${key}": ${here.blocked.reason}`, {
      hints: here.blocked.hints,
    });
  }
  if (bookmark === null || here.bookmarks.includes(bookmark)) return;
  throw new StaleWorkingCopyError(
    `Cannot create the store of "${key}": the working copy is not on bookmark "${bookmark}" any more`,
    { hints: [`tether new ${operands([bookmark])}`, "tether new"] },
  );
}

/** One store in the making, and how far it got. */
class Making {
  /** As the journal and the index of created stores name it. */
  readonly store: { readonly kind: string; readonly identity: JsonObject; readonly locator: JsonObject };
  readonly #ctx: Context;
  readonly #backend: ObjectBackend;
  readonly #object: ObjectManifest;
  readonly #workspace: Context["workspace"];
  /** The store's first state, once there is one. */
  #state: State | undefined;
  /** Only what this run made may be taken back (L43). */
  #made = false;
  #ref: string | undefined;

  constructor(
    ctx: Context,
    backend: ObjectBackend,
    add: { readonly object: ObjectManifest; readonly workspace: Context["workspace"] },
  ) {
    const { kind, locator } = add.object;
    this.#ctx = ctx;
    this.#backend = backend;
    this.#object = add.object;
    this.#workspace = add.workspace;
    this.store = { kind, identity: backend.identity(locator), locator };
  }

  /** Makes the store, remembers it, registers the object and makes its branch. Returns what the journal records. */
  async run(op: RunningOp, { resumed }: { readonly resumed: boolean }): Promise<JsonObject> {
    const { env, indexes, config, workspace } = this.#ctx;
    const { key, locator } = this.#object;
    const there = resumed ? await this.#begun() : undefined;
    const state = there ?? await this.#backend.create?.(locator, { owner: config.datasetId }) ?? {};
    this.#state = state;
    this.#made = there === undefined;
    await env.boundary?.(`create ${key}`);
    await op.progress({ action: "create-store", key, target: locatorText(locator) });
    const known = there !== undefined &&
      (await indexes.created()).some((c) => jsonEqual(c.identity, this.store.identity));
    if (!known) await indexes.addCreated({ ...this.store, key, bookmark: workspace.bookmark });
    await env.boundary?.("created index");
    await this.#ctx.saveManifests([this.#object]);
    await env.boundary?.("manifests");
    await this.#ctx.saveWorkspace(this.#workspace);
    const ref = await this.#fork(op, state);
    return { key, created: this.store, ...(ref === undefined ? {} : { fork: ref }) };
  }

  /** The first state of a store that a killed run made; `undefined` when it did not get so far, or anything is in it. */
  async #begun(): Promise<State | undefined> {
    const { locator } = this.#object;
    if (await this.#backend.owner?.(locator) !== this.#ctx.config.datasetId) return undefined;
    const name = this.#branchName();
    const ignoring = new Set(name === undefined ? [] : [name]);
    if (await this.#backend.isRefEmpty?.(locator, { ignoring }) !== true) return undefined;
    return await this.#backend.fingerprint(locator, undefined);
  }

  #branchName(): string | undefined {
    const { config, onTrunk, workspace } = this.#ctx;
    if (onTrunk || workspace.bookmark === null || !this.#backend.fork) return undefined;
    return workingRefName(config.datasetId, workspace.bookmark);
  }

  /** Makes the branch of the bookmark; on the trunk, and for what has no branches, there is none. */
  async #fork(op: RunningOp, state: State): Promise<string | undefined> {
    const { env, indexes, workspace } = this.#ctx;
    const { key, locator } = this.#object;
    const name = this.#branchName();
    if (name === undefined || !this.#backend.fork) return undefined;
    // A killed run may have made it; then it must still be where it was made.
    const there = this.#made ? false : (await this.#backend.listWorkingRefs?.(locator) ?? []).includes(name);
    const expected = there ? state : ABSENT;
    const ref = await this.#backend.fork(locator, { on: "state", state }, name, { expected });
    if (!there) this.#ref = ref;
    await env.boundary?.(`fork ${key}`);
    await op.progress({ action: "fork", key, ref });
    await indexes.addTouched({ ...this.store, key });
    await this.#ctx.saveWorkspace({
      ...workspace,
      workingRefs: { ...workspace.workingRefs, [key]: ref },
      forkPoints: { ...workspace.forkPoints, [key]: state },
    });
    return ref;
  }

  /** Undoes what was done, the registration first: a store that cannot be removed stays known to gc. */
  async takeBack(workspace: string | null): Promise<JsonObject> {
    const { manifests, paths, config, indexes } = this.#ctx;
    const { key, locator } = this.#object;
    const state = this.#state;
    if (!state) return {};
    await manifests.remove(key);
    if (workspace !== null) await this.#ctx.saveWorkspace(parseWorkspace(workspace, paths.workspace));
    await this.#ctx.refresh();
    try {
      if (this.#ref !== undefined) await deleteUnwritten(this.#backend, locator, { ref: this.#ref, state });
      if (!this.#made) return { rolled_back: true, created: this.store, kept: "an earlier run made it" };
      await this.#backend.deleteStore?.(locator, { owner: config.datasetId });
    } catch (error) {
      return { rolled_back: true, created: this.store, kept: messageOf(error) };
    }
    await indexes.removeCreated([this.store.identity]);
    await indexes.removeTouched([this.store.identity]);
    return { rolled_back: true };
  }
}

/**
 * Deletes a branch of a created store, provided that it is still where it was made.
 *
 * @throws {RefMovedError} if it was written to.
 */
export async function deleteUnwritten(
  backend: ObjectBackend,
  locator: Locator,
  branch: { readonly ref: string; readonly state: State },
): Promise<void> {
  await checkExpected(backend, locator, branch.state, { ref: branch.ref, what: "delete" });
  await backend.deleteWorkingRef?.(locator, branch.ref);
}
