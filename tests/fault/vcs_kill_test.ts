import assert from "node:assert/strict";
import { jjPath } from "../../scripts/jj.ts";
import { branchedOff, calls as perform, start } from "./_before.ts";
import type { Call } from "./_call.ts";
import { type BothScene, copyOf, endOf, onBothScenes, victim } from "./_scene.ts";
import { foreign, survives, type Victim, VICTIMS } from "./_survive.ts";

const back: Call = { command: "new", options: { rev: "main" } };

/** Commands that move the working copy or a bookmark in other ways. */
const MOVES: Readonly<Record<string, Victim>> = {
  ...VICTIMS,
  "new, back": { call: back, prepare: branchedOff },
  "new, from elsewhere": {
    call: { command: "new", options: { bookmark: "c", rev: "main", eager: true } },
    prepare: branchedOff,
    refused: { "bookmark-exists": { command: "new", options: { rev: "c", eager: true } } },
  },
  "drop from elsewhere": {
    ...VICTIMS.drop,
    async prepare(s) {
      await branchedOff(s);
      await perform(s, back);
    },
  },
  "drop without commits": { ...VICTIMS.drop, prepare: (s) => perform(s, start) },
  "undo of a way back": {
    call: { command: "undo" },
    async prepare(s) {
      await branchedOff(s);
      await perform(s, back);
    },
  },
  "undo of a new from elsewhere": {
    call: { command: "undo" },
    async prepare(s) {
      await branchedOff(s);
      await perform(s, { command: "new", options: { bookmark: "c", rev: "main", eager: true } });
    },
  },
};

/** How the shell tells a call that writes from one that reads, in the dataset's repository. */
const WRITES = {
  jj: `case "$a" in --config-file=*) writes=1;; esac`,
  git: `case "$a" in commit|update-ref|switch|reset|add) writes=1;; esac`,
} as const;

/** A program that stands in for git or jj and kills the tether that starts it, after one of the calls that write. */
interface Deadly {
  readonly env: Readonly<Record<string, string>>;
  arm(call: number): Promise<void>;
  /** Returns how many calls there were since it was armed. */
  calls(): Promise<number>;
}

function deadly({ system, repo: { path } }: BothScene, folder: string): Deadly {
  const [program, count] = [`${folder}/program`, `${folder}/count`];
  const real = system === "jj" ? jjPath() : "git";
  return {
    env: { [system === "jj" ? "TETHER_JJ" : "TETHER_GIT"]: program },
    async arm(call) {
      await Deno.writeTextFile(count, "");
      await Deno.writeTextFile(
        program,
        `#!/bin/sh
case "$PWD" in ${path}|${path}/*) ;; *) exec ${real} "$@";; esac
writes=
for a; do ${WRITES[system]}; done
[ -n "$writes" ] || exec ${real} "$@"
echo "$*" >> ${count}
[ "$(wc -l < ${count})" -eq ${call} ] || exec ${real} "$@"
${real} "$@" >&2
kill -9 $PPID
`,
        { mode: 0o755 },
      );
    },
    calls: async () => (await Deno.readTextFile(count)).split("\n").length - 1,
  };
}

onBothScenes(
  "[L37] killed after any call that writes to version control: nothing is lost, and the same command finishes",
  ["code"],
  async (s, t) => {
    const folder = await Deno.makeTempDir({ prefix: "tether-test-" });
    const program = deadly(s, folder);
    await s.remember();
    for (const [name, c] of Object.entries(MOVES)) {
      await s.rewind();
      await c.prepare(s);
      const others = await foreign(s);
      await using there = await copyOf(s);
      await program.arm(0);
      const { code, stderr } = await endOf(victim(s.root, c.call, "none", program.env));
      assert.equal(code, 0, stderr);
      const calls = await program.calls();
      assert.ok(calls > 0, `${name}: no call writes`);
      for (let call = 1; call <= calls; call++) {
        await t.step(`${name}: killed after call ${call} of ${calls}`, async () => {
          await there.back();
          await program.arm(call);
          const { signal } = await endOf(victim(s.root, c.call, "none", program.env));
          assert.equal(signal, "SIGKILL");
          await survives(s, c, others);
        });
      }
    }
    await Deno.remove(folder, { recursive: true });
  },
);
