/**
 * Where `--plan FILE` may write: not over the dataset, nor over anything but another plan.
 *
 * @module
 */

import { isAbsolute, join } from "node:path";
import type { Dataset } from "../engine/dataset.ts";
import { isInside, resolveExisting } from "../engine/io/paths.ts";
import { ConfigError } from "../engine/model/errors.ts";
import { isJsonObject, parseJson } from "../engine/model/json.ts";

/** A file that is larger is no plan. */
const MAX_PLAN_BYTES = 256 << 20;

/**
 * Refuses a target that a plan must not replace. Links on the way count for what they lead to.
 *
 * @throws {ConfigError} naming what is there.
 */
export async function requirePlanTarget(dataset: Pick<Dataset, "root" | "vcs">, path: string): Promise<void> {
  const target = resolveExisting(isAbsolute(path) ? path : join(Deno.cwd(), path));
  const { root, sharedDir, storeDir } = dataset.vcs.location;
  const here = [
    join(dataset.root, "tether.toml"),
    join(dataset.root, ".tether"),
    join(root, ".git"),
    join(root, ".jj"),
  ];
  // A checkout may lie below the repository's folder, so that counts only outside.
  const own = isInside(target, root) ? here : [sharedDir, storeDir];
  if (own.some((folder) => isInside(target, folder))) {
    throw refusal(path, `"${target}" is the dataset's own`);
  }
  if (await isReplaceable(target)) return;
  throw refusal(path, "a file is there that is no plan");
}

function refusal(path: string, why: string): ConfigError {
  return new ConfigError(`Cannot write the plan to "${path}": ${why}`, {
    code: "plan",
    hints: ["Name a new file, or a plan to replace"],
  });
}

async function isReplaceable(path: string): Promise<boolean> {
  try {
    const info = await Deno.stat(path);
    // A pipe or a terminal keeps nothing that could be lost; writing to a folder fails by itself.
    if (!info.isFile || info.size === 0) return true;
    if (info.size > MAX_PLAN_BYTES) return false;
    const json = parseJson(await Deno.readTextFile(path));
    return isJsonObject(json) && typeof json["command"] === "string" && Array.isArray(json["actions"]);
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}
