import assert from "node:assert/strict";
import { lab } from "./_tether.ts";

Deno.test("[commands 5.18, 8.13, formats 14.3] recover prints what stores hold and the commands that take it back", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "code", l.beside("code"), "--kind", "git"]);
  await l.ok(["commit", "-m", "first"]);
  assert.match(await l.ok(["recover"]), /code {2}\[git\]\n {4}0a1b2c3d \(this one\): 1 pin\nnothing is lost\n$/);
  await l.ok(["new", "-b", "feat", "--eager"]);
  await Deno.remove(l.repo.path, { recursive: true });
  await l.repo.git(["init", "-q", "--initial-branch=main", l.repo.path], { cwd: l.repo.outer });
  await l.ok(["init"]);
  await l.ok(["add", "code", l.beside("code"), "--kind", "git"]);
  const found = await l.json(["recover"]) as Record<string, unknown>;
  assert.deepEqual([found["suggested_dataset_id"], found["pinned"], found["scoped"]], ["0a1b2c3d", false, false]);
  const toml = `${l.repo.path}/tether.toml`;
  await Deno.writeTextFile(toml, (await Deno.readTextFile(toml)).replace(/^id = .*$/m, 'id = "0a1b2c3d"'));
  const out = await l.ok(["recover"]);
  const commands = [...out.matchAll(/^ {2}\d\. (tether .*)$/gm)].map(([, line = ""]) => line);
  assert.equal(commands.length, 2, out);
  // What is printed can be pasted.
  for (const line of commands.flatMap((c) => c.split(" && "))) {
    const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
    await l.ok(words.slice(1));
  }
  assert.match(await l.ok(["recover"]), /nothing is lost/);
  assert.equal(await l.repo.git(["branch", "--show-current"]), "feat");
});

Deno.test("[commands 5.18] without an object nothing was looked at, and recover says so", async () => {
  await using l = await lab({ init: true });
  const out = await l.ok(["recover"]);
  assert.match(out, /no object is registered/);
  assert.doesNotMatch(out, /nothing is lost/);
});

Deno.test("[commands 5.18] a store that cannot be listed ends it with 1 and no advice", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "code", l.beside("code"), "--kind", "git"]);
  await Deno.remove(l.beside("code"), { recursive: true });
  const ran = await l.tether(["recover"]);
  assert.equal(ran.code, 1);
  assert.match(ran.stderr, /FAILED code: /);
  assert.doesNotMatch(ran.stdout, /next steps|nothing is lost/);
});
