import assert from "node:assert/strict";
import { initDataset } from "../../engine/commands/init.ts";
import { Dataset } from "../../engine/dataset.ts";
import { REAL_ENV } from "../../engine/env.ts";
import { TetherError } from "../../engine/model/errors.ts";
import type { OpReport } from "../../engine/reports/reading.ts";
import { tempRepo } from "../helpers/repo.ts";
import { type Call, perform } from "./_call.ts";
import { branchedOff, calls, commit, prune, start } from "./_before.ts";
import { endOf, type Scene, scene, victim } from "./_scene.ts";

/** What is killed, and what comes before. */
interface Case {
  readonly call: Call;
  readonly prepare: (s: Scene) => Promise<unknown>;
  /** Boundaries of a whole run; `*` stands for an id. */
  readonly passes: readonly string[];
  /** Those where the process is killed. @default {all} */
  readonly kills?: readonly string[];
  /** Codes of refusals after which the command that the hint names finishes, by what that is as a call. */
  readonly refused?: Readonly<Record<string, Call>>;
}

const CASES: Readonly<Record<string, Case>> = {
  pull: {
    call: { command: "pull" },
    prepare: (s) => s.write(),
    passes: ["journal", "pin code", "pin img", "manifests", "listings", "vcs-commit", "done"],
    kills: ["pin img", "manifests", "vcs-commit"],
  },
  restore: {
    call: { command: "restore", keys: ["code", "img"], from: "main" },
    prepare: branchedOff,
    passes: ["journal", "restore code", "restore img", "done"],
  },
  promote: {
    call: { command: "promote" },
    prepare: branchedOff,
    passes: ["journal", "fast-forward code", "fast-forward img", "landed", "trunk", "done"],
  },
  "undo of a new": {
    call: { command: "undo" },
    prepare: (s) => calls(s, start),
    passes: ["journal", "vcs", "bookmark", "unfork code", "unfork img", "done"],
  },
  "undo of a commit": {
    call: { command: "undo" },
    prepare: branchedOff,
    passes: ["journal", "uncommit", "done"],
  },
  "undo of a set": {
    call: { command: "undo" },
    prepare: (s) => calls(s, { command: "set", policy: { pin: "record" } }),
    passes: ["journal", "manifest code", "manifest img", "done"],
    kills: ["manifest code", "done"],
  },
  repair: {
    call: { command: "repair" },
    async prepare(s) {
      await branchedOff(s);
      const cwd = `${s.repo.outer}/code`;
      const [tag = ""] = (await s.repo.git(["tag", "--list"], { cwd })).split("\n");
      await s.repo.git(["tag", "-d", tag], { cwd });
      await s.repo.git(["branch", "-D", "tether.ws.0a1b2c3d.b"], { cwd });
    },
    passes: ["journal", "repin *", "refork *", "done"],
  },
  drop: {
    call: { command: "drop", bookmark: "b" },
    prepare: branchedOff,
    // Once of the drop itself, and once of each of its parts.
    passes: [
      ...["journal", "journal", "vcs", "workspace", "done", "leave-bookmark", "dropped", "delete-bookmark"],
      ...["journal"],
      ...["released *", "unpin *", "released *", "unpin *"],
      ...["deleted code", "delete-branch *", "deleted img", "delete-branch *", "done", "done"],
    ],
    kills: ["journal", "vcs", "workspace", "leave-bookmark", "dropped", "delete-bookmark", "deleted code"],
    refused: { "no-bookmark": prune },
  },
  gc: {
    call: { command: "gc", options: { pruneBookmarks: true, forcePrune: true } },
    async prepare(s) {
      await branchedOff(s);
      await calls(s, { command: "new", options: { rev: "main" } });
      await s.repo.git(["branch", "-D", "b"]);
    },
    passes: [
      ...["journal", "released *", "unpin *", "released *", "unpin *"],
      ...["deleted code", "delete-branch *", "deleted img", "delete-branch *", "done"],
    ],
    kills: ["journal", "released *", "deleted code", "deleted img", "done"],
  },
};

