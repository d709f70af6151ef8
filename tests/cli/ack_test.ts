import assert from "node:assert/strict";
import { inProcess } from "../hostile/_cli.ts";
import { lab } from "./_tether.ts";

Deno.test("[commands 5.6, 5.15] status warns of an amended commit until the command it names acknowledges it", async () => {
  await using l = await lab({ init: true });
  const run = (...args: string[]) => inProcess(l.repo.path, args);
  await run("add", "../code", "--kind", "git");
  await run("commit", "-m", "Baseline");
  await l.repo.git(["commit", "--quiet", "--amend", "-m", "Reworded"]);

  const { stderr } = await run("status");
  const [, command = "", op = ""] = /; "tether (ops --ack ([0-9a-f]{12}))" if that was meant\n/.exec(stderr) ?? [];
  assert.match(stderr, /^warning: history no longer has commit /m);
  const acknowledged = await run(...command.split(" "));
  assert.equal(acknowledged.code, 0);
  assert.match(acknowledged.stdout, new RegExp(`^${op} .* {2}\\(vcs commit gone, acknowledged\\)$`, "m"));
  const silent = await run("status");
  assert.deepEqual([silent.code, silent.stderr.includes("warning")], [0, false]);

  const before = await Deno.readTextFile(`${l.repo.path}/.tether/ops.jsonl`);
  const refused = await run("ops", "--ack", "nosuch");
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /^error: Cannot acknowledge "nosuch": there is no such operation\nhint: tether ops\n$/);
  assert.equal(await Deno.readTextFile(`${l.repo.path}/.tether/ops.jsonl`), before);
});
