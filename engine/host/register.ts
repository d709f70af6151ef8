/**
 * Adding kinds that do not come with tether.
 *
 * @module
 */

import type { BackendStatics } from "../../backends/backend.ts";
import { registerStatics } from "../../backends/catalog.ts";
import { staticsFromModule } from "./worker_statics.ts";
import type { BackendModule } from "./client.ts";

/**
 * Where a kind's code is: a module, which is loaded only inside workers that hold what it declares, or a function for code
 * the caller trusts with this process, as tests do.
 */
export type BackendSource = { readonly module: URL; readonly name?: string } | (() => Promise<BackendStatics>);

/**
 * Adds a kind. The module's default export (or the export called `name`) is its `BackendStatics`.
 *
 * @throws {ConfigError} if the kind is built in.
 */
export function registerBackend(kind: string, source: BackendSource): void {
  if (typeof source === "function") return registerStatics(kind, source);
  const module: BackendModule = { url: source.module, ...(source.name === undefined ? {} : { name: source.name }) };
  registerStatics(kind, () => staticsFromModule(module));
}
