import assert from "node:assert/strict";
import { initDataset } from "../../engine/commands/init.ts";
import { Dataset } from "../../engine/dataset.ts";
import { REAL_ENV } from "../../engine/env.ts";
import { tempRepo } from "../helpers/repo.ts";
import { branchedOff, calls } from "./_before.ts";
import { copyOf, endOf, onBothScenes, victim } from "./_scene.ts";
import { foreign, guard, survives, type Victim, VICTIMS } from "./_survive.ts";

/** What is killed, and where. */
interface Case extends Victim {
  /** Boundaries of a whole run; `*` stands for an id. */
  readonly passes: readonly string[];
  /** Those where the process is killed. @default {all} */
  readonly kills?: readonly string[];
  /** One that jj does not pass, since nothing moves there. */
  readonly gitOnly?: string;
  /** Whether it writes nothing to version control, so that git is enough. @default {false} */
  readonly storesOnly?: boolean;
}

const CASES: Readonly<Record<string, Case>> = {
  commit: {
    ...VICTIMS.commit,
    passes: ["journal", "pin code", "pin img", "manifests", "listings", "vcs-commit", "done"],
    kills: ["manifests", "vcs-commit", "done"],
  },
  pull: {
    ...VICTIMS.pull,
    passes: ["journal", "pin code", "pin img", "manifests", "listings", "vcs-commit", "done"],
    kills: ["pin img", "manifests", "vcs-commit"],
  },
  new: {
    ...VICTIMS.new,
    passes: ["journal", "vcs", "workspace", "fork code", "fork img", "done"],
    kills: ["journal", "vcs", "workspace"],
  },
  restore: {
    call: { command: "restore", keys: ["code", "img"], from: "main" },
    prepare: branchedOff,
    passes: ["journal", "restore code", "restore img", "done"],
  },
  promote: {
    ...VICTIMS.promote,
    passes: ["journal", "fast-forward code", "fast-forward img", "landed", "trunk", "done"],
  },
  "undo of a new": {
    ...VICTIMS["undo of a new"],
    passes: ["journal", "vcs", "bookmark", "unfork code", "unfork img", "done"],
    gitOnly: "vcs",
  },
  "undo of a commit": { ...VICTIMS["undo of a commit"], passes: ["journal", "uncommit", "done"] },
  "undo of a set": {
    call: { command: "undo" },
    prepare: (s) => calls(s, { command: "set", policy: { pin: "record" } }),
    passes: ["journal", "manifest code", "manifest img", "done"],
    kills: ["manifest code", "done"],
    storesOnly: true,
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
    storesOnly: true,
  },
  drop: {
    ...VICTIMS.drop,
    // Once of the drop itself, and once of each of its parts.
    passes: [
      ...["journal", "journal", "vcs", "workspace", "done", "leave-bookmark", "dropped", "delete-bookmark"],
      ...["journal"],
      ...["released *", "unpin *", "released *", "unpin *"],
      ...["deleted code", "delete-branch *", "deleted img", "delete-branch *", "done", "done"],
    ],
    kills: ["journal", "vcs", "workspace", "leave-bookmark", "dropped", "delete-bookmark", "deleted code"],
  },
  gc: {
    call: { command: "gc", options: { pruneBookmarks: true, forcePrune: true } },
    async prepare(s) {
      await branchedOff(s);
      await calls(s, { command: "new", options: { rev: "main" } });
      await s.lose("b");
    },
    passes: [
      ...["journal", "released *", "unpin *", "released *", "unpin *"],
      ...["deleted code", "delete-branch *", "deleted img", "delete-branch *", "done"],
    ],
    kills: ["journal", "released *", "deleted code", "deleted img", "done"],
  },
};

/** What is about one store alone is the same on git and on jj, so it is killed there on git only. */
const OF_A_STORE = /^(pin|unfork|manifest|fast-forward|repin|refork|released|deleted) /;

onBothScenes(
  "[L37] a command on history that is killed at any boundary loses nothing, and the same command finishes",
  ["code", "img"],
  async (s, t) => {
    await guard(s);
    await s.remember();
    for (const [name, c] of Object.entries(CASES)) {
      if (s.system === "jj" && c.storesOnly) continue;
      const isPassed = (boundary: string): boolean => s.system === "git" || boundary !== c.gitOnly;
      await s.rewind();
      await c.prepare(s);
      const others = await foreign(s);
      // Not remember(): the next case begins where this one did.
      await using there = await copyOf(s);
      const { code, stdout, stderr } = await endOf(victim(s.root, c.call));
      const passed = stdout.trim().split("\n");
      await t.step(`${name}: the boundaries are the ones this test knows`, () => {
        assert.equal(code, 0, stderr);
        assert.deepEqual(passed.map(general).sort(), c.passes.filter(isPassed).sort());
      });
      const kills = [...new Set(c.kills ?? c.passes)].filter(isPassed).filter((k) =>
        s.system === "git" || !OF_A_STORE.test(k)
      );
      for (const boundary of kills) {
        await t.step(`${name}: killed at "${boundary}"`, async () => {
          await there.back();
          const exact = passed.find((p) => p === boundary || general(p) === boundary);
          const { signal } = await endOf(victim(s.root, c.call, exact ?? boundary));
          assert.equal(signal, "SIGKILL");
          await survives(s, c, others);
        });
      }
    }
  },
);

/** Names that hold ids or refs are the same in every run but for those. */
function general(boundary: string): string {
  return boundary.replace(/^(repin|refork|released|unpin|delete-branch) .*/, "$1 *");
}

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
