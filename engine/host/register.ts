/**
 * Adding kinds that do not come with tether.
 *
 * @module
 */

import type { BackendStatics } from "../../backends/backend.ts";
import { registerStatics } from "../../backends/catalog.ts";
import type { BackendModule } from "./client.ts";

/**
 * A kind's code, which is loaded only inside workers that hold what it declares.
 *
 * @example Point at a module that lies in a package
 * ```ts
 * import type { BackendSource } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const source: BackendSource = {
 *   module: new URL("file:///srv/kinds/note/mod.ts"),
 *   name: "noteStatics",
 *   folder: new URL("file:///srv/kinds/note/"),
 * };
 * assert(source.module.href.startsWith(source.folder?.href ?? ""));
 * ```
 */
export interface BackendSource {
  /** The code. Nothing of it is evaluated in this process. */
  readonly module: URL;
  /**
   * The export that is the kind's `BackendStatics`.
   * @default {"default"}
   */
  readonly name?: string;
  /**
   * The folder that holds all of its code; its workers may read it.
   * @default the module's own
   */
  readonly folder?: URL;
}

/**
 * Adds a kind: a module, or a function for code that the caller trusts with this process, as tests do.
 *
 * @throws {ConfigError} if the kind is built in.
 *
 * @example Add a kind whose code runs in workers of its own
 * ```ts
 * import { knownKinds, registerBackend } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * registerBackend("note", { module: new URL("file:///srv/kinds/note/mod.ts") });
 * assert(knownKinds().includes("note"));
 * ```
 */
export function registerBackend(kind: string, source: BackendSource | (() => Promise<BackendStatics>)): void {
  if (typeof source === "function") return registerStatics(kind, source);
  const url = source.module;
  const folder = url.protocol === "file:" ? { folder: source.folder ?? new URL(".", url) } : {};
  const module: BackendModule = { url, ...(source.name === undefined ? {} : { name: source.name }), ...folder };
  registerStatics(kind, async () => (await import("./worker_statics.ts")).staticsFromModule(module));
}
