/**
 * The backends of an opened dataset: found by kind, configured, opened on first use and closed with it.
 *
 * @module
 */

import {
  type BackendSettings,
  type BackendStatics,
  type Capabilities,
  type ObjectBackend,
  type Tier,
  tierOf,
} from "../backends/backend.ts";
import { openBackend, staticsOf, unknownKind } from "../backends/catalog.ts";
import { backendConfig, type KeyedLocator, secretRules, type Secrets } from "./files/secrets.ts";
import { BackendError } from "./model/backend_errors.ts";
import { ConfigError } from "./model/errors.ts";
import { canonical } from "./model/hash.ts";
import type { JsonObject } from "./model/json.ts";
import type { Locator, ObjectManifest, Policy } from "./model/manifest.ts";

/** What the pool is made of. */
export interface PoolSource {
  /** `[backends]` of tether.toml. */
  readonly committed: Readonly<Record<string, JsonObject>>;
  readonly secrets: Secrets;
  /** Objects that `[objects]` of secrets.toml may name. */
  readonly objects: () => Iterable<KeyedLocator>;
  /** What every kind is given besides. */
  readonly common: Omit<BackendSettings, "config" | "rules">;
}

/** Backends by kind. */
export class BackendPool implements AsyncDisposable {
  readonly #source: PoolSource;
  readonly #open = new Map<string, Promise<ObjectBackend>>();

  constructor(source: PoolSource) {
    this.#source = source;
  }

  /**
   * Returns a kind's description without loading its driver.
   *
   * @throws {ConfigError} if no such kind is known.
   */
  async statics(kind: string): Promise<BackendStatics> {
    const statics = await staticsOf(kind);
    if (statics) return statics;
    throw unknownKind(kind);
  }

  /** Returns what a kind would be given. @throws {ConfigError} if tether.toml sets what only secrets.toml may. */
  async settings(kind: string): Promise<BackendSettings> {
    const statics = await this.statics(kind);
    const { committed, secrets, objects, common } = this.#source;
    checkCommitted(statics, committed[kind] ?? {});
    return {
      ...common,
      config: backendConfig(kind, committed, secrets),
      rules: secretRules(secrets, { uriKeys: statics.uriKeys, objects: objects() }),
    };
  }

  /** Returns a kind's backend, loading its driver on first use. */
  get(kind: string): Promise<ObjectBackend> {
    const known = this.#open.get(kind);
    if (known) return known;
    const opening = this.settings(kind).then((settings) => openBackend(kind, settings));
    this.#open.set(kind, opening);
    // A failed load may be mended while the process lives (an addon installed), so it is not remembered.
    opening.catch(() => this.#open.delete(kind));
    return opening;
  }

  /** Kinds whose driver was loaded. */
  get loaded(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** Closes every backend that was opened. */
  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await Promise.allSettled(this.#open.values());
    this.#open.clear();
    for (const o of opened) if (o.status === "fulfilled") await o.value[Symbol.asyncDispose]();
  }
}

/** Returns the capabilities of one object: those of its address and policy, without PIN under `pin = "record"`. */
export function capabilitiesOf(statics: BackendStatics, object: { locator: Locator; policy: Policy }): Capabilities {
  const all = statics.effectiveCapabilities?.(object.locator, object.policy) ?? statics.capabilities;
  if (object.policy.pin !== "record" || !all.has("pin")) return all;
  const less = new Set(all);
  less.delete("pin");
  return less;
}

/** Returns an object's tier. `pin = "record"` does not lower it: a Forkable object stays one. */
export function tierOfObject(statics: BackendStatics, object: ObjectManifest): Tier {
  return tierOf(statics.effectiveCapabilities?.(object.locator, object.policy) ?? statics.capabilities);
}

/** Returns the branch space an object lives in: objects of one scope share one branch per bookmark. */
export function scopeOf(backend: ObjectBackend, locator: Locator): string {
  return `${backend.statics.kind}|${backend.branchScope?.(locator) ?? canonical(backend.identity(locator))}`;
}

/** Returns what tells stores apart: kind and identity (formats §12). */
export function storeOf(backend: ObjectBackend, locator: Locator): string {
  return `${backend.statics.kind}|${canonical(backend.identity(locator))}`;
}

/** Returns the namespace whose pins one listing covers. */
export function namespaceOf(backend: ObjectBackend, locator: Locator): string {
  return `${backend.statics.kind}|${backend.refNamespace?.(locator) ?? canonical(backend.identity(locator))}`;
}

/** Labels a backend's error with the object's key. */
export function withKey(error: Error, key: string): Error {
  if (error instanceof BackendError && error.key === undefined) {
    error.message = `[${key}] ${error.reason}`;
    Object.assign(error, { key });
  }
  return error;
}

function checkCommitted(statics: BackendStatics, table: JsonObject): void {
  for (const [name, value] of Object.entries(table)) {
    const inner = statics.safeOptionKeys[name];
    if (!statics.safeConfigKeys.has(name) && inner === undefined) refuse(statics.kind, name);
    if (inner === undefined) continue;
    if (value === null || typeof value !== "object" || Array.isArray(value)) refuse(statics.kind, name);
    for (const option of Object.keys(value as JsonObject)) {
      if (!inner.has(option)) refuse(statics.kind, `${name}.${option}`);
    }
  }
}

function refuse(kind: string, name: string): never {
  throw new ConfigError(`Cannot use "${name}" in [backends.${kind}] of tether.toml: a committed file may not set it`, {
    code: "forbidden-key",
    hints: [`Put it in [backends.${kind}] of .tether/secrets.toml`],
    details: { kind, key: name },
  });
}
