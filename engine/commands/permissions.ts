/**
 * `permissions`: the Deno flags that some objects need, ready to paste (commands §5.29, backends §4).
 *
 * @module
 */

import { dirname, join } from "node:path";
import type { Access } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import { selectKeys } from "../model/keys.ts";
import { denoFlags, EVERY_VARIABLE, unionNeeds } from "../permissions.ts";
import { type Report, withJson } from "../reports/report.ts";
import { needsOf } from "./granted.ts";

/**
 * Report of `permissions`.
 *
 * @example Start a program with just the right flags
 * ```ts
 * import { Dataset, type PermissionsReport } from "@tether/tether";
 * import assert from "node:assert/strict";
 * import { execSync } from "node:child_process";
 *
 * const cwd = await Deno.makeTempDir();
 * execSync("git init -q", { cwd });
 * await using ds = await Dataset.init(cwd);
 * await ds.add({ key: "raw", kind: "file", locator: { uri: "/data/raw" } });
 * const report: PermissionsReport = await ds.permissions({ keys: ["raw"], access: "read" });
 * const read = report.flags.find((f) => f.startsWith("--allow-read="));
 * assert(read?.split("=")[1]?.split(",").includes("/data/raw"));
 * ```
 */
export interface PermissionsReport extends Report {
  /** How much the flags allow. */
  readonly access: Access;
  /** Flags for `deno run`, not quoted for a shell. */
  readonly flags: readonly string[];
  /** Keys of objects whose native code or subprocess does I/O that Deno's checks do not see. */
  readonly ambient: readonly string[];
}

/** Returns what some objects need at an access level, and what the dataset's own files and version control need. */
export async function permissions(
  ctx: Context,
  options: { readonly keys?: readonly string[]; readonly access?: Access } = {},
): Promise<PermissionsReport> {
  const access = options.access ?? "refs";
  const keys = selectKeys(options.keys, ctx.objects.keys());
  const needs = await needsOf(ctx, keys.map((k) => ctx.object(k)), access);
  const { root, sharedDir, storeDir } = ctx.vcs.location;
  const own = {
    net: [],
    read: [root, sharedDir, storeDir, ...jjAbove(root)],
    write: [ctx.root, sharedDir],
    // The dataset's own git runs with the user's environment, hooks and signing included (formats §15.1).
    env: [EVERY_VARIABLE],
    // jj's objects are read through git.
    run: ctx.vcs.kind === "jj" ? ["jj", "git"] : ["git"],
    ffi: [],
    sys: [],
    ambient: false,
  };
  const data = {
    access,
    flags: denoFlags(unionNeeds([own, ...needs.map((n) => n.needs)])),
    ambient: needs.filter((n) => n.needs.ambient).map((n) => n.key ?? n.kind),
  };
  return withJson(data, () => ({ access: data.access, flags: data.flags, ambient: data.ambient }));
}

/** A jj repository may lie anywhere above (formats §15.2), so tether has to be able to see that there is none. */
function jjAbove(root: string): string[] {
  const parent = dirname(root);
  return parent === root ? [] : [join(parent, ".jj"), ...jjAbove(parent)];
}
