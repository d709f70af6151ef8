/**
 * What the conformance suite needs of whoever tests a backend (backends §7).
 *
 * @module
 */

import type { BackendModule } from "../../engine/host/worker_backend.ts";
import type { BackendSettings, Capabilities, Locator, ObjectBackend, Policy, State } from "../backend.ts";

/** A way a store can be out of reach. */
export type Breakage = "absent" | "forbidden" | "offline";

/** Something that lies beside or inside an empty store and must make its deletion refuse. */
export interface Obstruction {
  /** Such as `foreign file`, `uncommitted file`, `symlinked root`. */
  readonly name: string;
  /** Puts it there; disposing takes it away again. */
  place(): Promise<AsyncDisposable>;
}

/** A backend with stores to try it on. Disposing removes the stores and disposes the backend. */
export interface BackendHarness extends AsyncDisposable {
  /** The backend under test. */
  readonly backend: ObjectBackend;
  /** For kinds with several tiers: the one under test. @default what the backend says of a new object */
  readonly capabilities?: Capabilities;
  /** The policy the objects are under. @default {DEFAULT_POLICY} */
  readonly policy?: Policy;
  /** How `backend` was opened: some checks open it again from its statics. @default {DEFAULT_SETTINGS} */
  readonly settings?: BackendSettings;
  /** The module that exports the backend's statics: the suite runs it in workers that hold only what it declares. */
  readonly module?: BackendModule;
  /** This harness around the backend in such workers. @default this one, with the backend exchanged */
  around?(backend: ObjectBackend): BackendHarness;
  /** Texts that may turn up in no error, handle or output. */
  readonly secrets?: readonly string[];
  /** Makes a fresh empty store with its base branch. */
  newObject(): Promise<Locator>;
  /** Writes something new each time at a working ref, or at the base without one; disjoint across branches for `merge`. */
  mutate(locator: Locator, ref: string | undefined): Promise<void>;
  /** `merge`: writes one and the same unit, differently each time, so that two sides of it conflict. */
  conflict?(locator: Locator, ref: string | undefined): Promise<void>;
  /** `create`: a locator at which nothing exists yet. */
  freshLocator?(): Promise<Locator>;
  /** A backend in another process or worker, or at least with state of its own, on the same stores, for races. */
  secondClient?(): Promise<ObjectBackend>;
  /** Spellings of a locator that are the kind's own: of the same store, and lookalikes. Those of local paths are known. */
  spellings?(locator: Locator): { readonly same: readonly Locator[]; readonly different: readonly Locator[] };
  /** Puts a store out of reach until disposed; `undefined` when the store cannot fail that way. */
  breakStore?(locator: Locator, how: Breakage): Promise<AsyncDisposable | undefined>;
  /** Makes an unpinned state unreachable, as the system's own expiry does. */
  expire?(locator: Locator, state: State): Promise<void>;
  /** Makes the store refuse to delete a native ref until disposed. */
  refuseDeletion?(locator: Locator, ref: string): Promise<AsyncDisposable>;
  /** `needs_quiescence`: opens a writer, with or without an unfinished transaction, until disposed. */
  openWriter?(locator: Locator, ref: string | undefined, how: "writing" | "idle"): Promise<AsyncDisposable>;
  /** `create`: what must make deletion refuse, beside another owner, a ref, content, a foreign file and a linked root. */
  obstructions?(locator: Locator): readonly Obstruction[];
  /** `create`: calls `act` between the moment `deleteStore` judged the store empty and its irreversible step. */
  duringDelete?(locator: Locator, act: () => Promise<void>): Promise<AsyncDisposable>;
}

/** Returns the spellings of an absolute local path that name the same store, and lookalikes that do not (backends §1.4). */
export function localSpellings(
  path: string,
): { readonly same: readonly string[]; readonly different: readonly string[] } {
  return {
    same: [path, `${path}/`, `${path}/./`, `/${path}`, `file://${path}`, `file:${path}`, `file://localhost${path}`],
    different: [`file://otherhost${path}`, `${path}%20`, `${path}#x`, `${path}?x`],
  };
}
