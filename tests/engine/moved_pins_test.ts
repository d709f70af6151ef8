import assert from "node:assert/strict";
import { namedStore } from "../../backends/memory/store.ts";
import { TetherError } from "../../engine/model/errors.ts";
import type { Plan } from "../../engine/plan/plan.ts";
import { type TempDataset, tempDataset } from "../helpers/dataset.ts";

/** A command that makes a branch from what a commit pinned. */
interface Way {
  /** What comes before the pin is tampered with. */
  readonly before: (t: TempDataset) => Promise<unknown>;
  readonly make: (t: TempDataset) => Promise<unknown>;
  /** How it goes on once the pin is right again. @default {make} */
  readonly again?: (t: TempDataset) => Promise<unknown>;
}

async function repaired(t: TempDataset): Promise<void> {
  const { failed } = await t.with((ds) => ds.repair());
  const [why] = Object.values(failed);
  if (why !== undefined) throw new TetherError(why);
}

const saved = new Map<TempDataset, Plan>();
const onBranch = (t: TempDataset) => t.with((ds) => ds.new({ bookmark: "x", eager: true }));

const WAYS: Readonly<Record<string, Way>> = {
  "new --eager": { before: () => Promise.resolve(), make: onBranch },
  "new --from-plan": {
    before: async (t) => saved.set(t, await t.with((ds) => ds.plan.new({ bookmark: "x", eager: true }))),
    make: (t) => t.with((ds) => ds.apply(saved.get(t) ?? assert.fail())),
    again: (t) => t.with((ds) => ds.new({ eager: true })),
  },
  "the first writable open": {
    before: (t) => t.with((ds) => ds.new({ bookmark: "x", eager: false })),
    make: (t) => t.with((ds) => ds.open("a", { readOnly: false })),
  },
  "restore --from": {
    before: onBranch,
    make: (t) => t.with((ds) => ds.restore(["a"], { from: "main", discard: true })),
  },
  "restore of a branch that is gone": {
    before: async (t) => {
      await onBranch(t);
      await dropBranch(t);
    },
    make: (t) => t.with((ds) => ds.restore(["a"], { from: "main" })),
  },
  "repair": {
    before: async (t) => {
      await onBranch(t);
      await dropBranch(t);
    },
    make: repaired,
  },
};

function system(t: TempDataset) {
  return namedStore().find(t.system("a")) ?? assert.fail();
}

async function dropBranch(t: TempDataset): Promise<void> {
  system(t).branches.delete(await t.with((ds) => Promise.resolve(ds.workspace.workingRefs["a"] ?? assert.fail())));
}

/** A branch of the bookmark, which stands at what a commit recorded or does not exist. */
function heads(t: TempDataset): string[] {
  return [...system(t).branches].filter(([name]) => name !== "main").map(([, head]) => head);
}

async function recorded(): Promise<{ t: TempDataset; ref: string; state: string }> {
  const t = await tempDataset();
  await t.addMemory("a");
  t.write("a");
  await t.with((ds) => ds.commit({ message: "first" }));
  const [[ref, state] = assert.fail()] = [...system(t).tags];
  t.write("a");
  return { t, ref, state };
}

for (const [name, { before, make, again = make }] of Object.entries(WAYS)) {
  Deno.test(`[commands 5.10, 5.11, 5.17, 5.19] ${name} makes no branch from a pin that somebody moved`, async () => {
    const { t, ref, state } = await recorded();
    await using _ = t;
    await before(t);
    system(t).tags.set(ref, system(t).head("main").id);
    await assert.rejects(make(t), (error: unknown) => {
      assert.ok(error instanceof TetherError);
      assert.match(error.message, /from its pin: .*(at|names) /);
      return true;
    });
    assert.deepEqual(heads(t).filter((head) => head !== state), [], "nothing stands where nothing was recorded");
    system(t).tags.set(ref, state);
    await again(t);
    assert.deepEqual(heads(t), [state]);
  });

  Deno.test(`[commands 6] ${name} names the command that makes a missing pin again`, async () => {
    const { t, ref, state } = await recorded();
    await using _ = t;
    await before(t);
    system(t).tags.delete(ref);
    if (make !== repaired) {
      await assert.rejects(make(t), (error: unknown) => {
        assert.ok(error instanceof TetherError);
        assert.match(`${error.message}\n${error.hints.join("\n")}`, /tether repair (--all-history )?-- a/);
        return true;
      });
      await t.with((ds) => ds.repair({ keys: ["a"] }));
    }
    await again(t);
    assert.deepEqual(heads(t), [state]);
    assert.equal(system(t).tags.get(ref), state);
  });
}
