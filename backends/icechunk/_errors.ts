/**
 * What the library's errors mean: it throws plain errors whose text alone tells them apart (backends §1.9). The wording is
 * that of version 2.2.2; a test holds the library to it.
 *
 * @module
 */

import {
  BackendError,
  type BackendErrorOptions,
  CapabilityError,
  RefConflictError,
  StateGoneError,
  StoreNotFoundError,
} from "../../engine/model/backend_errors.ts";
import { messageOf } from "../../engine/model/errors.ts";
import { KIND } from "./_locator.ts";

/** Why the library refused. */
export type Refusal =
  | "no-store"
  | "no-ref"
  | "no-snapshot"
  | "no-object"
  | "ref-exists"
  | "moved"
  | "unrelated"
  | "bad-name"
  | "bad-id"
  | "bad-config"
  | "corrupt"
  | "virtual";

const REFUSALS: readonly (readonly [RegExp, Refusal])[] = [
  [/^the repository doesn't exist/, "no-store"],
  [/^(ref|branch) not found /, "no-ref"],
  [/^snapshot id not found /, "no-snapshot"],
  [/^object not found/, "no-object"],
  [/^tag already exists|^icechunk does not allow tag reuse|^branch already exists/, "ref-exists"],
  [/^branch update conflict/, "moved"],
  [/ancestry doesn't include `from`/, "unrelated"],
  [/^invalid ref name/, "bad-name"],
  [/^Invalid ObjectId|^bad (object|snapshot) id/i, "bad-id"],
  [/^error in config deserialization/, "bad-config"],
  // Nothing but decompression still says "I/O error": reads and writes are ours.
  [/^invalid (magic|icechunk header|spec|file|compression)|^I\/O error\s|cannot (de)?serialize|flatbuffer/i, "corrupt"],
  [/virtual (chunk|ref)/i, "virtual"],
];

/** Returns why the library refused; `undefined` for an error that is not the library's, or one nobody has seen yet. */
export function refusalOf(error: unknown): Refusal | undefined {
  const cause = error instanceof BackendError ? error.cause : error;
  const text = messageOf(cause);
  return REFUSALS.find(([pattern]) => pattern.test(text))?.[1];
}

/** Returns the error to throw for one of the library's. `what` completes "Cannot". */
export function libraryError(error: unknown, what: string): BackendError {
  const options: BackendErrorOptions = { kind: KIND, cause: error };
  const say = (why: string): string => `Cannot ${what}: ${why}`;
  switch (refusalOf(error)) {
    case "no-store":
      return new StoreNotFoundError(say("there is no Icechunk repository"), options);
    case "no-ref":
      return new StateGoneError(say("there is no such branch or tag"), options);
    case "no-snapshot":
      return new StateGoneError(say("there is no such snapshot"), options);
    case "no-object":
      return new StateGoneError(say("a file of the repository is gone"), options);
    case "bad-id":
      return new StateGoneError(say("that is no snapshot id"), options);
    case "ref-exists":
      return new RefConflictError(say("the name was used before"), options);
    case "moved":
      return new RefConflictError(say("the branch moved meanwhile"), options);
    case "bad-config":
      return new CapabilityError(say("its configuration names stores that this build of the library does not know"), {
        ...options,
        hints: ["Write with the Python library"],
      });
    case "corrupt":
      return damagedError(what, "a file of the repository is damaged", error);
    default:
      return new BackendError(say(firstLine(messageOf(error))), options);
  }
}

/** Returns the error for bytes that were read and are not what was once written. */
export function damagedError(what: string, why: string, cause?: unknown): BackendError {
  return new BackendError(`Cannot ${what}: ${why}`, { kind: KIND, details: { damaged: true }, cause });
}

// The rest is the library's own call trace.
function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.trim() ?? "";
}
