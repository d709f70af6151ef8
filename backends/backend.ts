/**
 * The backend contract: what a system must offer to be versioned (backends §2). One object per kind serves every object
 * of that kind; the address of each travels in its locator.
 *
 * @module
 */

import type { Json, JsonObject } from "../engine/model/json.ts";
import type { Locator, Pin, Policy, State } from "../engine/model/manifest.ts";
import { sameContent } from "../engine/model/manifest.ts";
import { type BackendError, RefMovedError, renderState } from "../engine/model/errors.ts";

export type { Json, JsonObject, Locator, Pin, Policy, State };

/** "This ref must not exist" as an expectation of a conditional move. */
export const ABSENT: unique symbol = Symbol.for("tether.absent");
/** The head a caller reviewed: a state, or {@link ABSENT}. */
export type Expected = State | typeof ABSENT;

/** What to open. */
export type Target =
  | { readonly on: "base" }
  | { readonly on: "ref"; readonly ref: string }
  | { readonly on: "pin"; readonly pin: Pin }
  | { readonly on: "state"; readonly state: State };
/** What to fork, promote or merge from. */
export type Source = Exclude<Target, { on: "base" }>;

/** What a kind can do, spelled as `tether backends --json` prints it. */
export type Capability =
  | "fingerprint"
  | "addressable"
  | "pin"
  | "fork"
  | "cheap_fingerprint"
  | "retention_bound"
  | "needs_quiescence"
  | "atomic_ref"
  | "diff"
  | "history"
  | "branch_is_storage"
  | "promote"
  | "merge"
  | "create"
  | "conditional_ref";

/** All capabilities, in the order in which they are printed. */
export const CAPABILITIES: readonly Capability[] = [
  "fingerprint",
  "addressable",
  "pin",
  "fork",
  "cheap_fingerprint",
  "retention_bound",
  "needs_quiescence",
  "atomic_ref",
  "diff",
  "history",
  "branch_is_storage",
  "promote",
  "merge",
  "create",
  "conditional_ref",
];

/** A set of capabilities. */
export type Capabilities = ReadonlySet<Capability>;
/** How far a kind goes: each tier includes those before it. */
export type Tier = "observed" | "addressable" | "pinnable" | "forkable";

/** Returns the tier of a set of capabilities. */
export function tierOf(capabilities: Capabilities): Tier {
  if (capabilities.has("fork")) return "forkable";
  if (capabilities.has("pin")) return "pinnable";
  if (capabilities.has("addressable")) return "addressable";
  return "observed";
}

/** Options of every backend call. */
export interface Op {
  /** Aborting before the first write rejects with nothing changed; later, the outcome is read back and reported. */
  readonly signal?: AbortSignal;
}

/** What `verify` found. `cause` says why the answer is not known. */
export interface Verdict {
  readonly status: "ok" | "drifted" | "missing" | "unknown";
  readonly message?: string;
  readonly cause?: BackendError;
}

/** One entry of a store's own history, newest first. `id` works as the locator's `at`. */
export interface HistoryEntry {
  readonly id: string;
  /** ISO 8601 UTC. */
  readonly when?: string;
  readonly message: string;
  readonly refs: readonly string[];
}

/** One changed thing. */
export interface Change {
  readonly path: string;
  readonly change: "added" | "removed" | "modified" | "renamed";
  readonly detail?: string;
}

/** How two states of one object differ. Counts are exact; `entries` stop at {@link MAX_DIFF_ENTRIES}. */
export interface ObjectDiff {
  /** What is counted: `files`, `nodes`, `fragments`, `commits`, … */
  readonly unit: string;
  readonly added: number;
  readonly removed: number;
  readonly modified: number;
  readonly entries: readonly Change[];
  readonly truncated: boolean;
  readonly note: string;
}

/** The most entries one diff lists. */
export const MAX_DIFF_ENTRIES = 2000;

/** How long a state stays readable without a pin. */
export interface Retention {
  readonly until?: Date;
  readonly rule: string;
  readonly enforced: "automatic" | "operator" | "none";
}

/** How much a command will do with an object, for its permission declaration (backends §4). */
export type Access = "read" | "refs" | "lifecycle";

/** What a backend touches at one locator. Paths are absolute; hosts carry their port. */
export interface PermissionNeeds {
  readonly net: readonly string[];
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly env: readonly string[];
  readonly run: readonly string[];
  readonly ffi: readonly string[];
  readonly sys: readonly string[];
  /** Native code or a subprocess does I/O that Deno's checks do not see. */
  readonly ambient: boolean;
}

/** Needs that add nothing; spread it and name what differs. */
export const NO_NEEDS: PermissionNeeds = {
  net: [],
  read: [],
  write: [],
  env: [],
  run: [],
  ffi: [],
  sys: [],
  ambient: false,
};

/** What a backend is given: configuration from `tether.toml` and `secrets.toml`, and where it may keep caches. */
export interface BackendSettings {
  /** `[backends.<kind>]` of tether.toml (allow-listed keys only) with secrets.toml merged over it, secrets winning. */
  readonly config: JsonObject;
  /** `[uris."<prefix>"]` and `[objects."<key>"]` of secrets.toml, the latter as exact URIs. */
  readonly rules: readonly SecretRule[];
  /** `.tether/cache` of this checkout; absent when it cannot be written. Caches cost only speed. */
  readonly cacheDir?: string;
  /** Absolute path of the dataset root; a relative path of an old manifest is resolved against it. */
  readonly datasetRoot?: string;
  /** Root of the checkout the dataset is in: a git object may not lie inside it. */
  readonly checkoutRoot?: string;
  /** Programs chosen by `secrets.toml` or the environment; by name from PATH when absent. */
  readonly programs?: { readonly git?: string; readonly jj?: string };
  /** Values of the variables the kind declared; a backend reads no other environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The clock. @default {() => new Date()} */
  readonly now?: () => Date;
}

