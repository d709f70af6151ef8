import assert from "node:assert/strict";
import { type Lab, lab } from "./_tether.ts";

/** A lab whose bookmark `feat` has a commit in `code` of its own, recorded by a dataset commit. */
async function onFeature(l: Lab): Promise<string> {
  await l.ok(["add", "code", l.beside("code"), "--kind", "git", "--branch", "main"]);
  await l.ok(["commit", "-m", "first"]);
  await l.ok(["new", "-b", "feat"]);
  const { ref } = await l.json(["open", "code"]) as { ref: string };
  const git = (...args: string[]): Promise<string> => l.repo.git(args, { cwd: l.beside("code") });
  await git("switch", "-q", ref);
  const sha = await l.advance("on feat");
  await git("switch", "-q", "main");
  await l.ok(["commit", "-m", "second"]);
  return sha;
}

Deno.test("[commands 8.3] promote shows, lands, and moves the trunk", async () => {
  await using l = await lab({ init: true });
  const sha = await onFeature(l);
  assert.match(await l.ok(["promote", "--dry-run"]), /plan: promote \(1 write/);
  const out = await l.ok(["promote"]);
  assert.match(out, /fast-forwarded code .*\nmain -> [0-9a-f]{12}\n/);
  assert.equal(await l.repo.git(["rev-parse", "main"], { cwd: l.beside("code") }), sha);
  assert.equal(await l.repo.git(["rev-parse", "main"]), await l.repo.git(["rev-parse", "feat"]));
});

Deno.test("[commands 8.4, 5.22, 5.23] drop and gc are dry runs until told otherwise", async () => {
  await using l = await lab({ init: true });
  await onFeature(l);
  const shown = await l.ok(["drop", "feat"]);
  assert.match(shown, /delete-bookmark/);
  assert.match(shown, /\(not applied: --no-dry-run does it\)\n$/);
  assert.equal(await l.repo.git(["branch", "--show-current"]), "feat");
  const plan = await l.json(["drop", "feat"]) as { command: string };
  assert.equal(plan.command, "drop");
  assert.match(await l.ok(["drop", "feat", "--no-dry-run"]), /dropped feat\nunpinned: 1\n/);
  assert.equal(await l.repo.git(["branch", "--show-current"]), "main");
  assert.match(await l.ok(["gc"]), /gc: nothing to do/);
  const applied = await l.json(["gc", "--no-dry-run"]) as { dry_run: boolean };
  assert.equal(applied.dry_run, false);
});

Deno.test("[commands 5.21] abandon shows what it freed, and releases it with --gc", async () => {
  await using l = await lab({ init: true });
  await onFeature(l);
  await l.repo.git(["switch", "-q", "tether.ws.0a1b2c3d.feat"], { cwd: l.beside("code") });
  await l.advance("more");
  await l.repo.git(["switch", "-q", "main"], { cwd: l.beside("code") });
  await l.ok(["commit", "-m", "third"]);
  const out = await l.ok(["abandon", "HEAD~1"]);
  assert.match(out, /^abandoned [0-9a-f]{12}\n {2}feat -> [0-9a-f]{12}\nplan: gc \(1 write/);
  assert.match(out, /unpin {2}code .*\n[^]*\(not applied: tether gc --no-dry-run/);
  const json = await l.json(["abandon", "HEAD", "--gc"]) as { gc_applied: boolean; gc_plan: { command: string } };
  assert.deepEqual([json.gc_applied, json.gc_plan.command], [true, "gc"]);
  assert.match(await l.ok(["gc"]), /gc: nothing to do/);
});

Deno.test("[commands 5.8, 5.16, 5.17, 5.19] pull, restore, undo and repair", async () => {
  await using l = await lab({ init: true });
  await onFeature(l);
  assert.match(
    await l.ok(["restore", "code", "--from", "main"]),
    /restored code -> tether\.ws\.0a1b2c3d\.feat {2}from main/,
  );
  assert.match(await l.ok(["status", "--snapshot"]), /modified {2}code/);
  await l.ok(["new", "main"]);
  await l.advance("upstream");
  assert.match(await l.ok(["pull"]), /pulled code .*\ncommitted [0-9a-f]{12} on main/);
  assert.match(await l.ok(["undo"]), /^undid [0-9a-f]{12} \(pull/);
  await l.ok(["commit", "-m", "again"]);
  const [pin = ""] = (await l.repo.git(["tag", "--points-at", "main"], { cwd: l.beside("code") })).split("\n");
  await l.repo.git(["tag", "-d", pin], { cwd: l.beside("code") });
  assert.equal((await l.tether(["verify"])).code, 1);
  assert.match(await l.ok(["repair"]), new RegExp(`repinned code -> ${pin}`));
  await l.ok(["verify"]);
});

Deno.test("[commands 1.3] exit codes: what is refused ends with 1 and prints no result, what is no command line with 2", async (t) => {
  await using l = await lab({ init: true });
  await onFeature(l);
  const cases: readonly (readonly [string[], number, RegExp])[] = [
    [["drop", "main"], 1, /it is the trunk/],
    [["drop"], 2, /Missing required argument "bookmark"/],
    [["gc", "--from-plan", "plan.json", "--dry-run"], 1, /--dry-run together with --from-plan/],
    [["drop", "--from-plan", "plan.json", "--dry-run"], 1, /--dry-run together with --from-plan/],
    [["gc", "--force-prune"], 1, /--prune-bookmarks/],
    [["restore", "code"], 1, /--from or --at/],
    [["restore", "code", "--from", "main", "--at", "main"], 1, /conflict|cannot be used/i],
    [["undo", "zzz"], 1, /no such operation/],
    [["promote", "--strategy", "sideways"], 1, /--strategy/],
    [["pull", "elsewhere"], 1, /on bookmark "feat"/],
  ];
  for (const [args, code, text] of cases) {
    await t.step(args.join(" "), async () => {
      const ran = await l.tether(args);
      assert.equal(ran.code, code, ran.stderr);
      assert.match(ran.stderr, text);
      assert.equal(ran.stdout, "");
    });
  }
});
