/**
 * Kinds whose declared permissions are wrong, as modules that the suite can run in workers.
 *
 * @module
 */

import { type BackendStatics, NO_NEEDS } from "../../../backends/backend.ts";
import { memoryInWorkerStatics } from "../memory_in_worker.ts";
import { broken, type Mutation } from "./mutation.ts";

type Name =
  | "identityReadsEnvironment"
  | "permissionsReadDisk"
  | "undeclaredVariable"
  | "writesUnderRead"
  | "hostWithoutPort"
  | "relativePath"
  | "shrinkingLevels";

/** The ways, by the name of the export that is the broken kind. */
export const MODULE_MUTATIONS: Readonly<Record<Name, Mutation>> = {
  identityReadsEnvironment: {
    check: "C04",
    what: "an identity depends on the environment",
    says: "Requires env access",
    methods: { identity: (r, l) => ({ ...r.identity(l), user: Deno.env.get("USER") ?? "" }) },
  },
  permissionsReadDisk: {
    check: "C04",
    what: "the declaration itself reads a file",
    says: "Requires read access",
    statics: {
      permissions() {
        Deno.statSync("/etc/hostname");
        return NO_NEEDS;
      },
    },
  },
  undeclaredVariable: {
    check: "C25",
    what: "a variable is read that was not declared",
    says: "Requires env access",
    methods: {
      async fingerprint(r, l, ref, op) {
        Deno.env.get("USER");
        return await r.fingerprint(l, ref, op);
      },
    },
  },
  writesUnderRead: {
    check: "C25",
    what: "a level uses what only the next one declares",
    says: "Requires write access",
    statics: {
      permissions: (_l, access) => ({
        ...NO_NEEDS,
        write: access === "read" ? [] : [Deno.build.os === "windows" ? "C:\\" : "/"],
      }),
    },
    methods: {
      async history(r, l, o) {
        await Deno.mkdir("/tether-conformance/never", { recursive: false }).catch((e) => {
          if (e instanceof Deno.errors.NotCapable) throw e;
        });
        return await r.history(l, o);
      },
    },
  },
  hostWithoutPort: {
    check: "C25",
    what: "a host is declared without its port",
    says: "must carry its port",
    statics: { permissions: () => ({ ...NO_NEEDS, net: ["localhost"] }) },
  },
  relativePath: {
    check: "C25",
    what: "a path is declared relative",
    says: "must be absolute",
    statics: { permissions: () => ({ ...NO_NEEDS, read: ["data"] }) },
  },
  shrinkingLevels: {
    check: "C25",
    what: "a level needs less than the one before",
    says: "must include --allow-env=HOME of read",
    statics: { permissions: (_l, access) => ({ ...NO_NEEDS, env: access === "read" ? ["HOME"] : [] }) },
  },
};

function staticsOf(mutation: Mutation): BackendStatics {
  return {
    ...memoryInWorkerStatics,
    ...mutation.statics,
    open: async (settings) => broken(await memoryInWorkerStatics.open(settings), mutation),
  };
}

/** See {@link MODULE_MUTATIONS}. */
export const identityReadsEnvironment: BackendStatics = staticsOf(MODULE_MUTATIONS.identityReadsEnvironment);
/** See {@link MODULE_MUTATIONS}. */
export const permissionsReadDisk: BackendStatics = staticsOf(MODULE_MUTATIONS.permissionsReadDisk);
/** See {@link MODULE_MUTATIONS}. */
export const undeclaredVariable: BackendStatics = staticsOf(MODULE_MUTATIONS.undeclaredVariable);
/** See {@link MODULE_MUTATIONS}. */
export const writesUnderRead: BackendStatics = staticsOf(MODULE_MUTATIONS.writesUnderRead);
/** See {@link MODULE_MUTATIONS}. */
export const hostWithoutPort: BackendStatics = staticsOf(MODULE_MUTATIONS.hostWithoutPort);
/** See {@link MODULE_MUTATIONS}. */
export const relativePath: BackendStatics = staticsOf(MODULE_MUTATIONS.relativePath);
/** See {@link MODULE_MUTATIONS}. */
export const shrinkingLevels: BackendStatics = staticsOf(MODULE_MUTATIONS.shrinkingLevels);
