/**
 * `open`: the native address of an object, read-only or writable (commands §5.11). A writable open makes the branch that
 * `new` decided on.
 *
 * @module
 */

import { entryOf } from "../files/workspace.ts";
import {
  ABSENT,
  type Handle,
  type HandleJson,
  type ObjectBackend,
  type Target,
  withoutAt,
} from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import type { OpEntry } from "../files/journal.ts";
import { capabilitiesOf, scopeOf, tierOfObject, withKey } from "../kinds.ts";
import { BackendError, CapabilityError, StateGoneError } from "../model/backend_errors.ts";
import { PinDriftError, StaleWorkingCopyError, TetherError } from "../model/errors.ts";
import { renderState } from "../model/render_state.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { locatorText, type ObjectManifest, sameContent, type State } from "../model/manifest.ts";
import { operands, shellQuote } from "../io/shell.ts";
import { operate, withLocks } from "../plan/operation.ts";
import { requireStorePermissions } from "./granted.ts";
import type { CallOptions } from "../reports/report.ts";
import { staleKeys, workingRefOf } from "../state.ts";
import { objectAt } from "../revision.ts";
import { forkBranch, sourceOf } from "./branches.ts";
import { requireOnBookmark } from "./commit_plan.ts";
import { pickSignal, standingOf } from "./snapshot.ts";
import { begunBefore } from "./unfinished.ts";

/**
 * Options of {@link open}.
 *
 * @example Open what a commit recorded
 * ```ts
 * import { Dataset, type OpenObjectOptions } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * const { vcsCommit, pinned } = await ds.commit({ message: "Baseline" });
 *
 * const options: OpenObjectOptions = { rev: vcsCommit ?? "HEAD" };
 * await using handle = await ds.open("m", options);
 * assert.deepEqual([handle.readOnly, handle.ref], [true, pinned["m"]]);
 * ```
 */
export interface OpenObjectOptions extends CallOptions {
  /**
   * Read-only at what this commit recorded.
   * @default {the variable `TETHER_REV`}
   */
  readonly rev?: string;
  /**
   * Whether nothing will be written through it.
   * @default {`false` for a Forkable object, else `true`}
   */
  readonly readOnly?: boolean;
}

/**
 * What the engine knows of an opened object besides its handle.
 *
 * @example See what is behind an address
 * ```ts
 * import { Dataset, type OpenedFacts } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 *
 * await using handle = await ds.open("m", { rev: "HEAD" });
 * const facts: OpenedFacts = handle;
 * assert.deepEqual([facts.object, facts.state, facts.pinned], ["m", { snapshot_id: "m:s0" }, true]);
 * ```
 */
export interface OpenedFacts {
  /** The dataset key. */
  readonly object: string;
  /** The locator's own text. */
  readonly uri: string;
  /** The branch or tag to check out; `null` when there is none. */
  readonly ref: string | null;
  /** What was recorded and is opened; `null` for a branch that is written or moves. */
  readonly state: State | null;
  /** Whether a pin holds what is opened. */
  readonly pinned: boolean;
  /** What is not as it was recorded though it could be opened, such as a pin that is gone; `null` otherwise. */
  readonly warning: string | null;
}

/**
 * An opened object: the backend's handle, and where it stands in the dataset.
 *
 * @example Hand an address to another program
 * ```ts
 * import { Dataset, type OpenedHandle } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * const uri = await Deno.makeTempDir();
 * await ds.add({ key: "raw", kind: "file", locator: { uri } });
 * await using handle: OpenedHandle = await ds.open("raw");
 * const { object, address, read_only } = handle.toJSON();
 * assert.deepEqual({ object, address, read_only }, { object: "raw", address: uri, read_only: true });
 * ```
 */
export interface OpenedHandle extends Handle, OpenedFacts {
  /** What `open --json` prints: never a password. */
  toJSON(): HandleJson & OpenedFacts & { readonly [key: string]: Json };
  /** The backend's own handle, with its live objects. */
  readonly native: Handle;
}

