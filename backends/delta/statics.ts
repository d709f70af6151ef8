/**
 * What is known of the kind `delta` before it loads (backends §3.6).
 *
 * @module
 */

import { type BackendStatics, NO_NEEDS } from "../backend.ts";
import { localPath, pathAndLinks } from "../../engine/io/paths.ts";
import { isAbsolute, join } from "node:path";

/** The kind `delta`: Delta Lake tables, read through their log. */
export const deltaStatics: BackendStatics = {
  kind: "delta",
  capabilities: new Set(["fingerprint", "addressable", "cheap_fingerprint", "retention_bound", "diff", "history"]),
  maturity: "stable",
  volatileKeys: new Set(),
  stateForms: [{ version: "whole", table_id: "text" }],
  localPathKeys: ["uri", "path"],
  localPathPrefixes: [],
  uriKeys: ["uri", "path"],
  keySuffixes: [".delta"],
  safeConfigKeys: new Set(["storage_options"]),
  safeOptionKeys: {
    storage_options: new Set(["region", "allow_http", "virtual_hosted_style_request", "conditional_put"]),
  },
  promoteHint: "A Delta table has no branches: write the result to the table itself",
  honoursExpected: new Set(),
  concurrency: 16,
  permissions(locator, _access, settings) {
    const uri = locator["uri"] ?? locator["path"];
    const path = typeof uri === "string" ? localPath(uri) : undefined;
    if (path === undefined) return NO_NEEDS;
    // A relative path of an old manifest is taken from the dataset root (DIV-2).
    return { ...NO_NEEDS, read: pathAndLinks(isAbsolute(path) ? path : join(settings?.datasetRoot ?? "/", path)) };
  },
  async open(settings) {
    const { DeltaBackend } = await import("./delta.ts");
    return new DeltaBackend(settings);
  },
};
