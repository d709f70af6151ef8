import { strict as assert } from "node:assert";
import { observeSpawns } from "../../engine/io/process.ts";
import { BackendError, MergeConflict, RefMovedError } from "../../engine/model/backend_errors.ts";
import { ConfigError } from "../../engine/model/errors.ts";
import { type TempRepo, tempRepo } from "../../tests/helpers/repo.ts";
import { ABSENT, type BackendSettings, DEFAULT_SETTINGS, type Locator, type State } from "../backend.ts";
import { GitBackend } from "./git.ts";
import { parseDiff } from "./_history.ts";

const PIN = "0a1b2c3d.0123456789abcdef";
const REF = "tether.ws.0a1b2c3d.exp";

function open(settings: Partial<BackendSettings> = {}): GitBackend {
  return new GitBackend({ ...DEFAULT_SETTINGS, ...settings });
}

async function fails(call: Promise<unknown>, code: string, text?: RegExp): Promise<BackendError> {
  const error = await call.then(() => assert.fail(`must fail with ${code}`), (e) => e);
  assert.ok(error instanceof BackendError, String(error));
  assert.equal(error.code, code, error.message);
  if (text) assert.match(error.message, text);
  return error;
}

/** Counts the children that a call starts, without the one version check of a backend. */
async function children(call: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const stop = observeSpawns((_program, args) => {
    if (args[0] !== "--version") count++;
  });
  try {
    await call();
  } finally {
    stop();
  }
  return count;
}

