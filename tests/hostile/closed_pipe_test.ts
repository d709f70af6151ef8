import assert from "node:assert/strict";
import { lab, spawnTether } from "../cli/_tether.ts";
import { inProcess } from "./_cli.ts";

/** Commands that may print a lot, in both forms. */
const LISTING: readonly (readonly string[])[] = [
  ["status"],
  ["verify"],
  ["diff", "main", "--content"],
  ["log", "code"],
  ["log", "code", "--json"],
  ["ops"],
  ["ops", "--json"],
  ["permissions"],
  ["backends"],
  ["gc"],
  ["drop", "y"],
  ["commit", "-m", "x", "--dry-run"],
  ["completions", "bash"],
  ["--help"],
];

Deno.test("[L36] a listing whose reader went away after a line ends silently, with the code it would have had", async () => {
  await using l = await lab({ init: true });
  for (let i = 0; i < 40; i++) await l.advance(`commit ${i}`);
  const setUp = [
    ["add", "../code", "--kind", "git"],
    ["add", "plate", "../plate", "--kind", "file"],
    ["commit", "-m", "Baseline"],
    ["new", "-b", "y"],
  ];
  for (const args of setUp) assert.equal((await inProcess(l.repo.path, args)).code, 0);
  for (const args of LISTING) {
    const whole = await inProcess(l.repo.path, args);
    // Gone before the first line, and gone after it: the second needs more than one write to be met at all.
    for (const lines of [0, 1]) {
      const child = spawnTether(args, { cwd: l.repo.path });
      const stderr = new Response(child.stderr).text();
      const reader = child.stdout.getReader();
      if (lines > 0) await reader.read();
      await reader.cancel();
      const { code, signal } = await child.status;
      assert.deepEqual([code, signal, await stderr], [whole.code, null, whole.stderr], `${args.join(" ")}, ${lines}`);
    }
  }
});
