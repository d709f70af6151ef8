import { strict as assert } from "node:assert";
import fc from "fast-check";
import { ABSENT } from "../../backends/backend.ts";
import * as backendErrors from "../model/backend_errors.ts";
import * as errors from "../model/errors.ts";
import { Float, integer, type Json, jsonEqual } from "../model/json.ts";
import { pack, unpack } from "./_wire.ts";

function across<T>(value: T): T {
  return unpack(structuredClone(pack(value))) as T;
}

const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.string({ unit: "binary" }),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(integer),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => new Float(n)),
    fc.array(tie("json")),
    fc.dictionary(fc.string(), tie("json")),
  ),
}));

Deno.test("[L35] a JSON value crosses into a worker and back unchanged", () => {
  fc.assert(fc.property(json, (value) => jsonEqual(across(value), value)));
});

Deno.test("[backends 2] what is not JSON crosses too: absence, sets, dates", () => {
  const value = { expected: ABSENT, pins: new Set(["a", "b"]), until: new Date(5), none: undefined, big: 2n ** 64n };
  assert.deepEqual(across(value), value);
});

Deno.test("[backends 1.9] an error crosses with its class, label, hints, details and cause", () => {
  const options = {
    kind: "memory",
    key: "zarr/imaging",
    hints: ["tether status"],
    details: { n: 2n ** 60n, f: new Float(2) },
    cause: new TypeError("below"),
    ref: "tether.x",
    expected: { id: 2n ** 60n },
    found: null,
    conflicts: ["a"],
    flags: ["--allow-net=h:443"],
  };
  const made: errors.TetherError[] = [
    new errors.ConfigError("Cannot", options),
    new backendErrors.BackendError("Cannot", { ...options, code: "quota", retryable: true }),
    new backendErrors.CapabilityError("Cannot", options),
    new backendErrors.RefMovedError("Cannot", options),
    new backendErrors.MergeConflict("Cannot", options),
    new backendErrors.StoreNotFoundError("Cannot", options),
    new backendErrors.StateGoneError("Cannot", options),
    new backendErrors.RefConflictError("Cannot", options),
    new backendErrors.CredentialsError("Cannot", options),
    new backendErrors.PermissionDeniedError("Cannot", options),
    new backendErrors.SandboxError("Cannot", options),
    new backendErrors.UnavailableError("Cannot", options),
    new backendErrors.CommitStateUnknownError("Cannot", options),
    new backendErrors.ConcurrentChangeError("Cannot", options),
    new backendErrors.InvalidLocatorError("Cannot", options),
  ];
  for (const error of made) {
    const back = across(error);
    assert.equal(back.constructor, error.constructor);
    assert.equal(back.message, error.message);
    assert.deepEqual(back.toJSON(), error.toJSON());
    assert.deepEqual({ ...back }, { ...error });
    assert.ok(back.cause instanceof TypeError && back.cause.message === "below");
  }
});

Deno.test("[backends 1.9] a foreign exception stays one, an abort stays an abort", () => {
  const abort = across(AbortSignal.abort().reason as Error);
  assert.ok(abort instanceof DOMException && abort.name === "AbortError");
  assert.ok(across(new Deno.errors.NotCapable("no")) instanceof Deno.errors.NotCapable);
  assert.ok(across(new RangeError("far")) instanceof RangeError);
  const other = across(Object.assign(new Error("odd"), { name: "LibraryError" }));
  assert.deepEqual([other.name, other.message, other instanceof errors.TetherError], ["LibraryError", "odd", false]);
});

Deno.test("[backends 2] a function is refused, not dropped", () => {
  assert.throws(() => pack({ now: () => 1 }), TypeError);
});
