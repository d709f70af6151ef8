/**
 * Running the kinds that come with tether in workers too (`--isolate`).
 *
 * @module
 */

import type { BackendSettings, ObjectBackend } from "../../backends/backend.ts";
import { BUILTIN_KINDS, openBackend, staticsOf } from "../../backends/catalog.ts";
import { openInWorker } from "./worker_backend.ts";

/**
 * Opens a kind's backend in workers that hold only what it declares. A registered module is there in any case; code that
 * the caller registered for its own process stays in it.
 *
 * @throws {ConfigError} if there is no such kind.
 */
export async function openIsolated(kind: string, settings: BackendSettings): Promise<ObjectBackend> {
  const statics = await staticsOf(kind);
  if (!statics || !BUILTIN_KINDS.includes(kind)) return await openBackend(kind, settings);
  const url = new URL("../../backends/catalog.ts", import.meta.url);
  return await openInWorker(statics, { module: { url, name: "staticsOf", argument: kind }, settings });
}
