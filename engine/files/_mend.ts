/**
 * The way out when one of tether's own files cannot be used.
 *
 * @module
 */

import { basename } from "node:path";

/** Returns what to do about a file that does not parse, is too large, or is none. */
export function mendHints(file: string): readonly string[] {
  switch (basename(file)) {
    case "workspace.toml":
      return ["Move it away: tether makes a new one, and tether new takes the branches of the bookmark up again"];
    case "secrets.toml":
      return [`Correct "${file}" by hand`];
    case "ops.jsonl":
    case "tether-pinned.jsonl":
    case "tether-touched.jsonl":
    case "tether-created.jsonl":
      return ["Make it a file that can be read, or move it away and do without what it remembers"];
    default:
      return [`Correct "${file}" by hand, or take its last committed version from version control`];
  }
}
