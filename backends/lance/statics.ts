/**
 * What is known of the kind `lance` before it loads (backends §3.5).
 *
 * @module
 */

import { type BackendStatics, NO_NEEDS } from "../backend.ts";
import { canonicalUri, localPath, pathAndLinks } from "../../engine/io/paths.ts";
import { isAbsolute } from "node:path";

/**
 * The kind `lance`: Lance tables. Refs, states and branches are read and written as the files they are, so nothing here
 * runs native code; only a handle's `table()` does.
 */
export const lanceStatics: BackendStatics = {
  kind: "lance",
  capabilities: new Set(["fingerprint", "addressable", "pin", "fork", "atomic_ref", "diff", "history"]),
  maturity: "stable",
  volatileKeys: new Set(),
  stateForms: [{ branch: "text", version: "whole", branch_id: "text?" }],
  localPathKeys: ["uri", "path"],
  localPathPrefixes: [],
  uriKeys: ["uri", "path"],
  keySuffixes: [".lance"],
  safeConfigKeys: new Set(["storage_options"]),
  safeOptionKeys: {
    storage_options: new Set(["region", "allow_http", "virtual_hosted_style_request", "conditional_put"]),
  },
  promoteHint: "Write the result to the base branch with LanceDB or pylance, then run `tether pull` on the trunk",
  honoursExpected: new Set(["fork"]),
  concurrency: 16,
  permissions(locator, access) {
    const uri = locator["uri"] ?? locator["path"];
    const path = typeof uri === "string" ? localPath(uri) : undefined;
    if (path === undefined || !isAbsolute(path)) return NO_NEEDS;
    return { ...NO_NEEDS, read: pathAndLinks(path), write: access === "read" ? [] : [canonicalUri(path)] };
  },
  async open(settings) {
    const { LanceBackend } = await import("./lance.ts");
    return new LanceBackend(settings);
  },
};