Deno.test("[L37] a command on history that is killed at any boundary loses nothing, and the same command finishes", async (t) => {
  await using s = await scene(["code", "img"]);
  await guard(s);
  await s.remember();
  for (const [name, c] of Object.entries(CASES)) {
    await s.rewind();
    await c.prepare(s);
    const others = await foreign(s);
    // Not remember(): the next case begins where this one did.
    const there = await copyOf(s);
    const { code, stdout, stderr } = await endOf(victim(s.root, c.call));
    const passed = stdout.trim().split("\n");
    await t.step(`${name}: the boundaries are the ones this test knows`, () => {
      assert.equal(code, 0, stderr);
      assert.deepEqual(passed.map(general).sort(), [...c.passes].sort());
    });
    for (const boundary of new Set(c.kills ?? c.passes)) {
      await t.step(`${name}: killed at "${boundary}"`, async () => {
        await there.back();
        const exact = passed.find((p) => p === boundary || general(p) === boundary);
        const { signal } = await endOf(victim(s.root, c.call, exact ?? boundary));
        assert.equal(signal, "SIGKILL");
        await survives(s, c, await movesUpstream(c, others, s));
      });
    }
    await there.back();
  }
});

/** Names that hold ids or refs are the same in every run but for those. */
function general(boundary: string): string {
  return boundary.replace(/^(repin|refork|released|unpin|delete-branch) .*/, "$1 *");
}

async function survives(s: Scene, c: Case, others: readonly string[]): Promise<void> {
  await s.with(async (ds) => {
    const status = await ds.status();
    assert.deepEqual(status.objects.filter((o) => o.error !== null), []);
    const [newest] = (await ds.ops()).ops;
    assert.ok(newest);
    if (newest.status === "started") {
      assert.match(status.warnings.join("\n"), /was interrupted .*: "tether .*" finishes it$/m);
      if (c.call.command !== "undo") await assert.rejects(ds.undo(), TetherError);
    }
    const refs = await s.refs();
    const { unpinned } = await ds.gc({ dryRun: false });
    if (c.call.command !== "drop" && c.call.command !== "gc") {
      assert.deepEqual([unpinned, await s.refs()], [{}, refs], "gc released what an unfinished operation holds");
    }
    await recoverable(ds);
  });
  await s.with(async (ds) => {
    await again(ds, c);
    await recoverable(ds);
    const left = (await ds.ops({ limit: 100 })).ops.filter((op) => op.status !== "done");
    assert.deepEqual(left.map((o) => [o.command, o.summary]), [], "an entry was left open");
  });
  await s.with(async (ds) => {
    assert.deepEqual((await ds.status({ snapshot: true })).warnings, []);
    const repaired = await ds.repair();
    assert.deepEqual([repaired.repinned, repaired.reforked, repaired.failed], [{}, {}, {}]);
  });
  assert.deepEqual(await foreign(s), others, "refs that are not the dataset's changed");
}

async function newestOp(s: Scene): Promise<OpReport | undefined> {
  return await s.with(async (ds) => (await ds.ops()).ops.find((op) => op.parent === null));
}

/** Tells whether an operation came after the last one, and is complete. */
async function isComplete(s: Scene, last: string | undefined): Promise<boolean> {
  const op = await newestOp(s);
  return op !== undefined && op.id !== last && op.status === "done";
}

/** Makes the call again, or the one that its refusal names. */
async function again(ds: Dataset, c: Case): Promise<void> {
  try {
    await perform(ds, c.call);
  } catch (error) {
    assert.ok(error instanceof TetherError);
    const other = c.refused?.[error.code];
    assert.ok(other, `${error.code}: ${error.message}`);
    await perform(ds, other);
  }
}

/** Every state that any commit recorded can be read back. */
async function recoverable(ds: Dataset): Promise<void> {
  const { entries } = await ds.verify({ allHistory: true, deep: true });
  const lost = entries.filter((e) => e.status !== "ok");
  // One that somebody else deleted is for repair to make again.
  if ((await ds.ops()).ops.some((o) => o.command === "repair")) return;
  assert.deepEqual(lost, []);
}

/** Refs of somebody else, beside the dataset's own. */
async function guard(s: Scene): Promise<void> {
  const cwd = `${s.repo.outer}/code`;
  await s.repo.git(["tag", "v1"], { cwd });
  await s.repo.git(["tag", "tether.ffffffff.0123456789abcdef"], { cwd });
  await s.repo.git(["branch", "tether.ws.ffffffff.other"], { cwd });
}

