import assert from "node:assert/strict";
import { jjPath } from "../../scripts/jj.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { perform } from "./_call.ts";
import { endOf, onBothScenes, type Scene, victim } from "./_scene.ts";

/** Three commits with a state of `code` each; the ids of the last two. */
async function threeStates(s: Scene): Promise<[string, string]> {
  const ids: string[] = [];
  for (const message of ["One", "Two", "Three"]) {
    await s.write();
    ids.push(await s.with(async (ds) => (await ds.commit({ message })).vcsCommit ?? ""));
  }
  return [ids[1] ?? "", ids[2] ?? ""];
}

/** Manifest of `code` under the working copy and in it. */
async function recorded(s: Scene): Promise<string[]> {
  return await s.with(async (ds) => {
    const { commit } = await ds.vcs.position();
    const bytes = await ds.vcs.fileAt(commit ?? "", ".tether/objects/code.toml");
    return [new TextDecoder().decode(bytes), await Deno.readTextFile(`${s.root}/.tether/objects/code.toml`)];
  });
}

/** Nothing is open, every state that a commit records is there, and later commits are as they were. */
async function assertWhole(s: Scene, before: readonly string[]): Promise<void> {
  assert.deepEqual(await recorded(s), before);
  await s.with(async (ds) => {
    assert.deepEqual((await ds.ops({ limit: 100 })).ops.filter((op) => op.status !== "done"), [], "an entry is open");
    const status = await ds.status({ snapshot: true });
    assert.deepEqual([status.warnings, status.vcsDrift], [[], []]);
    assert.deepEqual(status.objects.map((o) => o.state), ["clean"]);
    const { entries } = await ds.verify({ allHistory: true, deep: true });
    assert.deepEqual(entries.filter((e) => e.status !== "ok"), []);
    assert.deepEqual((await ds.gc()).actions.filter((a) => a.op === "keep-pin"), []);
  });
}

/** What is run next, by where the process was killed. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  journal: ["abandon"],
  prepare: ["abandon", "close"],
  rewritten: ["abandon", "gc", "repair", "close", "another"],
  abandon: ["abandon", "gc"],
  done: ["abandon"],
};

onBothScenes(
  "[L37] abandon killed at any boundary: whatever comes next, nothing is lost or left open",
  ["code"],
  async (s, t) => {
    const [second, third] = await threeStates(s);
    const before = await recorded(s);
    const pins = await s.refs();
    await s.remember();
    const call = { command: "abandon", revs: [second] } as const;
    await t.step("the boundaries are the ones this test knows", async () => {
      const { code, stdout, stderr } = await endOf(victim(s.root, call));
      assert.equal(code, 0, stderr);
      assert.deepEqual(stdout.trim().split("\n"), Object.keys(NEXT));
      await assertWhole(s, before);
    });
    for (const [boundary, nexts] of Object.entries(NEXT)) {
      for (const next of nexts) {
        await t.step(`killed at "${boundary}", then ${next}`, async () => {
          await s.rewind();
          assert.equal((await endOf(victim(s.root, call, boundary))).signal, "SIGKILL");
          await s.with(async (ds) => {
            assert.match(
              (await ds.status()).warnings.join(),
              /^abandon .* was interrupted .*: "tether .*" finishes it$/,
            );
            await assert.rejects(ds.undo(), TetherError);
            const [op] = (await ds.ops()).ops;
            const gone = async () => !(await ds.vcs.history()).some((c) => c.id === second);
            switch (next) {
              case "gc":
                assert.equal((await ds.gc({ dryRun: false })).unpinned["git"]?.length, 1);
                break;
              case "repair":
                await ds.repair();
                break;
              case "close":
                assert.equal((await ds.closeOperation(op?.id ?? "")).landed, boundary === "rewritten");
                assert.equal(await gone(), boundary === "rewritten");
                break;
              case "another":
                // By a name such as HEAD~1 that means another commit by now.
                await assert.rejects(ds.abandon([third]), (e) => e instanceof TetherError && e.code !== "unknown");
                break;
              default: {
                const report = await ds.abandon([second]);
                assert.deepEqual(report.abandoned, [second]);
                assert.equal(report.gcPlan.actions.filter((a) => a.op === "unpin").length, 1);
                assert.ok(await gone());
              }
            }
          });
          if (next !== "gc") assert.deepEqual(await s.refs(), pins, "nothing was released");
          await assertWhole(s, before);
        });
      }
    }
  },
);

onBothScenes(
  "[L37] abandon that dies between two steps of version control gives later commits their files all the same",
  ["code"],
  async (s, t) => {
    const [second] = await threeStates(s);
    const before = await recorded(s);
    // Another bookmark on the commit has to move too.
    await s.bookmark("side", second);
    await s.remember();
    const [name, real, step] = s.system === "jj"
      ? ["TETHER_JJ", jjPath(), "restore"]
      : ["TETHER_GIT", "git", "update-ref"];
    for (const next of [{ command: "abandon", revs: [second] }, { command: "gc", options: {} }] as const) {
      await t.step(`then ${next.command}`, async () => {
        await s.rewind();
        const program = `${s.repo.outer}/program`;
        await Deno.writeTextFile(
          program,
          `#!/bin/sh\nfor a; do if [ "$a" = ${step} ]; then kill -9 $PPID; exit 1; fi; done\nexec ${real} "$@"\n`,
          { mode: 0o755 },
        );
        const { signal, stderr } = await endOf(
          victim(s.root, { command: "abandon", revs: [second] }, "none", { [name]: program }),
        );
        assert.equal(signal, "SIGKILL", stderr);
        await s.with((ds) => perform(ds, next));
        await s.with(async (ds) => {
          assert.deepEqual((await ds.ops()).ops.filter((op) => op.status !== "done"), []);
          assert.ok(!(await ds.vcs.history()).some((c) => c.id === second));
          assert.notEqual((await ds.vcs.bookmarks()).get("side"), second);
        });
        await assertWhole(s, before);
      });
    }
  },
);
