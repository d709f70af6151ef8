import assert from "node:assert/strict";
import { broken, type Step } from "./_rules.ts";
import type { Sight } from "./_sight.ts";
import { DATASET, OTHER } from "./_world.ts";

const PIN = `tether.${DATASET}.0000000000000001`;
const BRANCH = `branch tether.ws.${DATASET}.x`;
const FOREIGN = `tag tether.${OTHER}.0000000000000001`;

const SIGHT: Sight = { refs: "", names: [], places: new Map(), needed: new Set(), away: false };

/** Refs of the one store, by ref. */
type Heads = readonly (readonly [ref: string, head: string])[];

/** Heads are numbers; a head is an ancestor of every larger one. */
function step(command: string, refs: { from?: Heads; to?: Heads }, more: Partial<Step> = {}): Step {
  return {
    command,
    dataset: DATASET,
    root: "/",
    force: false,
    prune: false,
    releaseForeign: false,
    failure: undefined,
    made: new Set([PIN]),
    owners: new Map([["s", DATASET]]),
    reaches: (_, heads, head) => Promise.resolve([...heads].some((h) => Number(h) >= Number(head))),
    before: new Map([["s", new Map(refs.from ?? [])]]),
    after: new Map([["s", new Map(refs.to ?? [])]]),
    was: SIGHT,
    is: SIGHT,
    ...more,
  };
}

Deno.test("the rules of the model tell what loses data from what does not", async (t) => {
  const base = ["branch main", "0"] as const;
  const cases: Record<string, [Step, string | undefined]> = {
    "gc releases what nothing names": [step("gc", { from: [[`tag ${PIN}`, "1"], base], to: [base] }), undefined],
    "gc releases what this clone did not make": [
      step("gc", { from: [[`tag ${PIN}`, "1"], base], to: [base] }, { made: new Set() }),
      "a pin of another clone was released",
    ],
    "gc releases it when told to": [
      step("gc", { from: [[`tag ${PIN}`, "1"], base], to: [base] }, { made: new Set(), releaseForeign: true }),
      undefined,
    ],
    "gc releases while a checkout is away": [
      step("gc", { from: [[`tag ${PIN}`, "1"], base], to: [base] }, { was: { ...SIGHT, away: true } }),
      "a pin was released while a checkout could not be read",
    ],
    "gc deletes a branch while a checkout is away": [
      step("gc", { from: [[BRANCH, "0"], base], to: [base] }, { prune: true, was: { ...SIGHT, away: true } }),
      "a branch was deleted while a checkout could not be read",
    ],
    "a status releases": [step("status", { from: [[`tag ${PIN}`, "1"], base], to: [base] }), '"status" released a pin'],
    "a pin moves": [step("repair", { from: [[`tag ${PIN}`, "1"]], to: [[`tag ${PIN}`, "2"]] }), "a pin moved"],
    "a gc pins": [step("gc", { to: [[`tag ${PIN}`, "1"]] }), '"gc" made a pin'],
    "another dataset's pin goes": [
      step("gc", { from: [[FOREIGN, "1"], base], to: [base] }, { force: true, releaseForeign: true }),
      "a tag that is not this dataset's changed",
    ],
    "another dataset's branch goes": [
      step("gc", { from: [[`branch tether.ws.${OTHER}.x`, "0"], base], to: [base] }, { prune: true, force: true }),
      "a branch that is not this dataset's changed",
    ],
    "the user's own branch goes": [
      step("gc", { from: [["branch theirs", "0"], base], to: [base] }, { prune: true, force: true }),
      "a branch that is not this dataset's changed",
    ],
    "a branch that equals upstream goes": [
      step("gc", { from: [[BRANCH, "0"], base], to: [base] }, { prune: true }),
      undefined,
    ],
    "a branch goes unasked": [step("gc", { from: [[BRANCH, "0"], base], to: [base] }), "gc deleted a branch unasked"],
    "a branch with writes goes": [
      step("gc", { from: [[BRANCH, "1"], base], to: [base] }, { prune: true }),
      "writes were lost",
    ],
    "a branch whose writes another has goes": [
      step("gc", { from: [[BRANCH, "1"], ["branch y", "2"]], to: [["branch y", "2"]] }, { prune: true }),
      "a branch with unpinned writes went",
    ],
    "it goes by force": [
      step("gc", { from: [[BRANCH, "1"], base], to: [base] }, { prune: true, force: true }),
      undefined,
    ],
    "a branch goes back": [step("new", { from: [[BRANCH, "2"]], to: [[BRANCH, "1"]] }), "writes were lost"],
    "a branch goes on": [step("new", { from: [[BRANCH, "1"]], to: [[BRANCH, "2"]] }), undefined],
    "upstream goes back": [
      step("promote", { from: [["branch main", "2"]], to: [["branch main", "1"]] }),
      "an upstream branch lost commits",
    ],
    "upstream moves by new": [
      step("new", { from: [["branch main", "1"]], to: [["branch main", "2"]] }),
      '"new" moved an upstream branch',
    ],
    "a store of its own goes, with a branch nothing was written to": [
      step("gc", { from: [base, [BRANCH, "0"]] }),
      undefined,
    ],
    "a store goes that another dataset made": [
      step("gc", { from: [base] }, { owners: new Map([["s", OTHER]]) }),
      "s: a store went that this dataset did not make",
    ],
    "a store goes with a foreign tag": [
      step("gc", { from: [base, [FOREIGN, "0"]] }),
      `s: a store went with ${FOREIGN}`,
    ],
    "a store goes with writes": [
      step("gc", { from: [base, [BRANCH, "1"]] }),
      `s: a store went with writes on ${BRANCH}`,
    ],
    "a refusal pins": [
      step("commit", { to: [[`tag ${PIN}`, "1"]] }, { failure: "refused" }),
      `refused, and yet s: tag ${PIN} (none) -> 1`,
    ],
  };
  for (const [name, [taken, fault]] of Object.entries(cases)) {
    await t.step(name, async () => {
      const faults = await broken(taken);
      assert.ok(fault === undefined ? faults.length === 0 : faults.some((f) => f.startsWith(fault)), faults.join("\n"));
    });
  }
  await t.step("a pin that is needed goes", async () => {
    const needed = { ...SIGHT, needed: new Set([PIN]) };
    const faults = await broken({ ...step("gc", { from: [[`tag ${PIN}`, "1"], base], to: [base] }), is: needed });
    assert.ok(faults.some((f) => f.startsWith("a pin was released that is needed")));
  });
});