/** Opens an object. */
export async function open(ctx: Context, key: string, options: OpenObjectOptions = {}): Promise<OpenedHandle> {
  const given = options.rev ?? ctx.env.variable("TETHER_REV");
  const rev = given === "" && options.rev === undefined ? undefined : given;
  await ctx.refresh();
  if (rev !== undefined) {
    if (options.readOnly === false) {
      throw new TetherError(`Cannot open "${key}" for writing at revision "${rev}": a commit is read-only`, {
        code: "flags",
        hints: [`tether open --read-only --rev ${shellQuote(rev)} ${operands([key])}`],
      });
    }
    return await openRecorded(ctx, await objectAt(ctx, rev, key), { ...options, where: `at revision "${rev}"` });
  }
  const object = ctx.object(key);
  const statics = await ctx.backends.statics(object.kind);
  const forkable = capabilitiesOf(statics, object).has("fork");
  if (options.readOnly ?? !forkable) return await openReading(ctx, object, options);
  if (!forkable) {
    throw new CapabilityError(
      `Cannot open "${key}" for writing: it is ${tierOfObject(statics, object)}, it has no branches`,
      {
        kind: object.kind,
        key,
        hints: [`tether open --read-only ${operands([key])}`],
      },
    );
  }
  return await openWriting(ctx, object, options);
}

/** Opens what a commit recorded: at the pin, else at the recorded state if the store can. */
async function openRecorded(
  ctx: Context,
  object: ObjectManifest,
  options: CallOptions & { readonly where: string },
): Promise<OpenedHandle> {
  const { key, state, pin, locator } = object;
  if (!state) {
    throw new TetherError(`Cannot open "${key}" ${options.where}: nothing was recorded of it there`, {
      code: "no-state",
    });
  }
  const backend = await backendFor(ctx, object, "read");
  const signal = pickSignal(options);
  const addressable = capabilitiesOf(backend.statics, object).has("addressable");
  if (pin) {
    const verdict = await backend.verify(locator, state, pin, { deep: false, ...signal });
    if (verdict.status === "drifted") {
      throw new PinDriftError(
        `Cannot open "${key}" ${options.where}: ${verdict.message ?? "its pin points elsewhere"}`,
        {
          hints: [`tether verify ${operands([key])}`],
          details: { key, ref: pin.ref },
        },
      );
    }
    if (verdict.status === "unknown") {
      throw verdict.cause ??
        new BackendError(`Cannot verify "${key}" ${options.where}: ${verdict.message ?? "no answer"}`, {
          kind: object.kind,
          key,
        });
    }
    if (verdict.status === "ok") {
      return await handleOn(backend, object, { target: { on: "pin", pin }, readOnly: true, ref: pin.ref, ...signal });
    }
    if (!addressable) {
      throw new StateGoneError(`Cannot open "${key}" ${options.where}: its pin "${pin.ref}" is gone`, {
        kind: object.kind,
        key,
        hints: [`tether verify ${operands([key])}`],
      });
    }
  }
  if (!object.recoverable || !addressable) {
    throw new CapabilityError(
      `Cannot open "${key}" ${options.where}: only its fingerprint was recorded, ${renderState(state)}`,
      {
        kind: object.kind,
        key,
        hints: [`tether open --read-only ${operands([key])} opens what is there now, which may be something else`],
      },
    );
  }
  const target = { on: "state", state } as const;
  // The state may go at any time now that nothing holds it.
  const lost = pin
    ? {
      warning: `Opened "${key}" ${options.where} without its pin: "${pin.ref}" is gone, "tether repair" makes it again`,
    }
    : {};
  return await handleOn(backend, object, { target, readOnly: true, ref: null, ...lost, ...signal });
}

/** Opens for reading where this checkout stands: its branch, else the pin, else the recorded state, else the base. */
async function openReading(ctx: Context, object: ObjectManifest, options: CallOptions): Promise<OpenedHandle> {
  const standing = await standingOf(ctx);
  const working = workingRefOf(object, standing);
  const backend = await backendFor(ctx, object, "read");
  const signal = pickSignal(options);
  if (working.at === "ref") {
    return await handleOn(backend, object, {
      target: { on: "ref", ref: working.ref },
      readOnly: true,
      ref: working.ref,
      ...signal,
    });
  }
  const recorded = entryOf(ctx.workspace.workingRefs, object.key);
  if (standing.onTrunk && recorded !== undefined) {
    return await handleOn(backend, object, { target: { on: "base" }, readOnly: true, ref: recorded, ...signal });
  }
  const addressable = capabilitiesOf(backend.statics, object).has("addressable");
  if (object.state && (object.pin || (object.recoverable && addressable))) {
    return await openRecorded(ctx, object, { ...options, where: "where it was committed" });
  }
  return await handleOn(backend, object, { target: { on: "base" }, readOnly: true, ref: null, ...signal });
}

