import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { testContext } from "./_test_world.ts";
import { COMMANDS } from "./commands.ts";
import { candidates } from "./complete.ts";

async function words(...typed: string[]): Promise<string[]> {
  return (await candidates(typed, testContext())).map((c) => c.word);
}

/** A folder with a dataset whose manifests have these names. */
async function withKeys(keys: readonly string[], body: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "tether-complete-" });
  try {
    await Deno.writeTextFile(join(root, "tether.toml"), "");
    for (const key of keys) {
      const path = join(root, ".tether/objects", `${key}.toml`);
      await Deno.mkdir(join(path, ".."), { recursive: true });
      await Deno.writeTextFile(path, "");
    }
    await body(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("[commands 1.1] completion offers commands, options and fixed words", async () => {
  const visible = COMMANDS.filter((c) => c.group !== undefined).map((c) => c.name);
  assert.deepEqual(await words(""), visible);
  assert.deepEqual(await words(), visible);
  assert.deepEqual(await words("co"), ["commit", "completions"]);
  assert.deepEqual(await words("--color", "never", "sn"), ["snapshot"]);
  assert.deepEqual(await words("commit", "--no"), ["--no-vcs", "--no-snapshot"]);
  assert.deepEqual(await words("commit", "-m", "--no"), []);
  assert.deepEqual(await words("set", "--file", ""), ["immutable", "versioned"]);
  assert.deepEqual(await words("set", "--file", "v"), ["versioned"]);
  assert.deepEqual(await words("set", "--pin=r"), ["--pin=record"]);
  assert.deepEqual(await words("completions", ""), ["bash", "zsh", "fish"]);
  assert.deepEqual(await words("completions", "bash", ""), []);
  assert.deepEqual(await words("--co"), ["--color"]);
});

Deno.test("completion understands how bash splits words at =", async () => {
  assert.deepEqual(await words("set", "--pin", "=", "r"), ["record"]);
  assert.deepEqual(await words("set", "--pin", "="), ["native", "record"]);
});

Deno.test("[commands 1.1] completion offers keys by the names of their manifests, which need not parse", async () => {
  await withKeys(["code", "zarr/imaging", "zarr/masks", "with space"], async (root) => {
    assert.deepEqual(await words("-C", root, "status", ""), ["code", "with space", "zarr/imaging", "zarr/masks"]);
    assert.deepEqual(await words("open", "-C", root, "zarr/"), ["zarr/imaging", "zarr/masks"]);
    assert.deepEqual(await words("-C", root, "status", "code", "co"), []);
    assert.deepEqual(await words("-C", root, "diff", "--key", "w"), ["with space"]);
    assert.deepEqual(await words("-C", root, "open", "--", "c"), ["code"]);
    assert.deepEqual(await words("-C", root, "open", "code", ""), []);
    assert.deepEqual(await words("-C", root, "log", "c"), ["code"]);
    assert.deepEqual(await words("-C", root, "log", "--kind", "git", "c"), []);
    assert.deepEqual(await words("-C", root, "add", "c"), []);
    const below = join(root, ".tether");
    assert.deepEqual(await words("-C", root, "-C", below, "remove", "co"), ["code"]);
  });
});

Deno.test("[style 6] completion never hands shell syntax or control characters to a shell", async () => {
  const hostile = [
    "$(reboot)",
    "`id`",
    "a;b",
    "a|b",
    "a&b",
    "a>b",
    "a'b",
    'a"b',
    "a\\b",
    "a*b",
    "[ab]",
    "{a,b}",
    "~x",
    "#x",
  ];
  await withKeys(["fine", ...hostile, "esc\x1b[31m", "line\nbreak"], async (root) => {
    assert.deepEqual(await words("-C", root, "open", ""), ["fine"]);
  });
});

Deno.test("completion answers anything without failing", async () => {
  const word = fc.oneof(
    fc.constantFrom("", "-", "--", "=", "commit", "open", "-C", "/nowhere", "--kind", "--kind=", "-m", "diff", "-h"),
    fc.string({ maxLength: 6 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (typed) => {
      const context = testContext();
      const { define } = await import("./complete.ts");
      const { Command } = await import("@commander-js/extra-typings");
      const command = new Command("__complete");
      define(command, context);
      await command.parseAsync(["--", ...typed], { from: "user" });
      assert.equal(context.exitCode, 0);
    }),
    { numRuns: 200 },
  );
});
