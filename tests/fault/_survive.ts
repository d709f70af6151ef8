/**
 * What has to hold after a command was killed, wherever that was (L37).
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Dataset } from "../../engine/dataset.ts";
import { TetherError } from "../../engine/model/errors.ts";
import { type Call, perform } from "./_call.ts";
import { branchedOff, calls, commit, prune, start } from "./_before.ts";
import type { BothScene, Scene } from "./_scene.ts";

/** What is killed, and what comes before. */
export interface Victim {
  readonly call: Call;
  readonly prepare: (s: BothScene) => Promise<unknown>;
  /** Codes of refusals after which the command that the hint names finishes, by what that is as a call. */
  readonly refused?: Readonly<Record<string, Call>>;
}

type VictimName = "commit" | "pull" | "new" | "promote" | "drop" | "undo of a new" | "undo of a commit";

/** Commands that change version control. */
export const VICTIMS: Readonly<Record<VictimName, Victim>> = {
  commit: { call: commit, prepare: (s) => s.write() },
  pull: { call: { command: "pull" }, prepare: (s) => s.write() },
  // One that was made before the end is there: the way on is to join it.
  new: {
    call: start,
    prepare: (s) => s.write(),
    refused: { "bookmark-exists": { command: "new", options: { rev: "b", eager: true } } },
  },
  promote: { call: { command: "promote" }, prepare: branchedOff },
  drop: { call: { command: "drop", bookmark: "b" }, prepare: branchedOff, refused: { "no-bookmark": prune } },
  "undo of a new": { call: { command: "undo" }, prepare: (s) => calls(s, start) },
  "undo of a commit": { call: { command: "undo" }, prepare: branchedOff },
};

/**
 * Asserts that nothing is lost, that gc holds what an unfinished operation needs, and that the same command finishes it.
 *
 * @param others What {@link foreign} said before.
 */
export async function survives(s: Scene, c: Victim, others: readonly string[]): Promise<void> {
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
    const { warnings, vcsDrift } = await ds.status({ snapshot: true });
    assert.deepEqual(warnings, []);
    // Where jj abandoned commits before, it says so still.
    if (c.call.command !== "gc") assert.deepEqual(vcsDrift, []);
    const repaired = await ds.repair();
    assert.deepEqual([repaired.repinned, repaired.reforked, repaired.failed], [{}, {}, {}]);
  });
  assert.deepEqual(await foreign(s), await movesUpstream(c, others, s), "refs that are not the dataset's changed");
}

/** Makes the call again, or the one that its refusal names. */
async function again(ds: Dataset, c: Victim): Promise<void> {
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

/** Makes refs of somebody else, beside the dataset's own. */
export async function guard(s: Scene): Promise<void> {
  const cwd = `${s.repo.outer}/code`;
  await s.repo.git(["tag", "v1"], { cwd });
  await s.repo.git(["tag", "tether.ffffffff.0123456789abcdef"], { cwd });
  await s.repo.git(["branch", "tether.ws.ffffffff.other"], { cwd });
}

/** Refs in `code` that are not the dataset's. */
export async function foreign(s: Scene): Promise<string[]> {
  const refs = await s.repo.git(["for-each-ref", "--format=%(refname) %(objectname)"], {
    cwd: `${s.repo.outer}/code`,
  });
  return refs.split("\n").filter((ref) => !/tether\.(ws\.)?0a1b2c3d/.test(ref));
}

/** A promote that finishes moves upstream branches; nothing else does. */
async function movesUpstream(c: Victim, others: readonly string[], s: Scene): Promise<readonly string[]> {
  if (c.call.command !== "promote") return others;
  const head = await s.repo.git(["rev-parse", "tether.ws.0a1b2c3d.b"], { cwd: `${s.repo.outer}/code` });
  return others.map((ref) => ref.replace(/^(refs\/heads\/main) .*/, `$1 ${head}`));
}
