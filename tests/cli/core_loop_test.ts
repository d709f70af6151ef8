import assert from "node:assert/strict";
import { lab } from "./_tether.ts";

const REF = "tether.0a1b2c3d.";

Deno.test("[commands 8.1, 8.3] the core loop over files and git, as a user types it", async (t) => {
  await using l = await lab();
  const { repo } = l;

  await t.step("[commands 5.1] init says where it is and what its refs are called", async () => {
    assert.equal(
      await l.ok(["init", "--dataset-id", "0a1b2c3d"]),
      `dataset id 0a1b2c3d, at ${repo.path}, trunk bookmark main\n` +
        "its pins are named tether.0a1b2c3d.*, its working branches tether.ws.0a1b2c3d.*\n",
    );
    const again = await l.tether(["init"]);
    assert.deepEqual([again.code, again.stdout], [1, ""]);
    assert.match(again.stderr, /^error: .*it is one already\nhint: tether status\n$/);
  });

  await t.step("[commands 5.2] add makes paths absolute and derives keys", async () => {
    assert.equal(await l.ok(["add", "raw/plate1", "../plate/", "--kind", "file"]), "added raw/plate1 (file)\n");
    assert.equal(await l.ok(["add", "../code", "--kind=git"]), "added code (git, key from the locator)\n");
    const { stderr, code } = await l.tether(["add", "gone", "../nowhere", "--kind", "file"]);
    assert.equal(code, 0);
    assert.match(stderr, /^warning: .*nowhere/);
    assert.equal(await l.ok(["remove", "gone"]), "removed gone\n");
  });

  await t.step("[commands 5.6] status without a snapshot", async () => {
    const { code, stdout, stderr } = await l.tether(["status"]);
    assert.equal(code, 0);
    assert.match(stdout, /^dataset [0-9a-f]{12}; on trunk bookmark main\n/);
    assert.match(stdout, /\n {8}new {2}code {2}\[git\/forkable\]\n {8}new {2}raw\/plate1 {2}\[file\/observed\]\n$/);
    assert.equal(stderr, "hint: tether status --snapshot reads them\n");
  });

  await t.step("[commands 5.9] commit pins, records, commits; again it says that there is nothing", async () => {
    const stdout = await l.ok(["commit", "-m", "Baseline"]);
    const head = await repo.git(["rev-parse", "HEAD"]);
    assert.match(
      stdout,
      new RegExp(`^  pinned code -> ${REF}[0-9a-f]{16}\n  recorded raw/plate1 \\(not recoverable\\)\n`),
    );
    assert.ok(stdout.endsWith(`committed ${head.slice(0, 12)}\n`));
    assert.equal(await l.ok(["commit", "-m", "again"]), "nothing to commit\n");
    assert.equal(await repo.git(["log", "-1", "--format=%s"]), "Baseline");
  });

  await t.step("[commands 5.10, 5.11] new defers the branch, open makes it and prints where to write", async () => {
    assert.equal(
      await l.ok(["new", "-b", "relabel"]),
      "on bookmark relabel; working refs set up\n  code -> tether.ws.0a1b2c3d.relabel  (made by the first writable open)\n",
    );
    const handle = await l.json(["open", "code"]) as Record<string, unknown>;
    assert.equal(handle["object"], "code");
    assert.equal(handle["ref"], "tether.ws.0a1b2c3d.relabel");
    assert.equal(handle["read_only"], false);
    assert.equal(handle["warning"], null);
    const opened = await l.tether(["open", "code"]);
    assert.match(opened.stdout, new RegExp(`^${l.beside("code")}@[0-9a-f]{40}\n$`));
    assert.equal(
      opened.stderr,
      'note: write to branch "tether.ws.0a1b2c3d.relabel"\n' +
        `hint: git -C ${l.beside("code")} switch tether.ws.0a1b2c3d.relabel\n`,
    );
    assert.equal(await l.ok(["open", "raw/plate1"]), `${l.beside("plate")}\n`);
  });

  await t.step(
    "[commands 5.6, 5.7] what was written on the branch is modified, upstream is not looked at",
    async () => {
      await repo.git(["checkout", "--quiet", "tether.ws.0a1b2c3d.relabel"], { cwd: l.beside("code") });
      await Deno.writeTextFile(l.beside("code/labels.csv"), "a,b\n");
      await repo.git(["add", "labels.csv"], { cwd: l.beside("code") });
      await l.advance("labels");
      await repo.git(["checkout", "--quiet", "main"], { cwd: l.beside("code") });
      const status = await l.ok(["status", "--snapshot"]);
      assert.match(status, /; on bookmark relabel\n {3}modified {2}code {2}\[git\/forkable\]/);
      assert.match(status, /\n {6}clean {2}raw\/plate1/);
      assert.match(await l.ok(["status"]), /\n {2}states as read \d+s ago; --snapshot to refresh\n/);
      assert.match(await l.ok(["snapshot", "code"]), /^ {2}code: sha=[0-9a-f]{16}… dirty=false\n/);
    },
  );

  await t.step("[commands 5.13] diff shows what the commit recorded, inside too", async () => {
    await l.ok(["commit", "-m", "Labels", "code"]);
    assert.match(await l.ok(["diff", "main"]), /^ {4}changed {2}code\n$/);
    const content = await l.ok(["diff", "main", "relabel", "--content", "--key", "code"]);
    assert.match(content, /^ {4}changed {2}code {2}\[.*\]\n {13}\+ labels\.csv/);
    assert.equal(await l.ok(["diff"]), "no differences\n");
  });

  await t.step("[commands 5.11, 8.2] a recorded state opens read-only, by flag and by variable", async () => {
    const pinned = await l.ok(["open", "code", "-r", "main"]);
    assert.equal(await l.ok(["open", "code"], { env: { TETHER_REV: "main" } }), pinned);
    const writable = await l.tether(["open", "code", "--rev=main", "--writable"]);
    assert.deepEqual([writable.code, writable.stdout], [1, ""]);
    const observed = await l.tether(["open", "raw/plate1", "-r", "main"]);
    assert.deepEqual([observed.code, observed.stdout], [1, ""]);
  });

  await t.step("[commands 5.14, 5.15] log and ops", async () => {
    const log = await l.ok(["log", "code", "-n", "1"]);
    assert.match(
      log,
      /^ {2}[0-9a-f]{40} {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}labels {2}\[.*tether\.ws\.0a1b2c3d\.relabel.*\]\n$/,
    );
    assert.match(await l.ok(["log", "../code", "--kind", "git", "--ref", "main"]), /first/);
    const ops = await l.ok(["ops", "-n", "3"]);
    assert.match(
      ops,
      /^[0-9a-f]{12} {2}\S+\+00:00 {2}commit .*\n[0-9a-f]{12} {2}\S+ {2}fork .*\n[0-9a-f]{12} {2}\S+ {2}new .*\n$/,
    );
  });

  await t.step("[commands 5.5] set edits the policy, and a commit takes it", async () => {
    const { stdout, stderr } = await l.tether(["set", "raw/", "--file", "versioned"]);
    assert.equal(stdout, "set raw/plate1  file immutable -> versioned\n");
    assert.equal(stderr, "hint: tether commit -m MESSAGE records the policy\n");
    assert.equal(
      await l.ok(["set", "--all", "--file", "versioned", "--pin", "native"]).then((s) => s.split("\n")[0]),
      "set code  file immutable -> versioned",
    );
    assert.match(await l.ok(["commit", "-m", "Policy"]), /^committed [0-9a-f]{12}\n$/);
  });

  await t.step("[commands 5.12] verify: green, then red when a pin is gone", async () => {
    assert.match(
      await l.ok(["verify"]),
      /^ {8}ok {2}code\n {8}ok {2}raw\/plate1\n2 ok \(pins only; --deep opens the states\)\n$/,
    );
    const tags = (await repo.git(["tag", "--list", `${REF}*`], { cwd: l.beside("code") })).split("\n");
    for (const tag of tags) await repo.git(["tag", "-d", tag], { cwd: l.beside("code") });
    const { code, stdout } = await l.tether(["verify", "code"]);
    assert.equal(code, 1);
    assert.match(stdout, /^ {3}missing {2}code {2}.*\n1 missing /);
  });
});

