/**
 * What every kind says alike about stores that tether makes and takes away.
 *
 * @module
 */

import { InvalidLocatorError, RefConflictError } from "../../engine/model/backend_errors.ts";

/** Returns the error of a store that cannot be made where something is. */
export function placeTaken(path: string, kind: string): InvalidLocatorError {
  return new InvalidLocatorError(`Cannot create "${path}": something is there already`, {
    kind,
    hints: ["Register what is there without --create, or choose another path"],
    details: { path },
  });
}

/** Returns why a store whose marker says `found` is not `owner`'s to delete; `undefined` when it is. */
export function notOwned(found: string | undefined, owner: string): string | undefined {
  if (found === owner) return undefined;
  return found === undefined ? "it has no owner marker" : `it belongs to dataset "${found}"`;
}

/** Returns the error of a store that is kept: it is another's, or holds something. */
export function keptStore(path: string, options: { readonly kind: string; readonly why: string }): RefConflictError {
  const { kind, why } = options;
  return new RefConflictError(`Cannot delete "${path}": ${why}`, { kind, details: { path } });
}
