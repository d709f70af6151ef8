/**
 * Where a repository lies.
 *
 * @module
 */

import type { BackendSettings, Locator } from "../backend.ts";
import { canonicalUri } from "../../engine/io/paths.ts";
import { LocalStorage, requireLocal } from "../storage/local.ts";
import type { ObjectStorage } from "../storage/storage.ts";
import { checkLocator, KIND } from "./_locator.ts";
import { uriOf } from "./statics.ts";
import { isAbsolute, join } from "node:path";

/**
 * Returns the storage a locator names; a relative path of an old manifest is taken from the dataset root (DIV-2).
 *
 * @throws {InvalidLocatorError} if the locator names no store.
 * @throws {CapabilityError} if it names one that cannot be reached.
 */
export function storageOf(locator: Locator, settings: BackendSettings): ObjectStorage {
  return new LocalStorage(folderOf(locator, settings).root, { kind: KIND });
}

/** Returns the folder a locator names, with links resolved and as it is spelled. Throws as {@link storageOf}. */
export function folderOf(
  locator: Locator,
  settings: BackendSettings,
): { readonly root: string; readonly spelled: string } {
  checkLocator(locator);
  const uri = uriOf(locator);
  const path = requireLocal(uri, KIND);
  const spelled = isAbsolute(path) ? path : join(settings.datasetRoot ?? Deno.cwd(), path);
  return { root: canonicalUri(spelled), spelled };
}
