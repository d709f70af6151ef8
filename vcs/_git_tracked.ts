/**
 * Which files git's index has.
 *
 * @module
 */

import { VcsError } from "../engine/model/errors.ts";
import type { GitObjectReader } from "./object_reader.ts";

/** An entry of the index has one of these: 0, or those of a conflict's sides. */
const STAGES = [0, 1, 2, 3];

/** Tells whether the index has an entry of a name. The reader's process reads the index once. */
export async function inIndex(reader: GitObjectReader, path: string): Promise<boolean> {
  if (path.includes("\n")) {
    throw new VcsError(`Cannot find out whether ${JSON.stringify(path)} is tracked: it holds a line break`);
  }
  const entries = await Promise.all(STAGES.map((stage) => reader.info(`:${stage}:${path}`)));
  return entries.some((entry) => entry !== undefined);
}
