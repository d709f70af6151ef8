import assert from "node:assert/strict";
import { PinDriftError, TetherError } from "../../engine/model/errors.ts";
import { type BothDataset, onBoth } from "../helpers/both.ts";

async function git(cwd: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("git", { args, cwd }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

/** A dataset with a git store `code` that is recorded without pins; the store's folder. */
async function recorded(t: BothDataset): Promise<string> {
  const code = `${t.repo.outer}/code`;
  await git(t.repo.outer, "init", "-q", "--initial-branch=main", code);
  await git(code, "commit", "-q", "--allow-empty", "-m", "one");
  await t.with((ds) => ds.add({ key: "code", kind: "git", locator: { uri: code }, policy: { pin: "record" } }));
  return code;
}

onBoth(
  "[seed pin=record, commands 5.9-5.12] a state without a pin: recorded, told, forked at once, opened, and gone",
  async (t, test) => {
    const code = await recorded(t);
    let first = "";
    await test.step("commit shows a record, makes no tag, and says how long the state lasts", async () => {
      const plan = await t.with((ds) => ds.plan.commit({ message: "first" }));
      assert.match(plan.actions[0]?.detail ?? "", /^pin=record: state /);
      assert.match(plan.notes.join(), /code: without a pin it is kept while "refs\/heads\/main" reaches it/);
      const report = await t.with((ds) => ds.commit({ message: "first" }));
      assert.deepEqual([report.pinned, report.unrecoverable], [{ code: null }, []]);
      assert.equal(await git(code, "tag"), "");
      first = report.vcsCommit ?? "";
    });
    await test.step("verify tells how long it lasts, and opens it only when asked", async () => {
      const shallow = await t.with(async (ds) => await ds.verify());
      assert.deepEqual(shallow.entries.map((e) => [e.status, e.retention?.enforced]), [["unknown", "none"]]);
      assert.match(JSON.stringify(shallow), /"retention":\{"until":null,"rule":"kept while/);
      assert.ok((await t.with(async (ds) => await ds.verify({ deep: true }))).ok);
    });
    await test.step("new makes the branch at once: it is what keeps the state", async () => {
      const report = await t.with((ds) => ds.new({ bookmark: "feat" }));
      assert.deepEqual(Object.keys(report.pendingForks), []);
      assert.equal(
        await git(code, "rev-parse", report.workingRefs["code"] ?? ""),
        await git(code, "rev-parse", "main"),
      );
    });
    await test.step("open at a revision works while the state is there", async () => {
      await using handle = await t.with((ds) => ds.open("code", { rev: first }));
      assert.match(handle.address(), new RegExp(await git(code, "rev-parse", "main")));
    });
    await test.step("once it is gone, verify says missing and open fails", async () => {
      const gone = await git(code, "commit-tree", "-m", "other", "HEAD^{tree}");
      for (const ref of (await git(code, "for-each-ref", "--format=%(refname)", "refs/heads")).split("\n")) {
        await git(code, "update-ref", ref, gone);
      }
      await git(code, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all");
      await git(code, "gc", "-q", "--prune=now");
      const history = await t.with(async (ds) => await ds.verify({ allHistory: true, deep: true }));
      const found = new Map(history.entries.map((e) => [e.label, e.status]));
      assert.equal(found.get(`${first.slice(0, 12)}:code`), "missing");
      assert.deepEqual([...new Set(found.values())], ["missing"]);
      await assert.rejects(
        t.with((ds) => ds.open("code", { rev: first })),
        (e) => e instanceof TetherError && !(e instanceof PinDriftError),
      );
    });
  },
);

onBoth(
  "[L05] drop and abandon stop where a recorded state would lose its last holder; a pinned one only loses its pin",
  async (t) => {
    await t.commitFiles("base", { "code.txt": "1\n" });
    const code = await recorded(t);
    await t.with((ds) => ds.commit({ message: "first" }));
    const { workingRefs } = await t.with((ds) => ds.new({ bookmark: "feat" }));
    const ref = workingRefs["code"] ?? "";
    const next = await git(code, "commit-tree", "-p", ref, "-m", "two", `${ref}^{tree}`);
    await git(code, "update-ref", `refs/heads/${ref}`, next);
    const second = (await t.with((ds) => ds.commit({ message: "second" }))).vcsCommit ?? "";
    const lost = (e: unknown): boolean => e instanceof TetherError && e.code === "last-holder";
    assert.match(
      (await t.with((ds) => ds.drop("feat"))).notes.join(),
      new RegExp(`as ${second.slice(0, 12)} recorded it`),
    );
    await assert.rejects(t.with((ds) => ds.drop("feat", { dryRun: false })), lost);
    await assert.rejects(t.with((ds) => ds.abandon([second])), lost);
    assert.equal(await git(code, "rev-parse", ref), next);
    // A later commit that pins the same state is another holder.
    await t.with((ds) => ds.setPolicy(["code"], { pin: "native" }));
    await t.with((ds) => ds.commit({ message: "pinned" }));
    assert.deepEqual((await t.with((ds) => ds.abandon([second]))).abandoned, [second]);
  },
);

onBoth(
  "[L05] a branch that alone holds a state recorded without a pin says so, and the way out it names works",
  async (t) => {
    const code = await recorded(t);
    await t.with((ds) => ds.commit({ message: "first" }));
    await t.with((ds) => ds.new({ bookmark: "feat" }));
    const first = await t.id("here");
    const ref = await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["code"] ?? ""));
    const write = async (): Promise<void> => {
      const next = await git(code, "commit-tree", "-p", ref, "-m", "more", `${ref}^{tree}`);
      await git(code, "update-ref", `refs/heads/${ref}`, next);
    };
    const refusal = async (): Promise<string> => {
      const plan = await t.with((ds) => ds.plan.restore({ keys: ["code"], from: first }));
      return plan.actions.filter((a) => a.op === "refuse").map((a) => a.detail).join();
    };
    await write();
    await t.with((ds) => ds.commit({ message: "second" }));
    assert.match(await refusal(), /^alone holds what was committed without a pin.*"tether set --pin native -- code"/);
    await write();
    assert.match(await refusal(), /^has writes no commit records, at .*: commit them, or pass --discard$/);
    await t.with((ds) => ds.setPolicy(["code"], { pin: "native" }));
    await t.with((ds) => ds.commit({ message: "third" }));
    assert.equal(await refusal(), "");
  },
);
