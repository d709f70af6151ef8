/**
 * Manifests that parse but hold a state which no version of their kind wrote.
 *
 * @module
 */

import { relative } from "node:path";
import type { BackendStatics } from "../backends/backend.ts";
import { staticsOf } from "../backends/catalog.ts";
import type { BrokenManifest, ManifestSet, ManifestStore } from "./files/manifests.ts";
import { ConfigError } from "./model/errors.ts";
import type { ObjectManifest } from "./model/manifest.ts";
import { stateProblem } from "./model/state_form.ts";

/**
 * Reads the manifests of a working tree. One whose state has no form of its kind is broken like one that does not parse:
 * taken for good it would be committed, and its pin let go. Loads no driver; kinds that are not known here judge nothing.
 */
export async function readJudged(manifests: ManifestStore, root: string): Promise<ManifestSet> {
  const { objects, broken } = await manifests.read();
  const good = new Map<string, ObjectManifest>();
  const bad: BrokenManifest[] = [];
  for (const object of objects.values()) {
    const statics = object.state === null ? undefined : await described(object.kind);
    const problem = object.state && statics?.stateForms && stateProblem(object.state, statics.stateForms);
    if (!problem) {
      good.set(object.key, object);
      continue;
    }
    const path = relative(root, manifests.fileOf(object.key)).replaceAll("\\", "/");
    const at = `state.${problem.field}`;
    const error = new ConfigError(`Cannot use "${path}": ${at}: ${problem.reason}`, {
      code: "value",
      hints: [
        `Take the last committed version of "${path}" from version control`,
        "Or remove its [state] and [pin]: the next commit records the object anew",
      ],
      details: { file: path, path: at },
    });
    bad.push({ key: object.key, path, error, conflicted: false, pinIds: object.pin ? [object.pin.id] : [] });
  }
  return bad.length === 0 ? { objects, broken } : { objects: good, broken: [...broken, ...bad] };
}

async function described(kind: string): Promise<BackendStatics | undefined> {
  try {
    return await staticsOf(kind);
  } catch {
    // A module that does not load must not stop the others; whoever needs this object asks again and gets the error.
    return undefined;
  }
}
