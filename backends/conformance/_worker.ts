/** The inside of the workers that prove permissions: the host's own, with two functions besides. */

import { serve as serveBackend, type WorkerScope } from "../../engine/host/worker_entry.ts";
import { type NamedNeeds, PERMISSION_CLASSES, requirePermissions } from "../../engine/permissions.ts";
import type { Access, BackendSettings, BackendStatics, Locator, ObjectBackend, PermissionNeeds } from "../backend.ts";

/** What a backend says of a locator without touching a store. */
export interface Addresses {
  readonly identity: Locator;
  readonly branchScope: string | null;
  readonly refNamespace: string | null;
  readonly needs: readonly PermissionNeeds[];
}

/** Answers as the host does, and to `addresses` and `require`. */
export function serve(statics: BackendStatics, scope: WorkerScope): void {
  serveBackend(statics, scope, {
    /** What the backend says of a locator when it may still read links, and then when it may do nothing. */
    async addresses(settings: BackendSettings, locator: Locator): Promise<readonly [Addresses, Addresses]> {
      const backend = await statics.open(settings);
      for (const name of PERMISSION_CLASSES) if (name !== "read") Deno.permissions.revokeSync({ name });
      const reading = addressesOf(backend, locator, settings);
      Deno.permissions.revokeSync({ name: "read" });
      return [reading, addressesOf(backend, locator, settings)];
    },
    /** The engine's check, in a worker that lacks something. */
    require: (needs: NamedNeeds): void => requirePermissions([needs]),
  });
}

/** Returns what a backend says of a locator. */
export function addressesOf(backend: ObjectBackend, locator: Locator, settings: BackendSettings): Addresses {
  const levels: readonly Access[] = ["read", "refs", "lifecycle"];
  return {
    identity: backend.identity(locator),
    branchScope: backend.branchScope?.(locator) ?? null,
    refNamespace: backend.refNamespace?.(locator) ?? null,
    needs: levels.map((access) => backend.statics.permissions(locator, access, settings)),
  };
}
