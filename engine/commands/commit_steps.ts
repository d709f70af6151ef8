/**
 * The writes of a commit, one method each, and how they are taken back.
 *
 * @module
 */

import { relative } from "node:path";
import { entryOf } from "../files/workspace.ts";
import { withoutAt } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { micros } from "../env.ts";
import type { RunningOp } from "../files/journal.ts";
import { Aside } from "../files/aside.ts";
import { usableCache } from "../files/layout.ts";
import { removeListing, writeListing } from "../files/listings.ts";
import { parseManifest } from "../files/manifests.ts";
import { Mutex } from "../io/pool.ts";
import { redact } from "../model/redact.ts";
import { operands } from "../io/shell.ts";
import { asError, ConfigError, messageOf, TetherError, VcsError } from "../model/errors.ts";
import { MultiObjectError } from "../model/multi_object_error.ts";
import { PermissionDeniedError } from "../model/backend_errors.ts";
import type { JsonObject } from "../model/json.ts";
import { canonicalManifest, type ObjectManifest, type Pin, type State } from "../model/manifest.ts";
import { refForPin } from "../model/names.ts";
import type { Action } from "../plan/plan.ts";
import { seedPinnedIndex } from "../checkouts.ts";
import { commitPaths, type CommitScope, listingOf } from "./commit_paths.ts";
import { eachObject } from "./fan_out.ts";

/** What a commit is about. */
export interface CommitInput {
  readonly message: string;
  readonly selection: CommitScope;
  readonly withVcs: boolean;
  /** Whether objects leave the position they were registered at, as a pull makes them. */
  readonly attach: boolean;
  readonly signal?: AbortSignal;
}

/** A pin made or found, and what it was made from. */
interface Made {
  readonly object: ObjectManifest;
  readonly pin: Pin;
  /** The state the ref was made from; objects that share the ref record it too (formats §6.2). */
  readonly state: State;
}

/** One commit's steps. */
export class CommitSteps {
  /** The dataset commit, once it exists. */
  vcsCommit: string | undefined;
  /** What failed after the dataset commit existed. */
  trouble: Error | undefined;
  readonly #ctx: Context;
  readonly #input: CommitInput;
  readonly #pins = new Map<string, Made>();
  readonly #recorded = new Set<string>();
  readonly #listings: string[] = [];
  /** Manifests and working state as they were. */
  #before: Aside | undefined;

  constructor(ctx: Context, input: CommitInput) {
    this.#ctx = ctx;
    this.#input = input;
  }

