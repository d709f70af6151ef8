/**
 * The backend contract: what a system must offer to be versioned (backends §2). One object per kind serves every object
 * of that kind; the address of each travels in its locator.
 *
 * @module
 */

import type { Json, JsonObject } from "../engine/model/json.ts";
import type { Locator, Pin, Policy, State } from "../engine/model/manifest.ts";
import { sameContent } from "../engine/model/manifest.ts";
import type { StateForm } from "../engine/model/state_form.ts";
import { RefMovedError } from "../engine/model/backend_errors.ts";
import { renderState } from "../engine/model/render_state.ts";
import type { HistoryEntry, ObjectDiff, Op, Retention, Verdict } from "./_answers.ts";
import type { Capabilities, Capability } from "./_capability.ts";
import type { Handle } from "./_handle.ts";
import type { Access, BackendSettings, PermissionNeeds } from "./_settings.ts";

// What the code of a kind needs besides. A module that is loaded in a worker can import this file and nothing else of
// tether's: it is there already, and the worker may read no more.
export { canonicalUri, localPath, pathAndLinks } from "../engine/io/paths.ts";
export { Float } from "../engine/model/json.ts";
export {
  BackendError,
  CapabilityError,
  CommitStateUnknownError,
  ConcurrentChangeError,
  CredentialsError,
  InvalidLocatorError,
  MergeConflict,
  PermissionDeniedError,
  RefConflictError,
  RefMovedError,
  StateGoneError,
  StoreNotFoundError,
  UnavailableError,
} from "../engine/model/backend_errors.ts";
export { ConfigError } from "../engine/model/errors.ts";
export type { Json, JsonObject, Locator, Pin, Policy, State, StateForm };

export { MAX_DIFF_ENTRIES } from "./_answers.ts";
export type { Change, HistoryEntry, ObjectDiff, Op, Parts, Retention, Verdict } from "./_answers.ts";
export { CAPABILITIES, type Capabilities, type Capability, type Tier, tierOf } from "./_capability.ts";
export { type Handle, type HandleJson, makeHandle } from "./_handle.ts";
export { DEFAULT_SETTINGS, NO_NEEDS } from "./_settings.ts";
export type { Access, BackendSettings, PermissionNeeds, SecretRule } from "./_settings.ts";

/**
 * "This ref must not exist" as an expectation of a conditional move.
 *
 * @example Create a branch only if there is none
 * ```ts
 * import { ABSENT, type Expected } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const expected: Expected = ABSENT;
 * assert.equal(expected, Symbol.for("tether.absent"));
 * ```
 */
export const ABSENT: unique symbol = Symbol.for("tether.absent");
/**
 * The head a caller reviewed: a state, or {@link ABSENT}.
 *
 * @example Expect the head that was reviewed
 * ```ts
 * import { ABSENT, type Expected, type State } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const reviewed = new Map<string, State>([["relabel", { version: 7 }]]);
 * const expect = (branch: string): Expected => reviewed.get(branch) ?? ABSENT;
 * assert.deepEqual(expect("relabel"), { version: 7 });
 * assert.equal(expect("fresh"), ABSENT);
 * ```
 */
export type Expected = State | typeof ABSENT;

/**
 * What to open.
 *
 * @example Say what to open
 * ```ts
 * import type { Target } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const targets: readonly Target[] = [
 *   { on: "base" },
 *   { on: "ref", ref: "tether.ws.0a1b2c3d.relabel" },
 *   { on: "state", state: { branch: "main", version: 7 } },
 * ];
 * assert.deepEqual(targets.map((t) => t.on), ["base", "ref", "state"]);
 * ```
 */
export type Target =
  | { readonly on: "base" }
  | { readonly on: "ref"; readonly ref: string }
  | { readonly on: "pin"; readonly pin: Pin }
  | { readonly on: "state"; readonly state: State };
