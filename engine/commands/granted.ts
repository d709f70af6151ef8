/**
 * Asks the runtime for what some objects need, before any of their stores is touched (backends §4).
 *
 * @module
 */

import type { Access } from "../../backends/backend.ts";
import type { Context } from "../context.ts";
import type { ObjectManifest } from "../model/manifest.ts";
import { missingPermissions, type NamedNeeds, requirePermissions, unionNeeds } from "../permissions.ts";

/** What tells where an object is. */
export type Addressed = Pick<ObjectManifest, "key" | "kind" | "locator">;

/** Returns what each object needs. An object of an unknown kind needs nothing: it cannot be opened anyway. */
export async function needsOf(ctx: Context, objects: readonly Addressed[], access: Access): Promise<NamedNeeds[]> {
  const needs: NamedNeeds[] = [];
  for (const object of objects) {
    let statics, settings;
    try {
      statics = await ctx.backends.statics(object.kind);
      settings = await ctx.backends.settings(object.kind);
    } catch {
      // Opening it says what is wrong, object by object; here it must not hide what the others lack.
      continue;
    }
    needs.push({ kind: object.kind, key: object.key, needs: statics.permissions(object.locator, access, settings) });
  }
  return needs;
}

/**
 * Checks that the process was granted everything some objects need.
 *
 * @throws {SandboxError} naming every object, what it lacks, and the flags that grant it.
 */
export async function requireStorePermissions(
  ctx: Context,
  objects: readonly Addressed[],
  access: Access,
): Promise<void> {
  const needs = await needsOf(ctx, objects, access);
  // One question for all of them; only a refusal makes it worth asking object by object.
  if (missingPermissions(unionNeeds(needs.map((n) => n.needs))).length > 0) requirePermissions(needs);
}
