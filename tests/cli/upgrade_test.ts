import assert from "node:assert/strict";
import { lab } from "./_tether.ts";

Deno.test("[commands 5.25] an older dataset is refused by every command but upgrade, which plans first", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "code", "../code", "--kind", "git"]);
  await l.ok(["commit", "-m", "first"]);
  assert.match(await l.ok(["upgrade"]), /^the dataset is at version 5 already\n$/);
  const toml = `${l.repo.path}/tether.toml`;
  await Deno.writeTextFile(toml, (await Deno.readTextFile(toml)).replace("version = 5", "version = 4"));
  await l.repo.commit("as version 4 left it");
  const refused = await l.tether(["status"]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /format is version 4[^]*hint: tether upgrade\n/);
  const file = l.beside("u.json");
  assert.match(await l.ok(["upgrade", "--plan", file]), /^plan: upgrade \(1 write\(s\)\)\n/);
  assert.match(await l.ok(["plan", "check", file]), /the plan for upgrade holds/);
  const report = await l.json(["upgrade", "--from-plan", file]) as Record<string, unknown>;
  assert.deepEqual([report["from_version"], report["to_version"], report["failed"]], [4, 5, {}]);
  assert.equal(report["vcs_commit"], await l.repo.git(["rev-parse", "HEAD"]));
  assert.equal((await l.tether(["plan", "check", file])).code, 1);
  await l.ok(["status"]);
});