/**
 * What to fork, promote or merge from.
 *
 * @example Fork from a pin
 * ```ts
 * import { refForPin, type Source } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const id = "0a1b2c3d.c9d52233a70a6142";
 * const source: Source = { on: "pin", pin: { id, ref: refForPin(id) } };
 * assert.equal(source.on, "pin");
 * ```
 */
export type Source = Exclude<Target, { on: "base" }>;

/**
 * What is known of a kind before its driver loads: plain data and pure functions.
 *
 * @example Describe a kind that only observes
 * ```ts
 * import { type BackendStatics, type ObjectBackend, tierOf } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const statics: BackendStatics = {
 *   kind: "note",
 *   capabilities: new Set(["fingerprint"]),
 *   maturity: "experimental",
 *   volatileKeys: new Set(),
 *   localPathKeys: ["path"],
 *   localPathPrefixes: [],
 *   uriKeys: ["path"],
 *   keySuffixes: [".note"],
 *   safeConfigKeys: new Set(),
 *   safeOptionKeys: {},
 *   promoteHint: "Copy the file",
 *   honoursExpected: new Set(),
 *   concurrency: 4,
 *   permissions: ({ path }) => ({
 *     net: [],
 *     read: path === undefined ? [] : [String(path)],
 *     write: [],
 *     env: [],
 *     run: [],
 *     ffi: [],
 *     sys: [],
 *     ambient: false,
 *   }),
 *   open: async (): Promise<ObjectBackend> => (await import("./driver.ts")).backend,
 * };
 * assert.equal(tierOf(statics.capabilities), "observed");
 * assert.deepEqual(statics.permissions({ path: "/a.note" }, "read").read, ["/a.note"]);
 * ```
 */
export interface BackendStatics {
  /** The name users type after `--kind`. */
  readonly kind: string;
  /** What the kind can do; {@link assertDeclared} holds its members against it. */
  readonly capabilities: Capabilities;
  /** `experimental` when the kind only ever met a stand-in of its service; `test` for `memory`. */
  readonly maturity: "stable" | "experimental";
  /** State keys that address but do not identify. */
  readonly volatileKeys: ReadonlySet<string>;
  /**
   * The forms its states have, those that older versions wrote among them. A manifest whose state has none of them is not
   * believed.
   * @default {any form}
   */
  readonly stateForms?: readonly StateForm[];
  /** Locator keys that may hold a local path. */
  readonly localPathKeys: readonly string[];
  /** Prefixes a local path may stand behind, such as `ducklake:`. */
  readonly localPathPrefixes: readonly string[];
  /** Locator keys a secrets rule is matched against, first present wins. */
  readonly uriKeys: readonly string[];
  /** Suffixes a derived key loses; `null`: a key is always required. */
  readonly keySuffixes: readonly string[] | null;
  /** Keys `[backends.<kind>]` of the committed tether.toml may set. */
  readonly safeConfigKeys: ReadonlySet<string>;
  /** Keys allowed inside tables that `safeConfigKeys` names. */
  readonly safeOptionKeys: Readonly<Record<string, ReadonlySet<string>>>;
  /** What to do instead, with the system's own tools, when `promote` refuses. */
  readonly promoteHint: string;
  /** Which moves honour `expected`; the engine compares first, with a warning, for those missing here. */
  readonly honoursExpected: ReadonlySet<"fork" | "promote" | "merge">;
  /** How many calls one store takes side by side, from 1. */
  readonly concurrency: number;
  /**
   * Whether lists of kinds to choose from leave it out, as they do `memory`.
   * @default {false}
   */
  readonly testOnly?: boolean;
  /**
   * Capabilities of one object, a pure function of its address and policy.
   * @default those of the kind
   */
  effectiveCapabilities?(locator: Locator, policy: Policy): Capabilities;
  /**
   * Why a state that was read cannot be pinned, and the ways out; `undefined` when it can. A pure function of address and
   * state, so that a commit knows it before it writes anything. `pin` refuses the same.
   * @default no state is refused
   */
  pinRefusal?(
    locator: Locator,
    state: State,
  ): { readonly reason: string; readonly hints: readonly string[] } | undefined;
  /** What the kind touches at a locator. Pure and synchronous: no I/O, no environment reads. */
  permissions(locator: Locator, access: Access, settings?: BackendSettings): PermissionNeeds;
  /**
   * Loads the driver and returns the backend.
   *
   * @throws {ConfigError} if a library is missing, naming it and how to get it.
   */
  open(settings: BackendSettings): Promise<ObjectBackend>;
}

