import fc from "fast-check";
import { HAS_JJ } from "../helpers/jj_repo.ts";
import { runSequence, sequences, type Tally } from "./_run.ts";
import { removeTemplate, type System } from "./_world.ts";

const NAME =
  "random commands on clones and checkouts that share stores with another dataset lose nothing, and undo keeps its word [L02, L37, L43]";

async function runAll(system: System, { most, numRuns }: { most: number; numRuns: number }): Promise<void> {
  const tally: Tally = new Map();
  try {
    await fc.assert(
      fc.asyncProperty(
        sequences(tally, { system, most }),
        fc.nat({ max: 3 }),
        (commands, n) => runSequence(commands, { system, git: n === 0 }),
      ),
      { numRuns, endOnFailure: true },
    );
  } finally {
    await removeTemplate();
  }
}

Deno.test(`${NAME} (git)`, () => runAll("git", { most: 40, numRuns: 6 }));

Deno.test({ name: `${NAME} (jj)`, ignore: !HAS_JJ, fn: () => runAll("jj", { most: 20, numRuns: 2 }) });