/** Opens for writing on the bookmark's branch, made now if `new` left it pending. */
async function openWriting(ctx: Context, object: ObjectManifest, options: CallOptions): Promise<OpenedHandle> {
  const { key } = object;
  const reading = `tether open --read-only ${operands([key])}`;
  await requireOnBookmark(ctx, `open "${key}" for writing`, { hints: [reading] });
  const standing = await standingOf(ctx);
  if (staleKeys(standing).includes(key)) {
    throw new StaleWorkingCopyError(
      `Cannot open "${key}" for writing: its branch does not stand for what the bookmark records now`,
      {
        hints: ["tether new", reading],
      },
    );
  }
  const pending = entryOf(ctx.workspace.pendingForks, key);
  const ref = pending !== undefined || (await begunForks(ctx, key)).length > 0
    ? await materializeFork(ctx, key, options)
    : entryOf(ctx.workspace.workingRefs, key);
  const backend = await backendFor(ctx, object, "refs");
  const signal = pickSignal(options);
  if (ref !== undefined) {
    return await handleOn(backend, object, { target: { on: "ref", ref }, readOnly: false, ref, ...signal });
  }
  if (workingRefOf(object, standing).at === "base") {
    const base = await backend.baseBranch(withoutAt(object.locator), signal);
    return await handleOn(backend, object, { target: { on: "ref", ref: base }, readOnly: false, ref: base, ...signal });
  }
  throw new StaleWorkingCopyError(`Cannot open "${key}" for writing: this checkout has no branch of it`, {
    hints: ["tether new", reading],
  });
}

/** Makes the branch that `new` decided on and left pending; returns it. Objects of its branch space switch with it. */
export function materializeFork(ctx: Context, key: string, options: CallOptions = {}): Promise<string> {
  return withLocks(ctx, { command: "open", repository: true, ...pickSignal(options) }, async () => {
    const reading = `tether open --read-only ${operands([key])}`;
    await requireOnBookmark(ctx, `open "${key}" for writing`, { hints: [reading] });
    const object = ctx.object(key);
    const ready = entryOf(ctx.workspace.workingRefs, key);
    const name = entryOf(ctx.workspace.pendingForks, key);
    const begun = await begunForks(ctx, key);
    if (name === undefined) {
      if (ready !== undefined) {
        // Everything was done but the word that it was.
        for (const { id } of begun) await ctx.journal.close(id, forked(object, ready));
        return ready;
      }
      throw new StaleWorkingCopyError(`Cannot fork "${key}": no branch is pending for it`, { hints: ["tether new"] });
    }
    const backend = await backendFor(ctx, object, "refs");
    const siblings = siblingsOf(ctx, object, backend);
    const step = await whatToDo(ctx, { object, backend, name, siblings }, options);
    const heads = step.type === "reset" ? { [key]: step.head } : undefined;
    // A branch that an interrupted run made is this one's own, for undo.
    const reused = step.type === "reuse" && begun.length === 0;
    const pre = {
      workspace: await ctx.workspaceFile.text(),
      ...(step.type === "reuse" ? {} : { key }),
      ...(heads ? { heads } : {}),
      ...begun[0]?.pre,
    };
    return await operate(ctx, { command: "fork", pre }, {
      run: async (op) => {
        const ref = step.type === "reuse" ? step.ref : await forkBranch(ctx, { object, backend }, {
          from: sourceOf(object),
          name,
          expected: step.type === "reset" ? step.head : ABSENT,
          ...pickSignal(options),
        });
        await ctx.env.boundary?.(`fork ${key}`);
        if (step.type !== "reuse") await op.progress({ action: "fork", key, ref });
        const identity = backend.identity(object.locator);
        await ctx.indexes.addTouched({ kind: object.kind, identity, locator: object.locator, key });
        await ctx.saveWorkspace(switched(ctx, [key, ...siblings], ref));
        const found: JsonObject = reused ? { reused: true } : {};
        return { result: { ...forked(object, ref), ...found }, value: ref };
      },
      compensate: () => Promise.resolve({ key }),
    });
  });
}

/** Returns what the journal records of a fork. */
function forked({ key, kind, locator }: ObjectManifest, ref: string): JsonObject {
  return { key, ref, kind, locator };
}

