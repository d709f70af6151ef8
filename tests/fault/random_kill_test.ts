import type { OpReport } from "../../engine/reports/reading.ts";
import { copyOf, endOf, onBothScenes, type Scene, victim } from "./_scene.ts";
import { foreign, guard, survives, type Victim, VICTIMS } from "./_survive.ts";

async function newestOp(s: Scene): Promise<OpReport | undefined> {
  return await s.with(async (ds) => (await ds.ops()).ops.find((op) => op.parent === null));
}

/** Tells whether an operation came after the last one, and is complete. */
async function isComplete(s: Scene, last: string | undefined): Promise<boolean> {
  const op = await newestOp(s);
  return op !== undefined && op.id !== last && op.status === "done";
}

/** A small generator, so that a run can be had again from the seed that it printed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

onBothScenes(
  "[L37] killed at a random moment: nothing is lost, and the same command finishes",
  ["code", "img"],
  async (s, t) => {
    const seed = Number(Deno.env.get("TETHER_SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]);
    const next = random(seed);
    await guard(s);
    const { commit, drop, new: start } = VICTIMS;
    const some: readonly Victim[] = [commit, start, { call: { command: "snapshot" }, prepare: (s) => s.write() }, drop];
    await s.remember();
    for (const c of some) {
      await s.rewind();
      await c.prepare(s);
      const others = await foreign(s);
      await using there = await copyOf(s);
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
  },
);

/** Kills a process, unless it ended a moment before this hears of it. */
function killIfAlive(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
