import assert from "node:assert/strict";
import { createDelta } from "../helpers/delta_data.ts";
import { appendLanceRows, createLanceTable } from "../helpers/lance_data.ts";
import { commitTo, git, gitStore, icechunkStore, scores, walk, writeScores } from "./_walk.ts";

walk("[commands 8.2] reproduce months later", async ({ t, ok, ends, beside }) => {
  const imaging = await icechunkStore(beside("imaging.icechunk"));
  await Deno.mkdir(beside("plate1"));
  await Deno.writeTextFile(beside("plate1/a.csv"), "1\n");
  await ok(`add zarr/imaging ${imaging} --kind icechunk`);
  await ok(`add raw/plate1 ${beside("plate1")} --kind file`);
  await ok("commit -m 'Inputs for the report'");
  const commit = await t.id("here");
  await writeScores(imaging, "main", [9]);
  assert.match(await ok(`open zarr/imaging -r ${commit}`), /imaging\.icechunk#tether\.[0-9a-f]{8}\.[0-9a-f]{16}\n$/);
  assert.match(await ok("verify --all-history"), /1 ok|2 ok/);
  assert.match(await ends(1, `open raw/plate1 -r ${commit}`), /raw\/plate1/);
});

walk("[commands 8.3] reprocess on a bookmark, then land it", async ({ t, ok, json, branch, beside }) => {
  const imaging = await icechunkStore(beside("imaging.icechunk"));
  await ok(`add zarr/imaging ${imaging} --kind icechunk`);
  await ok("commit -m Baseline");
  const main = await t.id("here");
  assert.match(await ok("new -b relabel"), /relabel/);
  assert.deepEqual((await json("recover"))["datasets"], [{
    ...((await json("recover"))["datasets"] as object[])[0],
    bookmarks: [],
  }]);
  const ref = await branch("zarr/imaging");
  assert.match(ref, /^tether\.ws\.[0-9a-f]{8}\.relabel$/);
  await writeScores(imaging, ref, [4, 5, 6]);
  assert.match(await ok("status --snapshot"), /modified {2}zarr\/imaging/);
  assert.deepEqual(await scores(imaging, "main"), [1, 2, 3]);
  await ok("commit -m 'Relabel v3'");
  assert.deepEqual(await t.line("main"), [main], "main stays");
  assert.match(await ok("diff main --content"), /zarr\/imaging/);
  assert.match(await ok("promote --dry-run"), /fast-forward {2}zarr\/imaging/);
  assert.deepEqual(await scores(imaging, "main"), [1, 2, 3]);
  assert.match(await ok("promote"), /main -> [0-9a-f]{12}/);
  assert.deepEqual(await scores(imaging, "main"), [4, 5, 6]);
  assert.deepEqual(await t.line("main"), await t.line("relabel"));
});

walk(
  "[commands 8.3] a system that cannot move its branch: landing by parts",
  async ({ t, ok, ends, branch, beside }) => {
    const [code, features] = [await gitStore(beside("code")), beside("features.lance")];
    await createLanceTable(features);
    await ok(`add code ${code} --kind git`);
    await ok(`add features ${features} --kind lance`);
    await ok("commit -m Baseline");
    await ok("new -b relabel");
    const sha = await commitTo(code, await branch("code"), "two");
    await appendLanceRows(features, [{ id: 2, name: "b" }], { branch: await branch("features") });
    await ok("commit -m 'Relabel v3'");
    const [trunk = ""] = await t.line("main");
    assert.match(await ends(1, "promote"), /features/);
    assert.notEqual(await git(code, "rev-parse", "main"), sha, "nothing moved");
    assert.match(await ok("promote code"), /fast-forwarded code/);
    assert.equal(await git(code, "rev-parse", "main"), sha);
    assert.deepEqual(await t.line("main"), [trunk], "the trunk stays");
    await ok("new main");
    await appendLanceRows(features, [{ id: 2, name: "b" }]);
    await ok("commit -m 'Land relabel'");
    assert.match(await ok("drop relabel --no-dry-run"), /dropped relabel/);
    assert.match(await ok("verify --all-history"), /ok/);
  },
);

walk("[commands 8.3] a base that moved: merged, committed, promoted; a conflict changes nothing", async (w) => {
  const { t, ok, ends, branch, beside } = w;
  const code = await gitStore(beside("code"));
  await ok(`add code ${code} --kind git`);
  await ok("commit -m Baseline");
  await ok("new -b relabel");
  await commitTo(code, await branch("code"), "mine");
  await ok("commit -m 'Relabel v3'");
  await commitTo(code, "main", "theirs");
  assert.match(await ok("promote"), /merged code/);
  await ok("commit -m Merged");
  assert.match(await ok("promote"), /main -> /);
  assert.deepEqual(await t.line("main"), await t.line("relabel"));
  await commitTo(code, await branch("code"), "same", "mine");
  await ok("commit -m Mine");
  const theirs = await commitTo(code, "main", "same", "theirs");
  const [trunk] = await t.line("main");
  assert.match(await ends(1, "promote"), /same/);
  assert.equal(await git(code, "rev-parse", "main"), theirs);
  assert.equal((await t.line("main"))[0], trunk);
});

walk("[commands 8.4] throw it away, and regret it", async ({ t, ok, branch, beside }) => {
  const code = await gitStore(beside("code"));
  await ok(`add code ${code} --kind git`);
  await ok("commit -m Baseline");
  await ok("new -b attempt");
  const ref = await branch("code");
  const sha = await commitTo(code, ref, "two");
  await ok("commit -m Attempt");
  const attempt = await t.id("here");
  const shown = await ok("drop attempt");
  const verbs = [...shown.matchAll(/^ {2,}(leave-bookmark|abandon-commit|delete-bookmark|unpin|delete-branch) {2}/gm)];
  assert.deepEqual(verbs.map(([, verb]) => verb), [
    "leave-bookmark",
    "abandon-commit",
    "delete-bookmark",
    "unpin",
    "delete-branch",
  ]);
  assert.match(await ok("drop attempt --no-dry-run"), /now on main\n/);
  assert.ok(!(await git(code, "for-each-ref")).includes(ref));
  assert.equal((await git(code, "tag")).split("\n").length, 1);
  await t.bookmark("attempt", attempt);
  assert.match(await ok("repair --all-history"), /repinned/);
  await ok("new attempt");
  assert.equal(await git(code, "rev-parse", await branch("code")), sha);
});

walk("[commands 8.5] A/B in two checkouts", async ({ t, ok, ends, branch, beside }) => {
  const code = await gitStore(beside("code"));
  await ok(`add code ${code} --kind git`);
  await ok("commit -m Baseline");
  const other = await t.checkout("b");
  await ok("new -b a");
  // In jj the trunk is at the same commit, and comes first.
  await ok(t.kind === "git" ? "new" : "new b", { at: other });
  const [a, b] = [await branch("code"), await branch("code", { at: other })];
  assert.notEqual(a, b);
  const id = (/"([0-9a-f]{8})[0-9a-f]+"/.exec(await Deno.readTextFile(`${other}/.tether/workspace.toml`)))?.[1];
  assert.match(await ends(1, "new b"), new RegExp(`${id}|${other}`));
  const sha = await commitTo(code, a, "from-a");
  await ok("commit -m A");
  await commitTo(code, b, "from-b");
  await ok("commit -m B", { at: other });
  assert.match(await ok("diff a b --content"), /code/);
  await ok("promote");
  assert.equal(await git(code, "rev-parse", "main"), sha);
  assert.match(await ok(`forget-workspace ${id}`), new RegExp(`forgot workspace ${id}`));
  assert.ok((await git(code, "for-each-ref")).includes(b), "branches stay");
  await ok("drop b --no-dry-run");
  assert.ok(!(await git(code, "for-each-ref")).includes(b));
});

walk("[commands 8.6] nightly trailing of upstream, and drift", async ({ t, ok, ends, beside }) => {
  const code = await gitStore(beside("code"));
  await Deno.mkdir(beside("plate1"));
  await Deno.writeTextFile(beside("plate1/a.csv"), "1\n");
  await ok(`add code ${code} --kind git`);
  await ok(`add raw/plate1 ${beside("plate1")} --kind file`);
  const table = await createDelta(beside("calls.delta"));
  await ok(`add calls ${table.path} --kind delta`);
  await ok("commit -m Baseline");
  await ok("new main");
  const sha = await commitTo(code, "main", "two");
  await table.append([1]);
  const moved = await ok("status --snapshot");
  assert.match(moved, /modified {2}code/);
  assert.match(moved, /behind {2}calls/);
  const pulled = await ok("pull");
  assert.match(pulled, /pulled code/);
  assert.match(pulled, /pulled calls/);
  assert.match(await ok("status --snapshot"), /clean {2}calls/);
  assert.equal((await git(code, "tag", "--points-at", sha)).split("\n").length, 1);
  await Deno.writeTextFile(beside("plate1/a.csv"), "2\n");
  assert.match(await ends(1, "status --snapshot"), /error {2}raw\/plate1/);
  await commitTo(code, "main", "three");
  const head = await t.id("here");
  assert.match(await ends(1, "pull"), /raw\/plate1/);
  assert.equal(await t.id("here"), head, "drift refuses the pull");
  await ok("set raw/plate1 --file versioned");
  await ok("commit -m 'A legitimate change'");
  assert.match(await ok("pull"), /pulled raw\/plate1/);
  assert.match(await ok("verify --all-history --deep"), /ok/);
});