/** Commits a file on a branch that is checked out nowhere. */
async function commitOn(repo: TempRepo, branch: string, files: Record<string, string>): Promise<string> {
  const folder = `${repo.outer}/side-${crypto.randomUUID()}`;
  await repo.git(["worktree", "add", "--quiet", "--detach", folder, branch]);
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${folder}/${name}`, text);
  await repo.git(["add", "--all"], { cwd: folder });
  await repo.git(["commit", "--quiet", "-m", `on ${branch}`], { cwd: folder });
  const sha = await repo.git(["rev-parse", "HEAD"], { cwd: folder });
  await repo.git(["update-ref", `refs/heads/${branch}`, sha]);
  await repo.git(["worktree", "remove", folder]);
  return sha;
}

Deno.test("[backends 3.3] a fingerprint is the commit, and whether its checkout holds other work", async (t) => {
  await using repo = await tempRepo({ files: { "a.txt": "a\n", ".gitignore": "ignored\n" } });
  const backend = open();
  const path = repo.path;
  const sha = await repo.git(["rev-parse", "HEAD"]);
  await repo.git(["branch", "other"]);
  await repo.git(["tag", "-a", "v1", "-m", "v1"]);
  const clean = { sha, dirty: false };

  await t.step("clean, at every way to name it", async () => {
    const locators: Locator[] = [
      { path },
      { uri: `${path}/` },
      { path, ref: "HEAD" },
      { path, ref: "main" },
      { path, ref: "refs/heads/main" },
      { path, ref: "other" },
      { path, ref: "v1" },
      { path, at: sha },
      { path, at: "v1", ref: "gone" },
      { path, at: " " },
    ];
    for (const locator of locators) assert.deepEqual(await backend.fingerprint(locator, undefined), clean);
    assert.deepEqual(await backend.fingerprint({ path }, "other"), clean);
  });
  await t.step("one child process where nothing has to be looked up", async () => {
    assert.equal(await children(() => backend.fingerprint({ path }, undefined)), 1);
    assert.equal(await children(() => backend.fingerprint({ path }, "other")), 1);
    assert.equal(await children(() => backend.fingerprint({ path, at: sha }, undefined)), 1);
  });
  const changes: [string, () => Promise<unknown>, boolean][] = [
    ["ignored", () => repo.write("ignored", "x"), false],
    ["untracked", () => repo.write("untracked", "x"), true],
    ["modified", () => repo.write("a.txt", "b\n"), true],
    ["staged", () => repo.git(["rm", "--quiet", "--cached", "a.txt"]), true],
  ];
  for (const [name, change, dirty] of changes) {
    await t.step(`work that is ${name}`, async () => {
      await change();
      assert.deepEqual(await backend.fingerprint({ path }, undefined), { sha, dirty });
      assert.deepEqual(await backend.fingerprint({ path, ref: "main" }, undefined), { sha, dirty });
      assert.deepEqual(await backend.fingerprint({ path }, "main"), { sha, dirty });
      assert.deepEqual(await backend.fingerprint({ path }, "other"), clean);
      assert.deepEqual(await backend.fingerprint({ path, at: sha }, undefined), clean);
      await repo.git(["reset", "--quiet", "--hard"]);
      await repo.git(["clean", "-fdxq"]);
    });
  }
  await t.step("a detached HEAD has a state, but no base branch", async () => {
    await repo.git(["checkout", "--quiet", "--detach"]);
    assert.deepEqual(await backend.fingerprint({ path }, undefined), clean);
    const error = await fails(backend.baseBranch({ path }), "library", /HEAD is detached/);
    assert.match(error.hints.join(), /`ref`/);
    assert.equal(await backend.baseBranch({ path, ref: "refs/heads/main" }), "main");
  });
  await t.step("a branch wins over a tag of its name", async () => {
    const later = await commitOn(repo, "other", { b: "b" });
    await repo.git(["tag", "other", sha]);
    assert.deepEqual(await backend.fingerprint({ path, ref: "other" }, undefined), { sha: later, dirty: false });
  });
  await t.step("a branch that is gone is an error", async () => {
    await fails(backend.fingerprint({ path }, REF), "state-gone", /no branch/);
    await fails(backend.fingerprint({ path, ref: "gone" }, undefined), "state-gone");
  });
});

Deno.test("[L18] before the first commit there is no state, and the error says so", async () => {
  await using repo = await tempRepo();
  await fails(open().fingerprint({ path: repo.path }, undefined), "library", /no commit yet/);
  assert.equal(await open().baseBranch({ path: repo.path }), "main");
});

Deno.test("[backends 3.3] the path is the repository's own root, never one that git finds above it", async () => {
  await using repo = await tempRepo({ files: { "sub/a.txt": "a\n" } });
  const sub = `${repo.path}/sub`;
  await fails(open().fingerprint({ path: sub }, undefined), "store-not-found", /not the root of a git repository/);
  await fails(open().fingerprint({ path: `${sub}-away` }, undefined), "store-not-found", /there is no such folder/);
  await Deno.mkdir(`${sub}/.git`);
  await fails(open().fingerprint({ path: sub }, undefined), "store-not-found");
  const state = await open().fingerprint({ path: repo.path }, undefined);
  const verdict = await open().verify({ path: sub }, state, undefined, { deep: true });
  assert.deepEqual([verdict.status, verdict.cause?.code], ["unknown", "store-not-found"]);
});

Deno.test("[L40] a locator brings no address, option or folder of its own checkout", async (t) => {
  await using repo = await tempRepo({ files: { a: "a" } });
  const path = repo.path;
  const cases: [Locator, RegExp][] = [
    [{}, /no path/],
    [{ path: "relative" }, /absolute local path/],
    [{ path: "https://example.org/x.git" }, /absolute local path/],
    [{ path: `file://${path}` }, /absolute local path/],
    [{ path: 1 }, /no text/],
    [{ path, ref: "--upload-pack=x" }, /as ref/],
    [{ path, at: "-x" }, /as at/],
    [{ path, ref: "a\nb" }, /as ref/],
    [{ path, remote: "https://example.org/x.git" }, /as a remote/],
    [{ path, remote: "/srv/x" }, /as a remote/],
    [{ path, remote: "../x" }, /as a remote/],
    [{ path, remote: "host:x" }, /as a remote/],
    [{ path, remote: "--x" }, /as a remote/],
    [{ path, remote: "unknown" }, /no remote of that name/],
  ];
  for (const [locator, text] of cases) {
    await t.step(JSON.stringify(locator), async () => {
      await fails(open().validateLocator(locator), "locator", text);
    });
  }
  await fails(open({ checkoutRoot: repo.outer }).validateLocator({ path }), "locator", /dataset's own checkout/);
  await fails(open({ checkoutRoot: repo.outer }).fingerprint({ path }, undefined), "locator");
  assert.deepEqual(await open({ checkoutRoot: `${repo.outer}/re` }).validateLocator({ path }), []);
  await fails(open().fork({ path }, { on: "state", state: { sha: "HEAD" } }, REF), "library", /names no commit/);
  await fails(
    open().fork({ path }, { on: "ref", ref: "main" }, "tether.ws.0a1b2c3d.x.lock"),
    "library",
    /no such names/,
  );
  const pin = { id: PIN, ref: "v*" };
  await fails(open().openHandle({ path }, { on: "pin", pin }, { readOnly: true }), "library", /no pin has such a name/);
});

