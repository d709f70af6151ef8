import { strict as assert } from "node:assert";
import fc from "fast-check";
import { NO_NEEDS, type PermissionNeeds } from "../backends/backend.ts";
import { SandboxError } from "./model/backend_errors.ts";
import { denoFlags, missingPermissions, PERMISSION_CLASSES, requirePermissions, unionNeeds } from "./permissions.ts";

const NEEDS: PermissionNeeds = {
  net: ["bucket.s3.eu-west-1.amazonaws.com:443"],
  read: ["/data/a"],
  write: ["/data/a"],
  env: ["AWS_REGION"],
  run: ["git"],
  ffi: ["/lib/lance.node"],
  sys: ["osRelease"],
  ambient: true,
};

Deno.test("[backends 4] the union of needs has each value once, sorted, and is ambient when one is", () => {
  const needs = fc.record({
    ...Object.fromEntries(
      PERMISSION_CLASSES.map((name) => [name, fc.array(fc.constantFrom("a", "b", "\uffee", "😀"))]),
    ),
    ambient: fc.boolean(),
  }) as fc.Arbitrary<PermissionNeeds>;
  fc.assert(fc.property(fc.array(needs), (all) => {
    const union = unionNeeds(all);
    assert.equal(union.ambient, all.some((n) => n.ambient));
    for (const name of PERMISSION_CLASSES) {
      const wanted = ["a", "b", "\uffee", "😀"].filter((v) => all.some((n) => n[name].includes(v)));
      assert.deepEqual(union[name], wanted);
    }
    assert.deepEqual(unionNeeds([union, ...all]), union);
  }));
});

Deno.test("[backends 4] flags name every class once; a path with a comma is granted by the folder above", () => {
  assert.deepEqual(denoFlags(NO_NEEDS), []);
  assert.deepEqual(denoFlags(NEEDS), [
    "--allow-read=/data/a",
    "--allow-write=/data/a",
    "--allow-net=bucket.s3.eu-west-1.amazonaws.com:443",
    "--allow-env=AWS_REGION",
    "--allow-run=git",
    "--allow-ffi=/lib/lance.node",
    "--allow-sys=osRelease",
  ]);
  assert.deepEqual(denoFlags({ ...NO_NEEDS, read: ["/data/x", "/data/a,b/c", "/data/d,e"] }), [
    "--allow-read=/data/x,/data",
  ]);
});

Deno.test({
  name: "[L38] what would have to be asked for is missing",
  permissions: "none",
  fn() {
    assert.equal(missingPermissions(NEEDS).length, 7);
    assert.equal(missingPermissions({ ...NO_NEEDS, net: ["*.neon.tech:443"] }).length, 1);
    requirePermissions([{ kind: "memory", needs: NO_NEEDS }]);
  },
});

Deno.test({
  name: "[backends 4] a grant counts for what it covers, and a host only with its port",
  permissions: { net: ["h:443", "*.neon.tech:5432"], read: ["/data"], env: ["AWS_*"], run: false },
  fn() {
    const granted = {
      ...NO_NEEDS,
      net: ["h:443", "*.neon.tech:5432"],
      read: ["/data/a"],
      env: ["AWS_REGION", "AWS_*"],
    };
    assert.deepEqual(missingPermissions(granted), []);
    const refused = { ...NO_NEEDS, net: ["h:80", "h", "*.neon.tech:443"], read: ["/dat"], env: ["HOME"] };
    assert.deepEqual(missingPermissions(refused).map((m) => m.value), ["/dat", "h:80", "h", "*.neon.tech:443", "HOME"]);
  },
});

Deno.test({
  name: "[L38] the refusal names every object, what it lacks, and the flags for all of it",
  permissions: { read: ["/data/a"] },
  fn() {
    const objects = [
      { kind: "icechunk", key: "zarr/imaging", needs: { ...NO_NEEDS, read: ["/data/a"], net: ["h:443"] } },
      { kind: "file", key: "raw/plate", needs: { ...NO_NEEDS, read: ["/data/b"] } },
      { kind: "file", key: "raw/granted", needs: { ...NO_NEEDS, read: ["/data/a"] } },
    ];
    assert.throws(() => requirePermissions(objects), (error) => {
      assert.ok(error instanceof SandboxError);
      assert.equal(
        error.reason,
        'Cannot open 2 stores: zarr/imaging lacks net access to "h:443"; raw/plate lacks read access to "/data/b"',
      );
      assert.deepEqual(error.flags, ["--allow-read=/data/b", "--allow-net=h:443"]);
      assert.deepEqual(error.hints, ["Run it with --allow-read=/data/b --allow-net=h:443"]);
      return true;
    });
    assert.throws(
      () => requirePermissions(objects.slice(0, 1)),
      /^SandboxError: \[zarr\/imaging\] Cannot open the store: net access to "h:443" not granted$/,
    );
  },
});