/**
 * One kind of system. Methods are re-entrant and map every foreign exception to an error of `engine/model/backend_errors.ts`.
 *
 * @example Use a backend without knowing its kind
 * ```ts
 * import type { Locator, ObjectBackend, State } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * async function moved(backend: ObjectBackend, locator: Locator, recorded: State): Promise<boolean> {
 *   const { status } = await backend.verify(locator, recorded, undefined, { deep: true });
 *   return status === "drifted";
 * }
 * assert.equal(moved.length, 3);
 * ```
 */
export interface ObjectBackend extends AsyncDisposable {
  /** The description this backend was opened from. */
  readonly statics: BackendStatics;

  /** What does not work here and how to mend that, such as a missing addon; `undefined` when the kind is whole. */
  limitations?(): string | undefined | Promise<string | undefined>;

  // Addressing: pure but for symlink reads, never touches the store.

  /** The part of the locator that names the system; two spellings of one store give one identity. Never throws. */
  identity(locator: Locator): Locator;
  /**
   * The branch space the object lives in; objects of one scope move together.
   * @default the canonical identity
   */
  branchScope?(locator: Locator): string;
  /**
   * The namespace `listPins` covers.
   * @default the canonical identity
   */
  refNamespace?(locator: Locator): string;
  /** The upstream branch. May ask the store (git reads HEAD when `ref` is absent). */
  baseBranch(locator: Locator, op?: Op): string | Promise<string>;
  /** Cheap checks at `add` time. Warnings are returned, refusals thrown as `InvalidLocatorError`. */
  validateLocator?(locator: Locator, op?: Op): Promise<readonly string[]>;
  /**
   * Whether a state of an Addressable object has a coordinate to reopen it by.
   * @default {true}
   */
  stateAddressable?(locator: Locator, state: State): boolean | Promise<boolean>;

  // Every kind.

  /** The state at a working ref, or at the base (honouring `at`) without one. */
  fingerprint(locator: Locator, ref: string | undefined, op?: Op): Promise<State>;
  /** With a pin: does it name the state? Without: unknown unless `deep` opens it, or the store already proves it gone. */
  verify(locator: Locator, state: State, pin: Pin | undefined, options: Op & { deep: boolean }): Promise<Verdict>;
  /**
   * Many pins for one listing; shallow. Answers in the order of `items`.
   * @default one `verify` each
   */
  verifyPins?(
    locator: Locator,
    items: readonly { readonly state: State; readonly pin: Pin }[],
    op?: Op,
  ): Promise<readonly Verdict[]>;
  /** A typed handle with the native address. Never mutates; a missing ref is an error, never another ref. */
  openHandle(locator: Locator, target: Target, options: Op & { readOnly: boolean }): Promise<Handle>;
  /** How long an unpinned state lasts. */
  retention?(locator: Locator, state: State, options: Op & { capturedAt?: Date }): Promise<Retention>;

  // "pin"

  /** Creates `tether.<pinId>` at exactly `state`, or finds it there; elsewhere it is a `RefConflictError`. Idempotent. */
  pin?(locator: Locator, state: State, pinId: string, op?: Op): Promise<Pin>;
  /** Deletes the ref and looks again; already gone is success. */
  unpin?(locator: Locator, pin: Pin, op?: Op): Promise<void>;
  /** Pin ids present, of every dataset, generations folded. */
  listPins?(locator: Locator, op?: Op): Promise<ReadonlySet<string>>;
  /**
   * Gives a pin another id.
   * @default pins under the new id, then unpins the old one
   */
  renamePin?(locator: Locator, old: Pin, state: State, newId: string, op?: Op): Promise<Pin>;

