import assert from "node:assert/strict";
import { lab } from "../cli/_tether.ts";
import { READING, WRITING } from "./_cli.ts";

Deno.test("[L38, commands 5.29] every command works with what permissions prints, and says what is missing without a part of it", async (t) => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["add", "plate", "../plate", "--kind", "file"]);
  await l.ok(["commit", "-m", "Baseline"]);
  await l.ok(["new", "-b", "y"]);
  const flags = (await l.ok(["permissions", "--access", "lifecycle"])).trim().split(" ");
  const runs = async (args: readonly string[]): Promise<void> => {
    const { code, stderr } = await l.tether(args, { flags });
    assert.doesNotMatch(stderr, /granted|--allow-|NotCapable/, args.join(" "));
    assert.match(String(code), /^[013]$/, stderr);
  };
  for (const args of READING) await t.step(args.join(" "), () => runs(args));
  for (const missing of flags) {
    await t.step(`without ${missing.split("=")[0]}`, async () => {
      const less = flags.filter((flag) => flag !== missing);
      const { code, stdout, stderr } = await l.tether(["new", "-b", "w"], { flags: less });
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, new RegExp(`^error: .*(\\n.*)*${missing.split("=")[0]}`));
    });
  }
  for (const args of WRITING) await t.step(args.join(" "), () => runs(args));
});
