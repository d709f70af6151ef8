/**
 * Paths given as URLs.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

/** Returns a path as it is, or that of a `file:` URL. @throws {TypeError} if the URL is another one. */
export function fromFileUrl(path: string | URL): string {
  return path instanceof URL ? fileURLToPath(path) : path;
}