Deno.test("[backends 3.3] a pin holds a commit, and work that no commit has refuses it", async () => {
  await using repo = await tempRepo({ files: { a: "a" } });
  const { path } = repo;
  const backend = open();
  await repo.write("a", "b");
  const state = await backend.fingerprint({ path }, undefined);
  await fails(backend.pin({ path }, state, PIN), "library", /work that no commit has/);
  const { hints } = await backend.pin({ path }, state, PIN).catch((e) => e);
  assert.match(hints[1], new RegExp(`tether remove KEY && tether add KEY ${path} --kind git --set allow_dirty=true$`));
  assert.equal((await backend.listPins({ path })).size, 0);
  const pin = await backend.pin({ path, allow_dirty: "true" }, state, PIN);
  assert.deepEqual(pin, { id: PIN, ref: `tether.${PIN}`, created: true });
  await repo.git(["tag", "-f", "-a", "-m", "annotated", pin.ref, String(state["sha"])]);
  assert.equal((await backend.pin({ path, allow_dirty: true }, state, PIN)).created, false);
  assert.equal((await backend.verify({ path }, state, pin, { deep: true })).status, "ok");
  await repo.commit("next");
  await repo.git(["tag", "-f", pin.ref]);
  assert.equal((await backend.verify({ path }, state, pin, { deep: false })).status, "drifted");
  await fails(backend.pin({ path }, { ...state, dirty: false }, PIN), "ref-conflict", /names another commit/);
  await fails(backend.pin({ path }, { sha: "1".repeat(40) }, `${PIN.slice(0, -1)}0`), "state-gone");
});

Deno.test("[L06] deep verify finds a file that is missing from the repository", async () => {
  await using repo = await tempRepo({ files: { "folder/a": "one\n", b: "two\n" } });
  const { path } = repo;
  const backend = open();
  const state = await backend.fingerprint({ path }, undefined);
  const pin = await backend.pin({ path }, state, PIN);
  const blob = await repo.git(["rev-parse", "HEAD:folder/a"]);
  assert.deepEqual(await backend.verify({ path }, state, pin, { deep: true }), { status: "ok" });
  await Deno.remove(`${path}/.git/objects/${blob.slice(0, 2)}/${blob.slice(2)}`);
  assert.deepEqual(await backend.verify({ path }, state, pin, { deep: false }), { status: "ok" });
  const missing = { status: "missing", message: `object ${blob} does not exist` };
  assert.deepEqual(await backend.verify({ path }, state, pin, { deep: true }), missing);
  assert.deepEqual(await backend.verify({ path }, state, undefined, { deep: true }), missing);
  assert.equal((await backend.verify({ path }, state, undefined, { deep: false })).status, "unknown");
  const gone = { sha: "2".repeat(40) };
  assert.equal((await backend.verify({ path }, gone, undefined, { deep: false })).status, "missing");
  await fails(backend.openHandle({ path }, { on: "state", state: gone }, { readOnly: true }), "state-gone");
});

