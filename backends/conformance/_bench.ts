/** What every check works with: the harness, what the backend declares, and short forms of the usual steps. */

import { AssertionError, strict as assert } from "node:assert";
import { BackendError } from "../../engine/model/backend_errors.ts";
import { messageOf } from "../../engine/model/errors.ts";
import { computePinId } from "../../engine/model/hash.ts";
import { contentState, DEFAULT_POLICY, sameContent } from "../../engine/model/manifest.ts";
import { workingRefName } from "../../engine/model/names.ts";
import { type JsonObject, writeJson } from "../../engine/model/json.ts";
import {
  type BackendSettings,
  type Capabilities,
  type Capability,
  DEFAULT_SETTINGS,
  type Locator,
  type ObjectBackend,
  type Pin,
  type Source,
  type State,
  type Target,
} from "../backend.ts";
import type { BackendHarness } from "./harness.ts";

/** The dataset the suite acts for. */
export const DATASET = "c0fe5a1e";
/** Another dataset, whose refs must be left alone. */
export const OTHER_DATASET = "0ddba115";

/** One rule of the contract. */
export interface Check {
  /** Such as `C12`. */
  readonly id: string;
  readonly name: string;
  /** Capabilities of which one must be declared; none: always. */
  readonly when?: readonly Capability[];
  /** A harness member without which the check cannot run, and whether it may then be skipped. */
  readonly hook?: { readonly member: keyof BackendHarness; readonly optional: boolean };
  /** Why the check does not concern this backend. */
  readonly skip?: (bench: Bench) => string | undefined;
  /** Proves the rule; `t` is the check's own step. */
  run(bench: Bench, t?: Deno.TestContext): Promise<void>;
}

/** An object with content, its state and a pin where the kind has them. */
export interface Prepared {
  readonly locator: Locator;
  readonly state: State;
  /** The pin, or the state for kinds without pins. */
  readonly source: Source;
}

/** The harness with short forms of what checks do again and again. */
export class Bench {
  readonly harness: BackendHarness;
  readonly capabilities: Capabilities;
  /** How many contenders a race has. */
  readonly racers: number;
  readonly signal: AbortSignal | undefined;
  /** Every error a backend call raised in {@link fails}, for the redaction check. */
  readonly errors: Error[] = [];
  #names = 0;

  constructor(harness: BackendHarness, o: { capabilities: Capabilities; racers: number; signal?: AbortSignal }) {
    this.harness = harness;
    this.capabilities = o.capabilities;
    this.racers = o.racers;
    this.signal = o.signal;
  }

  /**
   * The backend, with every optional member declared. Sound for members that belong to a capability: a check runs only
   * when that is declared, and `assertDeclared` has proved the members.
   */
  get backend(): Required<ObjectBackend> {
    return this.harness.backend as Required<ObjectBackend>;
  }

  /** The backend as it is: for members that no capability promises. */
  get bare(): ObjectBackend {
    return this.harness.backend;
  }

  /** How the backend under test was opened. */
  get settings(): BackendSettings {
    return this.harness.settings ?? DEFAULT_SETTINGS;
  }

  has(capability: Capability): boolean {
    return this.capabilities.has(capability);
  }

  /** Returns a working ref name that no check used before. */
  ref(): string {
    return workingRefName(DATASET, `conformance-${++this.#names}`);
  }

  pinId(locator: Locator, state: State, dataset: string = DATASET): string {
    return pinIdOf(this.bare, locator, state, dataset);
  }

  content(state: State): State {
    return contentState(state, this.bare.statics.volatileKeys);
  }

  /** Returns a fresh store with something in it. */
  async object(): Promise<Locator> {
    const locator = await this.harness.newObject();
    await this.harness.mutate(locator, undefined);
    return locator;
  }

  /** Returns a fresh store with something in it, pinned where the kind pins. */
  async prepared(): Promise<Prepared> {
    const locator = await this.object();
    const state = await this.head(locator);
    return { locator, state, source: await this.source(locator, state) };
  }

  /** Returns a durable source for a state: a pin where the kind has them. */
  async source(locator: Locator, state: State): Promise<Source> {
    return this.has("pin") ? { on: "pin", pin: await this.pin(locator, state) } : { on: "state", state };
  }

  async pin(locator: Locator, state: State): Promise<Pin> {
    return await this.backend.pin(locator, state, this.pinId(locator, state));
  }

  /** Forks from a durable source onto a new name. */
  async fork(locator: Locator, from: Source): Promise<string> {
    return await this.backend.fork(locator, from, this.ref());
  }

  async head(locator: Locator, ref?: string): Promise<State> {
    return await this.bare.fingerprint(locator, ref);
  }

  /** Writes something new and returns the state after it. */
  async write(locator: Locator, ref?: string): Promise<State> {
    await this.harness.mutate(locator, ref);
    return await this.head(locator, ref);
  }

  /** Opens, reads what the handle says of itself, and closes. */
  async opened(
    locator: Locator,
    target: Target,
    readOnly: boolean = true,
  ): Promise<JsonObject & { read_only: boolean }> {
    await using handle = await this.bare.openHandle(locator, target, { readOnly });
    return { ...handle.toJSON() };
  }

  /** Opens the backend again, with state of its own. */
  async another(): Promise<ObjectBackend> {
    return await this.bare.statics.open(this.settings);
  }

  /** Asserts that two states are the same content. */
  same(actual: State, wanted: State, what: string): void {
    if (sameContent(actual, wanted, this.bare.statics.volatileKeys)) return;
    assert.fail(`${what}: found ${writeJson(this.content(actual))}, wanted ${writeJson(this.content(wanted))}`);
  }

  /** Asserts that two states are different content. */
  differs(actual: State, other: State, what: string): void {
    if (!sameContent(actual, other, this.bare.statics.volatileKeys)) return;
    assert.fail(`${what}: both are ${writeJson(this.content(actual))}`);
  }

  /** Asserts that a call raises a backend error, of one of some codes when given, and returns it. */
  async fails(call: () => Promise<unknown>, what: string, codes?: readonly string[]): Promise<BackendError> {
    let error: unknown;
    try {
      await call();
    } catch (thrown) {
      error = thrown;
    }
    if (error === undefined) assert.fail(`${what}: it succeeded`);
    if (error instanceof AssertionError) throw error;
    if (error instanceof Error) this.errors.push(error);
    if (!(error instanceof BackendError)) {
      assert.fail(`${what}: raised something other than a BackendError: ${String(error)}`);
    }
    if (codes && !codes.includes(error.code)) {
      assert.fail(`${what}: raised code "${error.code}" (${messageOf(error)}), wanted ${codes.join(" or ")}`);
    }
    return error;
  }
}

/** Returns the pin id a dataset gives to a state. */
export function pinIdOf(backend: ObjectBackend, locator: Locator, state: State, dataset: string = DATASET): string {
  return computePinId(dataset, {
    kind: backend.statics.kind,
    identity: backend.identity(locator),
    content: contentState(state, backend.statics.volatileKeys),
  });
}

/** Returns the capabilities under test. */
export function capabilitiesOf(harness: BackendHarness, locator: Locator): Capabilities {
  const { statics } = harness.backend;
  return harness.capabilities ?? statics.effectiveCapabilities?.(locator, harness.policy ?? DEFAULT_POLICY) ??
    statics.capabilities;
}