/** Settings that need nothing but the defaults. */
export const DEFAULT_SETTINGS: BackendSettings = { config: {}, rules: [] };

/** Credentials and options for every store whose URI lies at or below a prefix (DIV-3). */
export interface SecretRule {
  readonly prefix: string;
  /** Whether the rule holds for exactly this URI only. */
  readonly exact: boolean;
  readonly options: JsonObject;
}

/** What is known of a kind before its driver loads: plain data and pure functions. */
export interface BackendStatics {
  readonly kind: string;
  readonly capabilities: Capabilities;
  /** `experimental` when the kind only ever met a stand-in of its service; `test` for `memory`. */
  readonly maturity: "stable" | "experimental";
  /** State keys that address but do not identify. */
  readonly volatileKeys: ReadonlySet<string>;
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
  /** How many calls one store takes side by side. */
  readonly concurrency: number;
  /** Whether `add` offers the kind; `memory` is for tests. */
  readonly testOnly?: boolean;
  /** Capabilities of one object, a pure function of its address and policy. Default: those of the kind. */
  effectiveCapabilities?(locator: Locator, policy: Policy): Capabilities;
  /** Pure and synchronous: no I/O, no environment reads. */
  permissions(locator: Locator, access: Access, settings?: BackendSettings): PermissionNeeds;
  /**
   * Loads the driver and returns the backend.
   *
   * @throws {ConfigError} if a library is missing, naming it and how to get it.
   */
  open(settings: BackendSettings): Promise<ObjectBackend>;
}

/** One kind of system. Methods are re-entrant and map every foreign exception to an error of `engine/model/errors.ts`. */
export interface ObjectBackend extends AsyncDisposable {
  readonly statics: BackendStatics;

  /** What does not work here and how to mend that, such as a missing addon; `undefined` when the kind is whole. */
  limitations?(): string | undefined | Promise<string | undefined>;

  // Addressing: pure but for symlink reads, never touches the store.

  /** The part of the locator that names the system; two spellings of one store give one identity. Never throws. */
  identity(locator: Locator): Locator;
  /** The branch space the object lives in. Default: the canonical identity. */
  branchScope?(locator: Locator): string;
  /** The namespace `listPins` covers. Default: the canonical identity. */
  refNamespace?(locator: Locator): string;
  /** The upstream branch. May ask the store (git reads HEAD when `ref` is absent). */
  baseBranch(locator: Locator, op?: Op): string | Promise<string>;
  /** Cheap checks at `add` time. Warnings are returned, refusals thrown as `InvalidLocatorError`. */
  validateLocator?(locator: Locator, op?: Op): Promise<readonly string[]>;
  /** Whether a state of an Addressable object has a coordinate to reopen it by. Default: true. */
  stateAddressable?(locator: Locator, state: State): boolean | Promise<boolean>;

  // Every kind.

  /** The state at a working ref, or at the base (honouring `at`) without one. */
  fingerprint(locator: Locator, ref: string | undefined, op?: Op): Promise<State>;
  /** With a pin: does it name the state? Without: unknown unless `deep` opens it, or the store already proves it gone. */
  verify(locator: Locator, state: State, pin: Pin | undefined, options: Op & { deep: boolean }): Promise<Verdict>;
  /** Many pins for one listing; shallow. Default: one `verify` each. */
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

  create?(locator: Locator, options: Op & { owner: string }): Promise<State>;
  owner?(locator: Locator, op?: Op): Promise<string | undefined>;
  isRefEmpty?(locator: Locator, options?: Op & { ignoring?: ReadonlySet<string> }): Promise<boolean | undefined>;
  deleteStore?(locator: Locator, options: Op & { owner: string }): Promise<void>;
}

/** The JSON of a handle: the peer's four fields, then ours. Always redacted. */
export interface HandleJson {
  readonly key: string;
  readonly read_only: boolean;
  readonly address: string;
  readonly type: string;
  readonly kind: string;
  readonly native: JsonObject;
}

/** A native address. tether steps aside: read and write with the system's own library. */
export interface Handle extends AsyncDisposable {
  /** Class name, such as `IcechunkHandle`. */
  readonly type: string;
  /** The store's own label (commands §5.11). */
  readonly key: string;
  readonly readOnly: boolean;
  address(options?: { withPassword?: boolean }): string;
  toJSON(): HandleJson;
}

/** Returns a handle of plain data: all that a kind without live objects needs. */
export function makeHandle(data: {
  readonly type: string;
  readonly kind: string;
  readonly key: string;
  readonly readOnly: boolean;
  readonly address: string;
  readonly native: JsonObject;
}): Handle {
  return {
    type: data.type,
    key: data.key,
    readOnly: data.readOnly,
    address: () => data.address,
    toJSON: () => ({
      key: data.key,
      read_only: data.readOnly,
      address: data.address,
      type: data.type,
      kind: data.kind,
      native: data.native,
    }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
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

/** Returns a locator that is not detached at a state. */
export function withoutAt(locator: Locator): Locator {
  const { at: _, ...rest } = locator;
  return rest;
}

/** Returns the position a locator is detached at: trimmed text, `undefined` when there is none. `0` is a position. */
export function atOf(locator: Locator): string | undefined {
  const at = locator["at"];
  if (at === undefined || at === null) return undefined;
  const text = String(at).trim();
  return text === "" ? undefined : text;
}
