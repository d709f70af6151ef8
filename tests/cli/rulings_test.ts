import assert from "node:assert/strict";
import { inProcess } from "../hostile/_cli.ts";
import { type Lab, lab } from "./_tether.ts";

/** A dataset whose bookmark `feat` has a commit of its own with a write to `code`; the checkout is on it. */
async function onFeature(): Promise<{ l: Lab; ref: string; pin: string }> {
  const l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["commit", "-m", "first"]);
  await l.ok(["new", "-b", "feat", "--eager"]);
  const ref = "tether.ws.0a1b2c3d.feat";
  await l.repo.git(["switch", "-q", ref], { cwd: l.beside("code") });
  await l.advance("on feat");
  await l.repo.git(["switch", "-q", "main"], { cwd: l.beside("code") });
  const pin = /pinned code -> (\S+)/.exec(await l.ok(["commit", "-m", "second"]))?.[1] ?? "";
  return { l, ref, pin };
}

async function gitOf(l: Lab, ...args: string[]): Promise<string> {
  return await l.repo.git(args, { cwd: l.beside("code") });
}

Deno.test("[Δ28, Δ11, L43] drop tells all it did and did not do, and ends with 3 when only a part could be done", async () => {
  const { l, ref, pin } = await onFeature();
  await using _ = l;
  // A lock file that a killed git left keeps this one branch from being deleted.
  const lock = `${l.beside("code")}/.git/refs/heads/${ref}.lock`;
  await Deno.writeTextFile(lock, "");
  const partial = await l.tether(["drop", "feat", "--no-dry-run", "--json"]);
  assert.equal(partial.code, 3, partial.stderr);
  const report = JSON.parse(partial.stdout);
  assert.deepEqual(Object.keys(report.gc.failed), [`delete-branch ${ref} (code)`]);
  assert.deepEqual(report.gc.kept_pins, {});
  assert.match(partial.stderr, /hint: tether gc --prune-bookmarks --force-prune shows/);
  assert.ok(!(await gitOf(l, "tag")).includes(pin));
  assert.equal(await l.repo.git(["branch", "--list", "feat"]), "");
  await Deno.remove(lock);
  // What was left is a branch of a bookmark that is gone, which gc takes.
  const rest = await l.json(["gc", "--prune-bookmarks", "--force-prune", "--no-dry-run"]) as { failed: object };
  assert.deepEqual(rest.failed, {});
  assert.equal(await gitOf(l, "branch", "--list", ref), "");
});

Deno.test("[commands 9, Δ32] states are printed as name=value, in JSON's words", async () => {
  const { l } = await onFeature();
  await using _ = l;
  const out = await l.ok(["promote"]);
  assert.match(out, /fast-forwarded code {2}sha=[0-9a-f]{16}… dirty=false\n/);
});

Deno.test("[Δ39] the head of a plan counts the actions that write", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["add", "raw", "../plate", "--kind", "file"]);
  const plan = await l.json(["commit", "-m", "x", "--dry-run"]) as { actions: { op: string }[] };
  const ops = plan.actions.map((a) => a.op);
  const writing = ops.filter((op) => !["observe", "skip", "keep", "unchanged"].includes(op)).length;
  assert.match(
    await l.ok(["commit", "-m", "x", "--dry-run"]),
    new RegExp(`^plan: commit \\(${writing} write`),
    ops.join(),
  );
});

Deno.test("[Δ24, Δ40] there is no find, and no dry run of what has none", async (t) => {
  await using l = await lab({ init: true });
  const lines = [["find"], ["pull", "--dry-run"], ["undo", "--dry-run"], ["open", "code", "--dry-run"]];
  for (const line of [...lines, ["add", "../code", "--kind", "git", "--dry-run"]]) {
    await t.step(line.join(" "), async () => {
      assert.equal((await inProcess(l.repo.path, line)).code, 2);
    });
  }
});

Deno.test("[Δ23, Δ37] new --adopt, new --defer-record, restore --at, repair KEY, snapshot KEY and set are there", async (t) => {
  const { l, ref } = await onFeature();
  await using _ = l;
  const lines: readonly (readonly string[])[] = [
    ["snapshot", "code"],
    ["repair", "code"],
    ["restore", "code", "--at", await gitOf(l, "rev-parse", ref)],
    ["new", "-b", "later", "--defer-record"],
    ["new", "feat", "--adopt"],
    ["set", "code", "--pin", "record"],
  ];
  for (const line of lines) await t.step(line.join(" "), async () => void await l.ok(line));
});
