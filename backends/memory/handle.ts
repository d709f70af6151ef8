/**
 * A handle on one ref or snapshot of a memory system.
 *
 * @module
 */

import type { Handle, HandleJson } from "../backend.ts";
import { CapabilityError } from "../../engine/model/backend_errors.ts";
import type { JsonObject } from "../../engine/model/json.ts";
import type { MemorySnapshot, MemoryStore } from "./store.ts";

/** What a handle is made of. */
export interface MemoryHandleData {
  readonly store: MemoryStore;
  readonly system: string;
  /** The branch, tag or snapshot that was opened. */
  readonly ref: string;
  readonly readOnly: boolean;
  /** The snapshot read; absent for a branch, whose head is read. */
  readonly snapshot?: string;
  readonly now: () => Date;
}

/**
 * Handle of the kind `memory`: reads and, on a branch, writes.
 *
 * @example Write to a branch, and read what was recorded
 * ```ts
 * import { Dataset, type MemoryHandle } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q && git config user.name Ada && git config user.email ada@example.org", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
 * await ds.commit({ message: "Baseline" });
 *
 * await using now = await ds.open("m");
 * (now.native as MemoryHandle).write({ model: 3 });
 * await using then = await ds.open("m", { rev: "HEAD" });
 * assert.deepEqual((now.native as MemoryHandle).read(), { model: 3 });
 * assert.deepEqual((then.native as MemoryHandle).read(), {});
 * ```
 */
export class MemoryHandle implements Handle {
  /** Class name. */
  readonly type = "MemoryHandle";
  /** The system's name. */
  readonly key: string;
  /** Whether {@link MemoryHandle.write} refuses. */
  readonly readOnly: boolean;
  readonly #data: MemoryHandleData;

  /** @internal Backends make handles. */
  constructor(data: MemoryHandleData) {
    this.key = data.system;
    this.readOnly = data.readOnly;
    this.#data = data;
  }

  /** Returns the system's name. */
  address(): string {
    return this.#data.system;
  }

  /** Returns the handle as plain data. */
  toJSON(): HandleJson {
    const { system, ref } = this.#data;
    return {
      key: this.key,
      read_only: this.readOnly,
      address: system,
      type: this.type,
      kind: "memory",
      native: { system, ref },
    };
  }

  /** Returns the content. */
  read(): JsonObject {
    const { store, system, snapshot, ref, now } = this.#data;
    const opened = store.use(system, { base: ref, now: now() });
    return (snapshot === undefined ? opened.head(ref) : opened.snapshot(snapshot)).payload;
  }

  /**
   * Writes keys, `null` removing one.
   *
   * @throws {CapabilityError} if the handle is read-only.
   */
  write(changes: JsonObject, message?: string): MemorySnapshot {
    const { store, system, ref, now } = this.#data;
    if (this.readOnly) {
      throw new CapabilityError(`Cannot write "${system}": the handle is read-only`, { kind: "memory" });
    }
    return store.write(system, changes, { branch: ref, now: now(), ...(message === undefined ? {} : { message }) });
  }

  /** Does nothing: the system stays. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
