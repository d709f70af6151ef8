import assert from "node:assert/strict";
import { Plan } from "../../engine/plan/plan.ts";
import { planAgain } from "../../engine/plan/again.ts";
import { inProcess } from "../hostile/_cli.ts";
import { type Lab, lab } from "./_tether.ts";

/** A dataset on bookmark `x`, which has a branch and a commit of its own; bookmark `y` is at `main`. */
async function onBookmark(): Promise<Lab> {
  const l = await lab();
  await l.ok(["init"]);
  await l.ok(["add", "code", "../code", "--kind", "git"]);
  await l.ok(["add", "it's", "../notes", "--kind", "file"]);
  await Deno.mkdir(`${l.repo.outer}/notes`, { recursive: true });
  await l.ok(["commit", "-m", "Baseline"]);
  await l.ok(["new", "-b", "y"]);
  await l.ok(["new", "-b", "x", "main", "--eager"]);
  await l.ok(["set", "code", "--pin", "record"]);
  await l.ok(["commit", "-m", "On x"]);
  await l.ok(["set", "it's", "--file", "versioned"]);
  return l;
}

const REQUESTS: readonly (readonly string[])[] = [
  ["commit", "-m", 'It\'s "so" & `more` $HOME'],
  ["commit", "-m", "one", "it's"],
  ["new"],
  ["new", "y", "--discard"],
  ["new", "y", "--lazy", "--defer-record"],
  ["new", "-b", "z", "main", "--eager"],
  ["new", "--keep"],
  ["restore", "code", "--from", "main", "--discard"],
  ["restore", "code", "--at", "main"],
  ["promote"],
  ["promote", "code", "--strategy", "ff"],
  ["promote", "--rev", "main"],
  ["gc"],
  ["gc", "--prune-bookmarks", "--force-prune", "--keep-bookmark", "a b", "--keep-bookmark", "c", "--release-foreign"],
  ["gc", "--delete-stores"],
  ["drop", "y", "--force-prune", "--delete-stores"],
  ["drop", "x", "--to", "y"],
  ["repair", "it's", "--all-history"],
  ["forget-workspace"],
  ["upgrade", "--ignore-immutable"],
];

/** Returns the words that a shell makes of a command line. */
async function wordsOf(line: string): Promise<string[]> {
  const script = `print() { for word in "$@"; do printf '%s\\0' "$word"; done; }; ${
    line.replace(/^tether /, "print ")
  }`;
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
  return new TextDecoder().decode(stdout).split("\0").slice(0, -1);
}

Deno.test("[commands 3.2, 6] the command that plans again asks for just what the plan was made for", async (test) => {
  await using l = await onBookmark();
  for (const request of REQUESTS) {
    await test.step(request.join(" "), async () => {
      const planned = async (args: readonly string[]): Promise<Plan> => {
        const { code, stdout, stderr } = await inProcess(l.repo.path, [
          ...args.slice(0, 1),
          "--json",
          ...args.slice(1),
        ]);
        assert.equal(code, 0, stderr);
        return Plan.fromJSON(stdout);
      };
      const plan = await planned([...request, "--dry-run"]);
      const again = await planned(await wordsOf(planAgain(plan)));
      assert.equal(again.command, request[0]);
      assert.deepEqual(again.context, plan.context);
      assert.deepEqual(again.actions, plan.actions);
    });
  }
});

Deno.test("[commands 1.3] an argument that is needed unless a saved plan has it is missing: exit code 2", async (test) => {
  await using l = await onBookmark();
  for (
    const [args, name] of [[["restore", "--from", "main"], "key"], [["drop", "--no-dry-run"], "bookmark"]] as const
  ) {
    await test.step(args.join(" "), async () => {
      const { code, stdout, stderr } = await inProcess(l.repo.path, args);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, new RegExp(`^error: Missing required argument "${name}"$`, "m"));
    });
  }
});
