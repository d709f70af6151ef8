import assert from "node:assert/strict";
import { join } from "node:path";
import { lab } from "./_lab.ts";
import { DIRECTIONS, OPTIONS } from "./_peer.ts";

/** How a plan is made, and how it is applied. The peer's restore wants the keys for both. */
const COMMANDS: readonly (readonly [plan: readonly string[], apply: readonly string[]])[] = [
  [["commit", "-m", "planned"], ["commit"]],
  [["new", "-b", "planned", "--eager"], ["new"]],
  [["restore", "code", "--from", "HEAD", "--discard"], ["restore", "code"]],
  [["gc"], ["gc"]],
];

for (const [maker, other] of DIRECTIONS) {
  Deno.test(`[formats 20] [formats 13] ${other.name} refuses plans of ${maker.name} as stale`, OPTIONS, async () => {
    await using l = await lab(maker);
    await maker.ok(["new", "-b", "exp", "--eager"], l.root);
    await l.stores.append(l.stores.all, 4, { code: `tether.ws.${l.id}.exp` });
    const [store] = l.stores.all;
    assert.ok(store);
    const standing = async () => [
      await l.repo.git(["for-each-ref"]),
      await l.repo.git(["for-each-ref"], { cwd: store.uri }),
      (await l.journal.read()).length,
    ];
    const before = await standing();
    for (const [make, apply] of COMMANDS) {
      const plan = join(l.repo.outer, `${make[0]}.json`);
      await maker.ok([...make, "--plan", plan], l.root);
      const { code, stdout, stderr } = await other.run([...apply, "--from-plan", plan], l.root);
      assert.deepEqual([code, stdout], [1, ""], `${make[0]}: ${stderr}`);
      for (const version of [/0\.1\.0b7/, /deno-/]) assert.match(stderr, version);
    }
    assert.deepEqual(await standing(), before);
    await maker.ok(["commit", "--from-plan", join(l.repo.outer, "commit.json")], l.root);
  });
}