/** Forks of a key that were interrupted, right before now. */
function begunForks(ctx: Context, key: string): Promise<OpEntry[]> {
  return begunBefore(ctx, (e) => e.command === "fork" && e.pre["key"] === key);
}

type Step =
  | { readonly type: "create" }
  | { readonly type: "reset"; readonly head: State }
  | { readonly type: "reuse"; readonly ref: string };

interface Fork {
  readonly object: ObjectManifest;
  readonly backend: ObjectBackend;
  readonly name: string;
  readonly siblings: readonly string[];
}

async function whatToDo(ctx: Context, { object, backend, name, siblings }: Fork, options: CallOptions): Promise<Step> {
  const locator = withoutAt(object.locator);
  const taken = siblings.map((s) => entryOf(ctx.workspace.workingRefs, s)).find((r) => r !== undefined);
  if (taken !== undefined) return { type: "reuse", ref: taken };
  const refs = await backend.listWorkingRefs?.(locator, pickSignal(options)) ?? [];
  if (!refs.includes(name)) return { type: "create" };
  const head = await backend.fingerprint(locator, name, pickSignal(options));
  const volatile = backend.statics.volatileKeys;
  if (sameContent(head, object.state, volatile)) return { type: "reuse", ref: name };
  const agreed = entryOf(ctx.workspace.pendingResets, object.key);
  if (agreed && sameContent(head, agreed, volatile)) return { type: "reset", head };
  throw new StaleWorkingCopyError(
    `Cannot fork "${object.key}": branch "${name}" is at ${renderState(head)}, which nobody agreed to reset`,
    { hints: ["tether new --shared", "tether new --discard"], details: { key: object.key, ref: name, head } },
  );
}

/** Returns the other objects of the same branch space whose fork is pending or done under this bookmark. */
function siblingsOf(ctx: Context, object: ObjectManifest, backend: ObjectBackend): string[] {
  const scope = scopeOf(backend, object.locator);
  const found = [];
  for (const other of ctx.objects.values()) {
    if (other.key === object.key || other.kind !== object.kind) continue;
    if (scopeOf(backend, other.locator) === scope) found.push(other.key);
  }
  return found;
}

function switched(ctx: Context, keys: readonly string[], ref: string): Context["workspace"] {
  const { workspace } = ctx;
  const workingRefs = { ...workspace.workingRefs };
  const pendingForks = { ...workspace.pendingForks };
  const pendingResets = { ...workspace.pendingResets };
  const forkPoints = { ...workspace.forkPoints };
  const lastSnapshot = { ...workspace.lastSnapshot };
  for (const key of keys) {
    if (!(key in pendingForks)) continue;
    workingRefs[key] = ref;
    delete pendingForks[key];
    delete pendingResets[key];
    delete lastSnapshot[key];
    const state = ctx.objects.get(key)?.state;
    if (state) forkPoints[key] = state;
  }
  return { ...workspace, workingRefs, pendingForks, pendingResets, forkPoints, lastSnapshot };
}

async function backendFor(ctx: Context, object: ObjectManifest, access: "read" | "refs"): Promise<ObjectBackend> {
  await requireStorePermissions(ctx, [object], access);
  return await ctx.backends.get(object.kind);
}

async function handleOn(
  backend: ObjectBackend,
  object: ObjectManifest,
  options: CallOptions & {
    readonly target: Target;
    readonly readOnly: boolean;
    readonly ref: string | null;
    readonly warning?: string;
  },
): Promise<OpenedHandle> {
  const { target } = options;
  let handle: Handle;
  try {
    handle = await backend.openHandle(object.locator, target, { readOnly: options.readOnly, ...pickSignal(options) });
  } catch (error) {
    throw error instanceof Error ? withKey(error, object.key) : error;
  }
  const facts: OpenedFacts = {
    object: object.key,
    uri: locatorText(object.locator),
    ref: options.ref,
    state: target.on === "pin" || target.on === "state" ? object.state : null,
    pinned: target.on === "pin",
    warning: options.warning ?? null,
  };
  return {
    ...facts,
    type: handle.type,
    key: handle.key,
    readOnly: handle.readOnly,
    native: handle,
    address: (o) => handle.address(o),
    toJSON: () => ({ ...handle.toJSON(), ...facts }),
    [Symbol.asyncDispose]: () => handle[Symbol.asyncDispose](),
  };
}
