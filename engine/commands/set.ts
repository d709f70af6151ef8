/**
 * `set`: changes the policy of objects in their manifests (commands §5.5). No store is contacted.
 *
 * @module
 */

import type { Context } from "../context.ts";
import { ConfigError } from "../model/errors.ts";
import { selectKeys } from "../model/keys.ts";
import type { ObjectManifest, Policy } from "../model/manifest.ts";
import { editManifests } from "../plan/edit.ts";
import { withLocks } from "../plan/operation.ts";
import { type CallOptions, withJson } from "../reports/report.ts";
import type { FieldChange, SetReport } from "../reports/registering.ts";
import { checkPolicy } from "./add.ts";
import { pickSignal } from "./snapshot.ts";

/** Sets policy fields of some objects, or of all. */
export function setPolicy(
  ctx: Context,
  keys: readonly string[] | "all",
  policy: Partial<Policy> & CallOptions,
): Promise<SetReport> {
  const fields = (["file", "pin"] as const).filter((f) => policy[f] !== undefined);
  if (fields.length === 0) throw new ConfigError("Cannot set nothing: give --file or --pin", { code: "flags" });
  if (keys !== "all" && keys.length === 0) {
    throw new ConfigError("Cannot set a policy of no object: give keys, or --all", { code: "flags" });
  }
  return withLocks(ctx, { command: "set", repository: false, ...pickSignal(policy) }, async () => {
    if (keys === "all") ctx.requireWholeManifests();
    const chosen = selectKeys(keys === "all" ? undefined : keys, ctx.keys());
    const changed: Record<string, Record<string, FieldChange>> = {};
    const manifests: ObjectManifest[] = [];
    for (const key of chosen) {
      const object = ctx.object(key);
      const next = checkPolicy({
        file: policy.file ?? object.policy.file,
        pin: policy.pin ?? object.policy.pin,
      });
      const moved = fields.filter((f) => object.policy[f] !== next[f]);
      if (moved.length === 0) continue;
      changed[key] = Object.fromEntries(moved.map((f) => [f, { from: object.policy[f], to: next[f] }]));
      manifests.push({ ...object, policy: next });
    }
    if (manifests.length > 0) {
      const result = Object.fromEntries(
        Object.entries(changed).map((
          [k, f],
        ) => [k, Object.fromEntries(Object.entries(f).map(([n, c]) => [n, [c.from, c.to]]))]),
      );
      const edit = { command: "set", keys: Object.keys(changed), result: { changed: result } };
      await editManifests(ctx, edit, () => ctx.saveManifests(manifests));
    }
    const unchanged = chosen.filter((k) => !changed[k]);
    return withJson({ changed, unchanged }, () => ({
      changed: Object.fromEntries(
        Object.entries(changed).map((
          [k, f],
        ) => [k, Object.fromEntries(Object.entries(f).map(([n, c]) => [n, { ...c }]))]),
      ),
      unchanged,
    }));
  });
}
