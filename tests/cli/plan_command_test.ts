import assert from "node:assert/strict";
import { type Lab, lab } from "./_tether.ts";

/** A dataset with something to commit, and the plan for that in `p.json`. */
async function planned(): Promise<{ l: Lab; file: string }> {
  const l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["commit", "-m", "Baseline"]);
  await l.advance("second");
  const file = l.beside("p.json");
  await l.ok(["commit", "-m", "Load", "--plan", file]);
  return { l, file };
}

async function edit(file: string, change: (plan: Record<string, unknown>) => void): Promise<void> {
  const plan = JSON.parse(await Deno.readTextFile(file));
  change(plan);
  await Deno.writeTextFile(file, JSON.stringify(plan));
}

Deno.test("[commands 5.29] plan show prints a saved plan as it was printed then; check says it holds", async () => {
  const { l, file } = await planned();
  await using _ = l;
  const dry = await l.ok(["commit", "-m", "Load", "--dry-run"]);
  assert.equal(await l.ok(["plan", "show", file]), dry);
  assert.equal(await l.ok(["plan", "show", file], { cwd: l.repo.outer }), dry, "no dataset is needed");
  assert.deepEqual(await l.json(["plan", "show", file]), JSON.parse(await Deno.readTextFile(file)));
  const head = await l.repo.git(["rev-parse", "HEAD"]);
  assert.match(await l.ok(["plan", "check", file]), /the plan for commit holds: it makes 2 writes\n/);
  const checked = await l.json(["plan", "check", file]) as Record<string, unknown>;
  assert.deepEqual([checked["holds"], checked["command"], checked["writes"]], [true, "commit", 2]);
  assert.equal(await l.repo.git(["rev-parse", "HEAD"]), head, "nothing is applied");
  await l.ok(["commit", "--from-plan", file]);
  const stale = await l.tether(["plan", "check", file]);
  assert.deepEqual([stale.code, stale.stdout], [1, ""]);
  assert.match(stale.stderr, /the manifests changed/);
  assert.match(stale.stderr, /^hint: tether commit -m Load --dry-run$/m);
});

Deno.test("[commands 3.2] plan check refuses plans that were edited, come from elsewhere or are none", async (test) => {
  const { l, file } = await planned();
  await using _ = l;
  const text = await Deno.readTextFile(file);
  const cases: readonly (readonly [string, () => Promise<void>, RegExp])[] = [
    ["edited", () => edit(file, (p) => (p["notes"] = ["all is well"])), /edited after it was made/],
    ["without its digest", () => edit(file, (p) => delete p["digest"]), /edited after it was made/],
    ["another version", () => edit(file, (p) => (p["tether_version"] = "0.1.0b7")), /tether 0\.1\.0b7 made it/],
    ["no version", () => edit(file, (p) => delete p["tether_version"]), /an older tether made it/],
    ["an unknown field", () => edit(file, (p) => (p["extra"] = 1)), /unknown field "extra"/],
    ["without what it needs", () => edit(file, (p) => (p["preconditions"] = [])), /lacks the precondition/],
    ["not JSON", () => Deno.writeTextFile(file, "{"), /not JSON/],
    ["no file", () => Deno.remove(file), /Cannot read the plan/],
  ];
  for (const [name, change, error] of cases) {
    await test.step(name, async () => {
      await Deno.writeTextFile(file, text);
      await change();
      const ran = await l.tether(["plan", "check", file]);
      assert.deepEqual([ran.code, ran.stdout], [1, ""]);
      assert.match(ran.stderr, error);
    });
  }
  await test.step("another checkout", async () => {
    await Deno.writeTextFile(file, text);
    const other = await l.repo.worktree("other");
    await l.ok(["new"], { cwd: other });
    const ran = await l.tether(["plan", "check", file], { cwd: other });
    assert.equal(ran.code, 1);
    assert.match(ran.stderr, /made in another checkout/);
  });
  await test.step("an edited plan is shown with a warning", async () => {
    await Deno.writeTextFile(file, text);
    await edit(file, (p) => (p["notes"] = ["all is well"]));
    const ran = await l.tether(["plan", "show", file]);
    assert.equal(ran.code, 0);
    assert.match(ran.stderr, /the plan was edited/);
  });
});

Deno.test("[commands 5.29] plan check looks at the commits a drop would take, as applying it does", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["commit", "-m", "Baseline"]);
  await l.ok(["new", "-b", "y"]);
  await l.ok(["set", "code", "--pin", "record"]);
  await l.ok(["commit", "-m", "On y"]);
  await l.ok(["new", "main"]);
  const file = l.beside("drop.json");
  await l.ok(["drop", "y", "--plan", file]);
  assert.match(await l.ok(["plan", "check", file]), /the plan for drop holds/);
  await l.repo.git(["tag", "keep", "y"]);
  const said = [];
  for (const args of [["plan", "check", file], ["drop", "--from-plan", file]]) {
    const { code, stdout, stderr } = await l.tether(args);
    assert.deepEqual([code, stdout], [1, ""]);
    said.push(stderr.match(/^error: .*/m)?.[0]);
  }
  assert.deepEqual(said, Array(2).fill('error: Cannot apply the plan: other commits are only on "y" now'));
});
