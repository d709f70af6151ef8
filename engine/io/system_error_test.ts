import assert from "node:assert/strict";
import { systemReason } from "./system_error.ts";

Deno.test("[style 5] what the system says of a failure is told without the runtime's words", async (test) => {
  const dir = await Deno.makeTempDir();
  const calls: Readonly<Record<string, readonly [() => Promise<unknown>, string]>> = {
    "read a missing file": [() => Deno.readTextFile(`${dir}/o'clock (os error 5)`), "no such file or directory"],
    "read a folder": [() => Deno.readTextFile(dir), "is a directory"],
    "write into a missing folder": [() => Deno.writeTextFile(`${dir}/a/b`, ""), "no such file or directory"],
    "open a missing file": [() => Deno.open(`${dir}/a`), "no such file or directory"],
    "rename a missing file": [() => Deno.rename(`${dir}/a`, `${dir}/b`), "no such file or directory"],
    "something else": [() => Promise.reject(new Error("Out of luck")), "out of luck"],
  };
  for (const [name, [call, reason]] of Object.entries(calls)) {
    await test.step(name, () => assert.rejects(call, (error) => (assert.equal(systemReason(error), reason), true)));
  }
});
