/**
 * What an Icechunk locator says, and what a state does.
 *
 * @module
 */

import type { Locator, State } from "../backend.ts";
import { InvalidLocatorError } from "../../engine/model/backend_errors.ts";
import { localPath } from "../../engine/io/paths.ts";
import { uriOf } from "./statics.ts";

/** The kind's name. */
export const KIND = "icechunk";
/** The branch every repository has, and which the library never deletes. */
export const MAIN = "main";

/** Returns the upstream branch of a locator. */
export function baseOf(locator: Locator): string {
  const branch = locator["branch"];
  return typeof branch === "string" && branch.trim() !== "" ? branch.trim() : MAIN;
}

/**
 * Refuses locators that name nothing Icechunk stores are kept in.
 *
 * @throws {InvalidLocatorError} for any scheme but local paths and `s3://`.
 */
export function checkLocator(locator: Locator): void {
  const uri = uriOf(locator);
  if (uri !== "" && (localPath(uri) !== undefined || uri.startsWith("s3://"))) return;
  throw new InvalidLocatorError(
    uri === "" ? "Cannot open a repository: the locator has no uri" : `Cannot open "${uri}": unknown kind of store`,
    { kind: KIND, hints: ["Give the repository's folder as `uri`"] },
  );
}

/** Returns the snapshot a state names. */
export function snapshotOf(state: State): string {
  return String(state["snapshot_id"] ?? "");
}

/** Returns the state that a snapshot is. */
export function stateOf(snapshot: string): State {
  return { snapshot_id: snapshot };
}