  /** Makes one native ref per distinct pin id, and says so in the journal and the clone's indexes as each appears. */
  async pin(op: RunningOp, actions: readonly Action[]): Promise<void> {
    const ctx = this.#ctx;
    const firsts = new Map<string, Action>();
    for (const action of actions) {
      const id = String(action.params["pin_id"]);
      if (!firsts.has(id)) firsts.set(id, action);
    }
    const byKey = new Map([...firsts].map(([id, a]) => [a.key, { id, state: a.params["state"] as State }]));
    if (actions.length > 0) await seedPinnedIndex(ctx);
    // Appends of one file are taken one at a time; the pins themselves are made side by side.
    const notes = new Mutex();
    const { errors } = await eachObject(ctx, [...byKey.keys()].map((k) => ctx.object(k)), {
      verb: "pinning",
      ...(this.#input.signal ? { signal: this.#input.signal } : {}),
      fn: async ({ object, backend }) => {
        const { id, state } = byKey.get(object.key) ?? fail(object.key);
        if (!backend.pin) return fail(object.key);
        // Not given the signal: a pin under way is waited for, so that it is never left behind unrecorded.
        const pin = await backend.pin(object.locator, state, id);
        this.#pins.set(id, { object, pin, state });
        await ctx.env.boundary?.(`pin ${object.key}`);
        await notes.run(async () => {
          if (pin.created !== false) {
            await op.progress({ action: "pin", key: object.key, ref: pin.ref });
            await ctx.indexes.addPin({ pinId: id, kind: object.kind, key: object.key });
          }
          await ctx.indexes.addTouched({
            kind: object.kind,
            identity: backend.identity(object.locator),
            locator: object.locator,
            key: object.key,
          });
        });
      },
    });
    if (errors.size === 0) return;
    const denied = [...errors].filter(([, error]) => error instanceof PermissionDeniedError).map(([key]) => key);
    throw new MultiObjectError(`Cannot pin ${errors.size} object(s)`, errors, {
      // What may not be written to can still be recorded.
      hints: denied.length > 0 ? [`tether set --pin record ${operands(denied)}`] : [],
    });
  }

  /** Writes manifests, then the listings of their states. What was there before is set aside until the commit is done. */
  async writeManifests(op: RunningOp, actions: readonly Action[]): Promise<void> {
    const ctx = this.#ctx;
    this.#before = new Aside(await usableCache(ctx.paths));
    await this.#before.keep(ctx.paths.workspace);
    for (const { key } of actions) await this.#before.keep(ctx.manifests.fileOf(key));
    await this.#cacheRecorded(actions);
    const capturedAt = micros(ctx.env.now());
    const changed: ObjectManifest[] = [];
    for (const action of actions) {
      const object = ctx.object(action.key);
      this.#recorded.add(action.key);
      const made = this.#pins.get(String(action.params["pin_id"]));
      changed.push({
        ...object,
        locator: this.#input.attach ? withoutAt(object.locator) : object.locator,
        state: made?.state ?? action.params["state"] as State,
        pin: made ? { id: made.pin.id, ref: made.pin.ref } : null,
        recoverable: action.params["recoverable"] !== false,
        capturedAt,
      });
    }
    this.#input.signal?.throwIfAborted();
    await ctx.saveManifests(changed);
    if (changed.length > 0) await op.progress({ action: "manifests", keys: changed.map((m) => m.key) });
    await ctx.env.boundary?.("manifests");
    await this.#writeListings(changed);
    await ctx.env.boundary?.("listings");
  }

  /** From before the manifests say so: whoever looks meanwhile, such as a hook, sees what the stores hold now (L37). */
  async #cacheRecorded(actions: readonly Action[]): Promise<void> {
    const { workspace } = this.#ctx;
    const lastSnapshot = { ...workspace.lastSnapshot };
    const lastSnapshotErrors = { ...workspace.lastSnapshotErrors };
    for (const { key, params } of actions) {
      lastSnapshot[key] = params["state"] as State;
      delete lastSnapshotErrors[key];
    }
    await this.#ctx.saveWorkspace({ ...workspace, lastSnapshot, lastSnapshotErrors });
  }

