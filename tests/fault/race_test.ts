import assert from "node:assert/strict";
import { type Call, REFUSED } from "./_call.ts";
import { endOf, onBothScenes, type Scene, victim } from "./_scene.ts";

const commit = (message: string): Call => ({ command: "commit", options: { message } });
const start = (bookmark: string): Call => ({ command: "new", options: { bookmark, eager: true } });
const gc: Call = { command: "gc", options: { releaseForeign: true } };

/** Two calls at once; how many of them may be refused, and with which code. */
interface Pair {
  readonly calls: readonly [Call, Call];
  readonly refused?: readonly string[];
}

const PAIRS: Readonly<Record<string, Pair>> = {
  "commit and commit": { calls: [commit("one"), commit("two")] },
  "new and new": { calls: [start("a"), start("b")] },
  "new and new of one name": { calls: [start("c"), start("c")], refused: ["bookmark-exists", "bookmark-held"] },
  "commit and new": { calls: [commit("three"), start("d")], refused: ["stale-working-copy"] },
  "commit and gc": { calls: [commit("four"), gc], refused: ["stale-plan"] },
  "gc and gc": { calls: [gc, gc], refused: ["stale-plan"] },
  "drop and commit": { calls: [{ command: "drop", bookmark: "a" }, commit("five")], refused: ["stale-plan"] },
};

/** Runs two processes at once, and expects of each full success or a clean refusal. */
async function race(s: Scene, roots: readonly [string, string], pair: Pair): Promise<void> {
  for (const root of new Set(roots)) await s.write(root);
  const ended = await Promise.all(pair.calls.map((call, i) => endOf(victim(roots[i] ?? "", call))));
  const refusals = ended.filter((end) => end.code !== 0);
  for (const end of refusals) {
    assert.equal(end.code, REFUSED, end.stderr);
    assert.ok(pair.refused?.includes(end.stderr.split(":")[0] ?? ""), end.stderr);
  }
  assert.ok(refusals.length < 2, "both were refused");
  for (const [i, call] of pair.calls.entries()) {
    const left = pair.calls.some((other, j) => ["new", "drop"].includes(other.command) && roots[i] === roots[j]);
    if (call.command !== "commit" || ended[i]?.code !== 0 || left) continue;
    const { objects } = await s.with((ds) => ds.status({ snapshot: true }), roots[i]);
    assert.deepEqual(
      objects.filter((o) => o.state !== "clean"),
      [],
      "a commit that succeeded recorded less than there was",
    );
  }
}

/** Asserts that every checkout is whole, and that no store lacks a pin or has one that nothing names. */
async function assertWhole(s: Scene, roots: readonly string[]): Promise<void> {
  for (const root of roots) {
    await s.with(async (ds) => {
      const status = await ds.status({ snapshot: true });
      assert.deepEqual(status.objects.filter((o) => o.error !== null), []);
      assert.deepEqual((await ds.ops({ limit: 100 })).ops.filter((o) => o.status !== "done"), []);
      const all = await ds.verify({ allHistory: true, deep: true });
      assert.deepEqual(all.entries.filter((e) => e.status !== "ok"), []);
      const plan = await ds.gc({ releaseForeign: true });
      assert.deepEqual(plan.actions.filter((a) => a.op === "unpin"), [], "a pin that nothing names was left");
    }, root);
  }
}

onBothScenes(
  "[L37, L32, commands 1.6] two processes at once: each does all of its work or refuses, and the dataset is whole",
  ["code", "img"],
  async (s, t) => {
    await t.step("in one checkout", async (t) => {
      for (const [name, pair] of Object.entries(PAIRS)) {
        await t.step(name, async () => {
          await race(s, [s.root, s.root], pair);
          await assertWhole(s, [s.root]);
        });
      }
    });
    const other = await s.repo.worktree("other");
    await s.with(async (ds) => void await ds.new({ rev: "other", eager: true }), other);
    await t.step("in two checkouts of one repository", async (t) => {
      for (const [name, pair] of Object.entries(PAIRS)) {
        await t.step(name, async () => {
          const calls = JSON.parse(JSON.stringify(pair.calls).replaceAll(/"bookmark":"(.)"/g, '"bookmark":"$1$1"'));
          await race(s, [s.root, other], { ...pair, calls });
          await assertWhole(s, [s.root, other]);
        });
      }
    });
  },
);
