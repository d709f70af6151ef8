/**
 * What is known of the kind `file` before it loads (backends §3.1).
 *
 * @module
 */

import { type BackendStatics, type Capability, type Locator, NO_NEEDS } from "../backend.ts";
import { localPath, pathAndLinks } from "../../engine/io/paths.ts";
import { dirname, isAbsolute } from "node:path";

const CAPABILITIES: readonly Capability[] = ["fingerprint", "cheap_fingerprint", "diff", "create"];

/** The kind `file`: a file or folder of the local disk, recorded by the hash of its content. */
export const fileStatics: BackendStatics = {
  kind: "file",
  capabilities: new Set(CAPABILITIES),
  maturity: "stable",
  volatileKeys: new Set(),
  stateForms: [
    { type: { is: "file" }, size: "whole", sha256: "text" },
    { type: { is: "dir" }, count: "whole", size: "whole", digest: "text" },
    { type: { is: "object" }, size: "whole", etag: "text?", version_id: "text?" },
    { type: { is: "prefix" }, count: "whole", size: "whole", digest: "text" },
  ],
  localPathKeys: ["uri", "path"],
  localPathPrefixes: [],
  uriKeys: ["uri", "path"],
  keySuffixes: [],
  safeConfigKeys: new Set(["storage_options"]),
  safeOptionKeys: {
    storage_options: new Set(["region", "allow_http", "virtual_hosted_style_request", "conditional_put"]),
  },
  promoteHint: "Files have no branches: write the result to the path itself, then commit",
  honoursExpected: new Set(),
  concurrency: 4,
  effectiveCapabilities(locator) {
    const local = localPath(locatorUri(locator)) !== undefined;
    return new Set(local ? CAPABILITIES : CAPABILITIES.filter((c) => c !== "create"));
  },
  permissions(locator, access) {
    const path = localPath(locatorUri(locator));
    if (path === undefined || !isAbsolute(path)) return NO_NEEDS;
    const paths = pathAndLinks(path);
    const write = paths.flatMap((p) => [p, dirname(p)]);
    return { ...NO_NEEDS, read: paths, write: access === "lifecycle" ? [...new Set(write)] : [] };
  },
  async open(settings) {
    const { FileBackend } = await import("./file.ts");
    return new FileBackend(settings);
  },
};

/** Returns the address of a file locator: its `uri`, else its `path`; empty when it has neither. */
export function locatorUri(locator: Locator): string {
  for (const name of ["uri", "path"]) {
    const value = locator[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}
