/**
 * What the conformance suite needs of whoever tests a backend (backends §7).
 *
 * @module
 */

import type { BackendModule } from "../../engine/host/worker_backend.ts";
import type { BackendSettings, Capabilities, Locator, ObjectBackend, Policy, State } from "../backend.ts";

/**
 * A way a store can be out of reach.
 *
 * @example Put a folder out of reach
 * ```ts
 * import type { Breakage } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const mode: Partial<Record<Breakage, number>> = { forbidden: 0o000 };
 * assert.equal(mode["forbidden"], 0);
 * ```
 */
export type Breakage = "absent" | "forbidden" | "offline";

/**
 * Something that lies beside or inside an empty store and must make its deletion refuse.
 *
 * @example Put a stranger's file beside the marker
 * ```ts
 * import type { Obstruction } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const folder = await Deno.makeTempDir();
 * const obstruction: Obstruction = {
 *   name: "foreign file",
 *   async place() {
 *     await Deno.writeTextFile(`${folder}/notes.txt`, "mine");
 *     return { [Symbol.asyncDispose]: () => Deno.remove(`${folder}/notes.txt`) };
 *   },
 * };
 * {
 *   await using _placed = await obstruction.place();
 *   assert.equal((await Deno.stat(`${folder}/notes.txt`)).size, 4);
 * }
 * await assert.rejects(Deno.stat(`${folder}/notes.txt`), Deno.errors.NotFound);
 * ```
 */
export interface Obstruction {
  /** Such as `foreign file`, `uncommitted file`, `symlinked root`. */
  readonly name: string;
  /** Puts it there; disposing takes it away again. */
  place(): Promise<AsyncDisposable>;
}

/**
 * A backend with stores to try it on. Disposing removes the stores and disposes the backend.
 *
 * @example Give the suite files to work on
 * ```ts
 * import type { BackendHarness } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const stores: Pick<BackendHarness, "newObject" | "mutate"> = {
 *   newObject: async () => ({ uri: await Deno.makeTempFile() }),
 *   mutate: ({ uri }) => Deno.writeTextFile(String(uri), "more\n", { append: true }),
 * };
 * const locator = await stores.newObject();
 * await stores.mutate(locator, undefined);
 * assert.equal((await Deno.stat(String(locator["uri"]))).size, 5);
 * ```
 */
export interface BackendHarness extends AsyncDisposable {
  /** The backend under test. */
  readonly backend: ObjectBackend;
  /**
   * For kinds with several tiers: the one under test.
   * @default what the backend says of a new object
   */
  readonly capabilities?: Capabilities;
  /**
   * The policy the objects are under.
   * @default {DEFAULT_POLICY}
   */
  readonly policy?: Policy;
  /**
   * How `backend` was opened: some checks open it again from its statics.
   * @default {DEFAULT_SETTINGS}
   */
  readonly settings?: BackendSettings;
  /** The module that exports the backend's statics: the suite runs it in workers that hold only what it declares. */
  readonly module?: BackendModule;
  /**
   * This harness around the backend in such workers.
   * @default this one, with the backend exchanged
   */
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

/**
 * Returns the spellings of an absolute local path that name the same store, and lookalikes that do not (backends §1.4).
 *
 * @example Try the spellings of one path
 * ```ts
 * import { localSpellings } from "@tether/tether/testing";
 * import assert from "node:assert/strict";
 *
 * const { same, different } = localSpellings("/data/a");
 * assert(same.includes("file:///data/a"));
 * assert(different.includes("file://otherhost/data/a"));
 * ```
 */
export function localSpellings(
  path: string,
): { readonly same: readonly string[]; readonly different: readonly string[] } {
  return {
    same: [path, `${path}/`, `${path}/./`, `/${path}`, `file://${path}`, `file:${path}`, `file://localhost${path}`],
    different: [`file://otherhost${path}`, `${path}%20`, `${path}#x`, `${path}?x`],
  };
}