Deno.test("[L12] linked checkouts and packed refs are the same repository", async () => {
  await using repo = await tempRepo({ files: { a: "a" } });
  const backend = open();
  const other = await repo.worktree("side");
  const side = { path: other };
  const state = await backend.fingerprint(side, undefined);
  const pin = await backend.pin(side, state, PIN);
  await backend.fork(side, { on: "pin", pin }, REF);
  await repo.git(["pack-refs", "--all"]);
  for (const locator of [side, { path: repo.path }]) {
    assert.deepEqual([...await backend.listPins(locator)], [PIN]);
    assert.deepEqual(await backend.listWorkingRefs(locator), [REF]);
    assert.equal((await backend.verify(locator, state, pin, { deep: true })).status, "ok");
  }
  assert.equal(await backend.baseBranch(side), "side");
  assert.equal(await backend.baseBranch({ path: repo.path }), "main");
  const error = await fails(
    backend.promote({ path: repo.path, ref: "side" }, { on: "state", state: { sha: await repo.commit("next") } }),
    "ref-conflict",
  );
  assert.ok(error.message.includes(`checked out in "${other}"`), error.message);
  await backend.unpin(side, pin);
  await backend.deleteWorkingRef(side, REF);
  assert.equal(await repo.git(["for-each-ref", "--format=%(refname)", "refs/heads/tether*", "refs/tags"]), "");
});

