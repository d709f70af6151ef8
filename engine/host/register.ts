/**
 * Adding kinds that do not come with tether.
 *
 * @module
 */

import type { BackendStatics } from "../../backends/backend.ts";
import { registerStatics } from "../../backends/catalog.ts";
import { staticsFromModule } from "./worker_statics.ts";
import type { BackendModule } from "./client.ts";

/** A kind's code, which is loaded only inside workers that hold what it declares. */
export interface BackendSource {
  readonly module: URL;
  /** The export that is the kind's `BackendStatics`. @default {"default"} */
  readonly name?: string;
  /** The folder that holds all of its code; its workers may read it. @default the module's own */
  readonly folder?: URL;
}

/**
 * Adds a kind: a module, or a function for code that the caller trusts with this process, as tests do.
 *
 * @throws {ConfigError} if the kind is built in.
 */
export function registerBackend(kind: string, source: BackendSource | (() => Promise<BackendStatics>)): void {
  if (typeof source === "function") return registerStatics(kind, source);
  const url = source.module;
  const folder = url.protocol === "file:" ? { folder: source.folder ?? new URL(".", url) } : {};
  const module: BackendModule = { url, ...(source.name === undefined ? {} : { name: source.name }), ...folder };
  registerStatics(kind, () => staticsFromModule(module));
}
