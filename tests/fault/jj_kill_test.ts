import assert from "node:assert/strict";
import { TetherError } from "../../engine/model/errors.ts";
import { asTempRepo, HAS_JJ, type TempJjRepo, tempJjRepo } from "../helpers/jj_repo.ts";
import { type Call, perform } from "./_call.ts";
import { branchedOff, calls, commit, prune, start } from "./_before.ts";
import { endOf, type Scene, scene, victim } from "./_scene.ts";

/** What is killed where jj and git differ: around the writes to version control. */
interface Case {
  readonly call: Call;
  readonly prepare: (s: Scene) => Promise<unknown>;
  readonly kills: readonly string[];
  /** The call that the refusal of the same command names, by the refusal's code. */
  readonly refused?: Readonly<Record<string, Call>>;
}

const CASES: Readonly<Record<string, Case>> = {
  commit: {
    call: commit,
    prepare: async (s) => (await calls(s, start), await s.write()),
    kills: ["manifests", "vcs-commit", "done"],
  },
  new: { call: start, prepare: (s) => s.write(), kills: ["journal", "vcs", "workspace"] },
  drop: {
    call: { command: "drop", bookmark: "b" },
    prepare: branchedOff,
    kills: ["vcs", "leave-bookmark", "dropped", "delete-bookmark"],
    refused: { "no-bookmark": prune },
  },
  promote: { call: { command: "promote" }, prepare: branchedOff, kills: ["landed", "trunk"] },
  "undo of a new": { call: { command: "undo" }, prepare: (s) => calls(s, start), kills: ["bookmark"] },
  "undo of a commit": { call: { command: "undo" }, prepare: branchedOff, kills: ["journal", "uncommit"] },
};

async function jjScene(): Promise<Scene & { readonly jj: TempJjRepo }> {
  const jj = await tempJjRepo();
  return { ...await scene(["code"], { makeRepo: () => Promise.resolve(asTempRepo(jj)) }), jj };
}

/** Nothing that a commit recorded is lost, and what the entry says is open until something finishes it. */
async function survives(s: Scene, c: Case): Promise<void> {
  await s.with(async (ds) => {
    const [newest] = (await ds.ops()).ops;
    const { warnings, objects } = await ds.status();
    assert.deepEqual(objects.filter((o) => o.error !== null), []);
    if (newest?.status === "started") {
      assert.match(warnings.join("\n"), /was interrupted .*: "tether .*" finishes it$/m);
      if (c.call.command !== "undo") await assert.rejects(ds.undo(), TetherError);
    }
    const refs = await s.refs();
    const { unpinned } = await ds.gc({ dryRun: false });
    if (c.call.command !== "drop") assert.deepEqual([unpinned, await s.refs()], [{}, refs]);
  });
  await s.with(async (ds) => {
    try {
      await perform(ds, c.call);
    } catch (error) {
      assert.ok(error instanceof TetherError);
      const other = c.refused?.[error.code];
      assert.ok(other, `${error.code}: ${error.message}`);
      await perform(ds, other);
    }
    const open = (await ds.ops({ limit: 100 })).ops.filter((op) => op.status !== "done");
    assert.deepEqual(open.map((o) => [o.command, o.summary]), [], "an entry was left open");
    const { entries } = await ds.verify({ allHistory: true, deep: true });
    assert.deepEqual(entries.filter((e) => e.status !== "ok"), []);
  });
  await s.with(async (ds) => {
    const { warnings, vcsDrift } = await ds.status({ snapshot: true });
    assert.deepEqual([warnings, vcsDrift], [[], []]);
    const repaired = await ds.repair();
    assert.deepEqual([repaired.repinned, repaired.reforked, repaired.failed], [{}, {}, {}]);
  });
}

Deno.test({
  name: "[L37] on jj, a command that is killed around its writes to version control loses nothing and is finished",
  ignore: !HAS_JJ,
  async fn(t) {
    await using s = await jjScene();
    const kept = `${s.repo.outer}-start`;
    const copy = async (from: string, to: string): Promise<void> => {
      await Deno.remove(to, { recursive: true }).catch(() => {});
      assert.ok((await new Deno.Command("cp", { args: ["-a", from, to] }).output()).success);
    };
    await copy(s.repo.outer, kept);
    for (const [name, c] of Object.entries(CASES)) {
      await copy(kept, s.repo.outer);
      await c.prepare(s);
      await s.remember();
      for (const boundary of c.kills) {
        await t.step(`${name}: killed at "${boundary}"`, async () => {
          await s.rewind();
          const { signal, stderr } = await endOf(victim(s.root, c.call, boundary));
          assert.equal(signal, "SIGKILL", stderr);
          await survives(s, c);
        });
      }
    }
    await Deno.remove(kept, { recursive: true });
  },
});