  async #writeListings(changed: readonly ObjectManifest[]): Promise<void> {
    const { errors } = await eachObject(this.#ctx, changed, {
      verb: "listing",
      fn: async ({ object, backend }) => {
        const name = await listingOf(this.#ctx, object);
        if (name === undefined || !object.state) return;
        const text = await backend.listing?.(object.locator, object.state);
        if (text !== undefined && await writeListing(this.#ctx.paths, name, text)) this.#listings.push(name);
      },
    });
    if (errors.size > 0) throw new MultiObjectError(`Cannot list ${errors.size} object(s)`, errors);
  }

  /** Makes the dataset commit and checks that it holds every manifest it was given. */
  async commitToVcs(op: RunningOp): Promise<void> {
    const ctx = this.#ctx;
    this.#input.signal?.throwIfAborted();
    const before = (await ctx.position()).commit;
    const bookmark = ctx.workspace.bookmark ?? "";
    try {
      const paths = await commitPaths(ctx, this.#input.selection);
      this.vcsCommit = await ctx.vcs.commit({ message: this.#input.message, paths, bookmark });
    } catch (error) {
      ctx.vcs.refresh();
      const now = (await ctx.position()).commit;
      // The commit may exist although the program failed (a post-commit hook): then everything is kept.
      if (now === before || now === null) throw error;
      this.vcsCommit = now;
      this.trouble = asError(error);
    }
    await op.progress({ action: "vcs-commit", commit: this.vcsCommit });
    await ctx.env.boundary?.("vcs-commit");
    this.trouble ??= await this.#missingFromCommit(this.vcsCommit);
  }

  /**
   * A dataset folder the VCS ignores gives a commit without manifests, a hook or a filter one with others: the pins are kept,
   * and it is said.
   */
  async #missingFromCommit(commit: string): Promise<Error | undefined> {
    const ctx = this.#ctx;
    const { rel } = ctx.vcs.location;
    const inCommit = await ctx.vcs.manifestsAt(commit);
    const missing: string[] = [];
    const altered: string[] = [];
    for (const { key } of this.#input.selection.objects) {
      // A manifest may lie where its key does not say.
      const path = (rel === "." ? "" : `${rel}/`) + relative(ctx.root, ctx.manifests.fileOf(key));
      const bytes = inCommit.get(path);
      if (bytes === undefined) missing.push(path);
      else if (!saysTheSame(bytes, ctx.object(key))) altered.push(path);
    }
    const [first = altered[0]] = missing;
    if (first === undefined) return undefined;
    const count = missing.length + altered.length;
    return new VcsError(
      missing.length > 0
        ? `Cannot find ${count} manifest(s) in commit ${commit.slice(0, 12)}, such as "${first}": ` +
          "an ignore rule may cover them, or a hook takes them out"
        : `Cannot find what was recorded in commit ${commit.slice(0, 12)}: ${count} manifest(s) differ there, ` +
          `such as "${first}": a hook or a filter may change them`,
      {
        code: "incomplete-commit",
        hints: missing.length > 0 ? [`git check-ignore -v ${operands([first])}`] : [
          `git check-attr filter ${operands([first])}`,
          "Mend the hook or the filter, then: tether commit -m MESSAGE",
        ],
        details: { commit, missing, altered },
      },
    );
  }

  /** Records what the branches stand for now, and puts the committed states into the cache. */
  async rememberStates(keys: readonly string[]): Promise<void> {
    const ctx = this.#ctx;
    const { workspace } = ctx;
    const baseStates = { ...workspace.baseStates };
    const lastSnapshot = { ...workspace.lastSnapshot };
    const lastSnapshotErrors = { ...workspace.lastSnapshotErrors };
    for (const key of keys) {
      const state = ctx.objects.get(key)?.state;
      if (!state) continue;
      if (entryOf(workspace.workingRefs, key) !== undefined || entryOf(workspace.pendingForks, key) !== undefined) {
        baseStates[key] = state;
      }
      if (this.#recorded.has(key)) lastSnapshot[key] = state;
      delete lastSnapshotErrors[key];
    }
    await ctx.saveWorkspace({ ...workspace, baseStates, lastSnapshot, lastSnapshotErrors });
    await this.#before?.discard();
  }

  /**
   * Takes back what this run made and only that: pins reported as created, manifests, new listings. Once the dataset commit
   * exists everything is kept. Returns what the journal records.
   */
  async rollBack(error: unknown): Promise<JsonObject> {
    if (this.vcsCommit !== undefined) {
      await this.#before?.discard();
      return { vcs_commit: this.vcsCommit, failed_after_commit: redact(messageOf(error)) };
    }
    // Manifests first: a pin that one of them still names must not go.
    await this.#before?.restore();
    for (const name of this.#listings) await removeListing(this.#ctx.paths, name);
    const kept = await this.#releasePins();
    await this.#ctx.refresh();
    return { rolled_back: true, ...(kept.length > 0 ? { kept_pins: kept } : {}) };
  }

  /** Releases the pins this run made; returns those that had to stay. */
  async #releasePins(): Promise<string[]> {
    const kept: string[] = [];
    for (const [id, { object, pin }] of this.#pins) {
      if (pin.created === false) continue;
      try {
        const backend = await this.#ctx.backends.get(object.kind);
        await backend.unpin?.(object.locator, pin);
        await this.#ctx.indexes.removePins([id]);
      } catch (undoing) {
        // Still in the index, so gc releases it later; the journal says which.
        kept.push(refForPin(id));
        this.#ctx.warnings.push(`Kept pin ${refForPin(id)} of "${object.key}": ${messageOf(undoing)}`);
      }
    }
    return kept;
  }
}

function fail(key: string): never {
  throw new TetherError(`Cannot pin "${key}": no pin is planned for it`);
}

/** Tells whether bytes of a commit are a manifest, by meaning (L15). */
function saysTheSame(bytes: Uint8Array, object: ObjectManifest): boolean {
  try {
    return canonicalManifest(parseManifest(new TextDecoder().decode(bytes), object.key)) === canonicalManifest(object);
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}
