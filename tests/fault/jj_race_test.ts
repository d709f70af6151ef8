import assert from "node:assert/strict";
import { StaleWorkingCopyError } from "../../engine/model/errors.ts";
import { asTempRepo, HAS_JJ, type TempJjRepo, tempJjRepo } from "../helpers/jj_repo.ts";
import { type Call, REFUSED } from "./_call.ts";
import { type Ended, endOf, type Key, type Scene, scene, victim } from "./_scene.ts";

const commit = (message: string): Call => ({ command: "commit", options: { message } });

function test(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test({ name, ignore: !HAS_JJ, fn });
}

interface JjScene extends Scene {
  readonly jj: TempJjRepo;
}

async function jjScene(keys: readonly Key[], colocated = true): Promise<JjScene> {
  const jj = await tempJjRepo({ colocated });
  return { ...await scene(keys, { makeRepo: () => Promise.resolve(asTempRepo(jj)) }), jj };
}

/** Expects full success or a refusal by one of some codes; returns whether it succeeded. */
function succeeded(end: Ended, codes: readonly string[]): boolean {
  if (end.code === 0) return true;
  assert.equal(end.code, REFUSED, end.stderr);
  assert.ok(codes.includes(end.stderr.split(":")[0] ?? ""), end.stderr);
  return false;
}

/** Everything that is written to is recorded by the commit that a checkout stands on. */
async function assertRecorded(s: Scene, root: string): Promise<void> {
  const { objects } = await s.with((ds) => ds.status({ snapshot: true }), root);
  assert.deepEqual(objects.filter((o) => o.state !== "clean"), []);
}

/** Commits once more; where jj put the working copy beside the commit that had been made, goes back first, as the hint says. */
async function again(s: JjScene, message: string): Promise<void> {
  try {
    await s.with((ds) => ds.commit({ message }));
  } catch (error) {
    if (!(error instanceof StaleWorkingCopyError)) throw error;
    assert.match(error.hints.join(", "), /tether new (-- )?main/);
    await s.with((ds) => ds.new({ rev: "main" }));
    await s.with((ds) => ds.commit({ message }));
  }
}

test("[L17, L37] commits beside jj's own commands: both are kept, and what ran at the same time jj merges", async (t) => {
  for (const colocated of [true, false]) {
    await t.step(colocated ? "colocated" : "not colocated", async () => {
      await using s = await jjScene(["code"], colocated);
      for (let round = 0; round < 2; round++) {
        await s.write();
        const child = endOf(victim(s.root, commit(`round ${round}`)));
        let running = true;
        const ended = child.finally(() => running = false);
        let said = 0;
        while (running) {
          await s.repo.write("notes", `${said}`);
          // It fails where its own lock or a stale working copy stops it; nothing may come of that.
          await s.jj.jj(["describe", `--message=said ${said++}`], { mayFail: true });
        }
        const end = await ended;
        await s.jj.jj(["workspace", "update-stale"], { mayFail: true });
        await s.jj.jj(["status"]);
        if (!succeeded(end, ["divergent-operations", "stale-working-copy", "vcs"])) {
          // What was pinned stays named by an unfinished operation or a manifest until the same command is done.
          assert.deepEqual((await s.with((ds) => ds.gc())).actions.filter((a) => a.op === "unpin"), []);
          await again(s, `round ${round} again`);
        }
        await assertRecorded(s, s.root);
        const all = await s.with(async (ds) => await ds.verify({ allHistory: true }));
        assert.deepEqual(all.entries.filter((e) => e.status !== "ok"), []);
        assert.equal(await s.jj.jj(["log", "--no-graph", "-r", "conflicts()", "-T", "commit_id"]), "");
      }
    });
  }
});
