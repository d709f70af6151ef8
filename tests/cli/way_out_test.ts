import assert from "node:assert/strict";
import { inProcess } from "../hostile/_cli.ts";
import { type Lab, lab } from "./_tether.ts";

/** Makes a dataset with two commits on `main`, at `main`. */
async function ready(): Promise<Lab> {
  const l = await lab();
  await l.repo.git(["commit", "--quiet", "--allow-empty", "-m", "Before"]);
  for (
    const args of [
      ["init"],
      ["add", "code", "../code", "--kind", "git"],
      ["commit", "-m", "Baseline"],
    ]
  ) {
    assert.equal((await inProcess(l.repo.path, args)).code, 0, args.join(" "));
  }
  await l.repo.git(["commit", "--quiet", "--allow-empty", "-m", "Later"]);
  return l;
}

/** Places that are no bookmark, or another one, and what git must do to get there. */
const PLACES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "a detached HEAD at the bookmark": [["switch", "-q", "--detach"]],
  "a detached HEAD further back": [["switch", "-q", "--detach", "HEAD~1"]],
  "a detached HEAD with a commit of its own": [["switch", "-q", "--detach"], [
    "commit",
    "-q",
    "--allow-empty",
    "-m",
    "Loose",
  ]],
  "another branch": [["switch", "-q", "-c", "side"]],
  "a branch that only looks like a parking branch": [["switch", "-q", "-c", "tether/0123456789ab"]],
  "a detached HEAD, and the bookmark gone": [["switch", "-q", "--detach"], ["branch", "-q", "-D", "main"]],
  "another branch, and the bookmark renamed": [["switch", "-q", "-c", "side"], ["branch", "-q", "-m", "main", "old"]],
};

function hintsOf(stderr: string): string[] {
  const hints = [...stderr.matchAll(/^hint: (.*)$/gm)].map(([, text = ""]) => text);
  return hints.map((text) => text.replaceAll(/\b(NAME|MESSAGE)\b/g, "fresh"));
}

function wordsOf(line: string): string[] {
  return line.split(" ").slice(1).map((w) => w.replaceAll("'", ""));
}

Deno.test("[L18] whatever commit and open say to do leads to where commit works, and new never claims what is not so", async (t) => {
  for (const [place, moves] of Object.entries(PLACES)) {
    for (const refused of [["commit", "-m", "x"], ["open", "code"]]) {
      await t.step(`${refused[0]} at ${place}`, async () => {
        await using l = await ready();
        const go = async (): Promise<string> => {
          for (const move of moves) await l.repo.git(move);
          return await l.repo.git(["rev-parse", "HEAD"]);
        };
        const loose = await go();
        const first = await inProcess(l.repo.path, refused);
        assert.equal(first.code, 1);
        const hints = hintsOf(first.stderr).filter((h) => h.startsWith("tether new"));
        assert.ok(hints.length >= 1, first.stderr);
        for (const [i, hint] of hints.entries()) {
          await using again = await ready();
          for (const move of moves) await again.repo.git(move);
          const went = await inProcess(again.repo.path, wordsOf(hint));
          assert.equal(went.code, 0, `${hint}: ${went.stderr}`);
          await again.advance("more");
          const done = await inProcess(again.repo.path, ["commit", "-m", "works"]);
          assert.equal(done.code, 0, `after ${hint}: ${done.stderr}`);
          assert.ok(hint !== hints[i - 1]);
          if (place.endsWith("a commit of its own") && hint === "tether new -- main") {
            assert.match(went.stderr, /^warning: Commit [0-9a-f]{12} is on no branch any more: "git branch NAME /);
          } else assert.equal(went.stderr, "");
        }
        const stay = await inProcess(l.repo.path, ["new"]);
        if (stay.code === 0) {
          await l.advance("more");
          const done = await inProcess(l.repo.path, ["commit", "-m", "works"]);
          assert.equal(done.code, 0, `after new: ${done.stderr}`);
        } else {
          assert.match(stay.stderr, /^error: Cannot start here: /);
          assert.equal(await l.repo.git(["rev-parse", "HEAD"]), loose);
          assert.ok(!hintsOf(stay.stderr).includes("tether new"), "what was refused is no way out");
        }
      });
    }
  }
});

/** What git can be in the middle of: how to get there and how to end it. */
const UNDER_WAY: Readonly<Record<string, readonly [start: readonly string[], end: string]>> = {
  merge: [["merge", "theirs"], "git merge --abort"],
  rebase: [["rebase", "theirs"], "git rebase --abort"],
  "cherry-pick": [["cherry-pick", "theirs"], "git cherry-pick --abort"],
  bisect: [["bisect", "start", "HEAD", "HEAD~1"], "git bisect reset"],
};

Deno.test("[L18] in the middle of something every form of new, and every writer, says what it is and how to end it", async (t) => {
  await using l = await ready();
  await l.repo.git(["switch", "-q", "-c", "theirs"]);
  await l.repo.commit("theirs", { x: "1" });
  await l.repo.git(["switch", "-q", "main"]);
  await l.repo.commit("ours", { x: "2" });
  await l.repo.commit("ours again", { y: "2" });
  for (const [name, [start, end]] of Object.entries(UNDER_WAY)) {
    await l.repo.git(start, { mayFail: true });
    for (
      const args of [
        ["new"],
        ["new", "main"],
        ["new", "theirs"],
        ["new", "HEAD~1"],
        ["new", "-b", "z"],
        [
          "new",
          "-b",
          "z",
          "theirs",
        ],
        ["new", "--keep", "main"],
        ["commit", "-m", "x"],
        ["open", "code"],
        ["pull"],
      ]
    ) {
      await t.step(`${args.join(" ")} during a ${name}`, async () => {
        const ran = await inProcess(l.repo.path, args);
        assert.equal(ran.code, 1, ran.stdout);
        assert.match(ran.stderr, new RegExp(`^error: Cannot [^\n]*: a ${name} is in progress\n`));
        assert.ok(hintsOf(ran.stderr).includes(end), ran.stderr);
      });
    }
    await l.repo.git(end.split(" ").slice(1));
    assert.equal((await inProcess(l.repo.path, ["new"])).code, 0);
  }
});
