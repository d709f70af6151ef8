import { strict as assert } from "node:assert";
import { fileURLToPath } from "node:url";

Deno.test("[lessons] a compilation that fails says so in one plain line, with the way out", async () => {
  const script = fileURLToPath(new URL("compile.ts", import.meta.url));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--quiet", script],
    env: { DENORT_BIN: "/no/denort" },
  }).output();
  assert.equal(code, 1);
  assert.equal(new TextDecoder().decode(stdout), "");
  const [error = "", hint = "", ...rest] = new TextDecoder().decode(stderr).trimEnd().split("\n");
  assert.match(error, /^error: Cannot make ".*dist\/tether": .*\/no\/denort/);
  assert.match(hint, /^hint: .*DENORT_BIN=/);
  assert.deepEqual([rest, (error + hint).includes("\x1b")], [[], false]);
});