  // "fork"

  /** Creates or resets a working ref onto a source, conditional on `expected`. Returns the ref, perhaps a sibling `.n`. */
  fork?(locator: Locator, from: Source, name: string, options?: Op & { expected?: Expected }): Promise<string>;
  /** Deletes a working ref and looks again; already gone is success, the base branch is left alone. */
  deleteWorkingRef?(locator: Locator, ref: string, op?: Op): Promise<void>;
  /** Refs beginning `tether.ws.`, of every dataset. */
  listWorkingRefs?(locator: Locator, op?: Op): Promise<readonly string[]>;
  /**
   * Why a working ref cannot be deleted; `undefined` when it can. `ignoring` names native refs that the same plan releases
   * before it, and so do not count (L04).
   */
  workingRefBlockers?(
    locator: Locator,
    ref: string,
    options?: Op & { ignoring?: ReadonlySet<string> },
  ): Promise<string | undefined>;
  /**
   * Gives a working ref another name.
   * @default forks the new name at the old head, then deletes the old one
   */
  renameWorkingRef?(locator: Locator, from: string, to: string, op?: Op): Promise<string>;

  // "promote" / "merge"

  /** Fast-forwards the base to the source, conditional on `expected`; returns the base's new state. */
  promote?(locator: Locator, from: Source, options?: Op & { expected?: State }): Promise<State>;
  /** Three-way merges the source into the base; `MergeConflict` leaves the base untouched. */
  merge?(locator: Locator, from: Source, message: string, options?: Op & { expected?: State }): Promise<State>;
  /** Whether a state is in the source's history; `undefined` when the store cannot tell. */
  ancestorOf?(locator: Locator, ancestor: State, descendant: Source, op?: Op): Promise<boolean | undefined>;

  // "history" / "diff"

  /** Newest first; at most `limit`. */
  history?(
    locator: Locator,
    options: Op & { ref?: string; limit: number },
  ): Promise<readonly HistoryEntry[]>;
  /** The listing of a state that is a digest, as text to store beside the manifest; `undefined` when there is none. */
  listing?(locator: Locator, state: State, op?: Op): Promise<string | undefined>;
  /** How `b` differs from `a`; `listings` are the stored texts of both sides. */
  diff?(
    locator: Locator,
    a: State,
    b: State,
    options?: Op & { listings?: readonly [string | undefined, string | undefined] },
  ): Promise<ObjectDiff>;

  // "needs_quiescence"

  /** Fails while writers are active. */
  checkQuiescence?(locator: Locator, ref: string | undefined, op?: Op): Promise<void>;

  // "create"

  /** Makes an empty store that `owner` is marked in, and returns its first state. Refuses when anything is there. */
  create?(locator: Locator, options: Op & { owner: string }): Promise<State>;
  /** The dataset id a store is marked with; `undefined` when tether did not make it. */
  owner?(locator: Locator, op?: Op): Promise<string | undefined>;
  /**
   * Whether the store holds nothing but its marker and first state, refs in `ignoring` left out; `undefined`: not
   * known.
   */
  isRefEmpty?(locator: Locator, options?: Op & { ignoring?: ReadonlySet<string> }): Promise<boolean | undefined>;
  /** Deletes a store, after looking again that `owner` made it and that it is empty. Never touches its parents. */
  deleteStore?(locator: Locator, options: Op & { owner: string }): Promise<void>;
}

const MEMBERS: readonly [Capability, readonly (keyof ObjectBackend)[]][] = [
  ["pin", ["pin", "unpin", "listPins"]],
  ["fork", ["fork", "deleteWorkingRef", "listWorkingRefs"]],
  ["promote", ["promote"]],
  ["merge", ["merge"]],
  ["diff", ["diff"]],
  ["history", ["history"]],
  ["needs_quiescence", ["checkQuiescence"]],
  ["create", ["create", "owner", "isRefEmpty", "deleteStore"]],
];

