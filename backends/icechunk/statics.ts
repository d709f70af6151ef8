/**
 * What is known of the kind `icechunk` before it loads (backends §3.4).
 *
 * @module
 */

import { type BackendStatics, type Capability, type Locator, NO_NEEDS } from "../backend.ts";
import { canonicalUri, localPath, pathAndLinks } from "../../engine/io/paths.ts";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

const CAPABILITIES: readonly Capability[] = [
  "fingerprint",
  "addressable",
  "pin",
  "fork",
  "atomic_ref",
  "diff",
  "history",
  "promote",
  "create",
];

/** The kind `icechunk`: Icechunk repositories of format 1 and 2. */
export const icechunkStatics: BackendStatics = {
  kind: "icechunk",
  capabilities: new Set(CAPABILITIES),
  maturity: "stable",
  volatileKeys: new Set(),
  stateForms: [{ snapshot_id: "text" }],
  localPathKeys: ["uri", "path"],
  localPathPrefixes: [],
  uriKeys: ["uri", "path"],
  keySuffixes: [".icechunk", ".zarr"],
  safeConfigKeys: new Set(),
  safeOptionKeys: {},
  promoteHint: "Fork the base anew, write the changes to that fork and promote it",
  honoursExpected: new Set(["fork", "promote"]),
  concurrency: 8,
  effectiveCapabilities(locator) {
    const local = localPath(uriOf(locator)) !== undefined;
    return new Set(local ? CAPABILITIES : CAPABILITIES.filter((c) => c !== "create"));
  },
  permissions(locator, access, settings) {
    const path = localPath(uriOf(locator));
    if (path === undefined || path === "") return NO_NEEDS;
    // A relative path of an old manifest is taken from the dataset root (DIV-2).
    const absolute = isAbsolute(path) ? path : join(settings?.datasetRoot ?? "/", path);
    const store = canonicalUri(absolute);
    // Made and deleted under another name in its folder.
    const beside = access === "lifecycle" ? [dirname(store)] : [];
    return {
      ...NO_NEEDS,
      read: [...pathAndLinks(absolute), ...beside, ...workerFile()],
      write: access === "read" ? [] : [store, ...beside],
    };
  },
  async open(settings) {
    const { IcechunkBackend } = await import("./icechunk.ts");
    return new IcechunkBackend(settings);
  },
};

/** Returns what a locator names: its `uri`, else its `path`; empty when there is neither. */
export function uriOf(locator: Locator): string {
  for (const name of ["uri", "path"]) {
    const value = locator[name];
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return "";
}

/** The file that the library's threads run; a compiled program reads its own parts without being granted anything. */
function workerFile(): readonly string[] {
  const url = new URL("./_worker.ts", import.meta.url);
  return url.protocol === "file:" && !Deno.build.standalone ? [fileURLToPath(url)] : [];
}
