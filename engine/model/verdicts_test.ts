import assert from "node:assert/strict";
import { type HeadFacts, judgeBranch, judgePin } from "./verdicts.ts";

Deno.test("[seed: branches of bookmarks that are gone] the verdict table, row by row", () => {
  const row = (head: HeadFacts, more = {}) => ({ head, isStorage: false, blocked: undefined, ...more });
  const table: readonly (readonly [string, ReturnType<typeof row>, plain: string, force: string])[] = [
    ["natively pinned by some commit", row("pinned"), "delete-branch", "delete-branch"],
    ["recorded by commits that go", row("given-up"), "delete-branch", "delete-branch"],
    ["equal to the base branch's head", row("base"), "delete-branch", "delete-branch"],
    ["writes no commit pinned", row("unpinned"), "keep-branch", "delete-branch FORCED"],
    ["a state recorded without a pin", row("recorded"), "keep-branch", "delete-branch FORCED"],
    [
      "branches are the storage, head pinned",
      row("pinned", { isStorage: true }),
      "keep-branch",
      "delete-branch FORCED",
    ],
    ["branches are the storage, unpinned", row("unpinned", { isStorage: true }), "keep-branch", "delete-branch FORCED"],
    ["the store refuses", row("pinned", { blocked: "a pin hangs off it" }), "keep-branch", "keep-branch"],
    ["[L10] a head that cannot be read", row("unreadable"), "keep-branch", "keep-branch"],
  ];
  for (const [name, facts, plain, forced] of table) {
    for (const [force, expected] of [[false, plain], [true, forced]] as const) {
      const v = judgeBranch({ ...facts, force });
      assert.equal(v.op === "delete-branch" && v.forced ? `${v.op} FORCED` : v.op, expected, `${name}, force ${force}`);
    }
  }
});

Deno.test("[L02, commands 5.23] a pin goes only if nothing names it and this clone made it, or the user says so", () => {
  for (const ours of [true, false]) {
    for (const releaseForeign of [true, false]) {
      assert.equal(judgePin({ referenced: true, ours, releaseForeign }), "reference");
      const verdict = judgePin({ referenced: false, ours, releaseForeign });
      assert.equal(verdict, ours ? "unpin" : releaseForeign ? "unpin-foreign" : "keep-pin");
    }
  }
});