/**
 * Checks that a backend has the members its capabilities promise, and declares those it has.
 *
 * @throws {TypeError} naming the first mismatch.
 *
 * @example Check a backend before it is used
 * ```ts
 * import { assertDeclared, DEFAULT_SETTINGS } from "@tether/tether/backend";
 * import { memoryStatics } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const backend = await memoryStatics.open(DEFAULT_SETTINGS);
 * assertDeclared(backend);
 * ```
 */
export function assertDeclared(backend: ObjectBackend): void {
  const { kind, capabilities } = backend.statics;
  for (const [capability, members] of MEMBERS) {
    for (const member of members) {
      const has = typeof backend[member] === "function";
      if (has !== capabilities.has(capability)) {
        throw new TypeError(
          has
            ? `Backend "${kind}" has ${String(member)}() without declaring "${capability}"`
            : `Backend "${kind}" declares "${capability}" without ${String(member)}()`,
        );
      }
    }
  }
}

/**
 * Compares a ref's head with the one the caller reviewed, right before a move that the system cannot make conditional.
 *
 * @throws {RefMovedError} if they differ.
 *
 * @example Refuse a move that would overwrite another writer's work
 * ```ts
 * import { checkExpected, type ObjectBackend, RefMovedError } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * // A backend calls this right before a move that its system cannot make conditional.
 * const backend = {
 *   statics: { kind: "lance", volatileKeys: new Set() },
 *   baseBranch: () => "main",
 *   fingerprint: () => Promise.resolve({ version: 8 }),
 * } as unknown as ObjectBackend;
 * await checkExpected(backend, {}, { version: 8 }, {});
 * await assert.rejects(checkExpected(backend, {}, { version: 7 }, {}), RefMovedError);
 * ```
 */
export async function checkExpected(
  backend: ObjectBackend,
  locator: Locator,
  expected: Expected | undefined,
  options: Op & { readonly ref?: string; readonly what?: string },
): Promise<void> {
  if (expected === undefined) return;
  const ref = options.ref;
  const name = ref ?? await backend.baseBranch(locator, options);
  const exists = ref === undefined || (await backend.listWorkingRefs?.(locator, options))?.includes(ref) === true;
  const found = exists ? await backend.fingerprint(withoutAt(locator), ref, options) : undefined;
  const matches = expected === ABSENT
    ? found === undefined
    : found !== undefined && sameContent(found, expected, backend.statics.volatileKeys);
  if (matches) return;
  const seen = found ? renderState(found) : "absent";
  const wanted = expected === ABSENT ? "absent" : renderState(expected);
  throw new RefMovedError(`Cannot ${options.what ?? "move"} "${name}": head is ${seen}, expected ${wanted}`, {
    kind: backend.statics.kind,
    ref: name,
    expected: expected === ABSENT ? null : expected,
    found: found ?? null,
  });
}

/**
 * Returns a locator that is not detached at a state.
 *
 * @example Look at the newest state, wherever the object was registered
 * ```ts
 * import { withoutAt } from "@tether/tether/backend";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(withoutAt({ uri: "/f.lance", at: "7" }), { uri: "/f.lance" });
 * ```
 */
export function withoutAt(locator: Locator): Locator {
  const { at: _, ...rest } = locator;
  return rest;
}

/**
 * Returns the position a locator is detached at: trimmed text, `undefined` when there is none. `0` is a position.
 *
 * @example Read the position of a locator
 * ```ts
 * import { atOf } from "@tether/tether/backend";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual([atOf({ at: 0 }), atOf({ at: " " }), atOf({})], ["0", undefined, undefined]);
 * ```
 */
export function atOf(locator: Locator): string | undefined {
  const at = locator["at"];
  if (at === undefined || at === null) return undefined;
  const text = String(at).trim();
  return text === "" ? undefined : text;
}