Deno.test("[commands 5.2, Δ26] add --pick reads one answer from standard input, and refuses without one", async () => {
  await using l = await lab({ init: true });
  const first = await l.repo.git(["rev-parse", "HEAD"], { cwd: l.beside("code") });
  await l.advance("second");
  const none = await l.tether(["add", "../code", "--kind", "git", "--pick"]);
  assert.deepEqual([none.code, none.stdout], [1, ""]);
  assert.match(none.stderr, /#2 {2}[0-9a-f]{40} .*first\nwhich one\? \[#1\] \nerror: .*no answer\nhint: /);
  const report = await l.json(["add", "../code", "--kind", "git", "--pick"], { input: "#2\n" }) as Record<
    string,
    unknown
  >;
  assert.equal(report["at"], first);
  assert.equal(report["derived_key"], true);
});

Deno.test("[commands 1.1, L41] keys that begin with a dash or hold shell syntax work after --", async () => {
  await using l = await lab({ init: true });
  for (const key of ["-x", "--json", "[ab]", "x (1)", ":!y"]) {
    assert.equal(await l.ok(["add", "--kind", "file", "--", key, l.beside("plate")]), `added ${key} (file)\n`);
  }
  assert.match(
    await l.ok(["commit", "-m", "odd keys", "--", "-x", "--json", "[ab]"]),
    /recorded \[ab\] \(not recoverable\)/,
  );
  assert.equal(await l.ok(["open", "--", "--json"]), `${l.beside("plate")}\n`);
  assert.equal(await l.ok(["remove", "--", "-x"]), "removed -x\n");
  const refused = await l.tether(["open", "--", "-x"]);
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
});

Deno.test("[commands 1.1] -C runs elsewhere, root finds the dataset, and without one there is a way out", async () => {
  await using l = await lab({ init: true });
  await Deno.mkdir(`${l.repo.path}/deep/er`, { recursive: true });
  assert.equal(await l.ok(["-C", "deep/er", "root"]), `${l.repo.path}\n`);
  assert.deepEqual(await l.json(["root", "-C", "deep"]), { root: l.repo.path });
  for (const command of [["status"], ["root"], ["commit", "-m", "x"], ["ops"], ["verify"]]) {
    const { code, stdout, stderr } = await l.tether(command, { cwd: l.repo.outer });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      new RegExp(`^error: Cannot find a dataset: no tether.toml at or above "${l.repo.outer}"\nhint: tether init\n$`),
    );
  }
  assert.match(await l.ok(["backends"], { cwd: l.repo.outer }), /^delta .*\nfile .*/m);
});
