/**
 * What crosses the border between this thread and a backend's worker. Structured clone carries big integers, sets and
 * dates; floats, errors, signals and "absent" lose their identity there, so each travels as a tagged `Map`, which no JSON
 * value is.
 */

import * as backendErrors from "../model/backend_errors.ts";
import * as errors from "../model/errors.ts";
import { Float } from "../model/json.ts";
import { ABSENT } from "../../backends/backend.ts";

/** Turns signals into numbers on the way out and back into signals on the way in. */
export interface SignalPort {
  send(signal: AbortSignal): number;
  receive(id: number): AbortSignal;
}

/** For answers: a signal only ever goes in. */
export const NO_SIGNALS: SignalPort = {
  send: () => refuseSignal(),
  receive: () => refuseSignal(),
};

function refuseSignal(): never {
  throw new TypeError("A signal cannot be part of an answer");
}

/** Returns a value that structured clone carries. */
export function pack(value: unknown, signals: SignalPort = NO_SIGNALS): unknown {
  if (value === ABSENT) return new Map([["tag", "absent"]]);
  if (typeof value === "function" || typeof value === "symbol") {
    throw new TypeError(`Cannot send a ${typeof value} to a worker`);
  }
  if (value === null || typeof value !== "object" || value instanceof Date) return value;
  if (value instanceof Float) return new Map<string, unknown>([["tag", "float"], ["value", value.value]]);
  if (value instanceof AbortSignal) return new Map<string, unknown>([["tag", "signal"], ["id", signals.send(value)]]);
  if (value instanceof Error) return packError(value);
  if (Array.isArray(value)) return value.map((v) => pack(v, signals));
  if (value instanceof Set) return new Set([...value].map((v) => pack(v, signals)));
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, pack(v, signals)]));
}

/** Returns what {@link pack} was given. */
export function unpack(value: unknown, signals: SignalPort = NO_SIGNALS): unknown {
  if (value === null || typeof value !== "object" || value instanceof Date) return value;
  if (value instanceof Map) {
    switch (value.get("tag")) {
      case "absent":
        return ABSENT;
      case "float":
        return new Float(value.get("value"));
      case "signal":
        return signals.receive(value.get("id"));
      case "error":
        return unpackError(value);
      default:
        throw new TypeError(`A worker sent something unknown: "${value.get("tag")}"`);
    }
  }
  if (Array.isArray(value)) return value.map((v) => unpack(v, signals));
  if (value instanceof Set) return new Set([...value].map((v) => unpack(v, signals)));
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, unpack(v, signals)]));
}

// The members by which one class of errors differs from another; each is an option of its constructor.
const EXTRAS = ["kind", "key", "retryable", "ref", "expected", "found", "conflicts", "flags"] as const;

function packError(error: Error): unknown {
  const packed = new Map<string, unknown>([
    ["tag", "error"],
    ["name", error.name],
    ["message", error instanceof backendErrors.BackendError ? error.reason : error.message],
    ["stack", error.stack],
    ["cause", error.cause instanceof Error ? packError(error.cause) : undefined],
  ]);
  if (error instanceof errors.TetherError) {
    const own = error as unknown as Record<string, unknown>;
    const extras = EXTRAS.filter((name) => own[name] !== undefined).map((name) => [name, own[name]]);
    packed.set(
      "options",
      pack({ code: error.code, hints: error.hints, details: error.details, ...Object.fromEntries(extras) }),
    );
  }
  return packed;
}

type ErrorMaker = new (message: string, options: object) => Error;

function unpackError(packed: Map<string, unknown>): Error {
  const name = String(packed.get("name"));
  const message = String(packed.get("message"));
  const below = packed.get("cause");
  const cause = below instanceof Map ? { cause: unpackError(below) } : {};
  if (name === "AbortError" || name === "TimeoutError") return new DOMException(message, name);
  const options = packed.has("options") ? { ...unpack(packed.get("options")) as object, ...cause } : undefined;
  const error = options ? makeOurs(name, message, options) : makeForeign(name, message, cause);
  error.stack = String(packed.get("stack") ?? error.stack);
  return error;
}

const OURS = { ...errors, ...backendErrors } as unknown as Record<string, ErrorMaker | undefined>;

function makeOurs(name: string, message: string, options: object): Error {
  return new (OURS[name] ?? errors.TetherError as ErrorMaker)(message, options);
}

const BUILT_IN = { TypeError, RangeError, SyntaxError, ...Deno.errors } as unknown as Record<string, ErrorMaker>;

function makeForeign(name: string, message: string, options: object): Error {
  const error = new (BUILT_IN[name] ?? Error as ErrorMaker)(message, options);
  error.name = name;
  return error;
}
