import { strict as assert } from "node:assert";
import { type Capability, DEFAULT_SETTINGS, type Locator } from "./backend.ts";
import { BUILTIN_KINDS, knownKinds, openBackend, registerStatics, staticsOf } from "./catalog.ts";
import { DEFAULT_POLICY } from "../engine/model/manifest.ts";
import { ConfigError } from "../engine/model/errors.ts";
import { memoryStatics } from "./memory/statics.ts";

Deno.test("[backends 1.7] every kind is described by its own name, and its backend has what it declares", async () => {
  for (const kind of BUILTIN_KINDS) {
    const statics = await staticsOf(kind);
    assert.equal(statics?.kind, kind);
    assert.equal(await staticsOf(kind), statics, "a description is loaded once");
    await using backend = await openBackend(kind, DEFAULT_SETTINGS);
    assert.equal(backend.statics.kind, kind);
  }
});

const FORKABLE = ["fingerprint", "addressable", "pin", "fork"] as const;

/** Backends §1.7, for an object of each kind and policy. */
const CAPABILITIES: readonly [string, Locator, readonly Capability[]][] = [
  ["file", { uri: "/data/raw" }, ["fingerprint", "cheap_fingerprint", "diff", "create"]],
  ["git", { path: "/srv/code" }, [
    ...FORKABLE,
    "cheap_fingerprint",
    "atomic_ref",
    "conditional_ref",
    "diff",
    "history",
    "promote",
    "merge",
    "create",
  ]],
  ["icechunk", { uri: "/data/a" }, [...FORKABLE, "atomic_ref", "diff", "history", "promote", "create"]],
  ["lance", { uri: "/data/a.lance" }, [...FORKABLE, "atomic_ref", "diff", "history"]],
  ["delta", { uri: "/data/a" }, [
    "fingerprint",
    "addressable",
    "cheap_fingerprint",
    "retention_bound",
    "diff",
    "history",
  ]],
  ["memory", { system: "s" }, [
    ...FORKABLE,
    "cheap_fingerprint",
    "atomic_ref",
    "conditional_ref",
    "diff",
    "history",
    "promote",
    "merge",
    "create",
  ]],
];

Deno.test("[backends 1.7] each kind declares the capabilities of the table", async () => {
  for (const [kind, locator, wanted] of CAPABILITIES) {
    const statics = await staticsOf(kind);
    const found = statics?.effectiveCapabilities?.(locator, DEFAULT_POLICY) ?? statics?.capabilities;
    assert.deepEqual([...found ?? []].sort(), [...wanted].sort(), `${kind} at ${JSON.stringify(locator)}`);
  }
  assert.deepEqual(
    new Set(CAPABILITIES.map(([kind]) => kind)),
    new Set(BUILTIN_KINDS),
    "the table names every kind",
  );
});

Deno.test("[backends 2] a kind can be added and replaced, but not one that comes with tether", async () => {
  registerStatics("mine", () => Promise.resolve({ ...memoryStatics, kind: "mine", maturity: "stable" }));
  assert.ok(knownKinds().includes("mine"));
  assert.equal((await staticsOf("mine"))?.maturity, "stable");
  registerStatics("mine", () => Promise.resolve({ ...memoryStatics, kind: "mine", maturity: "experimental" }));
  assert.equal((await staticsOf("mine"))?.maturity, "experimental");
  for (const kind of BUILTIN_KINDS) assert.throws(() => registerStatics(kind, () => Promise.reject()), ConfigError);
});

Deno.test("[backends 2] a kind that nobody added is refused with what there is, and where added ones are known", async () => {
  await assert.rejects(() => openBackend("nope", DEFAULT_SETTINGS), (error) => {
    assert.ok(error instanceof ConfigError);
    assert.match(error.message, /"nope": this tether does not have it$/);
    assert.match(error.hints.join("\n"), /file, git, icechunk[^]*known to that program only/);
    return true;
  });
});

Deno.test("[L33] a kind that fails to load fails alone, and may load later", async () => {
  let broken = true;
  registerStatics(
    "flaky",
    () =>
      broken ? Promise.reject(new ConfigError("Cannot load")) : Promise.resolve({ ...memoryStatics, kind: "flaky" }),
  );
  await assert.rejects(() => openBackend("flaky", DEFAULT_SETTINGS), /Cannot load/);
  assert.ok(await staticsOf("memory"));
  broken = false;
  assert.equal((await staticsOf("flaky"))?.kind, "flaky");
});

Deno.test("[backends 2] a backend whose members do not match its capabilities is refused", async () => {
  const { open } = memoryStatics;
  registerStatics("liar", () =>
    Promise.resolve({
      ...memoryStatics,
      kind: "liar",
      open: async (settings) => {
        const backend = await open(settings);
        const statics = { ...memoryStatics, kind: "liar", capabilities: new Set(["fingerprint" as const]) };
        return new Proxy(backend, { get: (t, name) => name === "statics" ? statics : Reflect.get(t, name, t) });
      },
    }));
  await assert.rejects(() => openBackend("liar", DEFAULT_SETTINGS), /without declaring "pin"/);
});
