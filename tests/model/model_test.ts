import fc from "fast-check";
import { runSequence, sequences, type Tally } from "./_run.ts";
import { removeTemplate } from "./_world.ts";

Deno.test("random commands on clones and worktrees that share stores with another dataset lose nothing, and undo keeps its word [L02, L37, L43]", async () => {
  const tally: Tally = new Map();
  try {
    await fc.assert(
      fc.asyncProperty(
        sequences(tally, { most: 40 }),
        fc.nat({ max: 3 }),
        (commands, n) => runSequence(commands, { git: n === 0 }),
      ),
      { numRuns: 6, endOnFailure: true },
    );
  } finally {
    await removeTemplate();
  }
});
