/**
 * The error of a repository that lacks an object its history names: a damaged one, or a partial clone without its remote.
 *
 * @module
 */

import { VcsError } from "../engine/model/errors.ts";

/** Returns the error of reading something, such as `commit "<id>"`, whose object is not in the repository. */
export function missingObject(what: string): VcsError {
  return new VcsError(`Cannot read ${what}: the repository lacks its object`, {
    code: "object-missing",
    hints: ["git fetch", "git fsck --full"],
  });
}