async function foreign(s: Scene): Promise<string[]> {
  const refs = await s.repo.git(["for-each-ref", "--format=%(refname) %(objectname)"], {
    cwd: `${s.repo.outer}/code`,
  });
  return refs.split("\n").filter((ref) => !/tether\.(ws\.)?0a1b2c3d/.test(ref));
}

/** A promote that finishes moves upstream branches; nothing else does. */
async function movesUpstream(c: Case, others: readonly string[], s: Scene): Promise<readonly string[]> {
  if (c.call.command !== "promote") return others;
  const head = await s.repo.git(["rev-parse", "tether.ws.0a1b2c3d.b"], { cwd: `${s.repo.outer}/code` });
  return others.map((ref) => ref.replace(/^(refs\/heads\/main) .*/, `$1 ${head}`));
}

/** Everything as it is now, to come back to several times. */
async function copyOf(s: Scene): Promise<{ back(): Promise<void> }> {
  const kept = `${s.repo.outer}-case`;
  const copy = async (from: string, to: string): Promise<void> => {
    await Deno.remove(to, { recursive: true }).catch(() => {});
    await new Deno.Command("cp", { args: ["-a", from, to] }).output();
  };
  await copy(s.repo.outer, kept);
  return { back: () => copy(kept, s.repo.outer) };
}

/** A small generator, so that a run can be had again from the seed that it printed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

Deno.test("[L37] killed at a random moment: nothing is lost, and the same command finishes", async (t) => {
  const seed = Number(Deno.env.get("TETHER_SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]);
  const next = random(seed);
  await using s = await scene(["code", "img"]);
  await guard(s);
  const some: readonly Case[] = [
    { call: commit, prepare: (s) => s.write(), passes: [] },
    { call: start, prepare: (s) => s.write(), passes: [] },
    { call: { command: "snapshot" }, prepare: (s) => s.write(), passes: [] },
    { call: { command: "drop", bookmark: "b" }, prepare: branchedOff, passes: [], refused: { "no-bookmark": prune } },
  ];
  await s.remember();
  for (const c of some) {
    await s.rewind();
    await c.prepare(s);
    const others = await foreign(s);
    const there = await copyOf(s);
    const last = (await newestOp(s))?.id;
    const begun = performance.now();
    await endOf(victim(s.root, c.call));
    const whole = performance.now() - begun;
    for (let i = 0; i < 2; i++) {
      // The first half of a run is the runtime that starts.
      const after = whole * (0.4 + 0.6 * next());
      await t.step(`${c.call.command}, after ${Math.round(after)} ms (TETHER_SEED=${seed})`, async () => {
        await there.back();
        const child = victim(s.root, c.call);
        const kill = setTimeout(() => killIfAlive(child), after);
        const { signal } = await endOf(child);
        clearTimeout(kill);
        // One that was complete before it was killed has no more to finish than one that ended by itself.
        if (signal === null || await isComplete(s, last)) return;
        await survives(s, c, others);
      });
    }
  }
});

Deno.test("[L37] init that is killed leaves no dataset or a whole one", async (t) => {
  for (const deadly of ["frame", "workspace", "config"]) {
    await t.step(`at "${deadly}"`, async () => {
      await using repo = await tempRepo();
      const dying = new Error("dead");
      const boundary = (step: string): void => {
        // Nothing of init runs after the exception but the removal of folders it made empty, which a kill leaves.
        if (step === deadly) throw dying;
      };
      await assert.rejects(initDataset(repo.path, { env: { ...REAL_ENV, boundary } }), dying);
      if (deadly !== "config") await initDataset(repo.path);
      await using ds = await Dataset.open(repo.path);
      assert.equal(ds.workspace.bookmark, ds.config.trunk);
      await ds.add({ key: "m", kind: "memory", locator: { system: "m" } });
      assert.notEqual((await ds.commit({ message: "First" })).vcsCommit, null);
    });
  }
});

/** Kills a process, unless it ended a moment before this hears of it. */
function killIfAlive(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
