import assert from "node:assert/strict";
import { assertUnchanged, everything } from "../helpers/evidence.ts";
import { setWritable, UNPRIVILEGED } from "../helpers/powers.ts";
import { COMMANDS } from "../../cli/commands.ts";
import { type Lab, lab, type RunOptions } from "../cli/_tether.ts";
import { ELSEWHERE, READING, WRITING } from "./_cli.ts";

/** All variables there are: no home folder, no folder for temporary files, nobody's git configuration. */
function bare(): RunOptions {
  const names = ["PATH", "DENO_DIR", "XDG_CACHE_HOME"];
  const env = Object.fromEntries(names.flatMap((n) => Deno.env.has(n) ? [[n, Deno.env.get(n) ?? ""]] : []));
  return { env: { ...env, GIT_CONFIG_NOSYSTEM: "1" }, clearEnv: true, through: UNPRIVILEGED };
}

/** A lab that nobody may write while `run` runs. */
async function whileReadOnly(l: Lab, run: () => Promise<void>): Promise<void> {
  await setWritable(l.repo.outer, false);
  try {
    await run();
  } finally {
    await setWritable(l.repo.outer, true);
  }
}

Deno.test("every command is in one of the lists that this folder's tests go through", () => {
  const listed = new Set([...READING, ...WRITING, ...ELSEWHERE].map(([name]) => name));
  assert.deepEqual(COMMANDS.filter((c) => c.group !== undefined && !listed.has(c.name)), []);
});

Deno.test("[L26] on a tree without write permission everything that reads works, what writes fails at once and plainly", async (t) => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["add", "plate", "../plate", "--kind", "file"]);
  await l.ok(["commit", "-m", "Baseline"]);
  await l.ok(["new", "-b", "y"]);
  await l.ok(["set", "code", "--pin", "record"]);
  const before = await everything(l.repo.outer);
  await whileReadOnly(l, async () => {
    for (const args of [...READING, ["root"], ["backends"], ["completions", "bash"]]) {
      await t.step(args.join(" "), async () => {
        const { code, stderr } = await l.tether(args, bare());
        assert.deepEqual([code, stderr.match(/^(error|warning: (?!Not checked)).*/m)?.[0]], [0, undefined], stderr);
      });
    }
    // The branch that y left pending would be made by this one.
    for (const args of [...WRITING, ["open", "code"]]) {
      await t.step(args.join(" "), async () => {
        const { code, stdout, stderr } = await l.tether(args, bare());
        assert.deepEqual([code, stdout], [1, ""]);
        assert.match(
          stderr,
          /^error: Cannot lock "[^"]*\/\.tether\/lock": the file cannot be written: .*\nhint: .*\n$/,
        );
      });
    }
  });
  await assertUnchanged(l.repo.outer, before, "a tree that cannot be written was written");
});

Deno.test("[L26] a clone that never was written to is read as well, and has no id that a plan could bind to", async () => {
  await using l = await lab({ init: true });
  await l.ok(["add", "../code", "--kind", "git"]);
  await l.ok(["commit", "-m", "Baseline"]);
  const clone = l.beside("clone");
  await l.repo.git(["clone", "--quiet", l.repo.path, clone]);
  const before = await everything(clone);
  await whileReadOnly(l, async () => {
    for (const args of [["status", "--snapshot"], ["verify", "--deep"], ["open", "code", "--read-only"], ["ops"]]) {
      const { code, stderr } = await l.tether(args, { ...bare(), cwd: clone });
      assert.equal(code, 0, stderr);
    }
    const saved = await l.tether(["new", "main", "--plan", "/dev/null"], { ...bare(), cwd: clone });
    assert.deepEqual([saved.code, saved.stdout], [1, ""]);
    assert.match(saved.stderr, /^error: Cannot save a plan .* no lasting id\nhint: --dry-run/);
  });
  await assertUnchanged(clone, before, "reading wrote");
});

Deno.test("[L26] a checkout of another user is refused by git, and how to trust it is said", async () => {
  await using l = await lab({ init: true });
  // git's own tests use this variable: every folder counts as somebody else's.
  const { code, stdout, stderr } = await l.tether(["status"], { env: { GIT_TEST_ASSUME_DIFFERENT_OWNER: "1" } });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(
    stderr,
    /^error: Cannot use the git repository at ".*": ".*" belongs to another user\nhint: git config --global --add safe\.directory \/.*\n$/,
  );
});
