import assert from "node:assert/strict";
import { StaleWorkingCopyError } from "../../engine/model/errors.ts";
import { asTempRepo, HAS_JJ, type TempJjRepo, tempJjRepo } from "../helpers/jj_repo.ts";
import { type Call, REFUSED } from "./_call.ts";
import { type Ended, endOf, type Key, type Scene, scene, victim } from "./_scene.ts";

const commit = (message: string): Call => ({ command: "commit", options: { message } });
const gc: Call = { command: "gc", options: { releaseForeign: true } };

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

/** Asserts that a checkout is whole: nothing unfinished, nothing lost, no pin that nothing names. */
async function assertWhole(s: Scene, root: string): Promise<void> {
  await s.with(async (ds) => {
    assert.deepEqual((await ds.status({ snapshot: true })).objects.filter((o) => o.error !== null), []);
    assert.deepEqual((await ds.ops({ limit: 100 })).ops.filter((o) => o.status !== "done"), []);
    const all = await ds.verify({ allHistory: true, deep: true });
    assert.deepEqual(all.entries.filter((e) => e.status !== "ok"), []);
    assert.deepEqual((await ds.gc({ releaseForeign: true })).actions.filter((a) => a.op === "unpin"), []);
  }, root);
}

/** Everything that is written to is recorded by the commit that a checkout stands on. */
async function assertRecorded(s: Scene, root: string): Promise<void> {
  const { objects } = await s.with((ds) => ds.status({ snapshot: true }), root);
  assert.deepEqual(objects.filter((o) => o.state !== "clean"), []);
}

const start = (bookmark: string): Call => ({ command: "new", options: { bookmark, eager: true } });
const drop = (bookmark: string): Call => ({ command: "drop", bookmark });

/** Two calls at once, and the codes by which each may be refused. */
interface Pair {
  readonly calls: readonly [Call, Call];
  readonly refused?: readonly [readonly string[], readonly string[]];
}

const PAIRS: Readonly<Record<string, Pair>> = {
  "commit and commit": { calls: [commit("one"), commit("two")] },
  "commit and gc": { calls: [commit("three"), gc], refused: [[], ["stale-plan"]] },
  "gc and gc": { calls: [gc, gc], refused: [["stale-plan"], ["stale-plan"]] },
  "new and new": { calls: [start("a"), start("b")] },
  "new and new of one name": {
    calls: [start("c"), start("c")],
    refused: [["bookmark-exists", "bookmark-held"], ["bookmark-exists", "bookmark-held"]],
  },
  "drop and commit": { calls: [drop("a"), commit("four")], refused: [["stale-plan"], []] },
};

/** Runs two processes at once, and expects of one full success, of the other that or a clean refusal. */
async function race(s: Scene, roots: readonly [string, string], { calls, refused }: Pair): Promise<void> {
  for (const root of new Set(roots)) await s.write(root);
  const ended = await Promise.all(calls.map((call, i) => endOf(victim(roots[i] ?? "", call))));
  const well = ended.map((end, i) => succeeded(end, refused?.[i] ?? []));
  assert.ok(well.includes(true), "both were refused");
  for (const [i, { command }] of calls.entries()) {
    // Who left the bookmark in the same checkout took what was written along, or away.
    const left = calls.some((other, j) => ["new", "drop"].includes(other.command) && roots[i] === roots[j]);
    if (command === "commit" && well[i] && !left) await assertRecorded(s, roots[i] ?? "");
  }
}

test("[L37, L32, commands 1.6] two processes at once on jj: each does all of its work or refuses, and the dataset is whole", async (t) => {
  await using s = await jjScene(["code", "img"]);
  await t.step("in one checkout", async (t) => {
    for (const [name, pair] of Object.entries(PAIRS)) {
      await t.step(name, async () => {
        await race(s, [s.root, s.root], pair);
        await assertWhole(s, s.root);
      });
    }
  });
  const other = await s.jj.workspace("other");
  await s.with(async (ds) => void await ds.new({ rev: "other", eager: true }), other);
  await t.step("in two workspaces of one repository", async (t) => {
    for (const [name, pair] of Object.entries(PAIRS)) {
      await t.step(name, async () => {
        const calls = JSON.parse(JSON.stringify(pair.calls).replaceAll(/"bookmark":"(.)"/g, '"bookmark":"$1$1"'));
        await race(s, [s.root, other], { ...pair, calls });
        for (const root of [s.root, other]) await assertWhole(s, root);
      });
    }
  });
});

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

test("[L37] killed between jj's part of a writing command and the rest: nothing is lost, and the same command finishes", async (t) => {
  await using s = await jjScene(["code"]);
  interface Case {
    readonly call: Call;
    readonly prepare: () => Promise<unknown>;
    /** Boundaries before and after jj is asked. */
    readonly kills: RegExp;
  }
  const cases: Readonly<Record<string, Case>> = {
    commit: { call: commit("Second"), prepare: () => s.write(), kills: /^(manifests|vcs-commit)$/ },
    "new --eager": {
      call: { command: "new", options: { bookmark: "x", eager: true } },
      prepare: () => s.write(),
      kills: /^(journal|vcs|workspace)$/,
    },
    gc: {
      call: gc,
      kills: /^unpin /,
      prepare: async () => {
        await s.write();
        await s.with((ds) => ds.commit({ message: "gone" }));
        const gone = await s.jj.id("@-");
        await s.jj.jj(["bookmark", "set", "x", "-r", "@--", "--allow-backwards"]);
        await s.jj.jj(["new", "@--"]);
        await s.jj.jj(["abandon", gone]);
      },
    },
  };
  for (const [name, { call, prepare, kills }] of Object.entries(cases)) {
    await prepare();
    await s.remember();
    const whole = await endOf(victim(s.root, call));
    assert.equal(whole.code, 0, whole.stderr);
    const boundaries = whole.stdout.split("\n").filter((boundary) => kills.test(boundary));
    assert.ok(boundaries.length > 0);
    const after = await s.refs();
    for (const boundary of boundaries) {
      await t.step(`${name}: killed at "${boundary}"`, async () => {
        await s.rewind();
        const { signal } = await endOf(victim(s.root, call, boundary));
        assert.equal(signal, "SIGKILL");
        await s.with(async (ds) => {
          await ds.status();
          const all = await ds.verify({ allHistory: true });
          assert.deepEqual(all.entries.filter((e) => e.status !== "ok"), []);
        });
        const again = await endOf(victim(s.root, call));
        // A bookmark that was made before the end is there: the way on is to join it.
        if (again.code !== 0) {
          assert.ok(name === "new --eager" && !succeeded(again, ["bookmark-exists"]), again.stderr);
          await s.with((ds) => ds.new({ rev: "x", eager: true }));
        }
        assert.deepEqual(await s.refs(), after);
        const all = await s.with(async (ds) => await ds.verify({ allHistory: true, deep: true }));
        assert.deepEqual(all.entries.filter((e) => e.status !== "ok"), []);
      });
    }
    await s.rewind();
    assert.equal((await endOf(victim(s.root, call))).code, 0);
  }
});
