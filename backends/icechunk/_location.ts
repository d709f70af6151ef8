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
  checkLocator(locator);
  const uri = uriOf(locator);
  const path = requireLocal(uri, KIND);
  const root = canonicalUri(isAbsolute(path) ? path : join(settings.datasetRoot ?? Deno.cwd(), path));
  return new LocalStorage(root, { kind: KIND });
}