Deno.test("[backends 3.3] fork() leaves a branch alone that is checked out or stands for another", async () => {
  await using repo = await tempRepo({ files: { a: "a" } });
  const { path } = repo;
  const backend = open();
  const first = await backend.fingerprint({ path }, undefined);
  const side = await repo.worktree(REF);
  const second: State = { sha: await repo.commit("next"), dirty: false };
  const from = { on: "state", state: second } as const;
  const error = await fails(backend.fork({ path }, from, REF), "ref-conflict");
  assert.ok(error.message.includes(`checked out in "${side}"`), error.message);
  assert.equal(await backend.workingRefBlockers({ path }, REF), `checked out in "${side}"`);
  await fails(backend.deleteWorkingRef({ path }, REF), "ref-conflict");
  await fails(backend.fork({ path }, from, REF, { expected: ABSENT }), "ref-moved");
  await repo.git(["worktree", "remove", side]);
  assert.equal(await backend.workingRefBlockers({ path }, REF), undefined);
  assert.equal(await backend.fork({ path }, from, REF, { expected: first }), REF);
  assert.deepEqual(await backend.fingerprint({ path }, REF), second);
  await repo.git(["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
  await fails(backend.fork({ path }, { on: "state", state: first }, "alias"), "ref-conflict", /another name for/);
  await backend.deleteWorkingRef({ path }, "main");
  assert.deepEqual(await backend.fingerprint({ path }, "main"), second, "the base branch is never deleted");
});

Deno.test("[backends 3.3] a branch that tether made is never the base, also where it is checked out", async (t) => {
  await using repo = await tempRepo({ files: { "a.txt": "a\n" } });
  const backend = open();
  const locator = { path: repo.path };
  const base = await repo.git(["rev-parse", "HEAD"]);
  await backend.fork(locator, { on: "state", state: { sha: base } }, REF);
  await repo.git(["switch", "--quiet", REF]);
  await Deno.writeTextFile(`${repo.path}/a.txt`, "b\n");
  await repo.git(["commit", "--quiet", "--all", "-m", "work"]);
  await Deno.writeTextFile(`${repo.path}/a.txt`, "c\n");
  const work = await repo.git(["rev-parse", "HEAD"]);

  await t.step("the only other branch is", async () => {
    assert.equal(await backend.baseBranch(locator), "main");
    assert.deepEqual(await backend.fingerprint(locator, undefined), { sha: base, dirty: false });
    assert.deepEqual(await backend.fingerprint(locator, REF), { sha: work, dirty: true });
    assert.deepEqual((await backend.history(locator, { limit: 9 })).map((e) => e.id), [base]);
    assert.equal((await backend.promote(locator, { on: "ref", ref: REF }, { expected: { sha: base } }))["sha"], work);
    assert.equal(await repo.git(["rev-parse", "main"]), work);
  });

  await t.step("it is not deleted under its checkout", async () => {
    await fails(backend.deleteWorkingRef(locator, REF), "ref-conflict", /checked out in/);
  });

  await t.step("several could be it", async () => {
    await repo.git(["branch", "other", base]);
    const error = await fails(backend.fingerprint(locator, undefined), "library", /Cannot tell the base branch/);
    assert.deepEqual(error.hints, ["main", "other"].map((b) => `git -C ${repo.path} switch ${b}`));
    await fails(backend.baseBranch(locator), "library", /Cannot tell the base branch/);
    assert.equal(await backend.baseBranch({ ...locator, ref: "other" }), "other");
  });

  await t.step("a branch that has no commit yet is HEAD's", async () => {
    await repo.git(["checkout", "--quiet", "--orphan", "fresh"]);
    assert.equal(await backend.baseBranch(locator), "fresh");
  });
});

Deno.test("[backends 3.3] promote() brings a clean checkout along and refuses one with other work", async () => {
  await using repo = await tempRepo({ files: { a: "a", b: "b" } });
  const { path } = repo;
  const backend = open();
  const base = await backend.fingerprint({ path }, undefined);
  await backend.fork({ path }, { on: "state", state: base }, REF);
  const next = await commitOn(repo, REF, { a: "changed" });
  await repo.write("untracked", "x");
  await fails(backend.promote({ path }, { on: "ref", ref: REF }), "ref-conflict", /work that no commit has/);
  assert.equal(await Deno.readTextFile(`${path}/a`), "a");
  await Deno.remove(`${path}/untracked`);
  const stale = { sha: "3".repeat(40) };
  await fails(backend.promote({ path }, { on: "ref", ref: REF }, { expected: stale }), "ref-moved");
  assert.deepEqual(await backend.promote({ path }, { on: "ref", ref: REF }, { expected: base }), {
    sha: next,
    dirty: false,
  });
  assert.equal(await Deno.readTextFile(`${path}/a`), "changed");
  assert.deepEqual(await backend.fingerprint({ path }, undefined), { sha: next, dirty: false });
  await commitOn(repo, REF, { b: "side" });
  await repo.commit("own", { c: "c" });
  await fails(backend.promote({ path }, { on: "ref", ref: REF }), "ref-conflict", /commits that .* does not have/);
});

Deno.test("[backends 3.3, DIV-12] merge() makes a commit of both sides, or names the files and changes nothing", async (t) => {
  for (const place of ["here", "nowhere"] as const) {
    await t.step(`base ${place}`, async () => {
      await using repo = await tempRepo({ files: { "a b.txt": "1\n", "ü": "1\n" } });
      const backend = open();
      const locator = { path: repo.path, ref: "main" };
      const state = await backend.fingerprint(locator, undefined);
      await backend.fork(locator, { on: "state", state }, REF);
      const side = await commitOn(repo, REF, { "ü": "side\n" });
      const own = await repo.commit("own", { c: "c\n" });
      if (place === "nowhere") await repo.git(["checkout", "--quiet", "--detach"]);
      const expected = { sha: own };
      await fails(backend.merge(locator, { on: "ref", ref: REF }, "m", { expected: state }), "ref-moved");
      const merged = await backend.merge(locator, { on: "ref", ref: REF }, "Land it\n\nwith a body", { expected });
      assert.equal(await repo.git(["log", "-1", "--format=%P%n%B", "main"]), `${own} ${side}\nLand it\n\nwith a body`);
      assert.deepEqual(await backend.fingerprint(locator, undefined), { ...merged, dirty: false });
      if (place === "here") assert.equal(await Deno.readTextFile(`${repo.path}/ü`), "side\n");
      assert.deepEqual(
        await backend.merge(locator, { on: "ref", ref: REF }, "again"),
        merged,
        "nothing is left to merge",
      );

      await commitOn(repo, REF, { "a b.txt": "theirs\n", "ü": "theirs\n" });
      await commitOn(repo, "main", { "a b.txt": "ours\n", "ü": "ours\n" });
      if (place === "here") await repo.git(["reset", "--quiet", "--hard"]);
      const before = await backend.fingerprint(locator, undefined);
      const error = await backend.merge(locator, { on: "ref", ref: REF }, "conflict").catch((e) => e);
      assert.ok(error instanceof MergeConflict, String(error));
      assert.deepEqual(error.conflicts, ["a b.txt", "ü"]);
      assert.deepEqual(await backend.fingerprint(locator, undefined), before);
    });
  }
});

Deno.test("[backends 3.3] ancestry is exact, and not known of a commit that is gone", async () => {
  await using repo = await tempRepo({ files: { a: "a" } });
  const { path } = repo;
  const backend = open();
  const [a, b] = [{ sha: await repo.commit("one") }, { sha: await repo.commit("two") }];
  const on = (state: State) => ({ on: "state", state }) as const;
  assert.equal(await backend.ancestorOf({ path }, a, on(b)), true);
  assert.equal(await backend.ancestorOf({ path }, b, on(a)), false);
  assert.equal(await backend.ancestorOf({ path }, { sha: "4".repeat(40) }, on(b)), undefined);
});

Deno.test("[backends 3.3] history and diff survive every name git allows", async () => {
  await using repo = await tempRepo({ files: { "old name": "1\n2\n3\n4\n", gone: "x\n", bin: "\0\u0001" } });
  const { path } = repo;
  const backend = open();
  const a = await backend.fingerprint({ path }, undefined);
  await repo.git(["mv", "old name", "new\tname"]);
  await repo.git(["tag", "a,b"]);
  await repo.git(["branch", "side"]);
  const b = {
    sha: await repo.commit("Subject | %s \u00fc\n\nbody", { gone: null, "\u00fc\n x": "1\n", bin: "\0\u0002" }),
    dirty: true,
  };
  const [first, second] = await backend.history({ path }, { limit: 2 });
  assert.deepEqual({ ...first, when: "" }, { id: b.sha, when: "", message: "Subject | %s \u00fc", refs: ["main"] });
  assert.match(first?.when ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/);
  assert.equal(second?.id, a["sha"]);
  assert.deepEqual([...second?.refs ?? []].sort(), ["a,b", "side"]);
  assert.equal((await backend.history({ path }, { ref: "side", limit: 1 }))[0]?.id, a["sha"]);
  assert.equal((await backend.history({ path, at: "side" }, { limit: 1 }))[0]?.id, a["sha"]);
  const diff = await backend.diff({ path }, a, b);
  assert.deepEqual(diff, {
    unit: "files",
    added: 1,
    removed: 1,
    modified: 2,
    entries: [
      { path: "bin", change: "modified", detail: "binary" },
      { path: "gone", change: "removed", detail: "+0 -1" },
      { path: "old name -> new\tname", change: "renamed" },
      { path: "\u00fc\n x", change: "added", detail: "+1 -0" },
    ],
    truncated: false,
    note: "only the second state had work that no commit has",
  });
  await fails(backend.diff({ path }, a, { sha: "5".repeat(40) }), "state-gone");
});

Deno.test("parseDiff() reads a rename with changed lines", () => {
  const text = [":100644 100644 1 2 R080", "a", "b", ":100644 000000 1 0 D", "c", "1\t2\t", "a", "b", "0\t3\tc", ""]
    .join("\0");
  assert.deepEqual(parseDiff(text), [
    { path: "a -> b", change: "renamed", detail: "+1 -2" },
    { path: "c", change: "removed", detail: "+0 -3" },
  ]);
});

Deno.test("[backends 3.3] a handle names the commit and the checkout to write in", async () => {
  await using repo = await tempRepo({ files: { a: "a" } });
  const { path } = repo;
  const backend = open();
  const state = await backend.fingerprint({ path }, undefined);
  const sha = String(state["sha"]);
  await backend.fork({ path }, { on: "state", state }, REF);
  const opened = async (locator: Locator, target: Parameters<GitBackend["openHandle"]>[1], readOnly = false) => {
    const { read_only, native, address } = (await backend.openHandle(locator, target, { readOnly })).toJSON();
    assert.equal(address, `${path}@${sha}`);
    return [read_only, native["worktree"]];
  };
  assert.deepEqual(await opened({ path }, { on: "base" }), [false, path]);
  assert.deepEqual(await opened({ path }, { on: "base" }, true), [true, path]);
  assert.deepEqual(await opened({ path, ref: "main" }, { on: "base" }), [false, path]);
  assert.deepEqual(await opened({ path, at: sha }, { on: "base" }), [true, undefined]);
  assert.deepEqual(await opened({ path }, { on: "state", state }), [true, undefined]);
  assert.deepEqual(await opened({ path }, { on: "ref", ref: REF }), [false, undefined]);
  const side = `${repo.outer}/side`;
  await repo.git(["worktree", "add", "--quiet", side, REF]);
  assert.deepEqual(await opened({ path }, { on: "ref", ref: REF }), [false, side]);
});

Deno.test("[backends 3.3] retention tells what keeps a commit", async () => {
  await using repo = await tempRepo({ files: { a: "a" } });
  const { path } = repo;
  const backend = open();
  const state = await backend.fingerprint({ path }, undefined);
  assert.deepEqual(await backend.retention({ path }, state, {}), {
    rule: 'kept while "refs/heads/main" reaches it',
    enforced: "none",
  });
  await repo.git(["commit", "--quiet", "--amend", "-m", "other"]);
  await repo.git(["config", "gc.pruneExpire", "3.days.ago"]);
  const { rule, enforced } = await backend.retention({ path }, state, {});
  assert.match(rule, /30 days.*pruned 3\.days\.ago/);
  assert.equal(enforced, "automatic");
});

Deno.test("[backends 3.3] what git refuses has a type", async (t) => {
  await using repo = await tempRepo({ files: { a: "a" } });
  const { path } = repo;
  const variables = { PATH: Deno.env.get("PATH") ?? "", HOME: repo.outer };
  await t.step("another owner", async () => {
    const env = { ...variables, GIT_TEST_ASSUME_DIFFERENT_OWNER: "1" };
    const error = await fails(open({ env }).fingerprint({ path }, undefined), "forbidden", /dubious ownership/);
    assert.deepEqual(error.hints, [`git config --global --add safe.directory ${path}`]);
  });
  await t.step("no git", async () => {
    const error = await open({ programs: { git: "/nowhere/git" } }).fingerprint({ path }, undefined).catch((e) => e);
    assert.ok(error instanceof ConfigError && error.code === "program-missing", String(error));
  });
  await t.step("an old git", async () => {
    const program = await repo.write("../old-git", "#!/bin/sh\necho git version 2.37.9\n");
    await Deno.chmod(program, 0o755);
    const error = await open({ programs: { git: program } }).fingerprint({ path }, undefined).catch((e) => e);
    assert.ok(error instanceof ConfigError, String(error));
    assert.match(error.message, /"git version 2\.37\.9", tether needs git 2\.38/);
  });
  await t.step("a locked ref", async () => {
    const state = await open().fingerprint({ path }, undefined);
    await Deno.mkdir(`${path}/.git/refs/heads`, { recursive: true });
    await Deno.writeTextFile(`${path}/.git/refs/heads/${REF}.lock`, "");
    const error = await fails(open().fork({ path }, { on: "state", state }, REF), "unavailable", /lock/);
    assert.equal(error.retryable, true);
    assert.deepEqual(await open().listWorkingRefs({ path }), []);
  });
  await t.step("a moved ref names both sides", async () => {
    const state = await open().fingerprint({ path }, undefined);
    await Deno.remove(`${path}/.git/refs/heads/${REF}.lock`);
    const from = { on: "state", state } as const;
    await open().fork({ path }, from, REF);
    const error = await open().fork({ path }, from, REF, { expected: { sha: "6".repeat(40) } }).catch((e) => e);
    assert.ok(error instanceof RefMovedError);
    assert.deepEqual([error.ref, error.expected, error.found], [REF, { sha: "6".repeat(40) }, { sha: state["sha"] }]);
  });
});

Deno.test("[backends 1.2] pin names and states agree for repositories of both object formats", async () => {
  for (const objectFormat of ["sha1", "sha256"] as const) {
    await using repo = await tempRepo({ files: { a: "a" }, objectFormat });
    const { path } = repo;
    const backend = open();
    const state = await backend.fingerprint({ path }, undefined);
    assert.equal(String(state["sha"]).length, objectFormat === "sha1" ? 40 : 64);
    const pin = await backend.pin({ path }, state, PIN);
    await backend.fork({ path }, { on: "pin", pin }, REF, { expected: ABSENT });
    assert.deepEqual(await backend.fingerprint({ path }, REF), state);
    await backend.unpin({ path }, pin);
    assert.equal((await backend.verify({ path }, state, pin, { deep: false })).status, "missing");
  }
});
