import { strict as assert } from "node:assert";
import {
  BackendError,
  PermissionDeniedError,
  SandboxError,
  StoreNotFoundError,
  UnavailableError,
} from "../../engine/model/backend_errors.ts";
import { fsError } from "./fs_error.ts";

Deno.test("[backends 1.9] each failure of the file system is the error that callers act on", () => {
  const withCode = (code: string): Error => Object.assign(new Error(code), { code });
  const table = [
    [new Deno.errors.NotFound("x"), StoreNotFoundError],
    [new Deno.errors.NotADirectory("x"), StoreNotFoundError],
    [withCode("ENOENT"), StoreNotFoundError],
    [new Deno.errors.PermissionDenied("x"), PermissionDeniedError],
    [withCode("EACCES"), PermissionDeniedError],
    [withCode("EROFS"), PermissionDeniedError],
    [new Deno.errors.NotCapable("x"), SandboxError],
    [withCode("ESTALE"), UnavailableError],
    [new Deno.errors.TimedOut("x"), UnavailableError],
    [new Deno.errors.InvalidData("x"), BackendError],
  ] as const;
  for (const [thrown, expected] of table) {
    const error = fsError(thrown, { kind: "file", action: "read", path: "/data/x" });
    assert.equal(error.constructor, expected, thrown.name);
    assert.equal(error.cause, thrown);
    assert.ok(error.message.startsWith('[file] Cannot read "/data/x": '), error.message);
  }
});

Deno.test("[backends 1.9] what is an error of tether or an abort already stays itself", () => {
  const known = new UnavailableError("busy", { kind: "file" });
  const abort = new DOMException("stop", "AbortError");
  for (const error of [known, abort]) {
    assert.equal(fsError(error, { kind: "file", action: "read", path: "/x" }), error);
  }
});

Deno.test("[L38] a missing permission names the flag that grants it", () => {
  const attempt = { kind: "file", action: "create", path: "/data/x", access: "write" } as const;
  const error = fsError(new Deno.errors.NotCapable("x"), attempt);
  assert.ok(error instanceof SandboxError);
  assert.deepEqual(error.flags, ["--allow-write=/data/x"]);
});
