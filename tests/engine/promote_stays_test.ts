import assert from "node:assert/strict";
import { join } from "node:path";
import { MultiObjectError } from "../../engine/model/multi_object_error.ts";
import { StaleWorkingCopyError } from "../../engine/model/errors.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";
import { tempDataset } from "../helpers/dataset.ts";
import { appendLanceRows, createLanceTable } from "../helpers/lance_data.ts";

/** Runs the commands of a hint that are the version control system's own. */
async function follow(t: BothDataset, hint: string): Promise<void> {
  for (const line of hint.split(" && ")) {
    const [program, ...args] = line.split(" ");
    if (program === t.kind) await t.vcs(args);
  }
}

onBoth("[commands 5.24] naming some objects leaves the trunk, and says so", async (t) => {
  await t.addMemory("a", "b");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  t.write("a", await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? "")));
  const { vcsCommit } = await t.with((ds) => ds.commit({ message: "second" }));
  const plan = await t.with((ds) => ds.plan.promote({ keys: ["a"] }));
  assert.deepEqual(plan.notes, ["the trunk stays: only some objects were named: tether promote"]);
  const report = await t.with((ds) => ds.promote({ keys: ["a"] }));
  assert.deepEqual(Object.keys(report.fastForwarded), ["a"]);
  assert.deepEqual(
    [report.trunkMoved, report.trunkHeld, report.hints],
    [null, "only some objects were named", ["tether promote"]],
  );
  assert.equal((await t.with((ds) => ds.promote())).trunkMoved, vcsCommit);
  assert.equal((await t.with((ds) => ds.promote({ keys: ["a"] }))).trunkHeld, null, "it is there by now");
});

Deno.test("[commands 5.24] a system that cannot move its upstream is not said to have moved it", async () => {
  await using t = await tempDataset();
  const uri = join(t.repo.outer, "t.lance");
  await createLanceTable(uri);
  await t.with((ds) => ds.add({ key: "t", kind: "lance", locator: { uri } }));
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const branch = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["t"] ?? ""));
  await appendLanceRows(uri, [{ id: 2, name: "b" }], { branch });
  await t.with((ds) => ds.commit({ message: "second" }));
  const why = async () => (await t.with((ds) => ds.plan.promote())).actions.map((a) => [a.op, a.detail.split(":")[0]]);
  assert.deepEqual(await why(), [["refuse", "its system cannot move its upstream branch"]]);
  await t.with((ds) => ds.new({ rev: "feat", shared: true }));
  assert.deepEqual(await why(), [["refuse", "its system cannot move its upstream branch"]]);
});

onBoth("[commands 5.24, Δ9] what cannot land through a branch lands by the hint", async (t) => {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  const uri = join(t.repo.outer, "out");
  await Deno.writeTextFile(uri, "1");
  await t.with((ds) => ds.add({ key: "out", kind: "file", locator: { uri }, policy: { file: "versioned" } }));
  const { vcsCommit } = await t.with((ds) => ds.commit({ message: "with a file" }));
  await Deno.writeTextFile(uri, "other");
  const { trunkHeld, hints } = await t.with((ds) => ds.promote());
  assert.equal(trunkHeld, "out moved here and cannot land through a branch");
  assert.match(hints.join(), / && tether new -- main && tether pull$/);
  await follow(t, hints.join());
  assert.equal(
    await t.vcs(t.kind === "git" ? ["rev-parse", "main"] : ["log", "--no-graph", "-r", "main", "-T", "commit_id"]),
    vcsCommit,
  );
  await t.with((ds) => ds.new({ rev: "main" }));
  assert.deepEqual(Object.keys((await t.with((ds) => ds.pull())).committed), ["out"]);
});

onBoth("[Δ9] a trunk that does not exist can be made by the hint", async (t) => {
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat" }));
  await t.deleteBookmark("main");
  const { trunkHeld, hints } = await t.with((ds) => ds.promote());
  assert.equal(trunkHeld, 'there is no bookmark "main"');
  await follow(t, hints.join());
  assert.equal((await t.with((ds) => ds.promote())).trunkHeld, null);
  assert.equal((await t.with((ds) => ds.new({ rev: "main" }))).trunk, true);
});

Deno.test("[commands 5.24] before the first commit of a bookmark nothing can land, which says what to do", async () => {
  await using t = await tempDataset();
  await t.with((ds) => ds.new({ bookmark: "feat" }));
  await t.addMemory("a");
  await assert.rejects(t.with((ds) => ds.promote()), (e) => {
    assert.ok(e instanceof StaleWorkingCopyError);
    assert.equal(e.message, 'Cannot promote: bookmark "feat" has no commit yet');
    assert.deepEqual(e.hints, ["tether commit -m MESSAGE"]);
    return true;
  });
});

Deno.test("[commands 5.24] a branch that stands for another commit is refused with the command that ends that", async () => {
  await using t = await tempDataset();
  await t.addMemory("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  await t.with((ds) => ds.new({ bookmark: "feat", eager: true }));
  t.write("a", await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? "")));
  await t.with((ds) => ds.commit({ message: "second" }));
  // As keeping the other side of a conflict does.
  await t.repo.git(["reset", "-q", "--hard", "main"]);
  await assert.rejects(t.with((ds) => ds.promote()), (e) => {
    assert.ok(e instanceof MultiObjectError);
    assert.match(e.message, /does not stand for what the bookmark records now: "tether new" first/);
    return true;
  });
});
